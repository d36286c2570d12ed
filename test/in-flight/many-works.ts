import { createLimiter, createObserver, definePolicy, perSecond, run, whenDone, type AsyncStore } from "sluice";
import { expect, vi } from "vitest";
import { PooledStore } from "./pooled-store.js";
import { callsOf } from "../../src/testing/store-calls.js";

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** Begins so many works over a store, renews them for 30 s, and proves that none is lost and that no caller is held up. */
export async function renewMany(callMs: number, lanes: number, works: number): Promise<void> {
  const store = new PooledStore(callMs, lanes);
  const events: string[] = [];
  const observe = createObserver((event) => void (event.type === "store" && events.push(event.state)));
  const returns = whenDone({ staleAfterMs: 15_013 });
  const held = definePolicy({ name: "held", limits: [{ name: "parallel", capacity: 1, returns }] });
  const limiter = createLimiter<AsyncStore>({ policy: held, store, observe });
  const other = createLimiter<AsyncStore>({ policy: { name: "other", capacity: 1_000, refill: perSecond(1_000) }, store });
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const all: Promise<unknown>[] = [];
  // They begin over five seconds, as streams do.
  for (let begun = 0; begun < works; begun += works / 50) {
    for (let i = 0; i < works / 50; i++) all.push(run(limiter, `work ${begun + i}`, () => ended));
    await pass(100);
  }
  let degraded = 0;
  for (let passed = 0; passed < 30_000; passed += 100) {
    void other.consume(`caller ${passed}`).then((decision) => (degraded += Number(decision.degraded)));
    await pass(100);
  }
  const left = Array.from({ length: works }, (_each, i) => callsOf(store.inner).peek(held, `work ${i}`, 0).remaining);
  expect(left.filter((remaining) => remaining > 0)).toEqual([]);
  expect([events, degraded]).toEqual([[], 0]);
  end();
  await pass(60_000);
  await Promise.all(all);
}
