"""Drives a running server through the client of a2a-sdk 1.x (A2A 1.0)."""

import asyncio
import json
import os
import sys
from pathlib import Path

import httpx
from google.protobuf import json_format

from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.auth import AuthInterceptor
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from checks import BASE_URL, TOKENS, Checks, equal, expect, poll, raised, uid  # noqa: E402
from helpers import OneKey, OnlyKey, connect, data_of, ended, parts_of, plain, request, send, status_text, text, text_of, want_state  # noqa: E402
from live import LIVE  # noqa: E402


async def main() -> int:
    checks = Checks("py-1")
    clients: dict[str, Client] = {}

    async def card_at_the_root() -> None:
        async with httpx.AsyncClient() as http:
            card = await A2ACardResolver(http, BASE_URL).get_agent_card()
        ids = [skill.id for skill in card.skills]
        for skill in ("probe", "list_board", "weekly_report"):
            expect(skill in ids, f"skill {skill} is not among {ids}")
        own = [i for i in card.supported_interfaces if (i.protocol_binding, i.protocol_version) == ("JSONRPC", "1.0")]
        expect(own and own[0].url.startswith(BASE_URL), f"1.0 interfaces: {own}")
        for name in ("alice", "bob"):
            clients[name] = await connect(TOKENS[name])

    async def card_under_the_endpoint() -> None:
        client = await connect(TOKENS["alice"], "/api/a2a/tasks")
        word = f"hello-{uid()}"
        expect(word in text_of(await send(client, request(text(f"@echo {word}")))), "echo")

    async def card_of_one_skill() -> None:
        async with httpx.AsyncClient() as http:
            card = await A2ACardResolver(http, f"{BASE_URL}/skills/list_boards").get_agent_card()
        equal([skill.id for skill in card.skills], ["list_boards"], "skills")
        task = await send(await connect(TOKENS["alice"], "/skills/list_boards"), request(text("{}")))
        want_state(task, "COMPLETED")
        expect(data_of(task), "no data part in the list of boards")

    async def send_blocking() -> None:
        word = f"hello-{uid()}"
        answer = await send(clients["alice"], request(text(f"@echo {word}")))
        if isinstance(answer, pb.Task):
            want_state(answer, "COMPLETED")
        expect(word in text_of(answer), f"text: {text_of(answer)}")

    async def send_waits() -> None:
        want_state(await send(clients["alice"], request(text("@sleep 1"))), "COMPLETED")

    async def data_unchanged() -> None:
        data = {"big": 9007199254740991, "zero": 0, "neg": -7, "half": 0.5, "list": [1, "2", None, True], "deep": {"ключ": "значення"}}
        part = json_format.ParseDict({"data": data, "metadata": {"unit": 3}, "mediaType": "application/json"}, pb.Part())
        req = request(text("@data"), part)
        req.message.metadata.update({"x-interop": {"n": 12345678901, "list": [1, 2, 3], "none": None}})
        task = await send(clients["alice"], req)
        want_state(task, "COMPLETED")
        back = [p for p in parts_of(task) if p.HasField("data")]
        equal([plain(p) for p in back], [plain(part)], "data parts")
        got = await clients["alice"].get_task(pb.GetTaskRequest(id=task.id))
        equal(plain(got.history[0].metadata)["x-interop"], plain(req.message.metadata)["x-interop"], "metadata of the message")
        equal(plain(got.history[0].parts[1]), plain(part), "data part in the history")

    async def get_and_history() -> None:
        client = clients["alice"]
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

    async def list_tasks() -> None:
        client, context, ids = clients["alice"], f"interop-{uid()}", []
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

    async def send_then_poll() -> None:
        task = await send(clients["alice"], request(text("@sleep 1"), now=True))
        expect(not ended(task), f"state at once: {task.status.state}")
        want_state(await poll(lambda: clients["alice"].get_task(pb.GetTaskRequest(id=task.id)), ended), "COMPLETED")

    async def cancel_running() -> None:
        client = clients["alice"]
        task = await send(client, request(text("@sleep 30"), now=True))
        working = pb.TaskState.TASK_STATE_WORKING
        await poll(lambda: client.get_task(pb.GetTaskRequest(id=task.id)), lambda t: t.status.state == working)
        want_state(await client.cancel_task(pb.CancelTaskRequest(id=task.id)), "CANCELED")
        want_state(await client.get_task(pb.GetTaskRequest(id=task.id)), "CANCELED")
        want_state(await client.cancel_task(pb.CancelTaskRequest(id=task.id)), "CANCELED")

    async def cancel_ended() -> None:
        task = await send(clients["alice"], request(text(f"@echo {uid()}")))
        err = await raised(clients["alice"].cancel_task(pb.CancelTaskRequest(id=task.id)))
        expect(isinstance(err, TaskNotCancelableError), f"got {err!r}")

    async def unknown_task() -> None:
        client, task = clients["alice"], f"none-{uid()}"
        for call, kind in ((client.get_task, pb.GetTaskRequest), (client.cancel_task, pb.CancelTaskRequest)):
            err = await raised(call(kind(id=task)))
            expect(isinstance(err, TaskNotFoundError), f"got {err!r}")

    async def question_and_answer() -> None:
        first = await send(clients["alice"], request(text("@ask")))
        want_state(first, "INPUT_REQUIRED")
        expect(status_text(first), "no question")
        word = f"answer-{uid()}"
        second = await send(clients["alice"], request(text(word), task_id=first.id, context_id=first.context_id))
        equal(second.id, first.id, "task id")
        want_state(second, "COMPLETED")
        expect(word in text_of(second), f"text: {text_of(second)}")
        err = await raised(send(clients["alice"], request(text("more"), task_id=first.id)))
        expect(isinstance(err, UnsupportedOperationError), f"to an ended task: {err!r}")

    async def skill_by_metadata() -> None:
        client = clients["alice"]
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

    async def failed_task() -> None:
        task = await send(clients["alice"], request(text("@fail")))
        want_state(task, "FAILED")
        expect(status_text(task), "no text")

    async def no_token() -> None:
        err = await raised(send(await connect(None), request(text("@echo x"))))
        expect("401" in str(err), f"got {err!r}")

    async def key_as_the_card_says() -> None:
        async with httpx.AsyncClient() as http:
            card = await A2ACardResolver(http, BASE_URL).get_agent_card()
        expect(card.security_schemes, "no security schemes in the card")
        for scheme in card.security_schemes:
            factory = ClientFactory(ClientConfig(streaming=False))
            client = factory.create(card, [AuthInterceptor(OneKey(scheme))])
            want_state(await send(client, request(text("@echo x"))), "COMPLETED")

    async def foreign_task() -> None:
        task = await send(clients["alice"], request(text(f"@echo {uid()}")))
        bob = clients["bob"]
        for call, kind in ((bob.get_task, pb.GetTaskRequest), (bob.cancel_task, pb.CancelTaskRequest)):
            err = await raised(call(kind(id=task.id)))
            expect(isinstance(err, TaskNotFoundError), f"got {err!r}")
        page = await bob.list_tasks(pb.ListTasksRequest(context_id=task.context_id))
        equal(len(page.tasks), 0, "bob's list")

    async def signatures() -> None:
        async with httpx.AsyncClient() as http:
            keys = (await http.get(f"{BASE_URL}/.well-known/jwks.json")).json()["keys"]
            equal([key["alg"] for key in keys], ["ES256", "EdDSA"], "algorithms")
            for key in keys:
                verify = create_signature_verifier(OnlyKey(key), [key["alg"]])
                for base in (BASE_URL, f"{BASE_URL}/skills/list_boards"):
                    as_1_0 = {"headers": {"A2A-Version": "1.0"}}
                    card = await A2ACardResolver(http, base).get_agent_card(http_kwargs=as_1_0, signature_verifier=verify)
                    expect(card.security_requirements, "no security requirements in a signed card")
                    card.description += " and more"
                    try:
                        verify(card)
                    except InvalidSignaturesError:
                        continue
                    raise AssertionError("a changed card passes")

    if os.environ.get("SKILLYARD_SIGNED"):
        await checks.check("signatures of the card", signatures)
    for name, fn in {
        "card at the root": card_at_the_root,
        "card under the endpoint": card_under_the_endpoint,
        "card of one skill": card_of_one_skill,
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
    }.items():
        await checks.check(name, fn)
    for name, live in LIVE.items():
        await checks.check(name, live)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
