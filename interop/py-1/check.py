"""Drives a running server through the client of a2a-sdk 1.x (A2A 1.0): what concerns the
card once, then every scenario over every transport that the SDK has."""

import asyncio
import os
import sys
from functools import partial
from pathlib import Path

import httpx

from a2a.client import A2ACardResolver
from a2a.types import a2a_pb2 as pb
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from checks import BASE_URL, TOKENS, Checks, equal, expect, uid  # noqa: E402
from helpers import TRANSPORTS, OnlyKey, Scene, connect, data_of, request, send, text, text_of, want_state  # noqa: E402
from live import LIVE, frames_are_strict  # noqa: E402
from task import TASK  # noqa: E402


async def read_card(path: str = "") -> pb.AgentCard:
    async with httpx.AsyncClient() as http:
        return await A2ACardResolver(http, BASE_URL + path).get_agent_card()


async def card_at_the_root() -> None:
    ids = [skill.id for skill in (await read_card()).skills]
    for skill in ("probe", "list_board", "weekly_report"):
        expect(skill in ids, f"skill {skill} is not among {ids}")


async def card_under_the_endpoint() -> None:
    client = await connect(TOKENS["alice"], "jsonrpc", "/api/a2a/tasks")
    word = f"hello-{uid()}"
    expect(word in text_of(await send(client, request(text(f"@echo {word}")))), "echo")


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


async def chosen(s: Scene) -> None:
    """Makes the clients of the scene: what the SDK finds in the card has to be the transport."""
    found = [i for i in (await read_card()).supported_interfaces if i.protocol_binding == TRANSPORTS[s.transport]]
    expect("1.0" in [i.protocol_version for i in found], f"interfaces: {found}")
    s.alice, s.bob = await s.connect(TOKENS["alice"]), await s.connect(TOKENS["bob"])
    s.live = await s.connect(TOKENS["alice"], streaming=True)
    used = type(s.alice._transport).__name__.lower()  # the SDK has no public name for it
    equal(used, f"{s.transport}transport", "transport of the client")


async def card_of_one_skill(s: Scene) -> None:
    equal([skill.id for skill in (await read_card("/skills/list_boards")).skills], ["list_boards"], "skills")
    task = await send(await s.connect(TOKENS["alice"], path="/skills/list_boards"), request(text("{}")))
    want_state(task, "COMPLETED")
    expect(data_of(task), "no data part in the list of boards")


# An rpc has no path to choose a skill by, so the cards of single skills name no gRPC; and
# its frames have no other parser.
HTTP = {
    "card of one skill": card_of_one_skill,
    "stream: frames satisfy the strict parser": frames_are_strict,
}


# The SDK speaks 0.3 too, to servers that have nothing newer. What 0.3 and the SDK's
# conversion of it do not change is the same there.
SAME = (
    "send, blocking",
    "send waits for the end",
    "send, not blocking, then poll",
    "skill chosen by metadata",
    "a failed task says why",
    "card of the caller",
    "extension: events are numbered on request",
    "stream: every chunk in order, the end last",
    "resubscribe after a broken connection",
    "cancel while streaming",
)
# Over gRPC 0.3 the SDK finds the type of an error in its text alone.
SAME_ERRORS = ("cancel of an ended task is the typed error", "unknown task is the typed error", "question and answer")


async def chosen_of_0_3(s: Scene) -> None:
    old = await read_card()
    kept = [i for i in old.supported_interfaces if i.protocol_version == "0.3"]
    del old.supported_interfaces[:]
    old.supported_interfaces.extend(kept)
    s.alice, s.live = await s.connect(TOKENS["alice"], card=old), await s.connect(TOKENS["alice"], card=old, streaming=True)
    names = {"jsonrpc": "CompatJsonRpcTransport", "rest": "CompatRestTransport", "grpc": "CompatGrpcTransport"}
    equal(type(s.alice._transport).__name__, names[s.transport], "transport of the client")


async def main() -> int:
    checks = Checks("py-1")
    if os.environ.get("SKILLYARD_SIGNED"):
        await checks.check("signatures of the card", signatures)
    await checks.check("card at the root", card_at_the_root)
    await checks.check("card under the endpoint", card_under_the_endpoint)
    for transport in TRANSPORTS:
        s = Scene(transport)
        await checks.check(f"{transport}/card: the transport is the one that was chosen", partial(chosen, s))
        for name, scenario in {**TASK, **LIVE, **({} if transport == "grpc" else HTTP)}.items():
            await checks.check(f"{transport}/{name}", partial(scenario, s))
    for transport in TRANSPORTS:
        s = Scene(transport)
        await checks.check(f"{transport}-0.3/card: the transport is the one that was chosen", partial(chosen_of_0_3, s))
        for name in SAME + (() if transport == "grpc" else SAME_ERRORS):
            await checks.check(f"{transport}-0.3/{name}", partial({**TASK, **LIVE}[name], s))
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
