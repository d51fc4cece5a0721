"""Drives a running server through the client of a2a-sdk 0.3.x (A2A 0.3): what concerns the
card once, then every scenario over every transport."""

import asyncio
import sys
from functools import partial
from pathlib import Path

import httpx
from a2a.client import A2ACardResolver
from a2a.types import AgentCard, TaskState

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from checks import BASE_URL, TOKENS, Checks, equal, expect, uid  # noqa: E402
from helpers import TRANSPORTS, Scene, connect, data_of, message, send, text, text_of, want_state  # noqa: E402
from live import LIVE  # noqa: E402
from task import TASK, key_as_the_card_says  # noqa: E402


async def read_card(path: str = "") -> AgentCard:
    async with httpx.AsyncClient() as http:
        return await A2ACardResolver(http, BASE_URL + path).get_agent_card()


async def card_at_the_root() -> None:
    card = await read_card()
    ids = [skill.id for skill in card.skills]
    for skill in ("probe", "list_board", "weekly_report"):
        expect(skill in ids, f"skill {skill} is not among {ids}")
    expect(card.url.startswith(BASE_URL), f"url: {card.url}")
    expect(card.protocol_version.startswith("0.3"), f"protocol_version: {card.protocol_version}")
    equal(card.preferred_transport, "JSONRPC", "preferred_transport")


async def card_under_the_endpoint() -> None:
    client = await connect(TOKENS["alice"], "jsonrpc", "/api/a2a/tasks")
    word = f"hello-{uid()}"
    expect(word in text_of(await send(client, message(text(f"@echo {word}")))), "echo")


async def chosen(s: Scene) -> None:
    """Makes the clients of the scene: what the SDK finds in the card has to be the transport."""
    s.alice, s.bob = await s.connect(TOKENS["alice"]), await s.connect(TOKENS["bob"])
    s.live = await s.connect(TOKENS["alice"], streaming=True)
    used = type(s.alice._transport).__name__.lower()  # the SDK has no public name for it
    equal(used, f"{s.transport}transport", "transport of the client")


async def card_of_one_skill(s: Scene) -> None:
    equal([skill.id for skill in (await read_card("/skills/list_boards")).skills], ["list_boards"], "skills")
    task = await send(await s.connect(TOKENS["alice"], "/skills/list_boards"), message(text("{}")))
    want_state(task, TaskState.completed)
    expect(data_of(task), "no data part in the list of boards")


# What not every transport has: the cards of single skills name no gRPC, as an rpc has no path
# to choose a skill by, and only JSON-RPC of the SDK has interceptors.
SOME = {
    "jsonrpc": {"card of one skill": card_of_one_skill, "the key goes where the card says": key_as_the_card_says},
    "rest": {"card of one skill": card_of_one_skill},
}


async def main() -> int:
    checks = Checks("py-0.3")
    await checks.check("card at the root", card_at_the_root)
    await checks.check("card under the endpoint", card_under_the_endpoint)
    for transport in TRANSPORTS:
        s = Scene(transport)
        await checks.check(f"{transport}/card: the transport is the one that was chosen", partial(chosen, s))
        for name, scenario in {**TASK, **LIVE, **SOME.get(transport, {})}.items():
            await checks.check(f"{transport}/{name}", partial(scenario, s))
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
