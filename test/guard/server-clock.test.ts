// What a process knows of the time of a server, from the decisions that the server made.
import { createLimiter, perSecond, type Decision } from "sluice";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ServerClock } from "../../src/guard/server-clock.js";

const made = createLimiter({ policy: { name: "api", capacity: 5, refill: perSecond(1) } }).consume("x");
const decisionAt = (at: number): Decision => ({ ...made, at });

describe("the clock of a server", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "Date"] }));
  afterEach(() => void vi.useRealTimers());

  /** Lets time pass until `ms`, and returns it. */
  const until = (ms: number): number => {
    vi.advanceTimersByTime(ms - performance.now());
    return ms;
  };
  /** Learns of a decision at `at` by the server: its call was sent at `sentAt`, and answered at `answeredAt`. */
  const learn = (clock: ServerClock, at: number, sentAt: number, answeredAt: number): void => {
    until(answeredAt);
    clock.learn(decisionAt(at), sentAt);
  };
  const readings = (clock: ServerClock) => [clock.seenAt, clock.now()];

  test("is not known before its first decision", () => {
    expect(readings(new ServerClock("server"))).toEqual([Number.NaN, Number.NaN]);
  });

  test("lies between the last decision, and what it is if that was made when its call was sent", () => {
    const clock = new ServerClock("server");
    learn(clock, 5_000, 10, 30);
    until(130);
    expect(readings(clock)).toEqual([5_000, 5_120]);
    learn(clock, 5_600, 500, 520);
    expect(readings(clock)).toEqual([5_600, 5_620]);
  });

  test("of a store with a clock of its own is that clock, in whole milliseconds", () => {
    const clock = new ServerClock(() => 7.9);
    learn(clock, 5_000, 10, 30);
    expect(readings(clock)).toEqual([5_000, 7]);
  });
});
