"""Checks of the task alive: streams, turns, push."""

import json
from collections.abc import AsyncIterator

import httpx
from google.protobuf import json_format

from a2a.client import Client
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import TaskNotFoundError, UnsupportedOperationError
from checks import BASE_URL, TOKENS, Webhook, broken_off, chunks, equal, expect, poll, raised, read_all, uid
from helpers import Scene, parts_of, request, send, status_text, text, want_state


def is_update(event: pb.StreamResponse, state: str) -> bool:
    return event.HasField("status_update") and event.status_update.status.state == pb.TaskState.Value(f"TASK_STATE_{state}")


def words(event: pb.StreamResponse) -> list[str]:
    """The texts of the event, if it is about an artifact."""
    return [part.text for part in event.artifact_update.artifact.parts]


def fold(events: list[pb.StreamResponse]) -> list[str]:
    """The texts of all parts after the events of a stream, which must begin with a task."""
    equal(events[0].WhichOneof("payload"), "task", "kind of the first event")
    parts: dict[str, list[str]] = {}
    for event in events:
        if event.HasField("task"):
            parts = {a.artifact_id: [p.text for p in a.parts] for a in event.task.artifacts}
        elif event.HasField("artifact_update"):
            update = event.artifact_update
            before = parts.get(update.artifact.artifact_id, []) if update.append else []
            parts[update.artifact.artifact_id] = before + words(event)
    return [word for of_one in parts.values() for word in of_one]


def want_end(events: list[pb.StreamResponse], state: str) -> None:
    """Raises unless the last event, and no event before it, is the final status."""
    expect(events and [e for e in events if is_update(e, state)] == events[-1:], f"events: {events}")


def stream(client: Client, command: str, **message: object) -> AsyncIterator[pb.StreamResponse]:
    return client.send_message(request(text(command), **message))


async def stream_in_order(s: Scene) -> None:
    client = s.live
    events = await read_all(stream(client, "@chunks 5 100"))
    updates = [e for e in events if e.HasField("artifact_update")]
    equal([word for e in updates for word in words(e)], chunks(1, 5), "chunks")
    equal([e.artifact_update.last_chunk for e in updates], [False] * 4 + [True], "last_chunk")
    want_end(events, "COMPLETED")
    task = await client.get_task(pb.GetTaskRequest(id=events[0].task.id))
    equal(fold(events), [p.text for p in parts_of(task)], "the stream folded, against the task")


async def frames_are_strict(s: Scene) -> None:
    """The SDK forgives unknown members in frames as well; earlier 1.x releases do not."""
    body = params = json_format.MessageToDict(request(text("@chunks 3 20")))
    url = f"{BASE_URL}/rest/message:stream"
    if s.transport == "jsonrpc":
        url, body = f"{BASE_URL}/", {"jsonrpc": "2.0", "id": uid(), "method": "SendStreamingMessage", "params": params}
    headers = {"Authorization": f"Bearer {TOKENS['alice']}", "A2A-Version": "1.0", "Accept": "text/event-stream"}
    async with httpx.AsyncClient(headers=headers, timeout=30) as http, http.stream("POST", url, json=body) as answer:
        frames = [json.loads(line[len("data:") :]) async for line in answer.aiter_lines() if line.startswith("data:")]
    if s.transport == "jsonrpc":
        equal([f["id"] for f in frames], [body["id"]] * len(frames), "ids of the frames")
        frames = [f["result"] for f in frames]
    events = [json_format.ParseDict(f, pb.StreamResponse()) for f in frames]
    equal(fold(events), chunks(1, 3), "the stream folded")
    want_end(events, "COMPLETED")


async def resubscribe(s: Scene) -> None:
    client = s.live
    events = await broken_off(stream(client, "@chunks 10 100"), lambda e: words(e) == ["chunk-3 "])
    expect(not any(is_update(e, "COMPLETED") for e in events), "the first stream saw the end")
    rest = await read_all(client.subscribe(pb.SubscribeToTaskRequest(id=events[0].task.id)))
    want_state(rest[0].task, "WORKING")
    equal(fold(rest), chunks(1, 10), "the second stream folded")
    want_end(rest, "COMPLETED")


async def subscribe_in_vain(s: Scene) -> None:
    client = s.live
    task = await send(s.alice, request(text(f"@echo {uid()}")))
    for task_id, kind in ((task.id, UnsupportedOperationError), (f"none-{uid()}", TaskNotFoundError)):
        err = await raised(read_all(client.subscribe(pb.SubscribeToTaskRequest(id=task_id))))
        expect(isinstance(err, kind), f"got {err!r}")


