/** Checklist of the HTTP contract, items 48, 49 and 58: the platform's timers, and aborts. */
import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createFetch, type ClientInit } from "sluice/client";
import { sleep } from "../../../src/client/fetch/sleep.js";
import { settle } from "../fake-time.js";
import { limited, talk, URL_A } from "../fake-server.js";

const DAY_MS = 86_400_000;

describe("timers", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
  afterEach(() => void vi.useRealTimers());

  test("48 · a wait longer than a timer can hold is split into several timers", async () => {
    const timer = vi.spyOn(globalThis, "setTimeout");
    let woken = false;
    const waiting = sleep(30 * DAY_MS).then(() => (woken = true));
    await vi.advanceTimersByTimeAsync(30 * DAY_MS - 1);
    expect(woken).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(woken).toBe(true);
    await waiting;
    expect(timer.mock.calls.map(([, ms]) => ms)).toEqual([2 ** 31 - 1, 30 * DAY_MS - (2 ** 31 - 1)]);
  });

  test("48 · an endless wait neither fires nor spins", async () => {
    const timer = vi.spyOn(globalThis, "setTimeout");
    const stop = new AbortController();
    const waiting = sleep(Infinity, stop.signal);
    await vi.advanceTimersByTimeAsync(60 * DAY_MS);
    expect(timer.mock.calls.length).toBeLessThan(5);
    stop.abort();
    await expect(waiting).rejects.toBe(stop.signal.reason);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("49 · a timer that fires early does not end a wait early", async () => {
    const early = vi.fn(globalThis.setTimeout);
    vi.stubGlobal("setTimeout", (then: () => void, ms: number) => early(then, ms * 0.9));
    const start = performance.now();
    const waiting = sleep(1_000).then(() => performance.now() - start);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await waiting).toBeGreaterThanOrEqual(1_000);
    expect(early.mock.calls.length).toBeGreaterThan(1);
    vi.unstubAllGlobals();
  });

  test("58 · an abort ends a wait at once, with the signal's reason, and leaves neither timer nor listener", async () => {
    const stop = new AbortController();
    const [add, remove] = [vi.spyOn(stop.signal, "addEventListener"), vi.spyOn(stop.signal, "removeEventListener")];
    const reason = new Error("changed my mind");
    const waiting = sleep(1_000, stop.signal);
    expect(vi.getTimerCount()).toBe(1);
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
    await expect(sleep(1_000, stop.signal)).rejects.toBe(reason);
    expect(vi.getTimerCount()).toBe(0);

    const calm = new AbortController();
    const [added, removed] = [vi.spyOn(calm.signal, "addEventListener"), vi.spyOn(calm.signal, "removeEventListener")];
    const done = sleep(1_000, calm.signal);
    await vi.advanceTimersByTimeAsync(1_000);
    await done;
    expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(added.mock.calls.map(([, listener]) => listener));
    expect([add.mock.calls.length, remove.mock.calls.length]).toEqual([1, 0]); // once
  });

  test("58 · an abort without a reason, as in React Native, is an AbortError", async () => {
    const signal = { aborted: true } as AbortSignal;
    await expect(sleep(1, signal)).rejects.toMatchObject({ name: "AbortError" });
  });
});

test("49 · a real wait is never shorter than Retry-After, by the clock that measures it", async () => {
  const at: number[] = [];
  const fetch = createFetch({ fetch: async () => (at.push(performance.now()), at.length > 1 ? new Response() : limited({ "Retry-After": "0.05" })) });
  await fetch(URL_A);
  expect((at[1] as number) - (at[0] as number)).toBeGreaterThanOrEqual(50);
});

