// An echo agent on @a2a-js/sdk 1.3.0 and express, with its in-memory store:
// a task of the usual life (submitted, working, one artifact, completed). The texts
// "@burst N", "@chunks N MS" and "@hang" do as those of the server it is measured
// against: N chunks of one artifact at once, or MS milliseconds apart, or nothing
// until the process ends.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { AgentCard, Artifact, TaskState } from "@a2a-js/sdk";
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { UserBuilder, jsonRpcHandler } from "@a2a-js/sdk/server/express";
import express from "express";

const [host, port] = (process.argv[2] ?? "127.0.0.1:9002").split(":");

const card = AgentCard.fromJSON({
  name: "echo",
  description: "Echoes a text.",
  version: "1.0.0",
  capabilities: { streaming: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "echo", name: "echo", description: "Echoes a text.", tags: ["echo"] }],
  supportedInterfaces: [{ url: `http://${host}:${port}/`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
});

const executor = {
  async execute({ userMessage, taskId, contextId }, bus) {
    const status = (state) => ({ state, message: undefined, timestamp: new Date().toISOString() });
    const update = (state) => AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata: undefined });
    const text = userMessage.parts.map((p) => (p.content?.$case === "text" ? p.content.value : "")).join("");
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: status(TaskState.TASK_STATE_SUBMITTED),
        history: [userMessage],
        artifacts: [],
        metadata: undefined,
      }),
    );
    bus.publish(update(TaskState.TASK_STATE_WORKING));
    const artifactId = randomUUID();
    const chunk = (value, append, lastChunk) => {
      const artifact = Artifact.fromJSON({ artifactId, name: "echo", parts: [{ text: value }] });
      bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk, metadata: undefined }));
    };
    const [command, n, gap] = text.split(" ");
    if (command === "@hang") await new Promise(() => {});
    if (command === "@burst" || command === "@chunks") {
      for (let i = 0; i < Number(n); i++) {
        if (i > 0 && command === "@chunks") await sleep(Number(gap));
        chunk("xxxxxxxxxxxxxxxx", i > 0, i === Number(n) - 1);
      }
    } else {
      chunk(text, false, true);
    }
    bus.publish(update(TaskState.TASK_STATE_COMPLETED));
    bus.finished();
  },
  async cancelTask() {},
};

const app = express();
app.get("/healthz", (_req, res) => res.send("ok"));
app.use(
  "/",
  jsonRpcHandler({
    requestHandler: new DefaultRequestHandler(card, new InMemoryTaskStore(), executor),
    userBuilder: UserBuilder.noAuthentication,
  }),
);
const server = app.listen(Number(port), host);
process.on("SIGTERM", () => {
  server.close(() => process.exit(0));
  server.closeAllConnections();
});