async def question_streamed(s: Scene) -> None:
    client = s.live
    asked = await read_all(stream(client, "@ask"))
    want_end(asked, "INPUT_REQUIRED")
    expect(asked[-1].status_update.status.message.parts, "no question")
    task = asked[0].task
    # Who subscribes while the task waits sees the answer's effect.
    watching = client.subscribe(pb.SubscribeToTaskRequest(id=task.id))
    first = await anext(watching)
    want_state(first.task, "INPUT_REQUIRED")
    expect(status_text(first.task), "no question in the snapshot")
    word = f"answer-{uid()}"
    answered = await read_all(stream(client, word, task_id=task.id, context_id=task.context_id))
    equal(answered[0].task.id, task.id, "task id")
    expect(word in "".join(fold(answered)), f"answered: {answered}")
    want_end(answered, "COMPLETED")
    want_end(await read_all(watching), "COMPLETED")


async def cancel_while_streaming(s: Scene) -> None:
    client = s.live
    events = []
    async for event in stream(client, "@chunks 300 100"):
        events.append(event)
        if words(event) == ["chunk-2 "]:
            want_state(await client.cancel_task(pb.CancelTaskRequest(id=events[0].task.id)), "CANCELED")
    want_end(events, "CANCELED")


async def push_in_order(s: Scene) -> None:
    client = s.alice
    with Webhook() as hook:
        req = request(text("@chunks 3 100"))
        config = req.configuration.task_push_notification_config
        config.url, config.token = hook.url, "the-token"
        config.authentication.scheme, config.authentication.credentials = "Bearer", "the-secret"
        task = await send(client, req)
        bodies = await hook.until(lambda b: b.get("statusUpdate", {}).get("status", {}).get("state") == "TASK_STATE_COMPLETED")
        events = [json_format.ParseDict(body, pb.StreamResponse()) for body in bodies]
        equal([e.WhichOneof("payload") for e in events], ["status_update", *["artifact_update"] * 3, "status_update"], "kinds")
        equal({getattr(e, e.WhichOneof("payload")).task_id for e in events}, {task.id}, "task ids")
        expect(is_update(events[0], "WORKING"), f"first: {bodies[0]}")
        equal([word for e in events[1:4] for word in words(e)], chunks(1, 3), "chunks")
        want_end(events, "COMPLETED")
        hook.want_headers("the-token", "Bearer the-secret")


async def push_configs(s: Scene) -> None:
    client, bob = s.alice, s.bob
    with Webhook() as kept, Webhook() as dropped:
        task = await send(client, request(text("@sleep 60"), now=True))
        working = pb.TaskState.TASK_STATE_WORKING
        await poll(lambda: client.get_task(pb.GetTaskRequest(id=task.id)), lambda t: t.status.state == working)
        create, listing = client.create_task_push_notification_config, client.list_task_push_notification_configs
        first = await create(pb.TaskPushNotificationConfig(task_id=task.id, url=kept.url, token="t"))
        second = await create(pb.TaskPushNotificationConfig(task_id=task.id, url=dropped.url, token="t"))
        expect(first.id and second.id and first.id != second.id, f"ids {first.id} and {second.id}")
        get = pb.GetTaskPushNotificationConfigRequest
        got = await client.get_task_push_notification_config(get(task_id=task.id, id=first.id))
        equal((got.id, got.task_id, got.url, got.token), (first.id, task.id, kept.url, ""), "config; its token is not shown")
        all_of = pb.ListTaskPushNotificationConfigsRequest(task_id=task.id)
        equal({c.id for c in (await listing(all_of)).configs}, {first.id, second.id}, "list")
        delete = pb.DeleteTaskPushNotificationConfigRequest(task_id=task.id, id=second.id)
        await client.delete_task_push_notification_config(delete)
        equal([c.id for c in (await listing(all_of)).configs], [first.id], "list after the deletion")
        err = await raised(client.get_task_push_notification_config(get(task_id=task.id, id=second.id)))
        expect(isinstance(err, TaskNotFoundError), f"got {err!r}")
        err = await raised(bob.list_task_push_notification_configs(all_of))
        expect(isinstance(err, TaskNotFoundError), f"bob got {err!r}")
        await client.cancel_task(pb.CancelTaskRequest(id=task.id))
        await kept.until(lambda b: b.get("statusUpdate", {}).get("status", {}).get("state") == "TASK_STATE_CANCELED")
        equal(dropped.deliveries, [], "deliveries of the deleted config")


LIVE = {
    "stream: every chunk in order, the end last": stream_in_order,
    "resubscribe after a broken connection": resubscribe,
    "subscribe to what does not run is the typed error": subscribe_in_vain,
    "stream a question, answer it": question_streamed,
    "cancel while streaming": cancel_while_streaming,
    "push: every event in order, with token and credentials": push_in_order,
    "push configs: create, get, list, delete": push_configs,
}
