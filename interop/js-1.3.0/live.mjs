// Scenarios of the task alive: streams, turns, push.

import { ListTaskPushNotificationConfigsRequest, StreamResponse, TaskState } from "@a2a-js/sdk";
import { TaskNotFoundError, UnsupportedOperationError } from "@a2a-js/sdk/errors";
import { Folded, Webhook, chunks, equal, expect, poll, readAll, thrown, uuid, wantHeaders } from "../lib/checks.mjs";
import { fields, partsOf, request, stateOf, statusText, text, wantState } from "./client.mjs";

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
async function breakOff(client, params, accept) {
  const abort = new AbortController();
  const events = [];
  try {
    for await (const event of client.sendMessageStream(params, { signal: abort.signal })) {
      events.push(event);
      if (accept(event)) abort.abort();
    }
  } catch (err) {
    expect(abort.signal.aborted, err);
  }
  return { events, id: events[0].payload.value.id };
}

export const LIVE = {
  "stream: every chunk in order, the end last": async ({ alice }) => {
    const events = await readAll(alice.sendMessageStream(request(text("@chunks 5 100"))));
    const updates = events.filter((e) => e.payload?.$case === "artifactUpdate");
    equal(updates.flatMap(words), chunks(1, 5), "chunks");
    equal(updates.map((e) => e.payload.value.lastChunk), [false, false, false, false, true], "lastChunk");
    wantEnd(events, "COMPLETED");
    const task = await alice.getTask({ id: events[0].payload.value.id });
    equal(fold(events), partsOf(task).map((p) => p.content.value), "the stream folded, against the task");
  },

  "resubscribe after a broken connection": async ({ alice }) => {
    const { events, id } = await breakOff(alice, request(text("@chunks 10 100")), (e) => e.payload?.$case === "artifactUpdate" && words(e)[0] === "chunk-3 ");
    expect(!events.some((e) => isUpdate(e, "COMPLETED")), "the first stream saw the end");
    const rest = await readAll(alice.resubscribeTask({ id }));
    equal(stateOf(rest[0].payload.value), "TASK_STATE_WORKING", "state at the second start");
    equal(fold(rest), chunks(1, 10), "the second stream folded");
    wantEnd(rest, "COMPLETED");
  },

  "two subscribers see the same": async ({ alice }) => {
    const sent = await alice.sendMessage(request(text("@chunks 6 100"), { configuration: { returnImmediately: true } }));
    const streams = await Promise.all([1, 2].map(() => readAll(alice.resubscribeTask({ id: sent.id }))));
    for (const events of streams) {
      equal(fold(events), chunks(1, 6), "a stream folded");
      wantEnd(events, "COMPLETED");
    }
  },

  "subscribe to what does not run is the typed error": async ({ alice }) => {
    const task = await alice.sendMessage(request(text(`@echo ${uuid()}`)));
    for (const [id, kind] of [[task.id, UnsupportedOperationError], [`none-${uuid()}`, TaskNotFoundError]]) {
      const err = await thrown(() => readAll(alice.resubscribeTask({ id })));
      expect(err instanceof kind || err.cause instanceof kind, `got ${err?.constructor?.name}: ${err}`);
    }
  },

  "stream a question, answer it": async ({ alice }) => {
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
  },

  "cancel while streaming": async ({ alice }) => {
    const events = [];
    for await (const event of alice.sendMessageStream(request(text("@chunks 300 100")))) {
      events.push(event);
      if (events.filter((e) => e.payload?.$case === "artifactUpdate").length === 2 && event.payload.$case === "artifactUpdate") {
        wantState(await alice.cancelTask({ id: events[0].payload.value.id }), "CANCELED");
      }
    }
    wantEnd(events, "CANCELED");
  },

  "push: every event in order, with token and credentials": async ({ alice }) => {
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
  },

  "push configs: create, get, list, delete": async ({ alice, bob, transport }) => {
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
      const all = fields(transport, ListTaskPushNotificationConfigsRequest, { taskId: task.id });
      const ids = async () => (await alice.listTaskPushNotificationConfig(all)).configs.map((c) => c.id).sort();
      equal(await ids(), [first.id, second.id].sort(), "list");
      await alice.deleteTaskPushNotificationConfig({ taskId: task.id, id: second.id });
      equal(await ids(), [first.id], "list after the deletion");
      const err = await thrown(() => alice.getTaskPushNotificationConfig({ taskId: task.id, id: second.id }));
      expect(err instanceof TaskNotFoundError, `got ${err?.constructor?.name}: ${err}`);
      const foreign = await thrown(() => bob.listTaskPushNotificationConfig(all));
      expect(foreign instanceof TaskNotFoundError, `bob got ${foreign?.constructor?.name}: ${foreign}`);
      await alice.cancelTask({ id: task.id });
      await kept.until((body) => body.statusUpdate?.status.state === "TASK_STATE_CANCELED");
      equal(dropped.deliveries, [], "deliveries of the deleted config");
    } finally {
      kept.close();
      dropped.close();
    }
  },
};
