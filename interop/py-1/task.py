"""Scenarios of single calls."""

import json

import httpx
from google.protobuf import json_format

from a2a.client import A2ACardResolver, ClientCallContext, ClientFactory
from a2a.client.auth import AuthInterceptor
from a2a.client.service_parameters import ServiceParametersFactory, with_a2a_extensions
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from checks import BASE_URL, EVENT_SEQUENCE, TOKENS, equal, expect, poll, raised, read_all, refused, uid
from helpers import OneKey, Scene, config, data_of, ended, parts_of, plain, request, send, status_text, text, text_of, want_state


async def send_blocking(s: Scene) -> None:
    word = f"hello-{uid()}"
    answer = await send(s.alice, request(text(f"@echo {word}")))
    if isinstance(answer, pb.Task):
        want_state(answer, "COMPLETED")
    expect(word in text_of(answer), f"text: {text_of(answer)}")


async def send_waits(s: Scene) -> None:
    want_state(await send(s.alice, request(text("@sleep 1"))), "COMPLETED")


async def data_unchanged(s: Scene) -> None:
    data = {"big": 9007199254740991, "zero": 0, "neg": -7, "half": 0.5, "list": [1, "2", None, True], "deep": {"ключ": "значення"}}
    part = json_format.ParseDict({"data": data, "metadata": {"unit": 3}, "mediaType": "application/json"}, pb.Part())
    req = request(text("@data"), part)
    req.message.metadata.update({"x-interop": {"n": 12345678901, "list": [1, 2, 3], "none": None}})
    task = await send(s.alice, req)
    want_state(task, "COMPLETED")
    back = [p for p in parts_of(task) if p.HasField("data")]
    equal([plain(p) for p in back], [plain(part)], "data parts")
    got = await s.alice.get_task(pb.GetTaskRequest(id=task.id))
    equal(plain(got.history[0].metadata)["x-interop"], plain(req.message.metadata)["x-interop"], "metadata of the message")
    equal(plain(got.history[0].parts[1]), plain(part), "data part in the history")


async def get_and_history(s: Scene) -> None:
    client = s.alice
    sent = await send(client, request(text(f"@echo {uid()}")))
    whole = await client.get_task(pb.GetTaskRequest(id=sent.id))
    equal((whole.id, whole.context_id), (sent.id, sent.context_id), "task")
    want_state(whole, "COMPLETED")
    equal(whole.history[0].role, int(pb.Role.ROLE_USER), "role of the first entry")
    none = await client.get_task(pb.GetTaskRequest(id=sent.id, history_length=0))
    equal(len(none.history), 0, "history of length 0")
    one = await client.get_task(pb.GetTaskRequest(id=sent.id, history_length=1))
    equal(list(one.history), list(whole.history)[-1:], "history of length 1")
    equal(await client.get_task(pb.GetTaskRequest(id=sent.id)), whole, "task after the reads")


async def list_tasks(s: Scene) -> None:
    client, context, ids = s.alice, f"interop-{uid()}", []
    for i in range(3):
        task = await send(client, request(text(f"@echo {i}"), context_id=context))
        equal(task.context_id, context, "context_id")
        ids.insert(0, task.id)
    page = await client.list_tasks(pb.ListTasksRequest(context_id=context))
    equal([t.id for t in page.tasks], ids, "tasks, newest first")
    equal((page.total_size, page.next_page_token), (3, ""), "total_size and next_page_token")
    first = await client.list_tasks(pb.ListTasksRequest(context_id=context, page_size=2))
    rest = await client.list_tasks(pb.ListTasksRequest(context_id=context, page_size=2, page_token=first.next_page_token))
    equal([t.id for t in [*first.tasks, *rest.tasks]], ids, "tasks over two pages")
    working = await client.list_tasks(pb.ListTasksRequest(context_id=context, status=pb.TaskState.TASK_STATE_WORKING))
    equal(len(working.tasks), 0, "working tasks")
    full = await client.list_tasks(pb.ListTasksRequest(context_id=context, include_artifacts=True))
    expect(all(t.artifacts for t in full.tasks), "no artifacts with include_artifacts")


async def send_then_poll(s: Scene) -> None:
    task = await send(s.alice, request(text("@sleep 1"), now=True))
    expect(not ended(task), f"state at once: {task.status.state}")
    want_state(await poll(lambda: s.alice.get_task(pb.GetTaskRequest(id=task.id)), ended), "COMPLETED")


async def cancel_running(s: Scene) -> None:
    client = s.alice
    task = await send(client, request(text("@sleep 30"), now=True))
    working = pb.TaskState.TASK_STATE_WORKING
    await poll(lambda: client.get_task(pb.GetTaskRequest(id=task.id)), lambda t: t.status.state == working)
    want_state(await client.cancel_task(pb.CancelTaskRequest(id=task.id)), "CANCELED")
    want_state(await client.get_task(pb.GetTaskRequest(id=task.id)), "CANCELED")
    want_state(await client.cancel_task(pb.CancelTaskRequest(id=task.id)), "CANCELED")


async def cancel_ended(s: Scene) -> None:
    task = await send(s.alice, request(text(f"@echo {uid()}")))
    err = await raised(s.alice.cancel_task(pb.CancelTaskRequest(id=task.id)))
    expect(isinstance(err, TaskNotCancelableError), f"got {err!r}")


