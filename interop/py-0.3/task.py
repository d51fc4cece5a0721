"""Scenarios of single calls."""

import httpx
from a2a.client import A2ACardResolver, ClientFactory
from a2a.client.auth import AuthInterceptor
from a2a.types import DataPart, Role, Task, TaskIdParams, TaskQueryParams, TaskState
from checks import BASE_URL, EVENT_SEQUENCE, TOKENS, equal, expect, poll, raised, read_all, refused, uid
from helpers import ENDED, NOT_BLOCKING, OneKey, Scene, config, data_of, message, parts_of, send, status_text, text, text_of, want_state


async def get(s: Scene, task: str, length: int | None = None) -> Task:
    return await s.alice.get_task(TaskQueryParams(id=task, history_length=length))


async def send_blocking(s: Scene) -> None:
    word = f"hello-{uid()}"
    answer = await send(s.alice, message(text(f"@echo {word}")))
    if isinstance(answer, Task):
        want_state(answer, TaskState.completed)
    expect(word in text_of(answer), f"text: {text_of(answer)}")


async def send_waits(s: Scene) -> None:
    want_state(await send(s.alice, message(text("@sleep 1"))), TaskState.completed)


async def data_unchanged(s: Scene) -> None:
    # 2^53+1 is lost wherever a number passes through a float.
    big = 2**53 - 1 if s.by_proto else 2**53 + 1
    data = {"big": big, "zero": 0, "neg": -7, "half": 0.5, "list": [1, "2", None, True], "deep": {"ключ": "значення"}}
    metadata = {"x-interop": {"n": big, "list": [1, 2, 3]}}
    part = DataPart(data=data, metadata={"unit": 3})
    task = await send(s.alice, message(text("@data"), part, metadata=metadata))
    want_state(task, TaskState.completed)
    # The SDK leaves null members out of what it sends, list items aside.
    equal(data_of(task), [data], "data parts")
    back = [p for p in parts_of(task) if isinstance(p, DataPart)]
    equal(back[0].metadata, {"unit": 3}, "metadata of the part")
    got = await get(s, task.id)
    equal(got.history[0].metadata["x-interop"], metadata["x-interop"], "metadata of the message")
    equal(got.history[0].parts[1].root.data, data, "data part in the history")
    equal(type(got.history[0].parts[1].root.data["zero"]), float if s.by_proto else int, "type of an integer")


async def get_and_history(s: Scene) -> None:
    sent = await send(s.alice, message(text(f"@echo {uid()}")))
    whole = await get(s, sent.id)
    equal((whole.kind, whole.id, whole.context_id), ("task", sent.id, sent.context_id), "task")
    want_state(whole, TaskState.completed)
    equal(whole.history[0].role, Role.user, "role of the first entry")
    equal(whole.history[-1].role, Role.agent, "role of the last entry")
    none = whole.history if s.transport == "grpc" else []  # a message cannot tell zero from no length
    equal((await get(s, sent.id, 0)).history or [], none, "history of length 0")
    equal((await get(s, sent.id, 1)).history, whole.history[-1:], "history of length 1")
    equal(await get(s, sent.id), whole, "task after the reads")


async def send_then_poll(s: Scene) -> None:
    task = await send(s.alice, message(text("@sleep 1")), NOT_BLOCKING)
    expect(task.status.state not in ENDED, f"state at once: {task.status.state}")
    done = await poll(lambda: get(s, task.id), lambda t: t.status.state in ENDED)
    want_state(done, TaskState.completed)


async def cancel_running(s: Scene) -> None:
    task = await send(s.alice, message(text("@sleep 30")), NOT_BLOCKING)
    await poll(lambda: get(s, task.id), lambda t: t.status.state == TaskState.working)
    want_state(await s.alice.cancel_task(TaskIdParams(id=task.id)), TaskState.canceled)
    want_state(await get(s, task.id), TaskState.canceled)


async def cancel_ended(s: Scene) -> None:
    task = await send(s.alice, message(text(f"@echo {uid()}")))
    s.want_code(await raised(s.alice.cancel_task(TaskIdParams(id=task.id))), -32002)
    want_state(await get(s, task.id), TaskState.completed)


async def unknown_task(s: Scene) -> None:
    task = f"none-{uid()}"
    s.want_code(await raised(get(s, task)), -32001)
    s.want_code(await raised(s.alice.cancel_task(TaskIdParams(id=task))), -32001)


