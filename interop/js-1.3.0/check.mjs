// Drives a running server through the client of @a2a-js/sdk 1.3.0 (A2A 1.0).

import { AgentCard, Role, SendMessageRequest, StreamResponse, TaskState, verifyAgentCardSignature } from "@a2a-js/sdk";
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  createAuthenticatingFetchWithRetry,
} from "@a2a-js/sdk/client";
import { TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError } from "@a2a-js/sdk/errors";
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

/** A factory whose clients send the token the way the SDK wants it done. */
function factoryFor(token, legacyCompat = false) {
  const headers = async () => ({ Authorization: `Bearer ${token}` });
  const fetchImpl = token
    ? createAuthenticatingFetchWithRetry(fetch, { headers, shouldRetryWithHeaders: async () => undefined })
    : fetch;
  const compat = legacyCompat ? { legacyCompat: { enabled: true } } : {};
  return new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl, ...compat })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl, ...compat }),
    }),
  );
}

/** A send request from the JSON that the specification shows. */
function request(parts, { message = {}, configuration = {}, metadata } = {}) {
  return SendMessageRequest.fromJSON({
    message: { messageId: uuid(), role: "ROLE_USER", parts, ...message },
    configuration,
    metadata,
  });
}
const text = (value) => [{ text: value }];

const partsOf = (answer) =>
  "messageId" in answer ? answer.parts : answer.artifacts.flatMap((artifact) => artifact.parts);
const textOf = (answer) =>
  partsOf(answer).filter((p) => p.content?.$case === "text").map((p) => p.content.value).join("\n");
const dataOf = (answer) => partsOf(answer).filter((p) => p.content?.$case === "data").map((p) => p.content.value);
const stateOf = (task) => TaskState[task.status?.state];
const statusText = (task) => (task.status?.message?.parts ?? []).map((p) => p.content?.value ?? "").join("\n");
const wantState = (task, state) => equal(stateOf(task), `TASK_STATE_${state}`, `state of ${task.id} (${statusText(task)})`);
const ended = (task) => ["COMPLETED", "FAILED", "CANCELED", "REJECTED"].includes(stateOf(task).slice("TASK_STATE_".length));

const checks = new Checks("js-1.3.0");
const alice = await factoryFor(tokens.alice).createFromUrl(baseURL).catch(() => undefined);
const bob = await factoryFor(tokens.bob).createFromUrl(baseURL).catch(() => undefined);

await checks.check("card at the root", async () => {
  const card = await new DefaultAgentCardResolver().resolve(baseURL);
  const ids = card.skills.map((s) => s.id);
  for (const id of ["probe", "list_board", "weekly_report"]) expect(ids.includes(id), `skill ${id} is not among ${ids}`);
  const own = card.supportedInterfaces.find((i) => i.protocolBinding === "JSONRPC" && i.protocolVersion === "1.0");
  expect(own?.url.startsWith(baseURL), `1.0 interface: ${JSON.stringify(card.supportedInterfaces)}`);
  equal(AgentCard.fromJSON(AgentCard.toJSON(card)), card, "card after a round trip");
});

// The SDK resolves the card's place relative to the URL it is given.
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
  const client = await factoryFor(tokens.alice).createFromUrl(`${baseURL}/skills/list_boards/`);
  const card = await new DefaultAgentCardResolver().resolve(`${baseURL}/skills/list_boards/`);
  equal(card.skills.map((s) => s.id), ["list_boards"], "skills");
  const task = await client.sendMessage(request(text("{}")));
  wantState(task, "COMPLETED");
  expect(dataOf(task).length > 0, "no data part in the list of boards");
});

await checks.check("send, blocking", async () => {
  const word = `hello-${uuid()}`;
  const answer = await alice.sendMessage(request(text(`@echo ${word}`)));
  if (!("messageId" in answer)) wantState(answer, "COMPLETED");
  expect(textOf(answer).includes(word), `text: ${textOf(answer)}`);
});

await checks.check("send waits for the end", async () => {
  const task = await alice.sendMessage(request(text("@sleep 1")));
  wantState(task, "COMPLETED");
});

await checks.check("data and metadata unchanged", async () => {
  const data = { big: 9007199254740991, zero: 0, neg: -7, half: 0.5, list: [1, "2", null, true], deep: { "ключ": "значення" } };
  const metadata = { "x-interop": { n: 12345678901, list: [1, 2, 3], none: null } };
  const task = await alice.sendMessage(
    request([{ text: "@data" }, { data, metadata: { unit: 3 }, mediaType: "application/json" }], { message: { metadata } }),
  );
  wantState(task, "COMPLETED");
  equal(dataOf(task), [data], "data parts");
  const back = partsOf(task).find((p) => p.content?.$case === "data");
  equal(back.metadata, { unit: 3 }, "metadata of the part");
  const got = await alice.getTask({ id: task.id });
  equal(got.history[0]?.metadata?.["x-interop"], metadata["x-interop"], "metadata of the message");
  equal(got.history[0]?.parts[1]?.content?.value, data, "data part in the history");
});

