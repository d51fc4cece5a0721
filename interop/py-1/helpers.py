"""What the checks share: a client for a token, requests, and how to read answers."""

import json
import re
from dataclasses import dataclass

import grpc
import httpx
from google.protobuf import json_format
from google.protobuf.message import Message as Proto
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from a2a.client import Client, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.auth import CredentialService
from a2a.client.interceptors import AfterArgs, BeforeArgs, ClientCallInterceptor
from a2a.types import a2a_pb2 as pb
from checks import BASE_URL, TOKENS, equal, uid

# The transports of the SDK, by the names that the checks have: what a card calls them.
TRANSPORTS = {"jsonrpc": "JSONRPC", "rest": "HTTP+JSON", "grpc": "GRPC"}

# The SDK itself forgives unknown members; earlier 1.x releases do not, so each answer over
# HTTP is also read by the strict parser of the protobuf library. By method of JSON-RPC, and
# by method and path of REST.
STRICT = {
    "SendMessage": pb.SendMessageResponse,
    "GetTask": pb.Task,
    "CancelTask": pb.Task,
    "ListTasks": pb.ListTasksResponse,
    "CreateTaskPushNotificationConfig": pb.TaskPushNotificationConfig,
    "GetTaskPushNotificationConfig": pb.TaskPushNotificationConfig,
    "ListTaskPushNotificationConfigs": pb.ListTaskPushNotificationConfigsResponse,
}
STRICT_REST = {
    r"POST /message:send": pb.SendMessageResponse,
    r"GET /tasks/[^/]+": pb.Task,
    r"POST /tasks/[^/]+:cancel": pb.Task,
    r"GET /tasks": pb.ListTasksResponse,
    r"POST /tasks/[^/]+/pushNotificationConfigs": pb.TaskPushNotificationConfig,
    r"GET /tasks/[^/]+/pushNotificationConfigs/[^/]+": pb.TaskPushNotificationConfig,
    r"GET /tasks/[^/]+/pushNotificationConfigs": pb.ListTaskPushNotificationConfigsResponse,
}


async def parse_strictly(response: httpx.Response) -> None:
    request = response.request
    rest = request.url.path.partition("/rest/")[2]
    if response.status_code != 200:
        return
    if rest:
        kind = next((k for p, k in STRICT_REST.items() if re.fullmatch(p, f"{request.method} /{rest}")), None)
    else:
        kind = STRICT.get(json.loads(request.content)["method"]) if request.method == "POST" else None
    if kind is None:
        return
    await response.aread()
    answer = response.json()
    if rest or "result" in answer:
        json_format.ParseDict(answer if rest else answer["result"], kind())


class Token(ClientCallInterceptor):
    """Sends a token with every call, for transports that have no client with headers."""

    def __init__(self, token: str) -> None:
        self.token = token

    async def before(self, args: BeforeArgs) -> None:
        args.context = args.context or ClientCallContext()
        args.context.service_parameters = {**(args.context.service_parameters or {}), "Authorization": f"Bearer {self.token}"}

    async def after(self, args: AfterArgs) -> None:
        pass


class OneKey(CredentialService):
    """Gives the same key for one scheme of the card."""

    def __init__(self, scheme: str) -> None:
        self.scheme = scheme

    async def get_credentials(self, security_scheme_name: str, context: ClientCallContext | None) -> str | None:
        return TOKENS["alice"] if security_scheme_name == self.scheme else None


class OnlyKey:
    """Provides one key of a set and no other, to verify the signatures of a card."""

    def __init__(self, key: dict[str, str]) -> None:
        self.kid, self.key = key["kid"], PyJWK(key)

    def __call__(self, kid: str | None, jku: str | None) -> PyJWK:
        equal(jku, f"{BASE_URL}/.well-known/jwks.json", "jku")
        if kid != self.kid:
            raise PyJWTError("not this one")
        return self.key


def config(transport: str, **more: object) -> ClientConfig:
    """Of a client that knows all transports and prefers one."""
    names = [TRANSPORTS[transport], *(name for t, name in TRANSPORTS.items() if t != transport)]
    return ClientConfig(
        supported_protocol_bindings=names,
        use_client_preference=True,
        grpc_channel_factory=grpc.aio.insecure_channel,
        **{"streaming": False, **more},
    )


async def connect(
    token: str | None, transport: str, path: str = "", streaming: bool = False, card: pb.AgentCard | None = None
) -> Client:
    """A client for the card under a path, or for the card that is given."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    http = httpx.AsyncClient(headers=headers, timeout=30, event_hooks={"response": [parse_strictly]})
    factory = ClientFactory(config(transport, httpx_client=http, streaming=streaming))
    interceptors = [Token(token)] if token and transport == "grpc" else []
    return factory.create(card, interceptors) if card else await factory.create_from_url(BASE_URL + path, interceptors)


@dataclass
class Scene:
    """A transport, and the clients that use it: two callers, and one that streams."""

    transport: str
    alice: Client = None
    bob: Client = None
    live: Client = None

    async def connect(self, token: str | None, path: str = "", **more: object) -> Client:
        return await connect(token, self.transport, path, **more)


def request(*parts: pb.Part, now: bool = False, skill: str = "", **message: object) -> pb.SendMessageRequest:
    req = pb.SendMessageRequest(
        message=pb.Message(message_id=uid(), role=pb.Role.ROLE_USER, parts=parts, **message),
        configuration=pb.SendMessageConfiguration(return_immediately=now),
    )
    if skill:
        req.message.metadata.update({"skillId": skill})
    return req


def text(value: str) -> pb.Part:
    return pb.Part(text=value)


async def send(client: Client, req: pb.SendMessageRequest, context: ClientCallContext | None = None) -> pb.Task | pb.Message:
    events = [event async for event in client.send_message(req, context=context)]
    equal(len(events), 1, "answers")
    return getattr(events[0], events[0].WhichOneof("payload"))


def plain(proto: Proto) -> dict:
    return json_format.MessageToDict(proto)


def parts_of(answer: pb.Task | pb.Message) -> list[pb.Part]:
    if isinstance(answer, pb.Message):
        return list(answer.parts)
    return [part for artifact in answer.artifacts for part in artifact.parts]


def text_of(answer: pb.Task | pb.Message) -> str:
    return "\n".join(p.text for p in parts_of(answer) if p.HasField("text"))


def data_of(answer: pb.Task | pb.Message) -> list:
    return [plain(p.data) for p in parts_of(answer) if p.HasField("data")]


def status_text(task: pb.Task) -> str:
    return "\n".join(p.text for p in task.status.message.parts)


def want_state(task: pb.Task, state: str) -> None:
    got = pb.TaskState.Name(task.status.state)
    equal(got, f"TASK_STATE_{state}", f"state of {task.id} ({status_text(task)})")


def ended(task: pb.Task) -> bool:
    names = ("COMPLETED", "FAILED", "CANCELED", "REJECTED")
    return task.status.state in [pb.TaskState.Value(f"TASK_STATE_{n}") for n in names]