async def question_and_answer(s: Scene) -> None:
    first = await send(s.alice, message(text("@ask")))
    want_state(first, TaskState.input_required)
    expect(status_text(first), "no question")
    word = f"answer-{uid()}"
    second = await send(s.alice, message(text(word), task_id=first.id, context_id=first.context_id))
    equal(second.id, first.id, "task id")
    want_state(second, TaskState.completed)
    expect(word in text_of(second), f"text: {text_of(second)}")
    s.want_code(await raised(send(s.alice, message(text("more"), task_id=first.id))), -32004)


async def skill_by_metadata(s: Scene) -> None:
    client = s.alice
    boards = await send(client, message(text("{}"), metadata={"skillId": "list_boards"}))
    want_state(boards, TaskState.completed)
    board = data_of(boards)[0]["boards"][0]["id"]
    listing = await send(client, message(text(board)), metadata={"skillId": "list_board"})
    want_state(listing, TaskState.completed)
    equal(data_of(listing)[0]["id"], board, "board id")
    report = await send(client, message(text(""), metadata={"skillId": "weekly_report"}))
    want_state(report, TaskState.completed)
    expect("summary" in data_of(report)[0], f"report: {data_of(report)}")
    odd = await send(client, message(text("x"), metadata={"skillId": "no_such"}))
    want_state(odd, TaskState.failed)
    expect("list_board" in status_text(odd), f"text: {status_text(odd)}")


async def failed_task(s: Scene) -> None:
    task = await send(s.alice, message(text("@fail")))
    want_state(task, TaskState.failed)
    expect(status_text(task), "no text")


async def no_token(s: Scene) -> None:
    refused(await raised(send(await s.connect(None), message(text("@echo x")))))


async def key_as_the_card_says(s: Scene) -> None:
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, BASE_URL).get_agent_card()
    expect(card.security_schemes, "no security schemes in the card")
    for scheme in card.security_schemes:
        factory = ClientFactory(config(s.transport))
        client = factory.create(card, interceptors=[AuthInterceptor(OneKey(scheme))])
        want_state(await send(client, message(text("@echo x"))), TaskState.completed)


async def foreign_task(s: Scene) -> None:
    task = await send(s.alice, message(text(f"@echo {uid()}")))
    bob = s.bob
    s.want_code(await raised(bob.get_task(TaskQueryParams(id=task.id))), -32001)
    s.want_code(await raised(bob.cancel_task(TaskIdParams(id=task.id))), -32001)


async def card_of_the_caller(s: Scene) -> None:
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, BASE_URL).get_agent_card()
    shown = {skill.id for skill in card.skills}
    own = await (await s.connect(TOKENS["alice"])).get_card()
    equal({skill.id for skill in own.skills} - shown, {"backstage"}, "skills on the extended card alone")


async def events_numbered(s: Scene) -> None:
    def number(answer: object) -> float | None:
        return (answer.metadata or {}).get(EVENT_SEQUENCE, {}).get("sequence")

    equal(number(await send(s.alice, message(text("@chunks 2 10")))), None, "number without the extension")
    task = await send(s.alice, message(text("@chunks 2 10")), extensions=[EVENT_SEQUENCE])
    events = await read_all(s.live.send_message(message(text("@chunks 2 10")), extensions=[EVENT_SEQUENCE]))
    numbers = [number(update) for _, update in events[1:]]
    equal(numbers, sorted(set(numbers)), "numbers in a stream")
    equal(numbers[-1], number(task), "number of the last event")


TASK = {
    "send, blocking": send_blocking,
    "send waits for the end": send_waits,
    "data and metadata unchanged": data_unchanged,
    "get, with and without history": get_and_history,
    "send, not blocking, then poll": send_then_poll,
    "cancel a running task": cancel_running,
    "cancel of an ended task is the typed error": cancel_ended,
    "unknown task is the typed error": unknown_task,
    "question and answer": question_and_answer,
    "skill chosen by metadata": skill_by_metadata,
    "a failed task says why": failed_task,
    "no token is refused": no_token,
    "another caller's task is unknown": foreign_task,
    "card of the caller": card_of_the_caller,
    "extension: events are numbered on request": events_numbered,
}
