// What a process knows of the time of a server, from the decisions that the server made.
import { createLimiter, perSecond, type Decision } from "sluice";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ServerClock } from "../../src/guard/server-clock.js";

const made = createLimiter({ policy: { name: "api", capacity: 5, refill: perSecond(1) } }).consume("x");
const decisionAt = (at: number): Decision => ({ ...made, at });

describe("the clock of a server", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
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
  const readings = (clock: ServerClock) => [clock.pastNow(), clock.now()];

  test("is not known before its first decision", () => {
    expect(readings(new ServerClock("server"))).toEqual([Number.NaN, Number.NaN]);
  });

  test("lies between what it is if the decision was made when its answer came, and when its call was sent", () => {
    const clock = new ServerClock("server");
    learn(clock, 5_000, 10, 30);
    until(130);
    expect(readings(clock)).toEqual([5_100, 5_120]);
  });

  test("is never before the last decision", () => {
    const clock = new ServerClock("server");
    learn(clock, 5_000, 10, 30);
    learn(clock, 5_600, 500, 520);
    expect(readings(clock)).toEqual([5_600, 5_620]);
  });

  test.each([["before a second is over it keeps the earlier moment of an answer", 1_029, 6_090], ["after a second it takes the next", 1_030, 6_100]])("%s", (_, sentAt, pastNow) => {
    const clock = new ServerClock("server");
    learn(clock, 5_000, 10, 30);
    learn(clock, 6_030, sentAt, 1_050);
    until(1_120);
    expect(clock.pastNow()).toBe(pastNow);
  });

  test("of a store with a clock of its own is that clock, in whole milliseconds", () => {
    const clock = new ServerClock(() => 7.9);
    learn(clock, 5_000, 10, 30);
    expect(readings(clock)).toEqual([7, 7]);
  });
});
