"""The habits of an agent framework's FastA2A connection, over plain HTTP.

Such a connection asks for the old card name under the URL it was given, posts
to that URL with a slash at its end, sends its token in two headers at once,
follows no redirect, gives up after 30 seconds and shows the last entry of the
history.
"""

import asyncio
import uuid
from typing import Any

import httpx

TERMINAL = ("completed", "failed", "canceled")


class AgentConnection:
    def __init__(self, agent_url: str, token: str | None = None, timeout: float = 30) -> None:
        if not agent_url.startswith(("http://", "https://")):
            agent_url = f"http://{agent_url}"
        self.agent_url = agent_url.rstrip("/")
        headers = {"Authorization": f"Bearer {token}", "X-API-KEY": token} if token else {}
        self.http = httpx.AsyncClient(headers=headers, timeout=timeout, follow_redirects=False)
        self.context_id: str | None = None

    async def card(self) -> dict[str, Any]:
        """Reads the card; its place is not looked for anywhere else."""
        response = await self.http.get(f"{self.agent_url}/.well-known/agent.json")
        if response.status_code != 200:
            raise RuntimeError(f"card of {self.agent_url}: HTTP {response.status_code}")
        return response.json()

    async def call(self, body: dict[str, Any] | bytes) -> dict[str, Any]:
        content = {"content": body} if isinstance(body, bytes) else {"json": body}
        response = await self.http.post(
            f"{self.agent_url}/", headers={"Content-Type": "application/json"}, **content
        )
        if response.status_code != 200:
            raise RuntimeError(f"HTTP {response.status_code}: {response.text}")
        return response.json()

    async def send(self, text: str, attachments: list[str] | None = None) -> dict[str, Any]:
        parts: list[dict[str, Any]] = [{"kind": "text", "text": text}]
        parts += [{"kind": "file", "file": {"uri": uri}} for uri in attachments or []]
        message = {"role": "user", "parts": parts, "kind": "message", "messageId": str(uuid.uuid4())}
        if self.context_id:
            message["contextId"] = self.context_id
        answer = await self.call({
            "jsonrpc": "2.0",
            "id": str(uuid.uuid4()),
            "method": "message/send",
            "params": {
                "message": message,
                "configuration": {"acceptedOutputModes": ["application/json", "text/plain"], "blocking": True},
            },
        })
        self.context_id = answer.get("result", {}).get("contextId")
        return answer

    async def get(self, task_id: str) -> dict[str, Any]:
        return await self.call({"jsonrpc": "2.0", "id": None, "method": "tasks/get", "params": {"id": task_id}})

    async def wait_for_completion(self, task_id: str, every: float = 0.2, limit: float = 20) -> dict[str, Any]:
        async with asyncio.timeout(limit):
            while True:
                task = (await self.get(task_id))["result"]
                if task["status"]["state"] in TERMINAL:
                    return task
                await asyncio.sleep(every)


def chat_text(task: dict[str, Any]) -> str:
    """What a chat tool shows: the text of the last history entry."""
    parts = task["history"][-1]["parts"]
    return "\n".join(p.get("text", "") for p in parts if p.get("kind") == "text")
