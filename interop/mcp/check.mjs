// Drives "skillyard mcp" with real MCP clients, against the running server as the remote
// agent: the command line of the MCP inspector (a new process for each call, so every
// call finds what an earlier one left), and the TypeScript SDK in both protocol eras. Work
// takes a minute of real time (MCP_TASK_SECONDS); all who wait for some do that side by side.
// SKILLYARD_BIN is the program; without it, it is built.

import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { Checks, baseURL, equal, expect, poll, tokens } from "../lib/checks.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const inspector = join(here, "node_modules/@modelcontextprotocol/inspector-cli/build/cli.js");
const work = mkdtempSync(join(tmpdir(), "skillyard-mcp-"));
const agents = join(work, "agents.yaml");
writeFileSync(
  agents,
  `agents:
  - {name: alice, url: "${baseURL}", description: "The probe, as Alice.", token: "${tokens.alice}"}
  - {name: bob, url: "${baseURL}", token: "\${BOB_TOKEN}"}
`,
);

let program = process.env.SKILLYARD_BIN;
if (!program) {
  program = join(work, "skillyard");
  execFileSync("go", ["build", "-trimpath", "-o", program, "./cmd/skillyard"], { cwd: join(here, "../.."), stdio: "inherit" });
}
const env = { PATH: process.env.PATH, HOME: work, BOB_TOKEN: tokens.bob, A2A_MCP_TOKEN: "mcp-token" };
const command = [program, "mcp", "--agents", agents];

/** The inspector's options for a server that it starts, with a state of that name. */
function started(name) {
  const config = join(work, `${name}.json`);
  const server = { command: program, args: ["mcp"], env: { A2A_AGENTS: agents, A2A_STATE: join(work, `${name}.db`), BOB_TOKEN: tokens.bob } };
  writeFileSync(config, JSON.stringify({ mcpServers: { skillyard: server } }));
  return ["--config", config];
}

/**
 * Runs the inspector once; the target is what to start or a URL. It finds its own
 * package.json only from the directory it is in.
 */
async function inspect(target, method, ...options) {
  const args = [inspector, "--cli", ...target, "--method", method, ...options];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, cwd: dirname(inspector) });
  return JSON.parse(stdout);
}

/** Calls a tool with the inspector and returns what it answers. */
async function inspectTool(target, name, args = {}, ...options) {
  const pairs = Object.entries(args).flatMap(([key, value]) => ["--tool-arg", `${key}=${value}`]);
  return answer(name, await inspect(target, "tools/call", "--tool-name", name, ...pairs, ...options));
}

/** The text and the data of a tool's answer; throws if it is an error. */
function answer(name, result) {
  const text = result.content.map((c) => c.text).join("\n");
  expect(!result.isError, `${name}: ${text}`);
  expect(/pending/i.test(text), `${name} does not end with what is pending: ${text}`);
  return { text, ...result.structuredContent };
}

/** A connected client of the SDK with the URIs of resources that changed. */
async function connect(transport, mode) {
  const client = new Client({ name: "interop", version: "1" }, { versionNegotiation: { mode } });
  const updated = [];
  client.setNotificationHandler("notifications/resources/updated", (n) => void updated.push(n.params.uri));
  await client.connect(transport);
  const call = async (name, args = {}) => answer(name, await client.callTool({ name, arguments: args }));
  return { client, updated, call };
}

const seconds = Number(process.env.MCP_TASK_SECONDS ?? 60);
const state = (name) => ["--state", join(work, `${name}.db`)];
const tools = ["a2a_agents", "a2a_cancel", "a2a_pending", "a2a_poll", "a2a_reply", "a2a_send"];

/** Sends work to an agent; throws unless the answer is there long before the work is done. */
async function send(call, agent) {
  const begin = Date.now();
  const sent = await call("a2a_send", { agent, text: `@sleep ${seconds}` });
  expect(Date.now() - begin < Math.max(3, seconds / 3) * 1000, `the send took ${Date.now() - begin} ms`);
  equal(["submitted", "working"].includes(sent.task.state), true, `${sent.task.state} is a state of work under way`);
  return { ...sent, id: sent.task.task_id, begin };
}

/** Polls until what was sent is done, which is not before its time. */
async function collect(call, sent) {
  const got = await poll(
    () => call("a2a_poll", { task_id: sent.id, wait_seconds: Math.min(20, seconds) }),
    (got) => got.task.state === "completed",
    (seconds + 30) * 1000,
  );
  expect(got.text.includes("slept"), `the result is ${got.text}`);
  expect(Date.now() - sent.begin >= seconds * 1000, "the result was there before the work was done");
}

/** Send, go on, be reminded, collect: with any way to call tools. */
async function sendAndCollect(call) {
  const first = await send(call, "alice");
  const second = await send(call, "bob");
  equal(second.pending.map((p) => p.agent), ["bob", "alice"], "pending after two sends");
  // Also a tool that has nothing to do with tasks reminds of them.
  for (const tool of ["a2a_pending", "a2a_agents"]) {
    const { text } = await call(tool);
    expect(text.includes(first.id) && text.includes(second.id), `${tool} says ${text}`);
  }
  await Promise.all([first, second].map((sent) => collect(call, sent)));
  equal((await call("a2a_pending")).pending, [], "pending at the end");
}

const checks = new Checks("mcp");
const waiting = [];

/** A check that waits for work: it runs beside the others. */
const beside = (name, fn) => void waiting.push(checks.check(name, fn));

