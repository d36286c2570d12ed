/** Checklist of the HTTP contract, items 48, 49 and 58: the platform's timers, and aborts. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createFetch, type ClientInit } from "sluice/client";
import { sleep } from "../../src/client/sleep.js";
import { FakeTime, settle } from "./fake-time.js";
import { limited, talk, URL_A } from "./fake-server.js";

const DAY_MS = 86_400_000;

describe("timers", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
  afterEach(() => void vi.useRealTimers());

  test("48 · a wait longer than a timer can hold is kept in pieces, none of them longer", async () => {
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

  test("49 · a timer that fires early, as platforms' do, ends no wait early", async () => {
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

test("58 · an abort just as the wait ends sends nothing more, even where neither `sleep` nor `fetch` looks at the signal", async () => {
  const stop = new AbortController();
  let sent = 0;
  const fetch = createFetch({ fetch: async () => (sent++, limited()), sleep: async () => stop.abort() });
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

test("58 · one signal for many calls makes no warning and keeps no finished call", async () => {
  const warnings: unknown[] = [];
  const warn = (warning: unknown): void => void warnings.push(warning);
  process.on("warning", warn);
  const stop = new AbortController();
  const [add, remove] = [vi.spyOn(stop.signal, "addEventListener"), vi.spyOn(stop.signal, "removeEventListener")];
  const { fetch } = talk(Array.from({ length: 50 }, () => () => new Response(null)), {}, new FakeTime());
  for (let i = 0; i < 50; i++) await fetch(URL_A, { signal: stop.signal });
  await settle();
  process.off("warning", warn);
  expect(warnings).toEqual([]);
  expect(add.mock.calls.length).toBeGreaterThanOrEqual(50);
  expect(remove.mock.calls).toHaveLength(50);
});
