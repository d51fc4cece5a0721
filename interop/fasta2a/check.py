"""Drives a running server as FastA2A clients do (A2A 0.2/0.3).

The client of fasta2a 0.5.0 checks every answer with strict types; what it
cannot send itself (cancel, history length, broken JSON) goes out as raw
requests whose answers are read with the same types. The names of the checks
begin with the capability that they show.
"""

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pydantic
from fasta2a.client import A2AClient, UnexpectedResponseError, get_task_response_ta
from fasta2a.schema import CancelTaskResponse, Message, Task, agent_card_ta, send_message_response_ta

from agent_connection import AgentConnection, chat_text

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from checks import BASE_URL, TOKENS, Checks, equal, expect, poll, raised, uid  # noqa: E402

cancel_response_ta = pydantic.TypeAdapter(CancelTaskResponse)
HOST = BASE_URL.removeprefix("http://")
NOT_BLOCKING = {"accepted_output_modes": ["text/plain"], "blocking": False}
BLOCKING = {"accepted_output_modes": ["text/plain"], "blocking": True}


def client_for(token: str | None, path: str = "") -> A2AClient:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    http = httpx.AsyncClient(headers=headers, timeout=30, follow_redirects=False)
    return A2AClient(base_url=BASE_URL + path, http_client=http)


def message(*parts: dict[str, Any], **fields: Any) -> Message:
    return Message(role="user", kind="message", message_id=uid(), parts=list(parts), **fields)


def text(value: str) -> dict[str, Any]:
    return {"kind": "text", "text": value}


def task_of(answer: dict[str, Any]) -> Task:
    expect("error" not in answer, f"error: {answer.get('error')}")
    equal(answer["result"]["kind"], "task", "kind")
    return answer["result"]


def state(task: Task) -> str:
    return task["status"]["state"]


def parts_of(task: Task) -> list[dict[str, Any]]:
    return [part for artifact in task.get("artifacts", []) for part in artifact["parts"]]


def text_of(task: Task) -> str:
    return "\n".join(p["text"] for p in parts_of(task) if p["kind"] == "text")


def data_of(task: Task) -> list[Any]:
    return [p["data"] for p in parts_of(task) if p["kind"] == "data"]


def last_words(task: Task) -> str:
    entry = task["history"][-1]
    equal(entry["role"], "agent", "role of the last history entry")
    return "\n".join(p["text"] for p in entry["parts"] if p["kind"] == "text")


def want_error(answer: dict[str, Any], code: int, text: str | None = None) -> None:
    expect("result" not in answer, f"got {answer}")
    equal(answer["error"]["code"], code, f"code of {answer['error']}")
    if text is not None:
        equal(answer["error"]["message"], text, "message")


