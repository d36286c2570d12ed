/** How the client calls the `Traffic` that it is given. */
import { expect, test } from "vitest";
import { parseRateLimit, type Traffic, type TrafficCall } from "sluice/client";
import { givenUp, limited, talk, URL_A } from "../fake-server.js";
import type { TrafficResponse } from "../../../src/client/fetch/options.js";

/** A traffic that records its calls. Attempt n gets the nth of `waits`. */
function recordingTraffic(waits: readonly (number | Promise<number>)[] = []) {
  const scheduled: TrafficCall[] = [];
  const observed: [TrafficCall, TrafficResponse | null][] = [];
  const traffic: Traffic = {
    schedule: async (call) => waits[scheduled.push(call) - 1] ?? 0,
    observe: (call, response) => void observed.push([call, response]),
  };
  return { scheduled, observed, traffic };
}

test("`schedule` precedes every attempt, `observe` gets every response, both with one object for all attempts of a call", async () => {
  const { scheduled, observed, traffic } = recordingTraffic();
  const first = limited({ "Retry-After": "2", RateLimit: '"a";r=0;t=2' }, { "violated-policies": ["a"] });
  const second = new Response("here", { headers: { RateLimit: '"a";r=4;t=1' } });
  const { fetch, time } = talk([first, second], { traffic, vendor: { limits: parseRateLimit }, identity: "ann", maxWaitMs: 9_000 });
  await time.run(fetch(`${URL_A}?page=1#top`, { merge: false }));

  expect(scheduled[0]).toMatchObject({ origin: "https://api.example.com", path: "/inbox", method: "GET", identity: "ann", maxWaitMs: 9_000, signal: null, sensitive: false });
  expect(new Set([...scheduled, ...observed.map(([call]) => call)]).size).toBe(1);
  const limit = { policy: "a", limit: null, windowMs: null };
  expect(observed.map(([, response]) => response)).toEqual([
    { status: 429, isRefusal: true, waitMs: 2_000, limits: [{ ...limit, remaining: 0, resetMs: 2_000 }], policies: ["a"] },
    { status: 200, isRefusal: false, waitMs: null, limits: [{ ...limit, remaining: 4, resetMs: 1_000 }], policies: [] },
  ]);
});

test("`observe` gets null for a request that failed", async () => {
  const { observed, traffic } = recordingTraffic();
  const cause = new TypeError("fetch failed");
  await expect(talk([cause], { traffic, maxAttempts: 1 }).fetch(URL_A)).rejects.toBe(cause);
  expect(observed.map(([, response]) => response)).toEqual([null]);
});

test("a call waits for `schedule`, and merged calls are scheduled as one", async () => {
  let go: (ms: number) => void = () => undefined;
  const { scheduled, traffic } = recordingTraffic([new Promise((resolve) => (go = resolve))]);
  const { fetch, sent, time } = talk([], { traffic });
  const calls = [fetch(URL_A), fetch(URL_A)];
  await time.advance(5_000);
  expect([scheduled.length, sent.length]).toEqual([1, 0]);
  go(0);
  await Promise.all(calls);
  expect(sent).toHaveLength(1);
});

test("a call that would wait too long is given up without a request, with the whole wait", async () => {
  const { fetch, sent, time } = talk([], plugged([90_000]));
  expect(await givenUp(fetch(URL_A))).toMatchObject({
    reason: "wait_too_long", waitMs: 90_000, retryAt: new Date(time.wallNow() + 90_000), attempts: 0, response: null, policies: [], code: "ERR_RATE_LIMITED", serverCode: null,
  });
  expect(sent).toHaveLength(0);
});

test("56 · a sensitive call is not queued: its error has the wait", async () => {
  const { fetch, sent } = talk([], plugged([5_000]));
  expect(await givenUp(fetch(URL_A, { method: "POST", sensitive: true }))).toMatchObject({ reason: "sensitive", waitMs: 5_000, attempts: 0, response: null });
  expect(sent).toHaveLength(0);
});

test("a retry that would wait too long is given up with the attempts so far", async () => {
  const { fetch, sent, time } = talk([limited()], plugged([0, 90_000]));
  expect(await time.run(givenUp(fetch(URL_A)))).toMatchObject({ reason: "wait_too_long", waitMs: 90_000, attempts: 1, response: null });
  expect(sent).toHaveLength(1);
});

test("a `schedule` that rejects rejects the call", async () => {
  const reason = new Error("aborted in the queue");
  const { fetch, sent } = talk([], { traffic: { schedule: () => Promise.reject(reason), observe: () => undefined } });
  await expect(fetch(URL_A)).rejects.toBe(reason);
  expect(sent).toHaveLength(0);
});

test("origin and path are read without `URL`, of which React Native has only a part", async () => {
  const { scheduled, traffic } = recordingTraffic();
  const { fetch } = talk([], { traffic });
  for (const url of ["https://a.example", "http://a.example:8080/x/y?z=//q/r", "https://[::1]/?a#b/c", "https://a.example/?//b"]) await fetch(url);
  expect(scheduled.map(({ origin, path }) => `${origin} ${path}`)).toEqual(["https://a.example /", "http://a.example:8080 /x/y", "https://[::1] /", "https://a.example /"]);
});

function plugged(waits: readonly number[]) {
  return { traffic: recordingTraffic(waits).traffic };
}

test("`observe` gets null for an attempt that aborts as it is scheduled, because it counted as sent", async () => {
  const controller = new AbortController();
  const { observed, traffic } = recordingTraffic();
  const schedule: Traffic["schedule"] = async () => (controller.abort("late"), 0);
  const { fetch, sent } = talk([], { traffic: { ...traffic, schedule } });
  await expect(fetch(URL_A, { signal: controller.signal, merge: false })).rejects.toBe("late");
  expect([sent.length, observed.map(([, response]) => response)]).toEqual([0, [null]]);
});