await checks.check("get, with and without history", async () => {
  const sent = await alice.sendMessage(request(text(`@echo ${uuid()}`)));
  const whole = await alice.getTask({ id: sent.id });
  equal([whole.id, whole.contextId, stateOf(whole)], [sent.id, sent.contextId, "TASK_STATE_COMPLETED"], "task");
  equal(whole.history[0]?.role, Role.ROLE_USER, "role of the first entry");
  const none = await alice.getTask({ id: sent.id, historyLength: 0 });
  equal(none.history, [], "history of length 0");
  const one = await alice.getTask({ id: sent.id, historyLength: 1 });
  equal(one.history, whole.history.slice(-1), "history of length 1");
  equal(await alice.getTask({ id: sent.id }), whole, "task after the reads");
});

await checks.check("list", async () => {
  const contextId = `interop-${uuid()}`;
  const ids = [];
  for (let i = 0; i < 3; i++) {
    const task = await alice.sendMessage(request(text(`@echo ${i}`), { message: { contextId } }));
    equal(task.contextId, contextId, "contextId");
    ids.unshift(task.id);
  }
  const all = await alice.listTasks({ contextId, pageSize: 10 });
  equal(all.tasks.map((t) => t.id), ids, "tasks, newest first");
  equal([all.totalSize, all.nextPageToken], [3, ""], "totalSize and nextPageToken");
  const first = await alice.listTasks({ contextId, pageSize: 2 });
  const rest = await alice.listTasks({ contextId, pageSize: 2, pageToken: first.nextPageToken });
  equal([...first.tasks, ...rest.tasks].map((t) => t.id), ids, "tasks over two pages");
  const working = await alice.listTasks({ contextId, status: TaskState.TASK_STATE_WORKING });
  equal(working.tasks, [], "working tasks");
});

await checks.check("send, not blocking, then poll", async () => {
  const task = await alice.sendMessage(request(text("@sleep 1"), { configuration: { returnImmediately: true } }));
  expect(!ended(task), `state at once: ${stateOf(task)}`);
  const done = await poll(() => alice.getTask({ id: task.id }), ended);
  wantState(done, "COMPLETED");
});

await checks.check("cancel a running task", async () => {
  const task = await alice.sendMessage(request(text("@sleep 30"), { configuration: { returnImmediately: true } }));
  await poll(() => alice.getTask({ id: task.id }), (t) => stateOf(t) === "TASK_STATE_WORKING");
  wantState(await alice.cancelTask({ id: task.id }), "CANCELED");
  wantState(await alice.getTask({ id: task.id }), "CANCELED");
  wantState(await alice.cancelTask({ id: task.id }), "CANCELED");
});

await checks.check("cancel of an ended task is the typed error", async () => {
  const task = await alice.sendMessage(request(text(`@echo ${uuid()}`)));
  const err = await thrown(() => alice.cancelTask({ id: task.id }));
  expect(err instanceof TaskNotCancelableError, `got ${err?.constructor?.name}: ${err}`);
  wantState(await alice.getTask({ id: task.id }), "COMPLETED");
});

await checks.check("unknown task is the typed error", async () => {
  for (const call of [alice.getTask.bind(alice), alice.cancelTask.bind(alice)]) {
    const err = await thrown(() => call({ id: `none-${uuid()}` }));
    expect(err instanceof TaskNotFoundError, `got ${err?.constructor?.name}: ${err}`);
  }
});

await checks.check("question and answer", async () => {
  const first = await alice.sendMessage(request(text("@ask")));
  wantState(first, "INPUT_REQUIRED");
  expect(statusText(first) !== "", "no question");
  const word = `answer-${uuid()}`;
  const second = await alice.sendMessage(
    request(text(word), { message: { taskId: first.id, contextId: first.contextId } }),
  );
  equal(second.id, first.id, "task id");
  wantState(second, "COMPLETED");
  expect(textOf(second).includes(word), `text: ${textOf(second)}`);
  const err = await thrown(() => alice.sendMessage(request(text("more"), { message: { taskId: first.id } })));
  expect(err instanceof UnsupportedOperationError, `to an ended task: ${err?.constructor?.name}: ${err}`);
});

