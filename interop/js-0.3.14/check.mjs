// Drives a running server through the clients of @a2a-js/sdk 0.3.14 (A2A 0.3).

import {
  A2AClient,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
  createAuthenticatingFetchWithRetry,
} from "@a2a-js/sdk/client";
import {
  Checks,
  Folded,
  Webhook,
  baseURL,
  chunks,
  equal,
  expect,
  fetchAs,
  poll,
  readAll,
  thrown,
  tokens,
  uuid,
  wantHeaders,
} from "../lib/checks.mjs";

function fetchWith(token) {
  const headers = async () => ({ Authorization: `Bearer ${token}` });
  return createAuthenticatingFetchWithRetry(fetch, { headers, shouldRetryWithHeaders: async () => undefined });
}

function factoryFor(token) {
  const fetchImpl = token ? fetchWith(token) : fetch;
  return new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    }),
  );
}

function request(parts, { message = {}, ...rest } = {}) {
  return { message: { kind: "message", messageId: uuid(), role: "user", parts, ...message }, ...rest };
}
const text = (value) => [{ kind: "text", text: value }];

const partsOf = (answer) => (answer.kind === "message" ? answer.parts : (answer.artifacts ?? []).flatMap((a) => a.parts));
const textOf = (answer) => partsOf(answer).filter((p) => p.kind === "text").map((p) => p.text).join("\n");
const dataOf = (answer) => partsOf(answer).filter((p) => p.kind === "data").map((p) => p.data);
const statusText = (task) => (task.status.message?.parts ?? []).map((p) => p.text ?? "").join("\n");
const wantState = (task, state) => equal(task.status?.state, state, `state of ${task.id} (${task.status && statusText(task)})`);
const ended = (task) => ["completed", "failed", "canceled", "rejected"].includes(task.status.state);
const later = { configuration: { blocking: false } };

const checks = new Checks("js-0.3.14");
const alice = await factoryFor(tokens.alice).createFromUrl(baseURL).catch(() => undefined);
const bob = await factoryFor(tokens.bob).createFromUrl(baseURL).catch(() => undefined);

await checks.check("card at the root", async () => {
  const card = await new DefaultAgentCardResolver().resolve(baseURL);
  expect(card.url?.startsWith(baseURL), `url: ${card.url}`);
  expect(card.protocolVersion?.startsWith("0.3"), `protocolVersion: ${card.protocolVersion}`);
  equal(card.preferredTransport, "JSONRPC", "preferredTransport");
  const ids = card.skills.map((s) => s.id);
  for (const id of ["probe", "list_board", "weekly_report"]) expect(ids.includes(id), `skill ${id} is not among ${ids}`);
});

for (const [name, path] of [
  ["beside the endpoint", "/api/a2a/tasks"],
  ["under the endpoint", "/api/a2a/tasks/"],
]) {
  await checks.check(`card ${name}`, async () => {
    const client = await factoryFor(tokens.alice).createFromUrl(baseURL + path);
    const word = `hello-${uuid()}`;
    expect(textOf(await client.sendMessage(request(text(`@echo ${word}`)))).includes(word), "echo");
  });
}

await checks.check("card of one skill", async () => {
  const card = await new DefaultAgentCardResolver().resolve(`${baseURL}/skills/list_boards/`);
  equal(card.skills.map((s) => s.id), ["list_boards"], "skills");
  const client = await factoryFor(tokens.alice).createFromAgentCard(card);
  const task = await client.sendMessage(request(text("{}")));
  wantState(task, "completed");
  expect(dataOf(task).length > 0, "no data part in the list of boards");
});

await checks.check("send, blocking", async () => {
  const word = `hello-${uuid()}`;
  const answer = await alice.sendMessage(request(text(`@echo ${word}`)));
  if (answer.kind === "task") wantState(answer, "completed");
  expect(textOf(answer).includes(word), `text: ${textOf(answer)}`);
});

await checks.check("send by the older client, without a configuration", async () => {
  const client = await A2AClient.fromCardUrl(`${baseURL}/.well-known/agent-card.json`, { fetchImpl: fetchWith(tokens.alice) });
  const word = `hello-${uuid()}`;
  const answer = await client.sendMessage(request(text(`@echo ${word}`)));
  expect(textOf(answer.result).includes(word), `answer: ${JSON.stringify(answer)}`);
  const missing = await client.getTask({ id: `none-${uuid()}` });
  equal(missing.error?.code, -32001, "code for an unknown task");
});

await checks.check("send waits for the end", async () => {
  wantState(await alice.sendMessage(request(text("@sleep 1"))), "completed");
});

