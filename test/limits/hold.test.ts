// The life of a request that holds tokens in flight, as the gate tells it, and which decisions are renewed at all.
import { definePolicy, MemoryStore, whenDone } from "sluice";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { consumeRecords } from "../helpers/records.js";
import { keepTaken, RequestHold } from "../../src/limits/hold.js";
import { keepRenewing, stopRenewing } from "../../src/limits/renewals.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "Date"] }));
// Until the last work is over and its timer has ended: the next test begins one of its own.
afterEach(async () => {
  if (vi.getTimerCount() > 0) await vi.advanceTimersByTimeAsync(LONG_MS);
  vi.useRealTimers();
});

// A number that no other test has: all work with one `staleAfterMs` shares a timer, and that of another test may still run.
const STALE_MS = 1_008;
/** 6 s after the client left, if the handler lives so long. */
const LONG_MS = 10 * STALE_MS;

test("a hold is wanted until its client has left for long, and not while a body waits for its reader", async () => {
  const hold = new RequestHold();
  const wanted = (): boolean => hold.isWanted(STALE_MS);
  hold.unread = () => undefined;
  expect(wanted()).toBe(false);
  hold.unread = null;
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect([wanted(), hold.handlerDone(true)]).toEqual([true, undefined]);
  let end = (): void => undefined;
  hold.until(new Promise<void>((resolve) => (end = resolve)));
  const done = hold.handlerDone(false);
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(wanted()).toBe(true); // the client is still there
  void hold.handlerDone(true);
  expect(wanted()).toBe(true);
  await vi.advanceTimersByTimeAsync(2.75 * STALE_MS - 1);
  expect(wanted()).toBe(true);
  await vi.advanceTimersByTimeAsync(1);
  expect(wanted()).toBe(false);
  end();
  await done;
  expect(wanted()).toBe(true); // nothing waits for the handler any more
});

test("a hold that lapsed waits for no handler, and closes the body that nobody reads", async () => {
  const hold = new RequestHold();
  hold.lapsed();
  hold.until(Promise.reject(new Error("of the handler")));
  expect(hold.handlerDone(true)).toBeUndefined();
  const other = new RequestHold();
  const closed = vi.fn();
  other.unread = closed;
  other.until(new Promise(() => undefined));
  const done = other.handlerDone(true);
  other.lapsed();
  await done;
  expect(closed).toHaveBeenCalledTimes(1);
});

const inFlight = definePolicy({ capacity: 1, returns: whenDone({ staleAfterMs: STALE_MS, maxWorkMs: 5 * STALE_MS }) });
const rate = definePolicy({ capacity: 1, refill: { tokens: 1, everyMs: 1_000 } });
const store = new MemoryStore();
test.each([
  ["an allowed decision", inFlight, {}, store, undefined, 1],
  ["a refused one", inFlight, { allowed: false }, store, undefined, 0],
  ["one of a shadow", inFlight, { shadow: true }, store, undefined, 0],
  ["one of a rate", rate, {}, store, undefined, 0],
  ["one of a store that renews nothing", inFlight, {}, {}, undefined, 0],
  ["one of such a store with a life to watch", inFlight, {}, {}, new RequestHold(), 1],
] as const)("%s is renewed, or not", async (_, policy, more, of, life, timers) => {
  const decision = { ...consumeRecords(new Map(), policy, 1, 0).decision, ...more };
  keepRenewing({ store: of, guarded: null, policy, key: "ann", decision, life } as never);
  expect(vi.getTimerCount()).toBe(timers);
  void stopRenewing(decision as never);
  await vi.advanceTimersByTimeAsync(STALE_MS);
  expect(vi.getTimerCount()).toBe(0);
});

describe("tokens that a fallback took", () => {
  const local = definePolicy({ name: "local", capacity: 1, returns: whenDone({ staleAfterMs: STALE_MS, maxWorkMs: 5 * STALE_MS }) });
  const policy = definePolicy({ name: "shared", capacity: 2, returns: whenDone({ staleAfterMs: STALE_MS, maxWorkMs: 5 * STALE_MS }) });
  function take(charge: object | null) {
    const decision = { ...consumeRecords(new Map(), local, 1, 0).decision, degraded: true };
    const [far, near] = [vi.fn(() => [true]), vi.fn(() => [true])];
    const guarded = { localChargeOf: () => charge && { store: { verbs: ["renew"], ask: near }, ...charge }, ask: vi.fn() };
    const isKept = keepTaken({ store: { verbs: ["renew"], ask: far }, guarded, policy, key: "ann", decision } as never);
    return { isKept, far, near, guarded, stop: () => stopRenewing(decision as never) };
  }

  test("are renewed in the fallback, past the guard of the store", async () => {
    const { isKept, far, near, guarded, stop } = take({ policy: local });
    expect(isKept).toBe(true);
    await vi.advanceTimersByTimeAsync(STALE_MS / 2);
    expect(near.mock.calls).toEqual([[{ verb: "renew", parts: [{ policy: local, key: "ann", cost: 1 }], move: { from: 0, to: STALE_MS / 3 } }]]);
    expect([far.mock.calls.length, guarded.ask.mock.calls.length, await stop()]).toEqual([0, 0, { at: 0, heldAt: STALE_MS / 3 }]);
    await vi.advanceTimersByTimeAsync(STALE_MS);
  });

  test("are not renewed if it let the call through without any", () => {
    expect([take(null).isKept, vi.getTimerCount()]).toEqual([false, 0]);
  });
});