await checks.check("skill chosen by metadata", async () => {
  const boards = await alice.sendMessage(request(text("{}"), { message: { metadata: { skillId: "list_boards" } } }));
  wantState(boards, "COMPLETED");
  const board = dataOf(boards)[0]?.boards?.[0];
  expect(board?.id, `boards: ${JSON.stringify(dataOf(boards))}`);
  const list = await alice.sendMessage(request(text(board.id), { metadata: { skillId: "list_board" } }));
  wantState(list, "COMPLETED");
  equal(dataOf(list)[0]?.id, board.id, "board id");
  equal(JSON.parse(partsOf(list)[0].content.value).id, board.id, "board id in the text");
  const report = await alice.sendMessage(request(text(""), { message: { metadata: { skillId: "weekly_report" } } }));
  wantState(report, "COMPLETED");
  expect(dataOf(report)[0]?.summary, `report: ${JSON.stringify(dataOf(report))}`);
  const odd = await alice.sendMessage(request(text("x"), { message: { metadata: { skillId: "no_such" } } }));
  wantState(odd, "FAILED");
  expect(statusText(odd).includes("list_board"), `text: ${statusText(odd)}`);
});

await checks.check("a failed task says why", async () => {
  const task = await alice.sendMessage(request(text("@fail")));
  wantState(task, "FAILED");
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
  const list = await bob.listTasks({ contextId: task.contextId });
  equal(list.tasks, [], "bob's list");
});

await checks.check("legacy compat reads the same card as 1.0", async () => {
  const client = await factoryFor(tokens.alice, true).createFromUrl(baseURL);
  equal(client.protocolVersion, "1.0", "protocol version");
  const word = `hello-${uuid()}`;
  expect(textOf(await client.sendMessage(request(text(`@echo ${word}`)))).includes(word), "echo");
});

// The task alive: streams, turns, push.

const named = (event) => [event.payload?.$case, event.payload?.value];
const isUpdate = (event, state) =>
  event.payload?.$case === "statusUpdate" && TaskState[event.payload.value.status?.state] === `TASK_STATE_${state}`;
const words = (event) => event.payload.value.artifact.parts.map((p) => p.content.value);

/** The words of all parts after the events of a stream, which must begin with a task. */
function fold(events) {
  const folded = new Folded();
  equal(events[0]?.payload?.$case, "task", "kind of the first event");
  for (const [kind, value] of events.map(named)) {
    if (kind === "task") folded.snapshot(value.artifacts);
    if (kind === "artifactUpdate") folded.update(value);
  }
  return [...folded.parts.values()].flat().map((p) => p.content.value);
}

/** Throws unless the last event, and no event before it, is the final status. */
function wantEnd(events, state) {
  const ends = events.filter((e) => isUpdate(e, state));
  expect(ends.length === 1 && ends[0] === events.at(-1), `events: ${JSON.stringify(events)}`);
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
  return { events, id: events[0].payload.value.id };
}

await checks.check("stream: every chunk in order, the end last", async () => {
  const events = await readAll(alice.sendMessageStream(request(text("@chunks 5 100"))));
  const updates = events.filter((e) => e.payload?.$case === "artifactUpdate");
  equal(updates.flatMap(words), chunks(1, 5), "chunks");
  equal(updates.map((e) => e.payload.value.lastChunk), [false, false, false, false, true], "lastChunk");
  wantEnd(events, "COMPLETED");
  const task = await alice.getTask({ id: events[0].payload.value.id });
  equal(fold(events), partsOf(task).map((p) => p.content.value), "the stream folded, against the task");
});

await checks.check("resubscribe after a broken connection", async () => {
  const { events, id } = await breakOff(request(text("@chunks 10 100")), (e) => e.payload?.$case === "artifactUpdate" && words(e)[0] === "chunk-3 ");
  expect(!events.some((e) => isUpdate(e, "COMPLETED")), "the first stream saw the end");
  const rest = await readAll(alice.resubscribeTask({ id }));
  equal(stateOf(rest[0].payload.value), "TASK_STATE_WORKING", "state at the second start");
  equal(fold(rest), chunks(1, 10), "the second stream folded");
  wantEnd(rest, "COMPLETED");
});

await checks.check("two subscribers see the same", async () => {
  const sent = await alice.sendMessage(request(text("@chunks 6 100"), { configuration: { returnImmediately: true } }));
  const streams = await Promise.all([1, 2].map(() => readAll(alice.resubscribeTask({ id: sent.id }))));
  for (const events of streams) {
    equal(fold(events), chunks(1, 6), "a stream folded");
    wantEnd(events, "COMPLETED");
  }
});

await checks.check("subscribe to what does not run is the typed error", async () => {
  const task = await alice.sendMessage(request(text(`@echo ${uuid()}`)));
  for (const [id, kind] of [[task.id, UnsupportedOperationError], [`none-${uuid()}`, TaskNotFoundError]]) {
    const err = await thrown(() => readAll(alice.resubscribeTask({ id })));
    expect(err instanceof kind || err.cause instanceof kind, `got ${err?.constructor?.name}: ${err}`);
  }
});

