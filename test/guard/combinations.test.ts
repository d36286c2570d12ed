// The guards of the stores under a combination: how long it waits for them, and who is told of an outage.
import { combine, createLimiter, createObserver, perHour, type LimiterEvent, type OnStoreError } from "sluice";
import type { Charge } from "sluice/store";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { UnsteadyStore } from "../helpers/unsteady-store.js";

const clock = () => 0;
const keys = { user: "ann", tenant: "acme" };
/** Other callers each time: failures about one bucket say nothing of the store. */
const callers = (i: number) => ({ user: `user ${i}`, tenant: `tenant ${i}` });

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

/** An unsteady store that takes the charges of several members in one call. */
class TogetherStore extends UnsteadyStore {
  consumeTogether(charges: readonly Charge[]) {
    return Promise.all(charges.map(({ policy, key, cost }) => this.consume(policy, key, cost)));
  }
}

/** What observers heard of stores, each as the observer's name, the store's name and the new state. */
let heard: string[] = [];
beforeEach(() => void (heard = []));

function over(stores: Record<string, UnsteadyStore>, observers: readonly string[] = ["one", "other"], onStoreError: OnStoreError = "allow") {
  const nameOf = (store: unknown): string | undefined => Object.keys(stores).find((name) => stores[name] === store);
  const listen = new Map(observers.map((who) => [who, createObserver((event: LimiterEvent) => void (event.type === "store" && heard.push(`${who}: ${nameOf(event.store)} ${event.state}`)))]));
  const [first, second] = [...Object.values(stores), ...Object.values(stores)] as [UnsteadyStore, UnsteadyStore];
  const make = (name: string, store: UnsteadyStore, who: string | undefined) =>
    createLimiter({ policy: { name, capacity: 100, refill: perHour(1) }, store, observe: listen.get(who as string) as never, onStoreError });
  return combine({ user: make("user", first, observers[0]), tenant: make("tenant", second, observers[1]) });
}

/** How many milliseconds a call takes, and its answer. */
async function timed<T>(call: Promise<T>): Promise<[ms: number, answer: T]> {
  const start = performance.now();
  let end = Number.NaN;
  void call.finally(() => (end = performance.now()));
  await vi.advanceTimersByTimeAsync(10_000);
  return [end - start, await call];
}

describe("a combination over one store", () => {
  test("L12 · waits once for all members, as long as the store's `timeoutMs` says", async () => {
    const store = new TogetherStore(clock, { timeoutMs: 50, breaker: false });
    store.health = "hangs";
    const [ms, decision] = await timed(over({ store }).consume(keys));
    expect(ms).toBeGreaterThanOrEqual(50);
    expect(ms).toBeLessThanOrEqual(52);
    expect(decision).toMatchObject({ allowed: true, degraded: true, error: { code: "ERR_STORE_TIMEOUT" } });
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([["of two members", ["one", "other"]], ["that two members share", ["one", "one"]]])("tells an observer %s of an outage once, and of its end once", async (_, observers) => {
    const store = new TogetherStore(clock, { breaker: { failures: 3 } });
    const both = over({ store }, observers);
    store.health = "down";
    for (let i = 0; i < 5; i++) await both.consume(callers(i));
    store.health = "up";
    await vi.advanceTimersByTimeAsync(1_000);
    for (let i = 0; i < 5; i++) await both.consume(callers(i));
    const all = [...new Set(observers)];
    expect(heard).toEqual(["unavailable", "available"].flatMap((state) => all.map((who) => `${who}: store ${state}`)));
  });
});

describe("a combination over two stores", () => {
  const two = () => ({ quick: new UnsteadyStore(clock, { timeoutMs: 50, breaker: false }), slow: new UnsteadyStore(clock, { timeoutMs: 5_000, breaker: false }) });

  test("L12 · waits for each as long as its own `timeoutMs` says, and for none after one that refuses", async () => {
    for (const [onStoreError, atMost, slowCalls] of [["unavailable", 52, 0], ["allow", 5_054, 1]] as const) {
      const stores = two();
      for (const store of Object.values(stores)) store.health = "hangs";
      const [ms, decision] = await timed(over(stores, [], onStoreError).consume(keys));
      expect(ms).toBeGreaterThanOrEqual(atMost - 4);
      expect(ms).toBeLessThanOrEqual(atMost);
      expect([stores.quick.calls, stores.slow.calls, decision.allowed]).toEqual([1, slowCalls, onStoreError === "allow"]);
    }
  });

  test("tells the observers of the store that failed, and no others", async () => {
    const stores = two();
    const both = over(stores);
    stores.slow.health = "down";
    for (let i = 0; i < 6; i++) await both.consume(callers(i));
    stores.slow.health = "up";
    await both.consume(keys);
    expect(heard).toEqual(["other: slow unavailable", "other: slow available"]);
  });
});
