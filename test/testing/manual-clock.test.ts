import { perSecond, TokenBucket } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";

describe("ManualClock", () => {
  test("starts at 0 or at the given time, and stands still", () => {
    expect(new ManualClock().now()).toBe(0);
    const clock = new ManualClock(1_700_000_000_000.5);
    expect([clock.now(), clock.now()]).toEqual([1_700_000_000_000.5, 1_700_000_000_000.5]);
  });

  test("advances by any amount, including negative ones and fractions, and jumps with set", () => {
    const clock = new ManualClock(10);
    const readings = [5, -20, 0.25].map((ms) => {
      clock.advance(ms);
      return clock.now();
    });
    clock.set(-3);
    expect([...readings, clock.now()]).toEqual([15, -5, -4.75, -3]);
  });

  test("`now` works as a function of its own", () => {
    const clock = new ManualClock();
    const bucket = new TokenBucket({ capacity: 1, refill: perSecond(1), clock: clock.now });
    bucket.consume();
    clock.advance(999);
    expect(bucket.peek().allowed).toBe(false);
    clock.advance(1);
    expect(bucket.peek().allowed).toBe(true);
  });
});
