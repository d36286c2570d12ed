// 50 callers of one program, under one user's budget, against the example server's inbox. Time is virtual: a run takes
// a second and gives the same result each time.
import { inbox } from "../../examples/server/service.js";
import { rateLimit } from "../../src/adapters/web.js";
import type { Timing } from "../../src/client/index.js";
import type { LimitOptions } from "../../src/core/limit.js";
import type { HeaderStyle } from "../../src/http/index.js";
import { MemoryStore } from "../../src/index.js";
import type { Fetch, Strategy } from "./strategies.js";
import { seeded, VirtualTime } from "./virtual-time.js";

export interface Scenario {
  readonly limit: LimitOptions;
  readonly callers: number;
  readonly callsEach: number;
  /** The longest pause of a caller before a call, in milliseconds. The pause is random. */
  readonly thinkMs: number;
  /** The latency in one direction, from and to, in milliseconds. */
  readonly latencyMs: readonly [number, number];
  readonly headers?: (options: { readonly clock: () => number }) => readonly HeaderStyle[];
}

/** Twice the example server's burst and ten times its rate: enough for 90 seconds of work. */
export const FIFTY: Scenario = {
  limit: { capacity: 20, refill: { tokens: 20, everyMs: 1_000 } },
  callers: 50,
  callsEach: 40,
  thinkMs: 1_000,
  latencyMs: [10, 40],
};

export interface Run {
  readonly name: string;
  /** Every request, by the time of the server's answer. */
  readonly wire: ReadonlyArray<{ readonly at: number; readonly refused: boolean }>;
  /** The duration of each call in milliseconds, with its retries and waits. */
  readonly took: readonly number[];
  /** When the last call succeeded. */
  readonly doneMs: number;
}

/** Runs a scenario with one strategy. */
export async function simulate({ name, make }: Strategy, scenario: Scenario, seed = 1): Promise<Run> {
  const time = new VirtualTime();
  const timing: Timing = { now: time.now, wallNow: () => Date.UTC(2026, 0, 1) + time.now(), sleep: time.sleep, random: seeded(seed) };
  const chance = seeded(seed + 1);
  const between = ([from, to]: readonly [number, number]): number => from + chance() * (to - from);
  const wire: Array<{ at: number; refused: boolean }> = [];
  const took: number[] = [];

  const { limit, headers } = scenario;
  const server = rateLimit({ policy: { name: "interactive", ...limit }, store: new MemoryStore({ clock: time.now }), key: () => ["user", "alice"], ...(headers && { headers: headers({ clock: timing.wallNow }) }) })(() =>
    Response.json(inbox().body),
  );
  const overTheNetwork: Fetch = async (url) => {
    await time.sleep(between(scenario.latencyMs));
    const response = await server(new Request(url));
    wire.push({ at: time.now(), refused: response.status === 429 });
    await time.sleep(between(scenario.latencyMs));
    return response;
  };
  const fetch = make(overTheNetwork, timing);
  const caller = async (): Promise<void> => {
    for (let page = 0; page < scenario.callsEach; page++) {
      await time.sleep(between([0, scenario.thinkMs]));
      const start = time.now();
      const response = await fetch(`https://api.example.com/inbox?page=${page}`);
      if (response.status !== 200) throw new Error(`${name}: ${response.status}`);
      took.push(time.now() - start);
    }
  };
  const all = Promise.all(Array.from({ length: scenario.callers }, caller));
  await time.pass();
  await all;
  return { name, wire, took, doneMs: time.now() };
}
