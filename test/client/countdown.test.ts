import { expect, test } from "vitest";
import { countdown, RateLimitedError } from "sluice/client";
import { limited, talk, URL_A } from "./fake-server.js";
import { FakeTime, settle } from "./fake-time.js";

const request = { method: "POST", url: "https://api.example.com/login/code", serverCode: null, serverMessage: null, policies: [], response: null };
const time = () => new FakeTime({ wall: 1_000_000 });
const refused = (waitMs: number | null): RateLimitedError =>
  new RateLimitedError({ ...request, reason: "sensitive", waitMs, retryAt: waitMs === null ? null : new Date(1_000_000 + waitMs), attempts: 1 });

test("calls back at every whole second down to 0, then resolves", async () => {
  const clock = time();
  const told: [number, number][] = [];
  await clock.run(countdown(refused(2_500), (seconds) => void told.push([clock.now(), seconds]), { time: clock.options }));
  expect(told).toEqual([[0, 3], [500, 2], [1_500, 1], [2_500, 0]]);
});

test("56 · the wait of a sensitive call is on the error for a screen to count down", async () => {
  const clock = time();
  const told: number[] = [];
  await clock.advance(1_000);
  await clock.run(countdown(refused(3_000), (seconds) => void told.push(seconds), { time: clock.options }));
  expect(told).toEqual([2, 1, 0]);
});

test("takes what `onWait` gets, as it is", async () => {
  const clock = time();
  const told: number[] = [];
  const { fetch } = talk([limited({ "Retry-After": "3" })], { onWait: (wait) => countdown(wait, (seconds) => void told.push(seconds), { time: clock.options }) }, clock);
  await clock.run(fetch(URL_A));
  await settle();
  expect(told).toEqual([3, 2, 1, 0]);
});

test.each([[null], [0], [-5]])("with a wait of %s it is 0 at once", async (waitMs) => {
  const told: number[] = [];
  await countdown(refused(waitMs), (seconds) => void told.push(seconds), { time: time().options });
  expect(told).toEqual([0]);
});

test("after the phone slept it is right again, and a clock set back does not make it count up", async () => {
  let now = 1_000_000;
  const told: number[] = [];
  const jumps = [-50_000, 57_000, 3_000];
  const sleep = async (ms: number): Promise<void> => void (now += ms + (jumps.shift() ?? 0));
  await countdown(refused(10_000), (seconds) => void told.push(seconds), { time: { wallNow: () => now, sleep } });
  expect(told).toEqual([10, 1, 0]);
});

test("ends with the signal's reason", async () => {
  const clock = time();
  const stop = new AbortController();
  const told: number[] = [];
  const counting = countdown(refused(5_000), (seconds) => void told.push(seconds), { time: clock.options, signal: stop.signal });
  await clock.advance(1_000);
  stop.abort(new Error("left the screen"));
  await expect(counting).rejects.toThrow("left the screen");
  await settle();
  expect([told, clock.sleeping]).toEqual([[5, 4], 0]);
});

test("a signal that has already aborted rejects without a call", async () => {
  const told: number[] = [];
  const reason = new Error("left the screen");
  await expect(countdown(refused(5_000), (seconds) => void told.push(seconds), { time: time().options, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect(told).toEqual([]);
});

test("an infinite wait calls back once, and lasts until the signal aborts", async () => {
  const clock = time();
  const told: number[] = [];
  const stop = new AbortController();
  const endless = new RateLimitedError({ ...request, reason: "wait_too_long", waitMs: Infinity, retryAt: new Date(8.64e15), attempts: 1 });
  const counting = countdown(endless, (seconds) => void told.push(seconds), { time: clock.options, signal: stop.signal });
  await clock.advance(5_000);
  stop.abort(new Error("left the screen"));
  await expect(counting).rejects.toThrow("left the screen");
  expect(told).toEqual([Infinity]);
});