async def unknown_task(s: Scene) -> None:
    client, task = s.alice, f"none-{uid()}"
    for call, kind in ((client.get_task, pb.GetTaskRequest), (client.cancel_task, pb.CancelTaskRequest)):
        err = await raised(call(kind(id=task)))
        expect(isinstance(err, TaskNotFoundError), f"got {err!r}")


async def question_and_answer(s: Scene) -> None:
    first = await send(s.alice, request(text("@ask")))
    want_state(first, "INPUT_REQUIRED")
    expect(status_text(first), "no question")
    word = f"answer-{uid()}"
    second = await send(s.alice, request(text(word), task_id=first.id, context_id=first.context_id))
    equal(second.id, first.id, "task id")
    want_state(second, "COMPLETED")
    expect(word in text_of(second), f"text: {text_of(second)}")
    err = await raised(send(s.alice, request(text("more"), task_id=first.id)))
    expect(isinstance(err, UnsupportedOperationError), f"to an ended task: {err!r}")


async def skill_by_metadata(s: Scene) -> None:
    client = s.alice
    boards = await send(client, request(text("{}"), skill="list_boards"))
    want_state(boards, "COMPLETED")
    board = data_of(boards)[0]["boards"][0]["id"]
    listing = await send(client, request(text(board), skill="list_board"))
    want_state(listing, "COMPLETED")
    equal(data_of(listing)[0]["id"], board, "board id")
    equal(json.loads(parts_of(listing)[0].text)["id"], board, "board id in the text")
    report = request(text(""))
    report.metadata.update({"skillId": "weekly_report"})
    answer = await send(client, report)
    want_state(answer, "COMPLETED")
    expect("summary" in data_of(answer)[0], f"report: {data_of(answer)}")
    odd = await send(client, request(text("x"), skill="no_such"))
    want_state(odd, "FAILED")
    expect("list_board" in status_text(odd), f"text: {status_text(odd)}")


async def failed_task(s: Scene) -> None:
    task = await send(s.alice, request(text("@fail")))
    want_state(task, "FAILED")
    expect(status_text(task), "no text")


async def no_token(s: Scene) -> None:
    refused(await raised(send(await s.connect(None), request(text("@echo x")))))


async def key_as_the_card_says(s: Scene) -> None:
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, BASE_URL).get_agent_card()
    expect(card.security_schemes, "no security schemes in the card")
    for scheme in card.security_schemes:
        factory = ClientFactory(config(s.transport))
        client = factory.create(card, [AuthInterceptor(OneKey(scheme))])
        want_state(await send(client, request(text("@echo x"))), "COMPLETED")


async def foreign_task(s: Scene) -> None:
    task = await send(s.alice, request(text(f"@echo {uid()}")))
    bob = s.bob
    for call, kind in ((bob.get_task, pb.GetTaskRequest), (bob.cancel_task, pb.CancelTaskRequest)):
        err = await raised(call(kind(id=task.id)))
        expect(isinstance(err, TaskNotFoundError), f"got {err!r}")
    page = await bob.list_tasks(pb.ListTasksRequest(context_id=task.context_id))
    equal(len(page.tasks), 0, "bob's list")


async def card_of_the_caller(s: Scene) -> None:
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, BASE_URL).get_agent_card()
    shown = {skill.id for skill in card.skills}
    own = await s.alice.get_extended_agent_card(pb.GetExtendedAgentCardRequest())
    equal({skill.id for skill in own.skills} - shown, {"backstage"}, "skills on the extended card alone")


async def events_numbered(s: Scene) -> None:
    def number(answer: pb.Task | pb.TaskStatusUpdateEvent | pb.TaskArtifactUpdateEvent) -> float | None:
        return plain(answer.metadata).get(EVENT_SEQUENCE, {}).get("sequence")

    context = ClientCallContext(service_parameters=ServiceParametersFactory.create([with_a2a_extensions([EVENT_SEQUENCE])]))
    equal(number(await send(s.alice, request(text("@chunks 2 10")))), None, "number without the extension")
    task = await send(s.alice, request(text("@chunks 2 10")), context)
    events = await read_all(s.live.send_message(request(text("@chunks 2 10")), context=context))
    numbers = [number(getattr(e, e.WhichOneof("payload"))) for e in events]
    equal(numbers, sorted(set(numbers)), "numbers in a stream")
    equal(numbers[-1], number(task), "number of the last event")


TASK = {
    "send, blocking": send_blocking,
    "send waits for the end": send_waits,
    "data and metadata unchanged": data_unchanged,
    "get, with and without history": get_and_history,
    "list": list_tasks,
    "send, not blocking, then poll": send_then_poll,
    "cancel a running task": cancel_running,
    "cancel of an ended task is the typed error": cancel_ended,
    "unknown task is the typed error": unknown_task,
    "question and answer": question_and_answer,
    "skill chosen by metadata": skill_by_metadata,
    "a failed task says why": failed_task,
    "no token is refused": no_token,
    "the key goes where the card says": key_as_the_card_says,
    "another caller's task is unknown": foreign_task,
    "card of the caller": card_of_the_caller,
    "extension: events are numbered on request": events_numbered,
}
