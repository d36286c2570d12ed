import { MemoryStore } from "sluice";
// A limited server on loopback, and its clock. Each wait of the client moves that clock and all timers of this process, the
// host's own included. So a host's timeout that would end a wait shows.
import { createServer, type RequestListener } from "node:http";
import { rateLimit } from "sluice/node";
import type { ClientOptions } from "sluice/client";
import { ManualClock } from "sluice/testing";
import { onTestFinished, vi } from "vitest";
import { listen } from "../../../test/adapters/rows/listen.js";

/** A request that reached the server. The status is 0 while there is no answer. */
export interface Arrived {
  readonly method: string;
  body: string;
  status: number;
}

/** A server, and what happened so far. */
export interface World {
  readonly url: string;
  readonly arrived: Arrived[];
  /** The waits of the client, in milliseconds. */
  readonly waits: readonly number[];
  /** What a client in this world adds to the options of its recipe. */
  readonly limits: ClientOptions;
  /** Stops time. Resolves when the client waits. */
  hold(): Promise<void>;
  /** Moves the server's clock and this process's timers. */
  advance(ms: number): Promise<void>;
}

/**
 * Starts a server of one token, which is back after `everyMs`; null for a server without a limit. It ends with the test,
 * and so do the fake timers.
 */
export async function startWorld(everyMs: number | null, listener: RequestListener): Promise<World> {
  // Timers of no time, with which hosts batch, go off on their own.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"], shouldAdvanceTime: true, advanceTimeDelta: 1 });
  onTestFinished(() => void vi.useRealTimers());
  const clock = new ManualClock();
  const limited = everyMs === null ? listener : oneToken(everyMs, clock, listener);
  const arrived: Arrived[] = [];
  const server = createServer((request, response) => {
    const one: Arrived = { method: String(request.method), body: "", status: 0 };
    arrived.push(one);
    request.on("data", (chunk) => (one.body += chunk));
    response.once("finish", () => (one.status = response.statusCode));
    limited(request, response);
  });
  const { port, close } = await listen(server);
  onTestFinished(async () => void (await close()));

  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await vi.advanceTimersByTimeAsync(ms);
  };
  const waits: number[] = [];
  let held: (() => void) | undefined;
  const onWait: ClientOptions["onWait"] = ({ waitMs }) => {
    waits.push(waitMs);
    // The client sets its timer after this.
    setImmediate(() => {
      if (held === undefined) void advance(waitMs);
      else held();
    });
  };
  const hold = (): Promise<void> => new Promise((resolve) => void (held = resolve));
  return { url: `http://127.0.0.1:${port}`, arrived, waits, limits: { time: { random: () => 0 }, onWait }, hold, advance };
}

function oneToken(everyMs: number, clock: ManualClock, listener: RequestListener): RequestListener {
  const policy = { name: "interactive", capacity: 1, refill: { tokens: 1, everyMs } };
  return rateLimit({ policy, key: () => ["user", "ada"], store: new MemoryStore({ clock: clock.now }) })(listener);
}

/** Answers everything with one JSON document. */
export function always(document: object, status = 200, headers: Readonly<Record<string, string>> = {}): RequestListener {
  return (_request, response) => void response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(document));
}

/** What a promise gives: its value, or what it rejects with. */
export function outcomeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: unknown) => error);
}
