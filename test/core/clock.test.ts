import { createLimiter, monotonicClock, perSecond, TokenBucket, MemoryStore } from "sluice";
import { afterEach, expect, test, vi } from "vitest";

const limit = { capacity: 5, refill: perSecond(1) };

afterEach(() => void vi.unstubAllGlobals());

test("a platform without `performance` is told what to write", () => {
  vi.stubGlobal("performance", undefined);
  const message = "Expected `performance` to be there, got undefined. Pass `clock: Date.now`, or define it.";
  for (const read of [monotonicClock, () => new TokenBucket(limit).consume(), () => createLimiter({ policy: limit }).consume("ann")]) {
    expect(read).toThrow(new TypeError(message));
  }
});

test("both cures work on a platform without `performance`", () => {
  vi.stubGlobal("performance", undefined);
  expect(createLimiter({ policy: limit, store: new MemoryStore({ clock: Date.now }) }).consume("ann")).toMatchObject({ allowed: true, remaining: 4 });
  vi.stubGlobal("performance", { now: Date.now });
  expect(createLimiter({ policy: limit }).consume("ann")).toMatchObject({ allowed: true, remaining: 4 });
});