const kinds: [string, ClientInit][] = [["merged", {}], ["not merged", { merge: false }]];
test.each(kinds)("58 · an abort while a call that is %s waits rejects at once and leaves no sleeper", async (_, init) => {
  const { fetch, time, sent } = talk([limited()]);
  const stop = new AbortController();
  const call = fetch(URL_A, { ...init, signal: stop.signal });
  await settle();
  expect(time.sleeping).toBe(1);
  const reason = new Error("changed my mind");
  stop.abort(reason);
  await expect(call).rejects.toBe(reason);
  await settle();
  expect(time.sleeping).toBe(0);
  await time.advance(10_000);
  expect(sent).toHaveLength(1);
});

test("58 · an abort just as the wait ends sends nothing more, even where neither `time.sleep` nor `fetch` looks at the signal", async () => {
  const stop = new AbortController();
  let sent = 0;
  const fetch = createFetch({ fetch: async () => (sent++, limited()), time: { sleep: async () => stop.abort() } });
  await expect(fetch(URL_A, { signal: stop.signal, merge: false })).rejects.toMatchObject({ name: "AbortError" });
  expect(sent).toBe(1);
});

test("58 · an aborted request rejects as fetch does", async () => {
  const { fetch } = talk([() => new Promise<Response>(() => undefined)]);
  const stop = new AbortController();
  const call = fetch(URL_A, { signal: stop.signal });
  await settle();
  stop.abort();
  await expect(call).rejects.toMatchObject({ name: "AbortError" });
});

const bodies: [string, string | null][] = [["without bodies", null], ["with bodies", "hello"]];
test.each(bodies)("58 · one signal for many calls %s has one listener, one after the other and all at once", async (_, body) => {
  const stop = new AbortController();
  const wire = async (): Promise<Response> => new Response(body);
  const fetch = createFetch({ fetch: wire, merge: true });
  for (let i = 0; i < 50; i++) await (await fetch(URL_A, { signal: stop.signal })).text();
  expect(getEventListeners(stop.signal, "abort")).toHaveLength(1);
  await Promise.all(Array.from({ length: 50 }, (__, i) => fetch(`${URL_A}/${i}`, { signal: stop.signal })));
  expect(getEventListeners(stop.signal, "abort")).toHaveLength(1);
});

test("58 · a long-lived signal keeps no unused body in memory", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const stop = new AbortController();
  const bodies: WeakRef<object>[] = [];
  const fetch = createFetch({ fetch: async () => remembered(new Response("hello")) });
  const remembered = (response: Response): Response => (bodies.push(new WeakRef(response.body as object)), response);
  for (let i = 0; i < 50; i++) await (await fetch(URL_A, { signal: stop.signal })).text();
  for (let turn = 0; turn < 100 && bodies.some((body) => body.deref()); turn++) {
    await settle();
    collect();
  }
  expect(bodies.filter((body) => body.deref())).toEqual([]);
});

test("58 · an abort still ends the body of a lone call, even after garbage collection", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const stop = new AbortController();
  // A socket that is open holds on to what it fills.
  const network: unknown[] = [];
  const fill = (body: ReadableStreamDefaultController, signal?: AbortSignal | null): void => {
    network.push(body);
    signal?.addEventListener("abort", () => body.error(signal.reason));
  };
  const fetch = createFetch({ fetch: async (_, init) => new Response(new ReadableStream({ start: (body) => fill(body, init?.signal) })) });
  const reading = (await fetch(URL_A, { signal: stop.signal })).text();
  for (let turn = 0; turn < 5; turn++) {
    await settle();
    collect();
  }
  const reason = new Error("changed my mind");
  stop.abort(reason);
  await expect(reading).rejects.toBe(reason);
  expect(network).toHaveLength(1);
});

test("58 · an abort while the body of the last 429 is read rejects with its reason, not with a RateLimitedError", async () => {
  const stop = new AbortController();
  const reason = new Error("changed my mind");
  const refusal = () => new Response(new ReadableStream({ pull: (body) => (stop.abort(reason), body.close()) }, { highWaterMark: 0 }), { status: 429 });
  const { fetch, sent } = talk([refusal]);
  await expect(fetch(URL_A, { method: "POST", signal: stop.signal })).rejects.toBe(reason);
  expect(sent).toHaveLength(1);
});
