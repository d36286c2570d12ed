import { perSecond, TokenBucket } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";

describe("ManualClock", () => {
  test("starts at 0 or where it is told, and stands still", () => {
    expect(new ManualClock().now()).toBe(0);
    const clock = new ManualClock(1_700_000_000_000.5);
    expect([clock.now(), clock.now()]).toEqual([1_700_000_000_000.5, 1_700_000_000_000.5]);
  });

  test("moves by any amount, also backwards and by fractions, and jumps", () => {
    const clock = new ManualClock(10);
    const told = [5, -20, 0.25].map((ms) => {
      clock.advance(ms);
      return clock.now();
    });
    clock.set(-3);
    expect([...told, clock.now()]).toEqual([15, -5, -4.75, -3]);
  });

  test("hands its time on by itself", () => {
    const clock = new ManualClock();
    const bucket = new TokenBucket({ capacity: 1, refill: perSecond(1), clock: clock.now });
    bucket.consume();
    clock.advance(999);
    expect(bucket.peek().allowed).toBe(false);
    clock.advance(1);
    expect(bucket.peek().allowed).toBe(true);
  });
});
