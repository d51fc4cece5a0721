// Clients for a caller and a transport, requests, and how to read answers.

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
 * Whether the SDK hands on all there is. Its transports other than JSON-RPC lose the metadata
 * of parts and "append" of artifact updates where they convert Protocol Buffers, and add
 * empty lists of extensions.
 */
export const lossless = (transport) => transport === "jsonrpc";

export function fetchWith(token) {
  const headers = async () => ({ Authorization: `Bearer ${token}` });
  return createAuthenticatingFetchWithRetry(fetch, { headers, shouldRetryWithHeaders: async () => undefined });
}

/** A factory that knows all transports and prefers one. Over gRPC an interceptor sends the token. */
export function factoryFor(token, transport) {
  const fetchImpl = token ? fetchWith(token) : fetch;
  return new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl }), new GrpcTransportFactory()],
    preferredTransports: [TRANSPORTS[transport]],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    clientConfig: { interceptors: token && transport === "grpc" ? [authorizing(token)] : [] },
  });
}

/** The public card under a path. */
export const cardFor = (path) => new DefaultAgentCardResolver().resolve(baseURL + path);

export function request(parts, { message = {}, ...rest } = {}) {
  return { message: { kind: "message", messageId: uuid(), role: "user", parts, ...message }, ...rest };
}

export const text = (value) => [{ kind: "text", text: value }];
export const later = { configuration: { blocking: false } };

export const partsOf = (answer) =>
  answer.kind === "message" ? answer.parts : (answer.artifacts ?? []).flatMap((a) => a.parts);
export const textOf = (answer) => partsOf(answer).filter((p) => p.kind === "text").map((p) => p.text).join("\n");
export const dataOf = (answer) => partsOf(answer).filter((p) => p.kind === "data").map((p) => p.data);
export const statusText = (task) => (task.status.message?.parts ?? []).map((p) => p.text ?? "").join("\n");
export const wantState = (task, state) =>
  equal(task.status?.state, state, `state of ${task.id} (${task.status && statusText(task)})`);
export const ended = (task) => ["completed", "failed", "canceled", "rejected"].includes(task.status.state);
