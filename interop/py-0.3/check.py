"""Drives a running server through the client of a2a-sdk 0.3.x (A2A 0.3)."""

import asyncio
import sys
from pathlib import Path

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.auth import AuthInterceptor
from a2a.client.errors import A2AClientHTTPError
from a2a.types import DataPart, Role, Task, TaskIdParams, TaskQueryParams, TaskState

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from checks import BASE_URL, TOKENS, Checks, equal, expect, poll, raised, uid  # noqa: E402
from helpers import (  # noqa: E402
    ENDED,
    NOT_BLOCKING,
    OneKey,
    connect,
    data_of,
    message,
    parts_of,
    send,
    status_text,
    text,
    text_of,
    want_code,
    want_state,
)
from live import LIVE  # noqa: E402


async def main() -> int:
    checks = Checks("py-0.3")
    clients: dict[str, Client] = {}

    async def get(task: str, length: int | None = None) -> Task:
        return await clients["alice"].get_task(TaskQueryParams(id=task, history_length=length))

    async def card_at_the_root() -> None:
        async with httpx.AsyncClient() as http:
            card = await A2ACardResolver(http, BASE_URL).get_agent_card()
        ids = [skill.id for skill in card.skills]
        for skill in ("probe", "list_board", "weekly_report"):
            expect(skill in ids, f"skill {skill} is not among {ids}")
        expect(card.url.startswith(BASE_URL), f"url: {card.url}")
        expect(card.protocol_version.startswith("0.3"), f"protocol_version: {card.protocol_version}")
        equal(card.preferred_transport, "JSONRPC", "preferred_transport")
        for name in ("alice", "bob"):
            clients[name] = await connect(TOKENS[name])

    async def card_under_the_endpoint() -> None:
        client = await connect(TOKENS["alice"], "/api/a2a/tasks")
        word = f"hello-{uid()}"
        expect(word in text_of(await send(client, message(text(f"@echo {word}")))), "echo")

    async def card_of_one_skill() -> None:
        async with httpx.AsyncClient() as http:
            card = await A2ACardResolver(http, f"{BASE_URL}/skills/list_boards").get_agent_card()
        equal([skill.id for skill in card.skills], ["list_boards"], "skills")
        task = await send(await connect(TOKENS["alice"], "/skills/list_boards"), message(text("{}")))
        want_state(task, TaskState.completed)
        expect(data_of(task), "no data part in the list of boards")

    async def send_blocking() -> None:
        word = f"hello-{uid()}"
        answer = await send(clients["alice"], message(text(f"@echo {word}")))
        if isinstance(answer, Task):
            want_state(answer, TaskState.completed)
        expect(word in text_of(answer), f"text: {text_of(answer)}")

    async def send_waits() -> None:
        want_state(await send(clients["alice"], message(text("@sleep 1"))), TaskState.completed)

    async def data_unchanged() -> None:
        # 2^53+1 is lost wherever a number passes through a float.
        data = {"big": 9007199254740993, "zero": 0, "neg": -7, "half": 0.5, "list": [1, "2", None, True], "deep": {"ключ": "значення"}}
        metadata = {"x-interop": {"n": 9007199254740993, "list": [1, 2, 3]}}
        part = DataPart(data=data, metadata={"unit": 3})
        task = await send(clients["alice"], message(text("@data"), part, metadata=metadata))
        want_state(task, TaskState.completed)
        # The SDK leaves null members out of what it sends, list items aside.
        equal(data_of(task), [data], "data parts")
        back = [p for p in parts_of(task) if isinstance(p, DataPart)]
        equal(back[0].metadata, {"unit": 3}, "metadata of the part")
        got = await get(task.id)
        equal(got.history[0].metadata["x-interop"], metadata["x-interop"], "metadata of the message")
        equal(got.history[0].parts[1].root.data, data, "data part in the history")
        equal(type(got.history[0].parts[1].root.data["zero"]), int, "type of an integer")

    async def get_and_history() -> None:
        sent = await send(clients["alice"], message(text(f"@echo {uid()}")))
        whole = await get(sent.id)
        equal((whole.kind, whole.id, whole.context_id), ("task", sent.id, sent.context_id), "task")
        want_state(whole, TaskState.completed)
        equal(whole.history[0].role, Role.user, "role of the first entry")
        equal(whole.history[-1].role, Role.agent, "role of the last entry")
        equal((await get(sent.id, 0)).history or [], [], "history of length 0")
        equal((await get(sent.id, 1)).history, whole.history[-1:], "history of length 1")
        equal(await get(sent.id), whole, "task after the reads")

    async def send_then_poll() -> None:
        task = await send(clients["alice"], message(text("@sleep 1")), NOT_BLOCKING)
        expect(task.status.state not in ENDED, f"state at once: {task.status.state}")
        done = await poll(lambda: get(task.id), lambda t: t.status.state in ENDED)
        want_state(done, TaskState.completed)

    async def cancel_running() -> None:
        task = await send(clients["alice"], message(text("@sleep 30")), NOT_BLOCKING)
        await poll(lambda: get(task.id), lambda t: t.status.state == TaskState.working)
        want_state(await clients["alice"].cancel_task(TaskIdParams(id=task.id)), TaskState.canceled)
        want_state(await get(task.id), TaskState.canceled)

    async def cancel_ended() -> None:
        task = await send(clients["alice"], message(text(f"@echo {uid()}")))
        want_code(await raised(clients["alice"].cancel_task(TaskIdParams(id=task.id))), -32002)
        want_state(await get(task.id), TaskState.completed)

    async def unknown_task() -> None:
        task = f"none-{uid()}"
        want_code(await raised(get(task)), -32001)
        want_code(await raised(clients["alice"].cancel_task(TaskIdParams(id=task))), -32001)

    async def question_and_answer() -> None:
        first = await send(clients["alice"], message(text("@ask")))
        want_state(first, TaskState.input_required)
        expect(status_text(first), "no question")
        word = f"answer-{uid()}"
        second = await send(clients["alice"], message(text(word), task_id=first.id, context_id=first.context_id))
        equal(second.id, first.id, "task id")
        want_state(second, TaskState.completed)
        expect(word in text_of(second), f"text: {text_of(second)}")
        want_code(await raised(send(clients["alice"], message(text("more"), task_id=first.id))), -32004)

    async def skill_by_metadata() -> None:
        client = clients["alice"]
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

    async def failed_task() -> None:
        task = await send(clients["alice"], message(text("@fail")))
        want_state(task, TaskState.failed)
        expect(status_text(task), "no text")

    async def no_token() -> None:
        err = await raised(send(await connect(None), message(text("@echo x"))))
        expect(isinstance(err, A2AClientHTTPError), f"got {err!r}")
        equal(err.status_code, 401, "status")

    async def key_as_the_card_says() -> None:
        async with httpx.AsyncClient() as http:
            card = await A2ACardResolver(http, BASE_URL).get_agent_card()
        expect(card.security_schemes, "no security schemes in the card")
        for scheme in card.security_schemes:
            factory = ClientFactory(ClientConfig(streaming=False))
            client = factory.create(card, interceptors=[AuthInterceptor(OneKey(scheme))])
            want_state(await send(client, message(text("@echo x"))), TaskState.completed)

    async def foreign_task() -> None:
        task = await send(clients["alice"], message(text(f"@echo {uid()}")))
        bob = clients["bob"]
        want_code(await raised(bob.get_task(TaskQueryParams(id=task.id))), -32001)
        want_code(await raised(bob.cancel_task(TaskIdParams(id=task.id))), -32001)

    for name, fn in {
        "card at the root": card_at_the_root,
        "card under the endpoint": card_under_the_endpoint,
        "card of one skill": card_of_one_skill,
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
        "the key goes where the card says": key_as_the_card_says,
        "another caller's task is unknown": foreign_task,
    }.items():
        await checks.check(name, fn)
    for name, live in LIVE.items():
        await checks.check(name, live)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
