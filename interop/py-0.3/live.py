"""Checks of the task alive: streams, turns, push.

The SDK folds a stream itself: it yields the task so far with each update, and goes
on to change both. So they are copied as they come.
"""

from collections.abc import AsyncIterator
from typing import Any

from a2a.client import Client
from a2a.client.errors import A2AClientHTTPError
from a2a.types import (
    GetTaskPushNotificationConfigParams,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Task,
    TaskArtifactUpdateEvent,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskState,
    TaskStatusUpdateEvent,
)
from checks import TOKENS, Webhook, broken_off, chunks, equal, expect, poll, raised, read_all, uid
from helpers import NOT_BLOCKING, Scene, message, parts_of, send, status_text, text, text_of, want_state

Event = tuple[Task, TaskStatusUpdateEvent | TaskArtifactUpdateEvent | None]


def without_empty(value: Any) -> Any:
    """A value without its empty texts, lists and objects."""
    if isinstance(value, dict):
        return {k: without_empty(v) for k, v in value.items() if v not in ("", [], {}, None)}
    return [without_empty(v) for v in value] if isinstance(value, list) else value


def words(event: Event) -> list[str]:
    """The texts of the event, if it is about an artifact."""
    update = event[1]
    return [p.root.text for p in update.artifact.parts] if isinstance(update, TaskArtifactUpdateEvent) else []


def folded(events: list[Event]) -> list[str]:
    """The texts of the task as the SDK has put it together."""
    equal(events[0][1], None, "first event, which must be a task")
    return [p.text for p in parts_of(events[-1][0])]


def want_end(events: list[Event], state: TaskState) -> None:
    """Raises unless the last event, and no event before it, is final, and of that state."""
    finals = [u for _, u in events if isinstance(u, TaskStatusUpdateEvent) and u.final]
    expect(events and finals == [events[-1][1]], f"updates: {[u for _, u in events]}")
    equal(finals[0].status.state, state, "state at the end")


async def copied(events: AsyncIterator[Event]) -> AsyncIterator[Event]:
    async for task, update in events:
        yield task.model_copy(deep=True), update and update.model_copy(deep=True)


def stream(client: Client, command: str, **fields: object) -> AsyncIterator[Event]:
    return copied(client.send_message(message(text(command), **fields)))


def again(client: Client, task: str) -> AsyncIterator[Event]:
    return copied(client.resubscribe(TaskIdParams(id=task)))


async def stream_in_order(s: Scene) -> None:
    client = s.live
    events = await read_all(stream(client, "@chunks 5 100"))
    equal([word for e in events for word in words(e)], chunks(1, 5), "chunks")
    last = [u.last_chunk for _, u in events if isinstance(u, TaskArtifactUpdateEvent)]
    equal(last, [False] * 4 + [True], "last_chunk")
    want_end(events, TaskState.completed)
    task = await client.get_task(TaskQueryParams(id=events[0][0].id))
    equal(folded(events), [p.text for p in parts_of(task)], "the stream folded, against the task")


async def resubscribe(s: Scene) -> None:
    client = s.live
    events = await broken_off(stream(client, "@chunks 10 100"), lambda e: words(e) == ["chunk-3 "])
    want_state(events[-1][0], TaskState.working)
    rest = await read_all(again(client, events[0][0].id))
    want_state(rest[0][0], TaskState.working)
    equal(folded(rest), chunks(1, 10), "the second stream folded")
    seen = [word for e in rest for word in words(e)]
    equal(seen, chunks(11 - len(seen), 10), "chunks of the second stream")
    want_end(rest, TaskState.completed)


async def subscribe_in_vain(s: Scene) -> None:
    client = s.live
    task = await send(s.alice, message(text(f"@echo {uid()}")))
    events = await read_all(again(client, task.id))
    equal([(t.id, t.status.state, u) for t, u in events], [(task.id, TaskState.completed, None)], "events")
    err = await raised(read_all(again(client, f"none-{uid()}")))
    if s.transport == "rest":  # where the SDK looks at the media type before the status
        expect(isinstance(err, A2AClientHTTPError), f"got {err!r}")
    else:
        s.want_code(err, -32001)


