// Drives a running server through the clients of @a2a-js/sdk 0.3.14 (A2A 0.3): what concerns
// the card and the older client once, then every scenario over every transport.

import { A2AClient } from "@a2a-js/sdk/client";
import { Checks, baseURL, chunks, equal, expect, readAll, tokens, uuid } from "../lib/checks.mjs";
import { TRANSPORTS, cardFor, dataOf, factoryFor, fetchWith, request, text, textOf, wantState } from "./client.mjs";
import { LIVE, fold, wantEnd } from "./live.mjs";
import { TASK } from "./task.mjs";

const checks = new Checks("js-0.3.14");

await checks.check("card at the root", async () => {
  const card = await cardFor("");
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
    const client = await factoryFor(tokens.alice, "jsonrpc").createFromUrl(baseURL + path);
    const word = `hello-${uuid()}`;
    expect(textOf(await client.sendMessage(request(text(`@echo ${word}`)))).includes(word), "echo");
  });
}

const older = () => A2AClient.fromCardUrl(`${baseURL}/.well-known/agent-card.json`, { fetchImpl: fetchWith(tokens.alice) });

await checks.check("send by the older client, without a configuration", async () => {
  const client = await older();
  const word = `hello-${uuid()}`;
  const answer = await client.sendMessage(request(text(`@echo ${word}`)));
  expect(textOf(answer.result).includes(word), `answer: ${JSON.stringify(answer)}`);
  const missing = await client.getTask({ id: `none-${uuid()}` });
  equal(missing.error?.code, -32001, "code for an unknown task");
});

await checks.check("stream by the older client", async () => {
  const events = await readAll((await older()).sendMessageStream(request(text("@chunks 3 50"))));
  equal(fold(events, "jsonrpc"), chunks(1, 3), "the stream folded");
  wantEnd(events, "completed");
});

for (const transport of Object.keys(TRANSPORTS)) {
  const binding = TRANSPORTS[transport];
  const scene = { transport };

  await checks.check(`${transport}/card: the transport is the one that was chosen`, async () => {
    scene.alice = await factoryFor(tokens.alice, transport).createFromUrl(baseURL);
    scene.bob = await factoryFor(tokens.bob, transport).createFromUrl(baseURL);
    // The SDK has no public name for it; each transport is a class of its own.
    const { name } = scene.alice.transport.constructor;
    expect(name.toLowerCase().endsWith(`${transport}transport`), `${binding} became a ${name}`);
  });

  // An rpc has no path to choose a skill by, so the cards of single skills name no gRPC.
  if (transport !== "grpc") {
    await checks.check(`${transport}/card of one skill`, async () => {
      const card = await cardFor("/skills/list_boards/");
      equal(card.skills.map((s) => s.id), ["list_boards"], "skills");
      const client = await factoryFor(tokens.alice, transport).createFromAgentCard(card);
      const task = await client.sendMessage(request(text("{}")));
      wantState(task, "completed");
      expect(dataOf(task).length > 0, "no data part in the list of boards");
    });
  }

  for (const [name, run] of Object.entries({ ...TASK, ...LIVE })) {
    await checks.check(`${transport}/${name}`, () => run(scene));
  }
}

checks.finish();
