"""What the checks share: a client for a token, requests, and how to read answers."""

import json

import httpx
from google.protobuf import json_format
from google.protobuf.message import Message as Proto
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from a2a.client import Client, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.auth import CredentialService
from a2a.types import a2a_pb2 as pb
from checks import BASE_URL, TOKENS, equal, uid

# The SDK itself forgives unknown members; earlier 1.x releases do not, so each
# answer is also read by the strict parser of the protobuf library.
STRICT = {
    "SendMessage": pb.SendMessageResponse,
    "GetTask": pb.Task,
    "CancelTask": pb.Task,
    "ListTasks": pb.ListTasksResponse,
    "CreateTaskPushNotificationConfig": pb.TaskPushNotificationConfig,
    "GetTaskPushNotificationConfig": pb.TaskPushNotificationConfig,
    "ListTaskPushNotificationConfigs": pb.ListTaskPushNotificationConfigsResponse,
}


async def parse_strictly(response: httpx.Response) -> None:
    if response.request.method != "POST" or response.status_code != 200:
        return
    kind = STRICT.get(json.loads(response.request.content)["method"])
    if kind is None:
        return
    await response.aread()
    answer = response.json()
    if "result" in answer:
        json_format.ParseDict(answer["result"], kind())


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


async def connect(token: str | None, path: str = "", streaming: bool = False) -> Client:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    http = httpx.AsyncClient(headers=headers, timeout=30, event_hooks={"response": [parse_strictly]})
    factory = ClientFactory(ClientConfig(httpx_client=http, streaming=streaming))
    return await factory.create_from_url(BASE_URL + path)


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


async def send(client: Client, req: pb.SendMessageRequest) -> pb.Task | pb.Message:
    events = [event async for event in client.send_message(req)]
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