async def question_streamed(s: Scene) -> None:
    client = s.live
    asked = await read_all(stream(client, "@ask"))
    want_end(asked, TaskState.input_required)
    task = asked[-1][0]
    expect(status_text(task), "no question")
    word = f"answer-{uid()}"
    answered = await read_all(stream(client, word, task_id=task.id, context_id=task.context_id))
    equal(answered[0][0].id, task.id, "task id")
    expect(word in text_of(answered[-1][0]), f"answered: {answered}")
    want_end(answered, TaskState.completed)


async def cancel_while_streaming(s: Scene) -> None:
    client = s.live
    events = []
    async for event in stream(client, "@chunks 300 100"):
        events.append(event)
        if words(event) == ["chunk-2 "]:
            want_state(await client.cancel_task(TaskIdParams(id=event[0].id)), TaskState.canceled)
    want_end(events, TaskState.canceled)


async def push_in_order(s: Scene) -> None:
    with Webhook() as hook:
        auth = PushNotificationAuthenticationInfo(schemes=["Bearer"], credentials="the-secret")
        config = PushNotificationConfig(url=hook.url, token="the-token", authentication=auth)
        client = await s.connect(TOKENS["alice"], push_notification_configs=[config])
        task = await send(client, message(text("@chunks 3 100")))
        bodies = await hook.until(lambda body: body["status"]["state"] == "completed")
        tasks = [Task.model_validate(body) for body in bodies]
        counts = [len(parts_of(t)) for t in tasks]
        equal(counts, sorted(counts), "numbers of chunks")
        for got in tasks:
            equal((got.kind, got.id), ("task", task.id), "kind and id")
            equal([p.text for p in parts_of(got)], chunks(1, len(parts_of(got))), "chunks")
        equal([t.status.state for t in tasks].count(TaskState.completed), 1, "deliveries of the end")
        now = await client.get_task(TaskQueryParams(id=task.id))
        if s.by_proto:  # which puts an empty message into every status, and forgets when it was
            now.status.message, now.status.timestamp = None, tasks[-1].status.timestamp
        equal(without_empty(tasks[-1].model_dump()), without_empty(now.model_dump()), "the last delivery, against the task")
        hook.want_headers("the-token", "Bearer the-secret")


async def push_configs(s: Scene) -> None:
    """The SDK sets and reads them; it neither lists nor deletes."""
    client, bob = s.alice, s.bob
    with Webhook() as hook:
        task = await send(client, message(text("@sleep 60")), NOT_BLOCKING)
        await poll(lambda: client.get_task(TaskQueryParams(id=task.id)), lambda t: t.status.state == TaskState.working)
        config = PushNotificationConfig(id="mine", url=hook.url, token="t")
        made = await client.set_task_callback(TaskPushNotificationConfig(task_id=task.id, push_notification_config=config))
        equal((made.task_id, made.push_notification_config.id), (task.id, "mine"), "ids")
        params = GetTaskPushNotificationConfigParams(id=task.id, push_notification_config_id="mine")
        got = (await client.get_task_callback(params)).push_notification_config
        equal((got.id, got.url, got.token or None), ("mine", hook.url, None), "config; its token is not shown")
        s.want_code(await raised(bob.get_task_callback(params)), -32001)
        await client.cancel_task(TaskIdParams(id=task.id))
        await hook.until(lambda body: body["status"]["state"] == "canceled")


LIVE = {
    "stream: every chunk in order, the end last": stream_in_order,
    "resubscribe after a broken connection": resubscribe,
    "subscribe to an ended task is the task, to an unknown one an error": subscribe_in_vain,
    "stream a question, answer it": question_streamed,
    "cancel while streaming": cancel_while_streaming,
    "push: the task after each change, with token and credentials": push_in_order,
    "push configs: set, get": push_configs,
}
