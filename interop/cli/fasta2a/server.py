"""A FastA2A agent (A2A 0.2) that does what the message says.

"echo X", "sleep S", "fail", "ask" and "hang" are commands; the one argument is the port.
"""

import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import uvicorn
from fasta2a import FastA2A, Worker
from fasta2a.broker import InMemoryBroker
from fasta2a.schema import Artifact, Message, TaskIdParams, TaskSendParams, TextPart
from fasta2a.storage import InMemoryStorage


class Probe(Worker[list[Message]]):
    async def run_task(self, params: TaskSendParams) -> None:
        id = params["id"]
        command, _, argument = params["message"]["parts"][0]["text"].partition(" ")
        await self.storage.update_task(id, state="working")
        match command:
            case "hang":  # until it is canceled; the worker is free for that
                return
            case "fail":
                raise RuntimeError("told to fail")
            case "ask":
                await self.storage.update_task(id, state="input-required", new_messages=[self.say("Which colour?")])
                return
            case "sleep":
                await anyio.sleep(float(argument))
        await self.storage.update_task(
            id, state="completed", new_artifacts=self.build_artifacts(argument), new_messages=[self.say(argument)]
        )

    async def cancel_task(self, params: TaskIdParams) -> None:
        await self.storage.update_task(params["id"], state="canceled")

    def build_message_history(self, history: list[Message]) -> list[Any]:
        return history

    def build_artifacts(self, result: str) -> list[Artifact]:
        return [Artifact(artifact_id=str(uuid.uuid4()), name="result", parts=[TextPart(kind="text", text=result)])]

    @staticmethod
    def say(text: str) -> Message:
        return Message(role="agent", kind="message", message_id=str(uuid.uuid4()), parts=[TextPart(kind="text", text=text)])


storage: InMemoryStorage[list[Message]] = InMemoryStorage()
broker = InMemoryBroker()
worker = Probe(broker=broker, storage=storage)


@asynccontextmanager
async def lifespan(app: FastA2A) -> AsyncIterator[None]:
    async with app.task_manager, worker.run():
        yield


# The URL stays the library's default, which is wrong here, as with most of its users.
app = FastA2A(storage=storage, broker=broker, name="probe", lifespan=lifespan)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
