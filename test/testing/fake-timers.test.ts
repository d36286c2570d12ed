// The sample of docs/guides/testing-your-app.md. What else fake timers move is in fake-timers-kinds.test.ts.
import { createLimiter, perSecond } from "sluice";
import { afterEach, expect, test, vi } from "vitest";

afterEach(() => void vi.useRealTimers());

test("a token comes back after a second", () => {
  vi.useFakeTimers(); // before the first request
  const limiter = createLimiter({ policy: { refill: perSecond(1) } });
  expect([limiter.consume("ada").allowed, limiter.consume("ada").allowed]).toEqual([true, false]);

  vi.advanceTimersByTime(1_000);
  expect(limiter.consume("ada").allowed).toBe(true);
});
