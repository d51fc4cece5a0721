// Scenarios of single calls.

import { ServiceParameters, TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError, withA2AExtensions } from "@a2a-js/sdk/client";
import { EVENT_SEQUENCE, baseURL, equal, expect, poll, readAll, refused, thrown, uuid } from "../lib/checks.mjs";
import { cardFor, dataOf, ended, factoryFor, later, lossless, partsOf, request, statusText, text, textOf, wantState } from "./client.mjs";

export const TASK = {
  "send, blocking": async ({ alice }) => {
    const word = `hello-${uuid()}`;
    const answer = await alice.sendMessage(request(text(`@echo ${word}`)));
    if (answer.kind === "task") wantState(answer, "completed");
    expect(textOf(answer).includes(word), `text: ${textOf(answer)}`);
  },

  "send waits for the end": async ({ alice }) => {
    wantState(await alice.sendMessage(request(text("@sleep 1"))), "completed");
  },

  "data and metadata unchanged": async ({ alice, transport }) => {
    const nothing = transport === "grpc" ? "null" : null; // null cannot be encoded by the SDK
    const data = { big: 9007199254740991, zero: 0, neg: -7, half: 0.5, list: [1, "2", nothing, true], deep: { "ключ": "значення" } };
    const metadata = { "x-interop": { n: 12345678901, list: [1, 2, 3], none: nothing } };
    const task = await alice.sendMessage(
      request([...text("@data"), { kind: "data", data, metadata: { unit: 3 } }], { message: { metadata } }),
    );
    wantState(task, "completed");
    equal(dataOf(task), [data], "data parts");
    if (lossless(transport)) equal(partsOf(task).find((p) => p.kind === "data").metadata, { unit: 3 }, "metadata of the part");
    const got = await alice.getTask({ id: task.id });
    equal(got.history[0]?.metadata?.["x-interop"], metadata["x-interop"], "metadata of the message");
    equal(got.history[0]?.parts[1]?.data, data, "data part in the history");
  },

  "get, with and without history": async ({ alice, transport }) => {
    const sent = await alice.sendMessage(request(text(`@echo ${uuid()}`)));
    const whole = await alice.getTask({ id: sent.id });
    equal([whole.kind, whole.id, whole.contextId, whole.status.state], ["task", sent.id, sent.contextId, "completed"], "task");
    equal(whole.history[0]?.role, "user", "role of the first entry");
    equal(whole.history.at(-1).role, "agent", "role of the last entry");
    const none = await alice.getTask({ id: sent.id, historyLength: 0 });
    // A message cannot tell zero from no length.
    equal(none.history ?? [], transport === "grpc" ? whole.history : [], "history of length 0");
    const one = await alice.getTask({ id: sent.id, historyLength: 1 });
    equal(one.history, whole.history.slice(-1), "history of length 1");
    equal(await alice.getTask({ id: sent.id }), whole, "task after the reads");
  },

  "send, not blocking, then poll": async ({ alice }) => {
    const task = await alice.sendMessage(request(text("@sleep 1"), later));
    expect(!ended(task), `state at once: ${task.status.state}`);
    wantState(await poll(() => alice.getTask({ id: task.id }), ended), "completed");
  },

  "cancel a running task": async ({ alice }) => {
    const task = await alice.sendMessage(request(text("@sleep 30"), later));
    await poll(() => alice.getTask({ id: task.id }), (t) => t.status.state === "working");
    wantState(await alice.cancelTask({ id: task.id }), "canceled");
    wantState(await alice.getTask({ id: task.id }), "canceled");
  },

  "cancel of an ended task is the typed error": async ({ alice }) => {
    const task = await alice.sendMessage(request(text(`@echo ${uuid()}`)));
    const err = await thrown(() => alice.cancelTask({ id: task.id }));
    expect(err instanceof TaskNotCancelableError, `got ${err?.constructor?.name}: ${err}`);
    wantState(await alice.getTask({ id: task.id }), "completed");
  },

  "unknown task is the typed error": async ({ alice }) => {
    for (const call of [alice.getTask.bind(alice), alice.cancelTask.bind(alice)]) {
      const err = await thrown(() => call({ id: `none-${uuid()}` }));
      expect(err instanceof TaskNotFoundError, `got ${err?.constructor?.name}: ${err}`);
    }
  },

  "question and answer": async ({ alice, transport }) => {
    const first = await alice.sendMessage(request(text("@ask")));
    wantState(first, "input-required");
    expect(statusText(first) !== "", "no question");
    const word = `answer-${uuid()}`;
    const second = await alice.sendMessage(request(text(word), { message: { taskId: first.id, contextId: first.contextId } }));
    equal(second.id, first.id, "task id");
    wantState(second, "completed");
    expect(textOf(second).includes(word), `text: ${textOf(second)}`);
    const err = await thrown(() => alice.sendMessage(request(text("more"), { message: { taskId: first.id } })));
    // The SDK has no type for it over gRPC, only the number of the status.
    const unsupported = err instanceof UnsupportedOperationError || (transport === "grpc" && /error for sendMessage! 12 /.test(err));
    expect(unsupported, `to an ended task: ${err?.constructor?.name}: ${err}`);
  },

  "skill chosen by metadata": async ({ alice }) => {
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
  },

  "a failed task says why": async ({ alice }) => {
    const task = await alice.sendMessage(request(text("@fail")));
    wantState(task, "failed");
    expect(statusText(task) !== "", "no text");
  },

  "no token is refused": async ({ transport }) => {
    const client = await factoryFor(undefined, transport).createFromUrl(baseURL);
    refused(await thrown(() => client.sendMessage(request(text("@echo x")))));
  },

  "another caller's task is unknown": async ({ alice, bob }) => {
    const task = await alice.sendMessage(request(text(`@echo ${uuid()}`)));
    for (const call of [bob.getTask.bind(bob), bob.cancelTask.bind(bob)]) {
      const err = await thrown(() => call({ id: task.id }));
      expect(err instanceof TaskNotFoundError, `got ${err?.constructor?.name}: ${err}`);
    }
  },

  "card of the caller": async ({ alice }) => {
    const open = (await cardFor("")).skills.map((s) => s.id);
    const own = (await alice.getAgentCard()).skills.map((s) => s.id);
    equal(own.filter((id) => !open.includes(id)), ["backstage"], "skills on the extended card alone");
  },

  "extension: events are numbered on request": async ({ alice }) => {
    const number = (value) => value.metadata?.[EVENT_SEQUENCE]?.sequence;
    const active = { serviceParameters: ServiceParameters.create(withA2AExtensions(EVENT_SEQUENCE)) };
    const params = () => request(text("@chunks 2 10"));
    equal(number(await alice.sendMessage(params())), undefined, "number without the extension");
    const task = await alice.sendMessage(params(), active);
    const events = await readAll(alice.sendMessageStream(params(), active));
    const numbers = events.map(number);
    equal(numbers, [...numbers].sort((a, b) => a - b), "numbers in a stream");
    equal([new Set(numbers).size, numbers.at(-1)], [events.length, number(task)], "numbers, and the last");
  },
};
