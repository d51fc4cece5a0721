"""A list of named checks that prints one line for each."""

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

_url = urlsplit(os.environ.get("SKILLYARD_URL", "http://127.0.0.1:8080"))
BASE_URL = f"{_url.scheme}://{_url.netloc}"
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


async def poll(probe: Callable[[], Awaitable[Any]], accept: Callable[[Any], bool], limit: float = 20) -> Any:
    """Calls probe until accept likes its value, for at most limit seconds."""
    async with asyncio.timeout(limit):
        while True:
            value = await probe()
            if accept(value):
                return value
            await asyncio.sleep(0.05)


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