await checks.check("stream a question, answer it", async () => {
  const asked = await readAll(alice.sendMessageStream(request(text("@ask"))));
  wantEnd(asked, "INPUT_REQUIRED");
  const task = asked[0].payload.value;
  expect(statusText(asked.at(-1).payload.value) !== "", "no question");
  // Who subscribes while the task waits sees the answer's effect.
  const watching = alice.resubscribeTask({ id: task.id });
  wantState((await watching.next()).value.payload.value, "INPUT_REQUIRED");
  const word = `answer-${uuid()}`;
  const answer = request(text(word), { message: { taskId: task.id, contextId: task.contextId } });
  const answered = await readAll(alice.sendMessageStream(answer));
  equal(answered[0].payload.value.id, task.id, "task id");
  expect(fold(answered).join("").includes(word), `answered: ${JSON.stringify(answered)}`);
  wantEnd(answered, "COMPLETED");
  wantEnd(await readAll(watching), "COMPLETED");
});

await checks.check("cancel while streaming", async () => {
  const events = [];
  for await (const event of alice.sendMessageStream(request(text("@chunks 300 100")))) {
    events.push(event);
    if (events.filter((e) => e.payload?.$case === "artifactUpdate").length === 2 && event.payload.$case === "artifactUpdate") {
      wantState(await alice.cancelTask({ id: events[0].payload.value.id }), "CANCELED");
    }
  }
  wantEnd(events, "CANCELED");
});

await checks.check("push: every event in order, with token and credentials", async () => {
  const hook = await Webhook.open();
  try {
    const config = { url: hook.url, token: "the-token", authentication: { scheme: "Bearer", credentials: "the-secret" } };
    const task = await alice.sendMessage(request(text("@chunks 3 100"), { configuration: { taskPushNotificationConfig: config } }));
    const bodies = await hook.until((body) => body.statusUpdate?.status.state === "TASK_STATE_COMPLETED");
    const events = bodies.map((body) => StreamResponse.fromJSON(body));
    equal(events.map((e) => e.payload?.value.taskId), Array(5).fill(task.id), "task ids");
    expect(isUpdate(events[0], "WORKING"), `first: ${JSON.stringify(bodies[0])}`);
    equal(events.slice(1, 4).flatMap(words), chunks(1, 3), "chunks");
    wantEnd(events, "COMPLETED");
    wantHeaders(hook.deliveries, { token: config.token, authorization: "Bearer the-secret" });
  } finally {
    hook.close();
  }
});

await checks.check("push configs: create, get, list, delete", async () => {
  const [kept, dropped] = [await Webhook.open(), await Webhook.open()];
  try {
    const task = await alice.sendMessage(request(text("@sleep 60"), { configuration: { returnImmediately: true } }));
    await poll(() => alice.getTask({ id: task.id }), (t) => stateOf(t) === "TASK_STATE_WORKING");
    const create = (url) => alice.createTaskPushNotificationConfig({ tenant: "", id: "", taskId: task.id, url, token: "t", authentication: undefined });
    const first = await create(kept.url);
    const second = await create(dropped.url);
    expect(first.id && second.id && first.id !== second.id, `ids ${first.id} and ${second.id}`);
    const got = await alice.getTaskPushNotificationConfig({ taskId: task.id, id: first.id });
    equal([got.id, got.taskId, got.url, got.token], [first.id, task.id, kept.url, ""], "config; its token is not shown");
    const ids = async () => (await alice.listTaskPushNotificationConfig({ taskId: task.id })).configs.map((c) => c.id).sort();
    equal(await ids(), [first.id, second.id].sort(), "list");
    await alice.deleteTaskPushNotificationConfig({ taskId: task.id, id: second.id });
    equal(await ids(), [first.id], "list after the deletion");
    const err = await thrown(() => alice.getTaskPushNotificationConfig({ taskId: task.id, id: second.id }));
    expect(err instanceof TaskNotFoundError, `got ${err?.constructor?.name}: ${err}`);
    const foreign = await thrown(() => bob.listTaskPushNotificationConfig({ taskId: task.id }));
    expect(foreign instanceof TaskNotFoundError, `bob got ${foreign?.constructor?.name}: ${foreign}`);
    await alice.cancelTask({ id: task.id });
    await kept.until((body) => body.statusUpdate?.status.state === "TASK_STATE_CANCELED");
    equal(dropped.deliveries, [], "deliveries of the deleted config");
  } finally {
    kept.close();
    dropped.close();
  }
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

checks.finish();
