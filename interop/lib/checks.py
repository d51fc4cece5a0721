"""A list of named checks that prints one line for each."""

import asyncio
import json
import os
import threading
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

_url = urlsplit(os.environ.get("SKILLYARD_URL", "http://127.0.0.1:8080"))
BASE_URL = f"{_url.scheme}://{_url.netloc}"
EVENT_SEQUENCE = "https://github.com/skillyard/skillyard/ext/event-sequence/v1"  # numbers events in their metadata
TOKENS = {"alice": "alice-token", "bob": "bob-token"}


def uid() -> str:
    return str(uuid.uuid4())


def expect(condition: Any, detail: Any = "") -> None:
    """Raises unless the condition holds."""
    if not condition:
        raise AssertionError(str(detail))


def equal(got: Any, want: Any, what: str) -> None:
    """Raises unless got equals want, in value and in type."""
    if got != want or type(got) is not type(want):
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


async def raised(call: Awaitable[Any]) -> Exception:
    """Awaits call and returns what it raised; raises if it returned."""
    try:
        value = await call
    except Exception as err:  # the caller looks at its type
        return err
    raise AssertionError(f"got {value!r}, want an error")


def refused(err: Exception) -> None:
    """Raises unless the error says that the call needs a key."""
    expect("401" in str(err) or "UNAUTHENTICATED" in str(err), f"got {err!r}")


async def poll(probe: Callable[[], Awaitable[Any]], accept: Callable[[Any], bool], limit: float = 20) -> Any:
    """Calls probe until accept likes its value, for at most limit seconds."""
    async with asyncio.timeout(limit):
        while True:
            value = await probe()
            if accept(value):
                return value
            await asyncio.sleep(0.05)


def chunks(first: int, last: int) -> list[str]:
    """The words of the probe's numbered chunks, from the first to the last."""
    return [f"chunk-{i} " for i in range(first, last + 1)]


async def read_all(stream: AsyncIterator[Any], limit: float = 20) -> list[Any]:
    """Reads a stream to its end; raises when that takes more than limit seconds."""
    async with asyncio.timeout(limit):
        return [event async for event in stream]


async def broken_off(stream: AsyncIterator[Any], accept: Callable[[Any], bool], limit: float = 20) -> list[Any]:
    """Reads a stream until accept likes an event, then breaks its connection."""
    events, liked = [], asyncio.Event()

    async def read() -> None:
        async for event in stream:
            events.append(event)
            if accept(event):
                liked.set()

    reading = asyncio.create_task(read())
    waiting = asyncio.create_task(liked.wait())
    await asyncio.wait({reading, waiting}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    expect(liked.is_set() and not reading.done(), f"the stream ended, or went on for {limit} s: {events}")
    reading.cancel()  # closes the connection on which the stream is being read
    await asyncio.gather(reading, return_exceptions=True)
    return events


class Delivery(NamedTuple):
    headers: dict[str, str]  # the names in lower case
    body: Any


class Webhook:
    """A webhook on this machine that keeps what it is sent, in the order of arrival."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        kept = self.deliveries

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                kept.append(Delivery({k.lower(): v for k, v in self.headers.items()}, json.loads(body)))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/notify"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    async def until(self, accept: Callable[[Any], bool]) -> list[Any]:
        """Waits until the body of the newest delivery is accepted, and returns all bodies."""

        async def newest() -> Any:
            return self.deliveries[-1].body if self.deliveries else None

        await poll(newest, lambda body: body is not None and accept(body))
        return [d.body for d in self.deliveries]

    def want_headers(self, token: str, authorization: str) -> None:
        """Raises unless every delivery carries the token, the credentials and an id of its own."""
        for headers, _ in self.deliveries:
            equal(headers.get("x-a2a-notification-token"), token, "X-A2A-Notification-Token")
            equal(headers.get("a2a-notification-token"), token, "A2A-Notification-Token")
            equal(headers.get("authorization"), authorization, "Authorization")
        ids = [d.headers["webhook-id"] for d in self.deliveries]
        equal(len(set(ids)), len(ids), f"delivery ids {ids}")


class Checks:
    """Runs checks one after the other; one line each on standard output."""

    def __init__(self, client: str) -> None:
        self.client = client
        self.failed = 0

    async def check(self, name: str, fn: Callable[[], Awaitable[None]]) -> None:
        try:
            await fn()
        except Exception as err:  # a check may fail in any way
            self.failed += 1
            detail = " | ".join(f"{type(err).__name__}: {err}".split("\n")[:4])[:900]
            print(f"FAIL {self.client}/{name}: {detail}", flush=True)
        else:
            print(f"ok {self.client}/{name}", flush=True)

    def exit_code(self) -> int:
        return 1 if self.failed else 0
