// Scenarios of single calls.

import { ListTasksRequest, Role, TaskState } from "@a2a-js/sdk";
import { ServiceParameters, withA2AExtensions } from "@a2a-js/sdk/client";
import { TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError } from "@a2a-js/sdk/errors";
import { EVENT_SEQUENCE, baseURL, equal, expect, poll, readAll, refused, thrown, uuid } from "../lib/checks.mjs";
import { cardFor, dataOf, ended, factoryFor, fields, partsOf, request, stateOf, statusText, text, textOf, wantState } from "./client.mjs";

export const TASK = {
  "send, blocking": async ({ alice }) => {
    const word = `hello-${uuid()}`;
    const answer = await alice.sendMessage(request(text(`@echo ${word}`)));
    if (!("messageId" in answer)) wantState(answer, "COMPLETED");
    expect(textOf(answer).includes(word), `text: ${textOf(answer)}`);
  },

  "send waits for the end": async ({ alice }) => {
    const task = await alice.sendMessage(request(text("@sleep 1")));
    wantState(task, "COMPLETED");
  },

  "data and metadata unchanged": async ({ alice }) => {
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
  },

  "get, with and without history": async ({ alice }) => {
    const sent = await alice.sendMessage(request(text(`@echo ${uuid()}`)));
    const whole = await alice.getTask({ id: sent.id });
    equal([whole.id, whole.contextId, stateOf(whole)], [sent.id, sent.contextId, "TASK_STATE_COMPLETED"], "task");
    equal(whole.history[0]?.role, Role.ROLE_USER, "role of the first entry");
    const none = await alice.getTask({ id: sent.id, historyLength: 0 });
    equal(none.history, [], "history of length 0");
    const one = await alice.getTask({ id: sent.id, historyLength: 1 });
    equal(one.history, whole.history.slice(-1), "history of length 1");
    equal(await alice.getTask({ id: sent.id }), whole, "task after the reads");
  },

  "list": async ({ alice, transport }) => {
    const list = (some) => alice.listTasks(fields(transport, ListTasksRequest, some));
    const contextId = `interop-${uuid()}`;
    const ids = [];
    for (let i = 0; i < 3; i++) {
      const task = await alice.sendMessage(request(text(`@echo ${i}`), { message: { contextId } }));
      equal(task.contextId, contextId, "contextId");
      ids.unshift(task.id);
    }
    const all = await list({ contextId, pageSize: 10 });
    equal(all.tasks.map((t) => t.id), ids, "tasks, newest first");
    equal([all.totalSize, all.nextPageToken], [3, ""], "totalSize and nextPageToken");
    const first = await list({ contextId, pageSize: 2 });
    const rest = await list({ contextId, pageSize: 2, pageToken: first.nextPageToken });
    equal([...first.tasks, ...rest.tasks].map((t) => t.id), ids, "tasks over two pages");
    const working = await list({ contextId, status: TaskState.TASK_STATE_WORKING });
    equal(working.tasks, [], "working tasks");
  },

  "send, not blocking, then poll": async ({ alice }) => {
    const task = await alice.sendMessage(request(text("@sleep 1"), { configuration: { returnImmediately: true } }));
    expect(!ended(task), `state at once: ${stateOf(task)}`);
    const done = await poll(() => alice.getTask({ id: task.id }), ended);
    wantState(done, "COMPLETED");
  },

  "cancel a running task": async ({ alice }) => {
    const task = await alice.sendMessage(request(text("@sleep 30"), { configuration: { returnImmediately: true } }));
    await poll(() => alice.getTask({ id: task.id }), (t) => stateOf(t) === "TASK_STATE_WORKING");
    wantState(await alice.cancelTask({ id: task.id }), "CANCELED");
    wantState(await alice.getTask({ id: task.id }), "CANCELED");
    wantState(await alice.cancelTask({ id: task.id }), "CANCELED");
  },

  "cancel of an ended task is the typed error": async ({ alice }) => {
    const task = await alice.sendMessage(request(text(`@echo ${uuid()}`)));
    const err = await thrown(() => alice.cancelTask({ id: task.id }));
    expect(err instanceof TaskNotCancelableError, `got ${err?.constructor?.name}: ${err}`);
    wantState(await alice.getTask({ id: task.id }), "COMPLETED");
  },

  "unknown task is the typed error": async ({ alice }) => {
    for (const call of [alice.getTask.bind(alice), alice.cancelTask.bind(alice)]) {
      const err = await thrown(() => call({ id: `none-${uuid()}` }));
      expect(err instanceof TaskNotFoundError, `got ${err?.constructor?.name}: ${err}`);
    }
  },

  "question and answer": async ({ alice }) => {
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
  },

  "skill chosen by metadata": async ({ alice }) => {
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
  },

  "a failed task says why": async ({ alice }) => {
    const task = await alice.sendMessage(request(text("@fail")));
    wantState(task, "FAILED");
    expect(statusText(task) !== "", "no text");
  },

  "no token is refused": async ({ transport }) => {
    const client = await factoryFor(undefined, transport).createFromUrl(baseURL);
    refused(await thrown(() => client.sendMessage(request(text("@echo x")))));
  },

  "another caller's task is unknown": async ({ alice, bob, transport }) => {
    const task = await alice.sendMessage(request(text(`@echo ${uuid()}`)));
    for (const call of [bob.getTask.bind(bob), bob.cancelTask.bind(bob)]) {
      const err = await thrown(() => call({ id: task.id }));
      expect(err instanceof TaskNotFoundError, `got ${err?.constructor?.name}: ${err}`);
    }
    const list = await bob.listTasks(fields(transport, ListTasksRequest, { contextId: task.contextId }));
    equal(list.tasks, [], "bob's list");
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
    const numbers = events.map((e) => number(e.payload.value));
    equal(numbers, [...numbers].sort((a, b) => a - b), "numbers in a stream");
    equal([new Set(numbers).size, numbers.at(-1)], [events.length, number(task)], "numbers, and the last");
  },
};