await checks.check("data and metadata unchanged", async () => {
  const data = { big: 9007199254740991, zero: 0, neg: -7, half: 0.5, list: [1, "2", null, true], deep: { "ключ": "значення" } };
  const metadata = { "x-interop": { n: 12345678901, list: [1, 2, 3], none: null } };
  const task = await alice.sendMessage(
    request([...text("@data"), { kind: "data", data, metadata: { unit: 3 } }], { message: { metadata } }),
  );
  wantState(task, "completed");
  equal(dataOf(task), [data], "data parts");
  equal(partsOf(task).find((p) => p.kind === "data").metadata, { unit: 3 }, "metadata of the part");
  const got = await alice.getTask({ id: task.id });
  equal(got.history[0]?.metadata?.["x-interop"], metadata["x-interop"], "metadata of the message");
  equal(got.history[0]?.parts[1]?.data, data, "data part in the history");
});

await checks.check("get, with and without history", async () => {
  const sent = await alice.sendMessage(request(text(`@echo ${uuid()}`)));
  const whole = await alice.getTask({ id: sent.id });
  equal([whole.kind, whole.id, whole.contextId, whole.status.state], ["task", sent.id, sent.contextId, "completed"], "task");
  equal(whole.history[0]?.role, "user", "role of the first entry");
  equal(whole.history.at(-1).role, "agent", "role of the last entry");
  const none = await alice.getTask({ id: sent.id, historyLength: 0 });
  equal(none.history ?? [], [], "history of length 0");
  const one = await alice.getTask({ id: sent.id, historyLength: 1 });
  equal(one.history, whole.history.slice(-1), "history of length 1");
  equal(await alice.getTask({ id: sent.id }), whole, "task after the reads");
});

await checks.check("send, not blocking, then poll", async () => {
  const task = await alice.sendMessage(request(text("@sleep 1"), later));
  expect(!ended(task), `state at once: ${task.status.state}`);
  wantState(await poll(() => alice.getTask({ id: task.id }), ended), "completed");
});

await checks.check("cancel a running task", async () => {
  const task = await alice.sendMessage(request(text("@sleep 30"), later));
  await poll(() => alice.getTask({ id: task.id }), (t) => t.status.state === "working");
  wantState(await alice.cancelTask({ id: task.id }), "canceled");
  wantState(await alice.getTask({ id: task.id }), "canceled");
});

await checks.check("cancel of an ended task is the typed error", async () => {
  const task = await alice.sendMessage(request(text(`@echo ${uuid()}`)));
  const err = await thrown(() => alice.cancelTask({ id: task.id }));
  expect(err instanceof TaskNotCancelableError, `got ${err?.constructor?.name}: ${err}`);
  wantState(await alice.getTask({ id: task.id }), "completed");
});

await checks.check("unknown task is the typed error", async () => {
  for (const call of [alice.getTask.bind(alice), alice.cancelTask.bind(alice)]) {
    const err = await thrown(() => call({ id: `none-${uuid()}` }));
    expect(err instanceof TaskNotFoundError, `got ${err?.constructor?.name}: ${err}`);
  }
});

await checks.check("question and answer", async () => {
  const first = await alice.sendMessage(request(text("@ask")));
  wantState(first, "input-required");
  expect(statusText(first) !== "", "no question");
  const word = `answer-${uuid()}`;
  const second = await alice.sendMessage(request(text(word), { message: { taskId: first.id, contextId: first.contextId } }));
  equal(second.id, first.id, "task id");
  wantState(second, "completed");
  expect(textOf(second).includes(word), `text: ${textOf(second)}`);
  const err = await thrown(() => alice.sendMessage(request(text("more"), { message: { taskId: first.id } })));
  expect(err instanceof UnsupportedOperationError, `to an ended task: ${err?.constructor?.name}: ${err}`);
});

await checks.check("skill chosen by metadata", async () => {
  const boards = await alice.sendMessage(request(text("{}"), { message: { metadata: { skillId: "list_boards" } } }));
  wantState(boards, "completed");
  const board = dataOf(boards)[0]?.boards?.[0];
  expect(board?.id, `boards: ${JSON.stringify(dataOf(boards))}`);
  const list = await alice.sendMessage(request(text(board.id), { metadata: { skillId: "list_board" } }));
  wantState(list, "completed");
  equal(dataOf(list)[0]?.id, board.id, "board id");
  const report = await alice.sendMessage(request(text(""), { message: { metadata: { skillId: "weekly_report" } } }));
  wantState(report, "completed");
  expect(dataOf(report)[0]?.summary, `report: ${JSON.stringify(dataOf(report))}`);
  const odd = await alice.sendMessage(request(text("x"), { message: { metadata: { skillId: "no_such" } } }));
  wantState(odd, "failed");
  expect(statusText(odd).includes("list_board"), `text: ${statusText(odd)}`);
});

