// A list of named checks that prints one line for each.

import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

export const baseURL = new URL(process.env.SKILLYARD_URL ?? "http://127.0.0.1:8080").origin;
export const tokens = { alice: "alice-token", bob: "bob-token" };

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

/** A fetch that sends the bearer token; without one it is the plain fetch. */
export function fetchAs(token) {
  if (!token) return fetch;
  return (input, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set("Authorization", `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
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
    process.exitCode = this.#failed ? 1 : 0;
  }
}