beside("inspector: send, pending, poll, answer, each in a process of its own", () =>
  sendAndCollect((name, args) => inspectTool(started("inspector"), name, args)),
);

beside("sdk and inspector poll at once, with one list", async () => {
  const transport = new StdioClientTransport({ command: program, args: [...command.slice(1), ...state("shared")], env });
  const { client, call } = await connect(transport, "auto");
  try {
    const inspected = (name, args) => inspectTool(started("shared"), name, args);
    const [a, b] = await Promise.all([send(call, "alice"), send(inspected, "bob")]);
    for (const either of [call, inspected]) {
      equal((await either("a2a_pending")).pending.map((p) => p.task_id).sort(), [a.id, b.id].sort(), "what both have pending");
    }
    // Each waits for its own, and both for the other's.
    await Promise.all([collect(call, a), collect(inspected, b), collect(call, b), collect(inspected, a)]);
    equal((await call("a2a_pending")).pending, [], "pending at the end");
  } finally {
    await client.close();
  }
});

await checks.check("inspector: tools", async () => {
  const list = await inspect(started("inspector"), "tools/list");
  equal(list.tools.map((t) => t.name).sort(), tools, "tools");
  for (const t of list.tools) expect(t.annotations && t.outputSchema, `${t.name} lacks annotations or an output schema`);
});

await checks.check("inspector: a question and its answer", async () => {
  const call = (name, args) => inspectTool(started("questions"), name, args);
  const { task } = await call("a2a_send", { agent: "alice", text: "@ask" });
  await poll(() => call("a2a_poll"), (got) => got.task.state === "input-required" && got.text.includes("a2a_reply"));
  await call("a2a_reply", { task_id: task.task_id, text: "blue" });
  await poll(() => call("a2a_poll", { task_id: task.task_id }), (got) => got.text.includes("blue"));
});

await checks.check("inspector: resources", async () => {
  const target = started("resources");
  equal((await inspect(target, "resources/list")).resources.map((r) => r.uri), ["a2a://pending"], "resources");
  const { resourceTemplates } = await inspect(target, "resources/templates/list");
  expect(resourceTemplates.some((t) => t.uriTemplate === "a2a://tasks/{agent}/{id}"), JSON.stringify(resourceTemplates));
  const { contents } = await inspect(target, "resources/read", "--uri", "a2a://pending");
  equal(JSON.parse(contents[0].text), { pending: [] }, "the pending list");
});

for (const mode of ["legacy", "auto"]) {
  const era = { legacy: "2025-11-25", auto: "2026-07-28" }[mode];
  beside(`sdk ${era} over stdio`, async () => {
    const transport = new StdioClientTransport({ command: program, args: [...command.slice(1), ...state(`stdio-${mode}`)], env });
    const { client, call } = await connect(transport, mode);
    try {
      equal(client.getNegotiatedProtocolVersion(), era, "version");
      await sendAndCollect(call);
      const agentsList = await call("a2a_agents");
      equal(agentsList.agents.map((a) => a.name), ["alice", "bob"], "agents");
    } finally {
      await client.close();
    }
  });
}

// Whoever ends this program ends the servers that it started.
process.once("SIGTERM", () => process.exit(1));

/** Runs fn with the URL of an MCP server over HTTP. */
async function overHTTP(name, fn) {
  const child = spawn(program, [...command.slice(1), ...state(name), "--http", "127.0.0.1:0"], { env, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "exit");
  const orphaned = () => child.kill();
  process.once("exit", orphaned);
  try {
    let url;
    for await (const line of createInterface({ input: child.stderr })) {
      url = JSON.parse(line).url;
      if (url) break;
    }
    child.stderr.resume();
    await fn(url);
  } finally {
    child.kill();
    const [code] = await ended;
    process.off("exit", orphaned);
    equal(code, 0, "exit code of the MCP server");
  }
}

beside("inspector over HTTP", () =>
  overHTTP("http-inspector", async (url) => {
    const options = ["--transport", "http", "--header", "Authorization: Bearer mcp-token"];
    await sendAndCollect((name, args) => inspectTool([url], name, args, ...options));
  }),
);

for (const mode of ["legacy", "auto"]) {
  const era = { legacy: "2025-11-25", auto: "2026-07-28" }[mode];
  beside(`sdk ${era} over HTTP, with a subscription`, () =>
    overHTTP(`http-${mode}`, async (url) => {
      const transport = new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers: { Authorization: "Bearer mcp-token" } },
      });
      const { client, updated, call } = await connect(transport, mode);
      try {
        equal(client.getNegotiatedProtocolVersion(), era, "version");
        if (mode === "auto") await client.listen({ resourceSubscriptions: ["a2a://pending"] });
        else await client.subscribeResource({ uri: "a2a://pending" });
        await sendAndCollect(call);
        await poll(async () => updated.length, (n) => n > 0);
        equal([...new Set(updated)], ["a2a://pending"], "resources that changed");
        const before = updated.length;
        // Another process changes the same list.
        await inspectTool(started(`http-${mode}`), "a2a_send", { agent: "alice", text: "@sleep 1" });
        await poll(async () => updated.length, (n) => n > before);
      } finally {
        await client.close();
      }
    }),
  );
}

await checks.check("no token, no entry", () =>
  overHTTP("http-closed", async (url) => {
    const res = await fetch(url, { method: "POST", body: "{}" });
    equal(res.status, 401, "status without a token");
  }),
);

await Promise.all(waiting);
rmSync(work, { recursive: true, force: true });
checks.finish();
