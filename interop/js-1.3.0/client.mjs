// Clients for a caller and a transport, requests, and how to read answers.

import { SendMessageRequest, TaskState } from "@a2a-js/sdk";
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  createAuthenticatingFetchWithRetry,
} from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import { authorizing, baseURL, equal, uuid } from "../lib/checks.mjs";

/** The transports of the SDK, by the names that the checks have: what a card calls them. */
export const TRANSPORTS = { jsonrpc: "JSONRPC", rest: "HTTP+JSON", grpc: "GRPC" };

/**
 * A factory that knows all transports and prefers one. Its clients send the token the way
 * the SDK wants it done, which is another one for gRPC.
 */
export function factoryFor(token, transport, compat = {}) {
  const fetchImpl = token
    ? createAuthenticatingFetchWithRetry(fetch, {
        headers: async () => ({ Authorization: `Bearer ${token}` }),
        shouldRetryWithHeaders: async () => undefined,
      })
    : fetch;
  return new ClientFactory({
    transports: [
      new JsonRpcTransportFactory({ fetchImpl, ...compat }),
      new RestTransportFactory({ fetchImpl, ...compat }),
      new GrpcTransportFactory(compat),
    ],
    preferredTransports: [TRANSPORTS[transport]],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl, ...compat }),
    clientConfig: { interceptors: token && transport === "grpc" ? [authorizing(token)] : [] },
  });
}

/** The public card under a path. */
export const cardFor = (path) => new DefaultAgentCardResolver().resolve(baseURL + path);

/** A send request from the JSON that the specification shows. */
export function request(parts, { message = {}, configuration = {}, metadata } = {}) {
  return SendMessageRequest.fromJSON({
    message: { messageId: uuid(), role: "ROLE_USER", parts, ...message },
    configuration,
    metadata,
  });
}

/** Some fields of a request; over gRPC the SDK needs all of them to encode it. */
export const fields = (transport, kind, some) => (transport === "grpc" ? kind.fromJSON(some) : some);

export const text = (value) => [{ text: value }];

export const partsOf = (answer) =>
  "messageId" in answer ? answer.parts : answer.artifacts.flatMap((artifact) => artifact.parts);
export const textOf = (answer) =>
  partsOf(answer).filter((p) => p.content?.$case === "text").map((p) => p.content.value).join("\n");
export const dataOf = (answer) =>
  partsOf(answer).filter((p) => p.content?.$case === "data").map((p) => p.content.value);
export const stateOf = (task) => TaskState[task.status?.state];
export const statusText = (task) => (task.status?.message?.parts ?? []).map((p) => p.content?.value ?? "").join("\n");
export const wantState = (task, state) =>
  equal(stateOf(task), `TASK_STATE_${state}`, `state of ${task.id} (${statusText(task)})`);
export const ended = (task) =>
  ["COMPLETED", "FAILED", "CANCELED", "REJECTED"].includes(stateOf(task).slice("TASK_STATE_".length));
