// Drives a running server through the client of @a2a-js/sdk 1.3.0 (A2A 1.0): what concerns
// the card once, then every scenario over every transport that the SDK has.

import { AgentCard, verifyAgentCardSignature } from "@a2a-js/sdk";
import { Checks, baseURL, equal, expect, thrown, tokens, uuid } from "../lib/checks.mjs";
import { TRANSPORTS, cardFor, dataOf, factoryFor, request, text, textOf, wantState } from "./client.mjs";
import { LIVE } from "./live.mjs";
import { TASK } from "./task.mjs";

const checks = new Checks("js-1.3.0");

async function echoes(client) {
  const word = `hello-${uuid()}`;
  expect(textOf(await client.sendMessage(request(text(`@echo ${word}`)))).includes(word), "echo");
}

await checks.check("card at the root", async () => {
  const card = await cardFor("");
  const ids = card.skills.map((s) => s.id);
  for (const id of ["probe", "list_board", "weekly_report"]) expect(ids.includes(id), `skill ${id} is not among ${ids}`);
  equal(AgentCard.fromJSON(AgentCard.toJSON(card)), card, "card after a round trip");
});

// The SDK resolves the card's place relative to the URL it is given.
for (const [name, path] of [
  ["beside the endpoint", "/api/a2a/tasks"],
  ["under the endpoint", "/api/a2a/tasks/"],
]) {
  await checks.check(`card ${name}`, async () => {
    await echoes(await factoryFor(tokens.alice, "jsonrpc").createFromUrl(baseURL + path));
  });
}

await checks.check("legacy compat reads the same card as 1.0", async () => {
  const client = await factoryFor(tokens.alice, "jsonrpc", { legacyCompat: { enabled: true } }).createFromUrl(baseURL);
  equal(client.protocolVersion, "1.0", "protocol version");
  await echoes(client);
});

if (process.env.SKILLYARD_SIGNED) {
  await checks.check("signatures of the card", async () => {
    const { keys } = await (await fetch(`${baseURL}/.well-known/jwks.json`)).json();
    equal(keys.map((k) => k.alg), ["ES256", "EdDSA"], "algorithms");
    for (const path of ["", "/skills/list_boards"]) {
      // As it was sent: what the SDK has parsed once loses its security schemes when the
      // verifier parses it again.
      const headers = { "A2A-Version": "1.0" };
      const card = await (await fetch(`${baseURL}${path}/.well-known/agent-card.json`, { headers })).json();
      expect(card.securitySchemes, "no security schemes in a signed card");
      for (const key of keys) {
        const only = verifyAgentCardSignature(async (kid, jku) => {
          equal(jku, `${baseURL}/.well-known/jwks.json`, "jku");
          if (kid !== key.kid) throw new Error("not this one");
          return key;
        });
        await only(card);
        await thrown(() => only({ ...card, description: `${card.description} and more` }));
      }
    }
  });
}

for (const transport of Object.keys(TRANSPORTS)) {
  const binding = TRANSPORTS[transport];
  const scene = { transport };

  await checks.check(`${transport}/card: the transport is the one that was chosen`, async () => {
    const found = (await cardFor("")).supportedInterfaces.filter((i) => i.protocolBinding === binding);
    expect(found.some((i) => i.protocolVersion === "1.0"), `${binding}: ${JSON.stringify(found)}`);
    scene.alice = await factoryFor(tokens.alice, transport).createFromUrl(baseURL);
    scene.bob = await factoryFor(tokens.bob, transport).createFromUrl(baseURL);
    equal([scene.alice.transport.protocolName, scene.alice.protocolVersion], [binding, "1.0"], "protocol of the client");
  });

  // An rpc has no path to choose a skill by, so the cards of single skills name no gRPC.
  if (transport !== "grpc") {
    await checks.check(`${transport}/card of one skill`, async () => {
      const client = await factoryFor(tokens.alice, transport).createFromUrl(`${baseURL}/skills/list_boards/`);
      equal(client.transport.protocolName, binding, "protocol of the client");
      equal((await cardFor("/skills/list_boards/")).skills.map((s) => s.id), ["list_boards"], "skills");
      const task = await client.sendMessage(request(text("{}")));
      wantState(task, "COMPLETED");
      expect(dataOf(task).length > 0, "no data part in the list of boards");
    });
  }

  for (const [name, run] of Object.entries({ ...TASK, ...LIVE })) {
    await checks.check(`${transport}/${name}`, () => run(scene));
  }
}

// The SDK speaks 0.3 too, to servers that have nothing newer. What 0.3 and the SDK's
// conversion of it do not change is the same there.
const same = [
  "send, blocking",
  "send waits for the end",
  "send, not blocking, then poll",
  "cancel of an ended task is the typed error",
  "unknown task is the typed error",
  "question and answer",
  "skill chosen by metadata",
  "a failed task says why",
  "card of the caller",
  "extension: events are numbered on request",
  "cancel while streaming",
];

for (const transport of Object.keys(TRANSPORTS)) {
  const scene = { transport };
  await checks.check(`${transport}-0.3/card: the transport is the one that was chosen`, async () => {
    const card = await cardFor("");
    card.supportedInterfaces = card.supportedInterfaces.filter((i) => i.protocolVersion === "0.3");
    const factory = factoryFor(tokens.alice, transport, { legacyCompat: { enabled: true } });
    scene.alice = await factory.createFromAgentCard(card);
    equal([scene.alice.transport.protocolName, scene.alice.protocolVersion], [TRANSPORTS[transport], "0.3"], "protocol of the client");
  });
  for (const name of same) {
    await checks.check(`${transport}-0.3/${name}`, () => ({ ...TASK, ...LIVE })[name](scene));
  }
}

checks.finish();
