"""What the checks share: a client for a token, messages, and how to read answers."""

from collections.abc import Callable
from dataclasses import dataclass

import grpc
import httpx
from a2a.client import Client, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.auth import CredentialService
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError
from a2a.types import DataPart, Message, MessageSendConfiguration, Part, Role, Task, TaskState, TextPart
from checks import BASE_URL, TOKENS, equal, expect, uid

# The transports of the SDK, by the names that the checks have: what a card calls them.
TRANSPORTS = {"jsonrpc": "JSONRPC", "rest": "HTTP+JSON", "grpc": "GRPC"}

# The REST client of the SDK looks at the HTTP status of an error alone, and its gRPC client
# hands on the error of the library.
STATUS = {-32001: 404, -32002: 400, -32004: 400}
GRPC_STATUS = {
    -32001: grpc.StatusCode.NOT_FOUND,
    -32002: grpc.StatusCode.FAILED_PRECONDITION,
    -32004: grpc.StatusCode.UNIMPLEMENTED,
}

ENDED = (TaskState.completed, TaskState.failed, TaskState.canceled, TaskState.rejected)
NOT_BLOCKING = MessageSendConfiguration(blocking=False)


class OneKey(CredentialService):
    """Gives the same key for one scheme of the card."""

    def __init__(self, scheme: str) -> None:
        self.scheme = scheme

    async def get_credentials(self, security_scheme_name: str, context: ClientCallContext | None) -> str | None:
        return TOKENS["alice"] if security_scheme_name == self.scheme else None


def config(transport: str, **more: object) -> ClientConfig:
    """Of a client that knows all transports and prefers one."""
    names = [TRANSPORTS[transport], *(name for t, name in TRANSPORTS.items() if t != transport)]
    return ClientConfig(supported_transports=names, use_client_preference=True, **{"streaming": False, **more})


class Authorizing:
    """Sends headers with every call of a channel, since the SDK does not."""

    def __init__(self, headers: dict[str, str]) -> None:
        self.headers = [(name.lower(), value) for name, value in headers.items()]

    async def call(self, go: Callable, details: grpc.aio.ClientCallDetails, request: object) -> object:
        metadata = grpc.aio.Metadata(*(details.metadata or ()), *self.headers)
        return await go(details._replace(metadata=metadata), request)


class Unary(Authorizing, grpc.aio.UnaryUnaryClientInterceptor):
    intercept_unary_unary = Authorizing.call


class Streaming(Authorizing, grpc.aio.UnaryStreamClientInterceptor):
    intercept_unary_stream = Authorizing.call


async def connect(token: str | None, transport: str, path: str = "", **more: object) -> Client:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    http = httpx.AsyncClient(headers=headers, timeout=30)

    def channel(address: str) -> grpc.aio.Channel:
        return grpc.aio.insecure_channel(address, interceptors=[Unary(headers), Streaming(headers)])

    settings = config(transport, httpx_client=http, grpc_channel_factory=channel, **more)
    return await ClientFactory.connect(BASE_URL + path, settings)


@dataclass
class Scene:
    """A transport, and the clients that use it: two callers, and one that streams."""

    transport: str
    alice: Client = None
    bob: Client = None
    live: Client = None

    @property
    def by_proto(self) -> bool:
        """Whether the SDK goes through Protocol Buffers: its numbers are floats, absent texts empty."""
        return self.transport != "jsonrpc"

    async def connect(self, token: str | None, path: str = "", **more: object) -> Client:
        return await connect(token, self.transport, path, **more)

    def want_code(self, err: Exception, code: int) -> None:
        """Raises unless the error is what the SDK makes of the code of the protocol."""
        if self.transport == "jsonrpc":
            expect(isinstance(err, A2AClientJSONRPCError), f"got {err!r}")
            equal(err.error.code, code, f"code of {err!r}")
        elif self.transport == "grpc":
            expect(isinstance(err, grpc.aio.AioRpcError), f"got {err!r}")
            equal(err.code(), GRPC_STATUS[code], f"status of {err!r}")
        else:
            expect(isinstance(err, A2AClientHTTPError), f"got {err!r}")
            equal(err.status_code, STATUS[code], f"status of {err!r}")


def message(*parts: TextPart | DataPart, **fields: object) -> Message:
    return Message(message_id=uid(), role=Role.user, parts=[Part(root=p) for p in parts], **fields)


def text(value: str) -> TextPart:
    return TextPart(text=value)


async def send(
    client: Client,
    msg: Message,
    configuration: MessageSendConfiguration | None = None,
    metadata: dict | None = None,
    extensions: list[str] | None = None,
) -> Task | Message:
    stream = client.send_message(msg, configuration=configuration, request_metadata=metadata, extensions=extensions)
    events = [e async for e in stream]
    equal(len(events), 1, "answers")
    return events[0] if isinstance(events[0], Message) else events[0][0]


def parts_of(answer: Task | Message) -> list:
    if isinstance(answer, Message):
        return [p.root for p in answer.parts]
    return [p.root for artifact in answer.artifacts or [] for p in artifact.parts]


def text_of(answer: Task | Message) -> str:
    return "\n".join(p.text for p in parts_of(answer) if isinstance(p, TextPart))


def data_of(answer: Task | Message) -> list:
    return [p.data for p in parts_of(answer) if isinstance(p, DataPart)]


def status_text(task: Task) -> str:
    parts = task.status.message.parts if task.status.message else []
    return "\n".join(p.root.text for p in parts if isinstance(p.root, TextPart))


def want_state(task: Task, state: TaskState) -> None:
    equal(task.status.state, state, f"state of {task.id} ({status_text(task)})")