await checks.check("a failed task says why", async () => {
  const task = await alice.sendMessage(request(text("@fail")));
  wantState(task, "failed");
  expect(statusText(task) !== "", "no text");
});

await checks.check("no token is refused", async () => {
  const client = await factoryFor(undefined).createFromUrl(baseURL);
  const err = await thrown(() => client.sendMessage(request(text("@echo x"))));
  const plain = await fetchAs(undefined)(baseURL + "/", { method: "POST", body: "{}", headers: { "Content-Type": "application/json" } });
  equal(plain.status, 401, `status (${err})`);
});

await checks.check("another caller's task is unknown", async () => {
  const task = await alice.sendMessage(request(text(`@echo ${uuid()}`)));
  for (const call of [bob.getTask.bind(bob), bob.cancelTask.bind(bob)]) {
    const err = await thrown(() => call({ id: task.id }));
    expect(err instanceof TaskNotFoundError, `got ${err?.constructor?.name}: ${err}`);
  }
});

// The task alive: streams, turns, push.

const isUpdate = (event, state) => event.kind === "status-update" && event.status.state === state;
const words = (event) => event.artifact.parts.map((p) => p.text);

/** The words of all parts after the events of a stream, which must begin with a task. */
function fold(events) {
  const folded = new Folded();
  equal(events[0]?.kind, "task", "kind of the first event");
  for (const event of events) {
    if (event.kind === "task") folded.snapshot(event.artifacts);
    if (event.kind === "artifact-update") folded.update(event);
  }
  return [...folded.parts.values()].flat().map((p) => p.text);
}

/** Throws unless the last event, and no event before it, is the final status. */
function wantEnd(events, state) {
  const finals = events.filter((e) => e.kind === "status-update" && e.final);
  expect(finals.length === 1 && finals[0] === events.at(-1) && isUpdate(finals[0], state), `events: ${JSON.stringify(events)}`);
}

/** Reads a stream until accept likes an event, then breaks its connection. */
async function breakOff(params, accept) {
  const abort = new AbortController();
  const events = [];
  try {
    for await (const event of alice.sendMessageStream(params, { signal: abort.signal })) {
      events.push(event);
      if (accept(event)) abort.abort();
    }
  } catch (err) {
    expect(abort.signal.aborted, err);
  }
  return { events, id: events[0].id };
}

await checks.check("stream: every chunk in order, the end last", async () => {
  const events = await readAll(alice.sendMessageStream(request(text("@chunks 5 100"))));
  const updates = events.filter((e) => e.kind === "artifact-update");
  equal(updates.flatMap(words), chunks(1, 5), "chunks");
  equal(updates.map((e) => e.lastChunk), [false, false, false, false, true], "lastChunk");
  wantEnd(events, "completed");
  const task = await alice.getTask({ id: events[0].id });
  equal(fold(events), partsOf(task).map((p) => p.text), "the stream folded, against the task");
});

await checks.check("stream by the older client", async () => {
  const client = await A2AClient.fromCardUrl(`${baseURL}/.well-known/agent-card.json`, { fetchImpl: fetchWith(tokens.alice) });
  const events = await readAll(client.sendMessageStream(request(text("@chunks 3 50"))));
  equal(fold(events), chunks(1, 3), "the stream folded");
  wantEnd(events, "completed");
});

await checks.check("resubscribe after a broken connection", async () => {
  const { events, id } = await breakOff(request(text("@chunks 10 100")), (e) => e.kind === "artifact-update" && words(e)[0] === "chunk-3 ");
  expect(!events.some((e) => isUpdate(e, "completed")), "the first stream saw the end");
  const rest = await readAll(alice.resubscribeTask({ id }));
  wantState(rest[0], "working");
  equal(fold(rest), chunks(1, 10), "the second stream folded");
  wantEnd(rest, "completed");
});

await checks.check("two subscribers see the same", async () => {
  const sent = await alice.sendMessage(request(text("@chunks 6 100"), later));
  const streams = await Promise.all([1, 2].map(() => readAll(alice.resubscribeTask({ id: sent.id }))));
  for (const events of streams) {
    equal(fold(events), chunks(1, 6), "a stream folded");
    wantEnd(events, "completed");
  }
});

