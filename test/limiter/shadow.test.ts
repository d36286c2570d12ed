import { createLimiter, createObserver, MemoryStore, perSecond, type LimiterEvent } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { UnsteadyStore } from "../helpers/unsteady-store.js";

const policy = { name: "api", capacity: 5, refill: perSecond(1) };

describe("shadow: true", () => {
  test("lets through what it would refuse, and says with what", () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock: clock.now });
    const [real, shadow] = [createLimiter({ policy, store }), createLimiter({ policy, store, shadow: true })];
    expect(shadow.consume("ann", 4)).not.toHaveProperty("shadow");
    for (const cost of [2, 6]) {
      const { allowed: _, reason, retryAfterMs, ...numbers } = real.consume("ann", cost);
      const answers = [shadow.consume("ann", cost), shadow.peek("ann", cost)];
      for (const answer of answers) {
        expect(answer).toStrictEqual({ ...numbers, allowed: true, reason: null, retryAfterMs: 0, shadow: { ...numbers, allowed: false, reason, retryAfterMs } });
      }
    }
  });

  test("counts as the real thing does: what it would refuse takes nothing, and gives nothing back", () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock: clock.now });
    const [real, shadow] = [createLimiter({ policy, store }), createLimiter({ policy, store, shadow: true })];
    const taken = shadow.consume("ann", 4);
    shadow.refund("ann", shadow.consume("ann", 2));
    expect(real.peek("ann").remaining).toBe(1);
    shadow.refund("ann", taken);
    expect(real.peek("ann").remaining).toBe(5);
  });

  test("reports what it would refuse", () => {
    const events: LimiterEvent[] = [];
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: () => 0 }), shadow: true, observe: createObserver((event) => void events.push(event)) });
    for (const cost of [4, 2, 6]) limiter.consume("ann", cost);
    expect(events).toMatchObject([
      { outcome: "allowed", reason: null },
      { outcome: "shadow_refused", reason: "limited" },
      { outcome: "shadow_refused", reason: "cost_above_capacity" },
    ]);
  });

  test("refuses nobody either when the store fails", async () => {
    for (const onStoreError of ["local", "unavailable"] as const) {
      const store = new UnsteadyStore(() => 0);
      store.health = "down";
      const limiter = createLimiter({ policy, store, shadow: true, onStoreError });
      for (let i = 0; i < 8; i++) expect((await limiter.consume("ann")).allowed).toBe(true);
      expect(await limiter.consume("ann")).toMatchObject({ degraded: true, shadow: { reason: "store_unavailable" } });
    }
  });

  test("misuse still throws", () => {
    const limiter = createLimiter({ policy, shadow: true });
    expect(() => limiter.consume("")).toThrow(TypeError);
    expect(() => limiter.consume("ann", 0.5)).toThrow(RangeError);
  });
});
