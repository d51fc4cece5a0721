// Scenarios of the task alive: streams, turns, push.

import { TaskNotFoundError } from "@a2a-js/sdk/client";
import { Folded, Webhook, chunks, equal, expect, poll, readAll, thrown, uuid, wantHeaders } from "../lib/checks.mjs";
import { later, lossless, partsOf, request, statusText, text, wantState } from "./client.mjs";

const isUpdate = (event, state) => event.kind === "status-update" && event.status.state === state;
const words = (event) => event.artifact.parts.map((p) => p.text);

/** The words of all parts after the events of a stream, which must begin with a task. */
export function fold(events, transport) {
  const folded = new Folded();
  equal(events[0]?.kind, "task", "kind of the first event");
  for (const event of events) {
    if (event.kind === "task") folded.snapshot(event.artifacts);
    if (event.kind === "artifact-update") folded.update(lossless(transport) ? event : { ...event, append: true });
  }
  return [...folded.parts.values()].flat().map((p) => p.text);
}

/** Throws unless the last event, and no event before it, is the final status. */
export function wantEnd(events, state) {
  const finals = events.filter((e) => e.kind === "status-update" && e.final);
  expect(finals.length === 1 && finals[0] === events.at(-1) && isUpdate(finals[0], state), `events: ${JSON.stringify(events)}`);
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
  return { events, id: events[0].id };
}

/** A value without its empty lists. */
const withoutEmpty = (value) =>
  JSON.parse(JSON.stringify(value), (_, v) => (Array.isArray(v) && v.length === 0 ? undefined : v));

export const LIVE = {
  "stream: every chunk in order, the end last": async ({ alice, transport }) => {
    const events = await readAll(alice.sendMessageStream(request(text("@chunks 5 100"))));
    const updates = events.filter((e) => e.kind === "artifact-update");
    equal(updates.flatMap(words), chunks(1, 5), "chunks");
    equal(updates.map((e) => e.lastChunk), [false, false, false, false, true], "lastChunk");
    wantEnd(events, "completed");
    const task = await alice.getTask({ id: events[0].id });
    equal(fold(events, transport), partsOf(task).map((p) => p.text), "the stream folded, against the task");
  },

  "resubscribe after a broken connection": async ({ alice, transport }) => {
    const { events, id } = await breakOff(alice, request(text("@chunks 10 100")), (e) => e.kind === "artifact-update" && words(e)[0] === "chunk-3 ");
    expect(!events.some((e) => isUpdate(e, "completed")), "the first stream saw the end");
    const rest = await readAll(alice.resubscribeTask({ id }));
    wantState(rest[0], "working");
    equal(fold(rest, transport), chunks(1, 10), "the second stream folded");
    wantEnd(rest, "completed");
  },

  "two subscribers see the same": async ({ alice, transport }) => {
    const sent = await alice.sendMessage(request(text("@chunks 6 100"), later));
    const streams = await Promise.all([1, 2].map(() => readAll(alice.resubscribeTask({ id: sent.id }))));
    for (const events of streams) {
      equal(fold(events, transport), chunks(1, 6), "a stream folded");
      wantEnd(events, "completed");
    }
  },

  "subscribe to an ended task is the task, to an unknown one an error": async ({ alice }) => {
    const task = await alice.sendMessage(request(text(`@echo ${uuid()}`)));
    const events = await readAll(alice.resubscribeTask({ id: task.id }));
    equal(events.map((e) => [e.kind, e.id, e.status.state]), [["task", task.id, "completed"]], "events");
    const err = await thrown(() => readAll(alice.resubscribeTask({ id: `none-${uuid()}` })));
    expect(err instanceof TaskNotFoundError || String(err).includes("-32001"), `got ${err?.constructor?.name}: ${err}`);
  },

  "stream a question, answer it": async ({ alice, transport }) => {
    const asked = await readAll(alice.sendMessageStream(request(text("@ask"))));
    wantEnd(asked, "input-required");
    const task = asked[0];
    expect(statusText(asked.at(-1)) !== "", "no question");
    const word = `answer-${uuid()}`;
    const answer = request(text(word), { message: { taskId: task.id, contextId: task.contextId } });
    const answered = await readAll(alice.sendMessageStream(answer));
    equal(answered[0].id, task.id, "task id");
    expect(fold(answered, transport).join("").includes(word), `answered: ${JSON.stringify(answered)}`);
    wantEnd(answered, "completed");
  },

  "cancel while streaming": async ({ alice }) => {
    const events = [];
    for await (const event of alice.sendMessageStream(request(text("@chunks 300 100")))) {
      events.push(event);
      if (event.kind === "artifact-update" && words(event)[0] === "chunk-2 ") {
        wantState(await alice.cancelTask({ id: events[0].id }), "canceled");
      }
    }
    wantEnd(events, "canceled");
  },

  "push: the task after each change, with token and credentials": async ({ alice, transport }) => {
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
      const got = await alice.getTask({ id: task.id });
      const sparse = lossless(transport) ? got : withoutEmpty(got);
      equal(bodies.at(-1), sparse, "the last delivery, against the task");
      wantHeaders(hook.deliveries, { token: config.token, authorization: "Bearer the-secret" });
    } finally {
      hook.close();
    }
  },

  "push configs: set, get, list, delete": async ({ alice, bob }) => {
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
  },
};