await checks.check("subscribe to an ended task is the task, to an unknown one an error", async () => {
  const task = await alice.sendMessage(request(text(`@echo ${uuid()}`)));
  const events = await readAll(alice.resubscribeTask({ id: task.id }));
  equal(events.map((e) => [e.kind, e.id, e.status.state]), [["task", task.id, "completed"]], "events");
  const err = await thrown(() => readAll(alice.resubscribeTask({ id: `none-${uuid()}` })));
  expect(err instanceof TaskNotFoundError || String(err).includes("-32001"), `got ${err?.constructor?.name}: ${err}`);
});

await checks.check("stream a question, answer it", async () => {
  const asked = await readAll(alice.sendMessageStream(request(text("@ask"))));
  wantEnd(asked, "input-required");
  const task = asked[0];
  expect(statusText(asked.at(-1)) !== "", "no question");
  const word = `answer-${uuid()}`;
  const answer = request(text(word), { message: { taskId: task.id, contextId: task.contextId } });
  const answered = await readAll(alice.sendMessageStream(answer));
  equal(answered[0].id, task.id, "task id");
  expect(fold(answered).join("").includes(word), `answered: ${JSON.stringify(answered)}`);
  wantEnd(answered, "completed");
});

await checks.check("cancel while streaming", async () => {
  const events = [];
  for await (const event of alice.sendMessageStream(request(text("@chunks 300 100")))) {
    events.push(event);
    if (event.kind === "artifact-update" && words(event)[0] === "chunk-2 ") {
      wantState(await alice.cancelTask({ id: events[0].id }), "canceled");
    }
  }
  wantEnd(events, "canceled");
});

await checks.check("push: the task after each change, with token and credentials", async () => {
  const hook = await Webhook.open();
  try {
    const config = { url: hook.url, token: "the-token", authentication: { schemes: ["Bearer"], credentials: "the-secret" } };
    const task = await alice.sendMessage(request(text("@chunks 3 100"), { configuration: { blocking: true, pushNotificationConfig: config } }));
    const bodies = await hook.until((body) => body.status?.state === "completed");
    for (const [i, body] of bodies.entries()) {
      equal([body.kind, body.id], ["task", task.id], "kind and id");
      const got = partsOf(body).map((p) => p.text);
      equal(got, chunks(1, got.length), "chunks");
      expect(i === 0 || got.length >= partsOf(bodies[i - 1]).length, `delivery ${i} is older than the one before`);
    }
    equal(bodies.filter((body) => body.status.state === "completed").length, 1, "deliveries of the end");
    equal(bodies.at(-1), await alice.getTask({ id: task.id }), "the last delivery, against the task");
    wantHeaders(hook.deliveries, { token: config.token, authorization: "Bearer the-secret" });
  } finally {
    hook.close();
  }
});

await checks.check("push configs: set, get, list, delete", async () => {
  const [kept, dropped] = [await Webhook.open(), await Webhook.open()];
  try {
    const task = await alice.sendMessage(request(text("@sleep 60"), later));
    await poll(() => alice.getTask({ id: task.id }), (t) => t.status.state === "working");
    const set = (id, url) => alice.setTaskPushNotificationConfig({ taskId: task.id, pushNotificationConfig: { id, url, token: "t" } });
    equal((await set("kept", kept.url)).pushNotificationConfig.id, "kept", "id");
    await set("dropped", dropped.url);
    const { pushNotificationConfig: got } = await alice.getTaskPushNotificationConfig({ id: task.id, pushNotificationConfigId: "kept" });
    equal([got.id, got.url, got.token], ["kept", kept.url, undefined], "config; its token is not shown");
    const ids = async () => (await alice.listTaskPushNotificationConfig({ id: task.id })).map((c) => c.pushNotificationConfig.id).sort();
    equal(await ids(), ["dropped", "kept"], "list");
    await alice.deleteTaskPushNotificationConfig({ id: task.id, pushNotificationConfigId: "dropped" });
    equal(await ids(), ["kept"], "list after the deletion");
    const err = await thrown(() => alice.getTaskPushNotificationConfig({ id: task.id, pushNotificationConfigId: "dropped" }));
    expect(err instanceof TaskNotFoundError, `got ${err?.constructor?.name}: ${err}`);
    const foreign = await thrown(() => bob.listTaskPushNotificationConfig({ id: task.id }));
    expect(foreign instanceof TaskNotFoundError, `bob got ${foreign?.constructor?.name}: ${foreign}`);
    await alice.cancelTask({ id: task.id });
    await kept.until((body) => body.status?.state === "canceled");
    equal(dropped.deliveries, [], "deliveries of the deleted config");
  } finally {
    kept.close();
    dropped.close();
  }
});

checks.finish();