async def main() -> int:
    checks = Checks("fasta2a")
    alice, bob = client_for(TOKENS["alice"]), client_for(TOKENS["bob"])

    async def send(value: str, configuration: dict[str, Any] | None = NOT_BLOCKING, **fields: Any) -> Task:
        return task_of(await alice.send_message(message(text(value), **fields), configuration=configuration))

    async def get(task_id: str) -> Task:
        return task_of(await alice.get_task(task_id))

    async def done(task_id: str) -> Task:
        return await poll(lambda: get(task_id), lambda t: state(t) in ("completed", "failed", "canceled", "rejected"))

    async def raw(method: str, params: Any, adapter: pydantic.TypeAdapter, **envelope: Any) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": uid(), "method": method, "params": params} | envelope
        response = await alice.http_client.post("/", json=body)
        equal(response.status_code, 200, "status")
        equal(response.json()["id"], body["id"], "id")
        return adapter.validate_json(response.content)

    async def cancel(task_id: str) -> dict[str, Any]:
        return await raw("tasks/cancel", {"id": task_id}, cancel_response_ta)

    async def capped_send() -> tuple[float, Task]:
        start = time.monotonic()
        task = await send("@sleep 45", BLOCKING)
        return time.monotonic() - start, task

    capped = asyncio.create_task(capped_send())

    async def card() -> None:
        for path in ("", "/api/a2a/tasks", "/skills/probe"):
            response = await alice.http_client.get(f"{path}/.well-known/agent.json")
            equal(response.status_code, 200, f"status at {path}")
            # Its types know the member "in" of a scheme by another name.
            got = agent_card_ta.validate_python({k: v for k, v in response.json().items() if k != "securitySchemes"})
            equal(any(skill["id"] == "probe" for skill in got["skills"]), True, f"probe at {path}")
            equal(len(got["skills"]) == 1, path == "/skills/probe", f"one skill at {path}")

    async def a1_send_returns_at_once() -> None:
        start = time.monotonic()
        task = await send("@sleep 2")
        expect(time.monotonic() - start < 1.5, "the answer took as long as the task")
        expect(state(task) in ("submitted", "working"), f"state: {state(task)}")
        expect(task["id"] and task["context_id"], "ids")
        await cancel(task["id"])

    async def a2_poll_a_running_task() -> None:
        task = await send("@sleep 1")
        expect(state(await get(task["id"])) in ("submitted", "working"), "not running")
        equal(state(await done(task["id"])), "completed", "state")

    async def a3_completed() -> None:
        word = f"hello-{uid()}"
        task = await done((await send(f"@echo {word}"))["id"])
        equal(state(task), "completed", "state")
        expect(word in last_words(task), f"last words: {last_words(task)}")
        expect(word in text_of(task), f"artifacts: {text_of(task)}")

    async def a3_data() -> None:
        data = {"big": 9007199254740993, "zero": 0, "half": 0.5, "list": [1, "2", None, True], "deep": {"ключ": "значення"}}
        meta = {"x-interop": {"n": 9007199254740993, "list": [1, 2, 3]}}
        msg = message(text("@data"), {"kind": "data", "data": data, "metadata": {"unit": 3}}, metadata=meta)
        task = task_of(await alice.send_message(msg, configuration=BLOCKING))
        equal(data_of(task), [data], "data parts")
        equal(type(data_of(task)[0]["zero"]), int, "type of an integer")
        got = await get(task["id"])
        equal(got["history"][0]["metadata"]["x-interop"], meta["x-interop"], "metadata of the message")
        equal(got["history"][0]["parts"][1], msg["parts"][1], "data part in the history")

    async def a4_failed() -> None:
        for command in ("@fail", "@panic", "@noterm"):
            task = await done((await send(command))["id"])
            equal(state(task), "failed", f"state after {command}")
            expect(last_words(task) != "", f"no text after {command}")
            expect(command not in last_words(task), f"the user's own words after {command}: {last_words(task)}")

    async def a4_canceled() -> None:
        task = await send("@sleep 30")
        await cancel(task["id"])
        equal(state(await done(task["id"])), "canceled", "state")

    async def a5_unknown_task() -> None:
        answer = await alice.get_task(f"none-{uid()}")
        want_error(answer, -32001, "Task not found")
        equal(answer["id"], None, "id")

    async def a6_cancel() -> None:
        task = await send("@sleep 30")
        await poll(lambda: get(task["id"]), lambda t: state(t) == "working")
        equal(state(task_of(await cancel(task["id"]))), "canceled", "state")

    async def a19_many_at_once() -> None:
        start = time.monotonic()
        tasks = await asyncio.gather(*(send("@sleep 1", BLOCKING) for _ in range(8)))
        equal([state(t) for t in tasks], ["completed"] * 8, "states")
        expect(time.monotonic() - start < 5, "they ran one after the other")

    async def a22_blocking() -> None:
        equal(state(await send("@sleep 1", BLOCKING)), "completed", "state")

    async def a22_cap() -> None:
        seconds, task = await capped
        expect(2 < seconds < 29, f"answered after {seconds:.1f} s")
        equal(state(task), "working", f"state after {seconds:.1f} s")
        equal(state(task_of(await cancel(task["id"]))), "canceled", "state after the cancel")

    async def a23_cancel_is_final() -> None:
        task = await send("@ignorecancel 1")
        await poll(lambda: get(task["id"]), lambda t: state(t) == "working")
        equal(state(task_of(await cancel(task["id"]))), "canceled", "state at once")
        await asyncio.sleep(2)  # longer than the skill works on
        equal(state(await get(task["id"])), "canceled", "state when the skill is done")

    async def a28_unknown_cancel() -> None:
        want_error(await cancel(f"none-{uid()}"), -32001, "Task not found")
        equal(state(await send("@echo alive", BLOCKING)), "completed", "state of the next task")

    async def a29_bad_requests() -> None:
        connection = AgentConnection(HOST, TOKENS["alice"])
        want_error(await connection.call(b'{"jsonrpc":"2.0","id":1,'), -32700)
        want_error(await connection.call(b"[]"), -32600)
        want_error(await connection.call({"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": {}}), -32601)
        want_error(await connection.call({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": []}), -32602)

    async def a30_cancel_of_a_completed_task() -> None:
        task = await send("@echo kept", BLOCKING)
        response = await alice.http_client.post(
            "/", json={"jsonrpc": "2.0", "id": 7, "method": "tasks/cancel", "params": {"id": task["id"]}}
        )
        want_error(response.json(), -32002)
        equal(state(await get(task["id"])), "completed", "state")

    async def a30_reads_change_nothing() -> None:
        task = await get((await send("@echo kept", BLOCKING))["id"])
        for length, want in ((1, task["history"][-1:]), (0, [])):
            params = {"id": task["id"], "historyLength": length}
            short = task_of(await raw("tasks/get", params, get_task_response_ta))
            equal(short.get("history", []), want, f"history of length {length}")
        equal(await get(task["id"]), task, "task after the reads")

    async def question_and_answer() -> None:
        first = await send("@ask", BLOCKING)
        equal(state(first), "input-required", "state")
        expect(last_words(first) != "", "no question")
        word = f"answer-{uid()}"
        second = await send(word, BLOCKING, task_id=first["id"], context_id=first["context_id"])
        equal((second["id"], state(second)), (first["id"], "completed"), "id and state")
        expect(word in text_of(second), f"text: {text_of(second)}")

    async def skill_by_metadata() -> None:
        boards = await send("{}", BLOCKING, metadata={"skillId": "list_boards"})
        board = data_of(boards)[0]["boards"][0]["id"]
        listing = await send(board, BLOCKING, metadata={"skillId": "list_board"})
        equal((state(listing), data_of(listing)[0]["id"]), ("completed", board), "state and board id")
        report = task_of(
            await alice.send_message(message(text("")), metadata={"skillId": "weekly_report"}, configuration=BLOCKING)
        )
        equal(state(report), "completed", "state of the report")
        expect("summary" in data_of(report)[0], f"report: {data_of(report)}")
        odd = await send("x", BLOCKING, metadata={"skillId": "no_such"})
        equal(state(odd), "failed", "state of an unknown skill")
        expect("list_board" in last_words(odd), f"text: {last_words(odd)}")

    async def no_token() -> None:
        err = await raised(client_for(None).send_message(message(text("@echo x"))))
        expect(isinstance(err, UnexpectedResponseError), f"got {err!r}")
        equal(err.status_code, 401, "status")

    async def foreign_task() -> None:
        task = await send("@echo mine", BLOCKING)
        want_error(await bob.get_task(task["id"]), -32001, "Task not found")
        body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/cancel", "params": {"id": task["id"]}}
        want_error((await bob.http_client.post("/", json=body)).json(), -32001, "Task not found")

    async def connection_at(url: str) -> None:
        connection = AgentConnection(url, TOKENS["alice"])
        equal(len((await connection.card())["skills"]) > 0, True, "skills")
        word = f"hello-{uid()}"
        sent = send_message_response_ta.validate_python(await connection.send(f"@echo {word}"))
        task = await connection.wait_for_completion(task_of(sent)["id"])
        expect(word in chat_text(task), f"chat shows: {chat_text(task)}")
        again = await connection.send("@echo again", attachments=["/data/x.png"])
        equal(again["result"]["contextId"], task["contextId"], "contextId of the second send")

    async def connection_with_either_header() -> None:
        for name in ("Authorization", "X-API-KEY"):
            connection = AgentConnection(HOST, TOKENS["alice"])
            del connection.http.headers[name]
            expect("result" in await connection.send("@echo x"), f"without {name}")

    for name, fn in {
        "card under every mount": card,
        "A1 send returns the task id at once": a1_send_returns_at_once,
        "A2 poll of a running task": a2_poll_a_running_task,
        "A3 completed: text in the history and in artifacts": a3_completed,
        "A3 data and metadata unchanged": a3_data,
        "A4 a failed task carries a readable text": a4_failed,
        "A4 a canceled task ends as canceled": a4_canceled,
        "A5 unknown task": a5_unknown_task,
        "A6 cancel": a6_cancel,
        "A19 many at once": a19_many_at_once,
        "A22 blocking is honoured": a22_blocking,
        "A23 cancel is final": a23_cancel_is_final,
        "A28 cancel of an unknown task does no harm": a28_unknown_cancel,
        "A29 bad requests are JSON-RPC errors": a29_bad_requests,
        "A30 a completed task stays completed": a30_cancel_of_a_completed_task,
        "A30 reads change nothing": a30_reads_change_nothing,
        "question and answer": question_and_answer,
        "skill chosen by metadata": skill_by_metadata,
        "no token is refused": no_token,
        "another caller's task is unknown": foreign_task,
        "A27 agent_url host:port": lambda: connection_at(HOST),
        "A27 agent_url with a slash": lambda: connection_at(f"{BASE_URL}/"),
        "A27 agent_url of the endpoint": lambda: connection_at(f"{BASE_URL}/api/a2a/tasks"),
        "A27 agent_url of one skill": lambda: connection_at(f"{BASE_URL}/skills/probe"),
        "A27 either header alone is enough": connection_with_either_header,
        "A22 A24 blocking is capped below the client's 30 s": a22_cap,
    }.items():
        await checks.check(name, fn)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
