// A list of named checks that prints one line for each.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { isDeepStrictEqual } from "node:util";

export const baseURL = new URL(process.env.SKILLYARD_URL ?? "http://127.0.0.1:8080").origin;
export const tokens = { alice: "alice-token", bob: "bob-token" };

/** The extension that numbers events in their metadata. */
export const EVENT_SEQUENCE = "https://github.com/skillyard/skillyard/ext/event-sequence/v1";

export const uuid = () => randomUUID();
export const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Throws unless the condition holds. */
export function expect(condition, detail) {
  if (!condition) throw new Error(detail);
}

/** Throws unless got and want are deeply equal. */
export function equal(got, want, what) {
  if (!isDeepStrictEqual(got, want)) {
    throw new Error(`${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
  }
}

/** Runs fn and returns what it threw; throws if it returned. */
export async function thrown(fn) {
  let value;
  try {
    value = await fn();
  } catch (err) {
    return err;
  }
  throw new Error(`got ${JSON.stringify(value)}, want an error`);
}

/** Calls probe until accept likes its value, at most for limitMs. */
export async function poll(probe, accept, limitMs = 20_000) {
  const end = Date.now() + limitMs;
  for (;;) {
    const value = await probe();
    if (accept(value)) return value;
    if (Date.now() > end) throw new Error(`still ${JSON.stringify(value)} after ${limitMs} ms`);
    await delay(50);
  }
}

/** An interceptor for either SDK that sends the token with every call. */
export const authorizing = (token) => ({
  before: async (args) => {
    const serviceParameters = { ...args.options?.serviceParameters, Authorization: `Bearer ${token}` };
    args.options = { ...args.options, serviceParameters };
  },
  after: async () => {},
});

/** Throws unless the error is about a missing key: what the server says, or the HTTP status. */
export function refused(err) {
  expect(/API key|401/.test(`${err} ${err.cause ?? ""} ${err.details ?? ""}`), `got ${err?.constructor?.name}: ${err}`);
}

/** The words of the probe's numbered chunks, from the first to the last. */
export const chunks = (first, last) =>
  Array.from({ length: last - first + 1 }, (_, i) => `chunk-${first + i} `);

/** What a stream's artifact updates make of a task's artifacts: lists of parts by artifact id. */
export class Folded {
  parts = new Map();

  snapshot(artifacts) {
    this.parts = new Map((artifacts ?? []).map((a) => [a.artifactId, [...a.parts]]));
  }

  update({ artifact, append }) {
    const before = append ? (this.parts.get(artifact.artifactId) ?? []) : [];
    this.parts.set(artifact.artifactId, [...before, ...artifact.parts]);
  }
}

/** Reads a stream to its end; throws when that takes more than limitMs. */
export async function readAll(stream, limitMs = 20_000) {
  const events = [];
  const late = delay(limitMs).then(() => {
    throw new Error(`the stream is open after ${limitMs} ms; events: ${JSON.stringify(events)}`);
  });
  const read = (async () => {
    for await (const event of stream) events.push(event);
  })();
  late.catch(() => {});
  await Promise.race([read, late]);
  return events;
}

/** A webhook on this machine that keeps what it is sent. */
export class Webhook {
  /** {headers, body} of each delivery, in the order of arrival. */
  deliveries = [];
  #server;

  static async open() {
    const hook = new Webhook();
    hook.#server = createServer(async (req, res) => {
      let body = "";
      for await (const piece of req.setEncoding("utf8")) body += piece;
      hook.deliveries.push({ headers: req.headers, body: JSON.parse(body) });
      res.end();
    });
    await new Promise((resolve) => hook.#server.listen(0, "127.0.0.1", resolve));
    return hook;
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}/notify`;
  }

  /** Waits until the body of the newest delivery is accepted, and returns all bodies. */
  async until(accept) {
    await poll(async () => this.deliveries.at(-1)?.body, (body) => body !== undefined && accept(body));
    return this.deliveries.map((d) => d.body);
  }

  close() {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** Throws unless every delivery carries the token, the credentials and an id of its own. */
export function wantHeaders(deliveries, { token, authorization }) {
  for (const { headers } of deliveries) {
    equal(headers["x-a2a-notification-token"], token, "X-A2A-Notification-Token");
    equal(headers["a2a-notification-token"], token, "A2A-Notification-Token");
    equal(headers.authorization, authorization, "Authorization");
  }
  const ids = deliveries.map((d) => d.headers["webhook-id"]);
  equal(new Set(ids).size, deliveries.length, `delivery ids ${ids}`);
}

/** Runs checks one after the other; one line each on standard output. */
export class Checks {
  #client;
  #failed = 0;

  constructor(client) {
    this.#client = client;
  }

  async check(name, fn) {
    try {
      await fn();
      console.log(`ok ${this.#client}/${name}`);
    } catch (err) {
      this.#failed++;
      const detail = String(err?.stack ?? err).split("\n").slice(0, 3).join(" | ");
      console.log(`FAIL ${this.#client}/${name}: ${detail}`);
    }
  }

  /** Sets the exit code: 1 when a check failed. */
  finish() {
    // Not exitCode: timers and the connections of aborted streams may be left.
    process.exit(this.#failed ? 1 : 0);
  }
}
