// An agent of the JavaScript SDK 0.3 (A2A 0.3) that does what the message says. "echo X",
// "sleep S", "chunks N", "ask", "fail" and "hang" are commands; the arguments are the port,
// and "rest" for HTTP+JSON instead of JSON-RPC.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express';

const port = Number(process.argv[2]);
const rest = process.argv.includes('rest');

const text = (value) => ({ kind: 'text', text: value });

class Probe {
  canceled = new Map(); // id → what ends the run

  async execute({ taskId, contextId, userMessage, task }, bus) {
    const [command, ...words] = userMessage.parts[0].text.split(' ');
    const argument = words.join(' ');
    const now = () => new Date().toISOString();
    const status = (state, say, final = false) => {
      const message = say && { kind: 'message', role: 'agent', messageId: randomUUID(), taskId, contextId, parts: [text(say)] };
      bus.publish({ kind: 'status-update', taskId, contextId, final, status: { state, timestamp: now(), ...(message && { message }) } });
    };
    const artifact = (value, append = false, lastChunk = true) =>
      bus.publish({ kind: 'artifact-update', taskId, contextId, append, lastChunk, artifact: { artifactId: 'result', parts: [text(value)] } });

    if (!task) bus.publish({ kind: 'task', id: taskId, contextId, status: { state: 'submitted', timestamp: now() }, history: [userMessage] });
    status('working');
    switch (command) {
      case 'hang':
        await new Promise((resolve) => this.canceled.set(taskId, resolve));
        status('canceled', '', true);
        bus.finished();
        return;
      case 'fail':
        status('failed', 'told to fail', true);
        bus.finished();
        return;
      case 'ask':
        status('input-required', 'Which colour?', true);
        bus.finished();
        return;
      case 'sleep':
        await sleep(Number(argument) * 1000);
        artifact(argument);
        break;
      case 'chunks':
        for (let i = 1; i <= Number(argument); i++) {
          artifact(`chunk-${i} `, i > 1, i === Number(argument));
          await sleep(50);
        }
        break;
      default:
        artifact(argument || command);
    }
    status('completed', '', true);
    bus.finished();
  }

  cancelTask = async (taskId) => this.canceled.get(taskId)?.();
}

const card = {
  name: 'probe',
  description: 'Does what the message says.',
  version: '1',
  protocolVersion: '0.3.0',
  url: `http://127.0.0.1:${port}/a2a`,
  preferredTransport: rest ? 'HTTP+JSON' : 'JSONRPC',
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'probe', name: 'probe', description: 'Probe', tags: ['test'] }],
};
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Probe());
const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
const app = express();
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
app.use('/a2a', rest ? restHandler(options) : jsonRpcHandler(options));
app.listen(port, '127.0.0.1');
