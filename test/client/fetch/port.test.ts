/** What the client asks of, and tells, whatever is plugged into its port for traffic. */
import { expect, test } from "vitest";
import type { Traffic, TrafficAnswer, TrafficCall } from "sluice/client";
import { givenUp, limited, talk, URL_A } from "../fake-server.js";

/** Takes down all that it is asked and told, and lets calls wait as it was told to. */
function notebook(waits: readonly (number | Promise<number>)[] = []) {
  const asked: TrafficCall[] = [];
  const heard: [TrafficCall, TrafficAnswer | null][] = [];
  const traffic: Traffic = {
    turn: async (call) => waits[asked.push(call) - 1] ?? 0,
    heard: (call, answer) => void heard.push([call, answer]),
  };
  return { asked, heard, traffic };
}

test("it is asked before every attempt and told of every answer, with one object for all attempts of a call", async () => {
  const { asked, heard, traffic } = notebook();
  const first = limited({ "Retry-After": "2", RateLimit: '"a";r=0;t=2' }, { "violated-policies": ["a"] });
  const second = new Response("here", { headers: { RateLimit: '"a";r=4;t=1' } });
  const { fetch, time } = talk([first, second], { traffic, identity: "ann", maxWaitMs: 9_000 });
  await time.run(fetch(`${URL_A}?page=1#top`, { merge: false }));

  expect(asked[0]).toMatchObject({ origin: "https://api.example.com", path: "/inbox", method: "GET", identity: "ann", maxWaitMs: 9_000, signal: null, sensitive: false });
  expect(new Set([...asked, ...heard.map(([call]) => call)]).size).toBe(1);
  const limit = { policy: "a", limit: null, windowMs: null };
  expect(heard.map(([, answer]) => answer)).toEqual([
    { status: 429, waitMs: 2_000, limits: [{ ...limit, remaining: 0, resetMs: 2_000 }], policies: ["a"] },
    { status: 200, waitMs: null, limits: [{ ...limit, remaining: 4, resetMs: 1_000 }], policies: [] },
  ]);
});

test("it is told of a request that failed, with null", async () => {
  const { heard, traffic } = notebook();
  const cause = new TypeError("fetch failed");
  await expect(talk([cause], { traffic }).fetch(URL_A)).rejects.toBe(cause);
  expect(heard.map(([, answer]) => answer)).toEqual([null]);
});

test("a call waits for its turn, and merged calls have one turn together", async () => {
  let go: (ms: number) => void = () => undefined;
  const { asked, traffic } = notebook([new Promise((resolve) => (go = resolve))]);
  const { fetch, sent, time } = talk([], { traffic });
  const calls = [fetch(URL_A), fetch(URL_A)];
  await time.advance(5_000);
  expect([asked.length, sent.length]).toEqual([1, 0]);
  go(0);
  await Promise.all(calls);
  expect(sent).toHaveLength(1);
});

test("a call that would wait for too long is given up without a request, with the whole wait", async () => {
  const { fetch, sent, time } = talk([], plugged([90_000]));
  expect(await givenUp(fetch(URL_A))).toMatchObject({
    reason: "wait_too_long", waitMs: 90_000, retryAt: new Date(time.wallClock() + 90_000), attempts: 0, response: null, policies: [], code: "rate_limited",
  });
  expect(sent).toHaveLength(0);
});

test("56 · a sensitive call is not kept waiting for its turn: its error has the wait", async () => {
  const { fetch, sent } = talk([], plugged([5_000]));
  expect(await givenUp(fetch(URL_A, { method: "POST", sensitive: true }))).toMatchObject({ reason: "sensitive", waitMs: 5_000, attempts: 0, response: null });
  expect(sent).toHaveLength(0);
});

test("between attempts too, and then the attempts that were made count", async () => {
  const { fetch, sent, time } = talk([limited()], plugged([0, 90_000]));
  expect(await time.run(givenUp(fetch(URL_A)))).toMatchObject({ reason: "wait_too_long", waitMs: 90_000, attempts: 1, response: null });
  expect(sent).toHaveLength(1);
});

test("a turn that rejects rejects the call", async () => {
  const reason = new Error("aborted in the queue");
  const { fetch, sent } = talk([], { traffic: { turn: () => Promise.reject(reason), heard: () => undefined } });
  await expect(fetch(URL_A)).rejects.toBe(reason);
  expect(sent).toHaveLength(0);
});

test("origin and path are read without `URL`, of which React Native has only a part", async () => {
  const { asked, traffic } = notebook();
  const { fetch } = talk([], { traffic });
  for (const url of ["https://a.example", "http://a.example:8080/x/y?z=//q/r", "https://[::1]/?a#b/c", "https://a.example/?//b"]) await fetch(url);
  expect(asked.map(({ origin, path }) => `${origin} ${path}`)).toEqual(["https://a.example /", "http://a.example:8080 /x/y", "https://[::1] /", "https://a.example /"]);
});

function plugged(waits: readonly number[]) {
  return { traffic: notebook(waits).traffic };
}

test("it is told of an attempt that was aborted as its turn came, for it was counted as sent", async () => {
  const controller = new AbortController();
  const { heard, traffic } = notebook();
  const turn: Traffic["turn"] = async () => (controller.abort("late"), 0);
  const { fetch, sent } = talk([], { traffic: { ...traffic, turn } });
  await expect(fetch(URL_A, { signal: controller.signal, merge: false })).rejects.toBe("late");
  expect([sent.length, heard.map(([, answer]) => answer)]).toEqual([0, [null]]);
});
