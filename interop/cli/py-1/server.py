"""An agent of the Python SDK 1.x (A2A 1.0) that does what the message says.

"echo X", "sleep S", "chunks N", "ask", "fail", "hang" and "words" are commands; the
arguments are the port, and "rest" for HTTP+JSON instead of JSON-RPC.
"""

import asyncio
import sys

import uvicorn
from starlette.applications import Starlette

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events.event_queue_v2 import EventQueue
from a2a.server.request_handlers import DefaultRequestHandlerV2
from a2a.server.routes.agent_card_routes import create_agent_card_routes
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.routes.rest_routes import create_rest_routes
from a2a.server.tasks.inmemory_task_store import InMemoryTaskStore
from a2a.server.tasks.task_updater import TaskUpdater
from a2a.types import a2a_pb2 as pb


def part(text: str) -> pb.Part:
    return pb.Part(text=text)


class Probe(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        command, _, argument = context.get_user_input().partition(" ")
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if command == "words":
            await event_queue.enqueue_event(updater.new_agent_message([part("just words")]))
            return
        if context.current_task is None:
            status = pb.TaskStatus(state=pb.TASK_STATE_SUBMITTED)
            task = pb.Task(id=context.task_id, context_id=context.context_id, status=status, history=[context.message])
            await event_queue.enqueue_event(task)
        await updater.start_work()
        match command:
            case "hang":
                await asyncio.Event().wait()
            case "fail":
                await updater.failed(updater.new_agent_message([part("told to fail")]))
                return
            case "ask":
                await updater.requires_input(updater.new_agent_message([part("Which colour?")]))
                return
            case "sleep":
                await asyncio.sleep(float(argument))
            case "chunks":
                for i in range(1, int(argument) + 1):
                    await updater.add_artifact([part(f"chunk-{i} ")], artifact_id="result", append=i > 1, last_chunk=i == int(argument))
                    await asyncio.sleep(0.05)
                await updater.complete()
                return
        await updater.add_artifact([part(argument or command)], name="result")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def main() -> None:
    port, rest = int(sys.argv[1]), "rest" in sys.argv[2:]
    binding = "HTTP+JSON" if rest else "JSONRPC"
    card = pb.AgentCard(
        name="probe",
        description="Does what the message says.",
        version="1",
        capabilities=pb.AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[pb.AgentSkill(id="probe", name="probe", description="Probe", tags=["test"])],
        supported_interfaces=[pb.AgentInterface(url=f"http://127.0.0.1:{port}/a2a", protocol_binding=binding, protocol_version="1.0")],
    )
    handler = DefaultRequestHandlerV2(agent_executor=Probe(), task_store=InMemoryTaskStore(), agent_card=card)
    routes = create_rest_routes(handler, path_prefix="/a2a") if rest else create_jsonrpc_routes(handler, "/a2a")
    app = Starlette(routes=[*create_agent_card_routes(card), *routes])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main()
