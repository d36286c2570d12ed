// This client before every adapter, while the limiter's store is unavailable: what it is told, and what it makes of that. Time is
// told to both, so no answer depends on how fast they come.
import type { OnStoreError } from "sluice";
import { createFetch, type ClientInit, type ClientOptions } from "sluice/client";
import { createTraffic, type Traffic } from "sluice/client/traffic";
import type { GateOptions } from "sluice/http";
import { ManualClock, type SuiteRequest } from "sluice/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { rows, type Row } from "../../adapters/rows/index.js";
import { UnsteadyStore } from "../../helpers/unsteady-store.js";
import type { TrafficResponse } from "../../../src/client/fetch/options.js";

/** Of 6 and one a second, a process on its own has 3 and one in two seconds. */
const policy = { name: "api", capacity: 6, refill: { tokens: 1, everyMs: 1_000 } };

/** A server whose store can become unavailable, and a client of it. What it waits moves the clock that both go by. */
async function meet(row: Row, onStoreError: OnStoreError, options: ClientOptions = {}) {
  const clock = new ManualClock(1_000_000);
  const store = new UnsteadyStore(clock.now, { breaker: false });
  const limited = <Request>(read: (request: Request) => SuiteRequest): GateOptions<Request> => ({
    policy, store, onStoreError, key: (request) => ["user", read(request).header("x-user")],
  });
  const server = await row.serve({ options: limited, bulk: limited, answer: null, answerUnidentified: null, reports: () => {}, entered: () => {}, held: () => Promise.resolve() });
  onTestFinished(() => void server.close());

  const told: unknown[] = [];
  const waits: number[] = [];
  const client = createFetch({
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      const { status, headers } = response;
      told.push([status, headers.get("Retry-After"), ...[...headers.keys()].filter((name) => name.startsWith("ratelimit"))]);
      return response;
    },
    time: {
      now: clock.now,
      random: () => 0,
      sleep: async (ms) => {
        waits.push(ms);
        clock.advance(ms);
      },
    },
    ...options,
  });
  const ask = (init: ClientInit = {}): Promise<Response> =>
    client(`http://127.0.0.1:${server.port}/ok`, { headers: { "X-User": "ann", Connection: "close" }, ...init });
  return { store, told, waits, ask };
}

/** A traffic, and the responses that it observes. */
function watchedTraffic(): { traffic: Traffic; observed: (TrafficResponse | null)[] } {
  const [traffic, observed] = [createTraffic(), [] as (TrafficResponse | null)[]];
  return {
    observed,
    traffic: {
      limits: traffic.limits,
      schedule: (...scheduled) => traffic.schedule(...scheduled),
      observe: (call, response, timing) => (observed.push(response), traffic.observe(call, response, timing)),
    },
  };
}

const repeat = async <T>(times: number, ask: () => Promise<T>): Promise<T[]> => {
  const all: T[] = [];
  while (all.length < times) all.push(await ask());
  return all;
};

/** A status and its Retry-After, and no field beside. */
type Told = readonly [status: number, retryAfter: string | null];
const OK: Told = [200, null];
const away = (seconds: number): Told => [503, String(seconds)];

const answers: [onStoreError: OnStoreError, told: Told[]][] = [
  ["allow", [OK, OK, OK, OK]],
  ["local", [OK, OK, OK, away(2)]],
  ["unavailable", [away(1), away(1), away(1), away(1)]],
];

describe.each(rows)("$name", (row) => {
  describe.each(answers)("onStoreError: %s", (onStoreError, expected) => {
    test("L11 · tells so with 200 and 503 alone, and a 503 comes back as the response that it is", async () => {
      const { store, told, waits, ask } = await meet(row, onStoreError, { maxAttempts: 1 });
      store.health = "down";
      const responses = await repeat(4, ask);
      expect([told, waits]).toEqual([expected, []]);
      expect(responses.map(({ status }) => status)).toEqual(expected.map(([status]) => status));
      for (const response of responses) {
        if (response.status === 200) expect(await response.text()).toBe("ok");
        else expect(await response.json()).toMatchObject({ code: "temporarily_unavailable" });
      }
    });

    test("L11 · tells nothing that keeps calls back, and all is as before when the store is back", async () => {
      const { traffic, observed } = watchedTraffic();
      const { store, told, waits, ask } = await meet(row, onStoreError, { traffic, maxAttempts: 1 });
      await ask();
      store.health = "down";
      await repeat(4, ask);
      store.health = "up";
      await ask();
      expect([told.slice(1, -1), waits]).toEqual([expected, []]);
      expect(observed.slice(1, -1)).toEqual(expected.map(([status, seconds]) => ({ status, isRefusal: false, waitMs: seconds && Number(seconds) * 1_000, limits: null, policies: [] })));
      expect([observed[0], observed.at(-1)].map((response) => response?.limits?.[0]?.remaining)).toEqual([5, 4]);
    });
  });

  test("L11 · a call comes back after the wait for the local share", async () => {
    const { store, told, waits, ask } = await meet(row, "local");
    store.health = "down";
    const responses = await repeat(5, ask);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(told).toEqual([OK, OK, OK, away(2), OK, away(2), OK]);
    expect(waits).toEqual([2_000, 2_000]);
  });

  test("L11 · the last answer is a response still when the retries end", async () => {
    const { store, told, waits, ask } = await meet(row, "unavailable");
    store.health = "down";
    expect((await ask()).status).toBe(503);
    expect([told, waits]).toEqual([[away(1), away(1), away(1)], [1_000, 1_000]]);
    for (const init of [{ maxWaitMs: 999 }, { sensitive: true }, { method: "POST" }]) expect((await ask(init)).status).toBe(503);
    expect([told.length, waits.length]).toEqual([6, 2]);
  });
});

test("a client that hears nothing of its budget keeps to the one it knew, and to its rate", async () => {
  const { store, told, waits, ask } = await meet(rows[0] as Row, "allow", { traffic: createTraffic() });
  await ask();
  store.health = "down";
  await repeat(20, ask);
  expect(told.slice(1)).toEqual(Array(20).fill(OK));
  const passedMs = waits.reduce((sum, ms) => sum + ms, 0);
  expect(20).toBeLessThanOrEqual(policy.capacity + passedMs / 1_000);
  expect(Math.max(...waits)).toBeLessThanOrEqual(1_000);
});
