import fc from "fast-check";
import type { Decision } from "sluice";
import { describe, expect, test } from "vitest";
import { costOf, onwardHistories, policies, resolve, onwardSteps, starts, type ResolvedStep, type RateNumbers } from "../helpers/arbitraries.js";
import { seenTimes } from "../helpers/seen.js";
import { expectSame, keepers, memoryBucket, type Subject } from "./subjects.js";

// Up to here a clock can tell quarters of a millisecond.
const FARTHEST = 2 ** 50;

function play(subject: Subject, { call, now, cost }: ResolvedStep): Decision {
  subject.clock.set(now);
  if (call === "refund" && cost > 0) subject.credit(cost);
  if (call === "reset") subject.reset();
  return call === "consume" ? subject.consume(cost) : subject.peek(cost);
}

/** Instants of a wait of `ms`: its first, its last but one, some between, some between two milliseconds. */
function instantsBefore(ms: number, shares: readonly number[]): number[] {
  return [...new Set([0, ...shares.map((share) => Math.floor(share * ms * 4) / 4), Math.floor(ms / 2), ms - 2, ms - 1, ms - 0.25])]
    .filter((instant) => instant >= 0 && instant < ms)
    .sort((a, b) => a - b);
}

const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), { maxLength: 5 });

/** Waits out a refusal in small pieces, asking all the while, and gets what was promised at the promised instant. */
function waitOut(subject: Subject, refusal: Decision, at: number, list: readonly number[]): void {
  const start = Math.floor(at);
  const { cost, retryAfterMs } = refusal;
  for (const instant of instantsBefore(retryAfterMs, list)) {
    subject.clock.set(start + instant);
    expect(subject.consume(cost)).toMatchObject({
      allowed: false,
      reason: "limited",
      retryAfterMs: retryAfterMs - Math.floor(instant),
    });
  }
  subject.clock.set(start + retryAfterMs);
  expect(subject.consume(cost).allowed).toBe(true);
}

describe.each(keepers)("$keeper", ({ make }) => {
  test("L2 · promise: refused at every instant before now + retryAfterMs, allowed exactly then", () => {
    let waits = 0;
    fc.assert(
      fc.property(onwardHistories, shares, ({ limit, history }, list) => {
        const subject = make(limit);
        for (const step of history) {
          const decision = play(subject, step);
          if (decision.reason !== "limited" || step.now + decision.retryAfterMs > FARTHEST) continue;
          waits += 1;
          return waitOut(subject, decision, step.now, list);
        }
      }),
      { numRuns: 300 },
    );
    // The law says nothing where nobody is refused.
    expect(waits).toBeGreaterThanOrEqual(seenTimes(100));
  });

  test("L2 · promise: nextTokenMs and resetMs are exact to the millisecond, too", () => {
    fc.assert(
      fc.property(onwardHistories, ({ limit, history }) => {
        const subject = make(limit);
        let last = subject.peek(0);
        let now = 0;
        for (const step of history) [last, now] = [play(subject, step), Math.floor(step.now)];
        fc.pre(now + last.resetMs < FARTHEST);
        const at = (ms: number): Decision => {
          subject.clock.set(now + ms);
          return subject.peek(0);
        };
        if (last.nextTokenMs > 0) {
          expect(at(last.nextTokenMs - 1).remaining).toBe(last.remaining);
          expect(at(last.nextTokenMs).remaining).toBeGreaterThan(last.remaining);
          expect(at(last.resetMs - 1).resetMs).toBe(1);
        }
        expect(at(last.resetMs)).toMatchObject({ remaining: limit.capacity, nextTokenMs: 0, resetMs: 0 });
      }),
      { numRuns: 300 },
    );
  });

  test("L3 · a refusal spends nothing: leaving out every refused call changes no later answer", () => {
    fc.assert(
      fc.property(onwardHistories, ({ limit, history }) => {
        const asked = make(limit);
        const spared = make(limit);
        for (const step of history) {
          const decision = play(asked, step);
          spared.clock.set(step.now);
          if (decision.allowed || step.call !== "consume") expectSame(play(spared, step), decision);
          else expectSame(spared.peek(step.cost), decision);
          expectSame(spared.peek(1), asked.peek(1));
        }
      }),
      { numRuns: 250 },
    );
  });

  test("L4 · full is absent: forgetting a bucket with nothing spent changes no answer", () => {
    fc.assert(
      fc.property(onwardHistories, ({ limit, history }) => {
        const kept = make(limit);
        const forgotten = make(limit);
        for (const step of history) {
          forgotten.clock.set(step.now);
          if (forgotten.peek(0).resetMs === 0) forgotten.reset();
          expectSame(play(forgotten, step), play(kept, step));
        }
      }),
      { numRuns: 250 },
    );
  });

  test("L4 · full is absent: a bucket that was never used equals one that has refilled", () => {
    fc.assert(
      fc.property(onwardHistories, ({ limit, history }) => {
        const used = make(limit);
        for (const step of history) play(used, step);
        const { now } = history.at(-1) as ResolvedStep;
        const full = Math.floor(now) + used.peek(0).resetMs;
        fc.pre(full < FARTHEST);
        const fresh = make(limit);
        for (const cost of [0, 1, costOf(["capacity", 0.6], limit), limit.capacity, 1]) {
          used.clock.set(full);
          fresh.clock.set(full);
          expectSame(used.consume(cost), fresh.consume(cost));
        }
      }),
    );
  });
});

test("L2 · promise: with several limits, the wait is that of the last one to have room", () => {
  fc.assert(
    fc.property(policies, starts, onwardSteps, shares, (policy, start, list, pauses) => {
      const subject = memoryBucket(policy);
      for (const step of resolve(start, list, policy.limits[0] as RateNumbers)) {
        const decision = play(subject, step);
        if (decision.reason !== "limited" || step.now + decision.retryAfterMs > FARTHEST) continue;
        return waitOut(subject, decision, step.now, pauses);
      }
    }),
    { numRuns: 250 },
  );
});
