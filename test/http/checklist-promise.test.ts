/** Checklist of the HTTP contract, items 3 to 8, 26, 31 and 36: what `Retry-After` promises, and that it is kept. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { vendorHeaders } from "sluice/http";
import { definePolicy, MemoryStore, perSecond, type Policy, type Rate } from "sluice";
import { ManualClock } from "sluice/testing";
import { seenTimes } from "../helpers/seen.js";
import { histories, policies } from "./arbitrary.js";
import { exhaust, open, SMALL, type Answer, type Opened } from "./asking.js";
import { toRetryAfter } from "../../src/http/retry-after/retry-after.js";

test("3 · Retry-After is the wait in seconds, rounded up, and at least 1", () => {
  const waits: [ms: number, seconds: number][] = [[1, 1], [499, 1], [500, 1], [999, 1], [1_000, 1], [1_001, 2], [1_499, 2], [2_000, 2], [2_001, 3], [59_999, 60]];
  for (const [ms, seconds] of waits) {
    expect(toRetryAfter(ms), `${ms} ms`).toBe(seconds);
    const gate = open({ policy: { capacity: 1, refill: { tokens: 1, everyMs: ms } } });
    expect(exhaust(gate).field("Retry-After"), `${ms} ms`).toBe(String(seconds));
  }
});

test("4 · after exactly Retry-After seconds the same request is admitted", () => {
  everyRefusal(({ gate, refusal, cost }) => {
    gate.clock.advance(refusal.number("Retry-After") * 1_000);
    expect(gate.ask({ cost }).status).toBe(200);
  });
});

test("5 · after exactly retryAfterMs the same request is admitted", () => {
  everyRefusal(({ gate, cost, waitMs }) => {
    gate.clock.advance(waitMs);
    expect(gate.ask({ cost }).status).toBe(200);
  });
});

test("6 · a second less than Retry-After, or a millisecond less than retryAfterMs, is too early", () => {
  everyRefusal(({ gate, refusal, cost, waitMs }) => {
    const seconds = refusal.number("Retry-After");
    const before = gate.clock.now();
    if (seconds > 1) {
      gate.clock.advance((seconds - 1) * 1_000);
      expect(gate.ask({ cost }).status).toBe(429);
      gate.clock.set(before);
    }
    gate.clock.advance(waitMs - 1);
    expect(gate.ask({ cost }).status).toBe(429);
  });
});

/** Walks through histories and hands over each refusal, with a gate of its own that stands at that instant. */
function everyRefusal(check: (at: { gate: Opened; refusal: Answer; cost: number; waitMs: number }) => void): void {
  let refusals = 0;
  fc.assert(
    fc.property(histories, ({ policy, steps }) => {
      const gate = open({ policy, headers: [vendorHeaders({ retryAfterMs: "X-Wait-Ms" })] });
      for (const { waitMs, cost } of steps) {
        gate.clock.advance(waitMs);
        const refusal = gate.ask({ cost });
        if (refusal.status === 200) continue;
        refusals++;
        return check({ gate, refusal, cost, waitMs: refusal.number("X-Wait-Ms") });
      }
    }),
    { numRuns: 400 },
  );
  expect(refusals).toBeGreaterThanOrEqual(seenTimes(100));
}

test("7 · refused requests neither spend anything nor push out the refill", () => {
  fc.assert(
    fc.property(histories, fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 10 }), ({ policy, steps }, knocks) => {
      const [patient, impatient] = [open({ policy }), open({ policy })];
      for (const { waitMs, cost } of steps) {
        for (const { clock, ask } of [patient, impatient]) {
          clock.advance(waitMs);
          ask({ cost });
        }
      }
      for (const ms of knocks) {
        for (const { clock } of [patient, impatient]) clock.advance(ms);
        // Only what is refused for sure: one token more than there is.
        const left = patient.ask({ cost: 0 }).number("RateLimit-Remaining");
        if (left < policy.maxCost) expect(impatient.ask({ cost: left + 1 }).status).toBe(429);
      }
      expect(impatient.ask().verdict).toEqual(patient.ask().verdict);
    }),
  );
});

test("8 · a wait that cannot succeed is never promised: such numbers are refused when the gate is made", () => {
  const make = (tokens: number, everyMs: number, capacity = 1) => () => open({ policy: { capacity, refill: { tokens, everyMs } } });
  for (const wrong of [0, -1, Number.NaN, Infinity, 1.5]) {
    expect(make(wrong, 1_000), `tokens ${wrong}`).toThrow(RangeError);
    expect(make(1, wrong), `everyMs ${wrong}`).toThrow(RangeError);
    expect(make(1, 1_000, wrong), `capacity ${wrong}`).toThrow(RangeError);
  }
  expect(make(1, 2_147_483_647_000)).not.toThrow();
  expect(make(1, 2_147_483_647_001)).toThrow(
    new RangeError(
      'Expected policy "default" to refill within 2147483647 seconds, the longest Retry-After that clients read, got 2147483647001 ms',
    ),
  );
  expect(make(1, 1_073_741_823_500, 2)).not.toThrow();
  expect(make(1, 1_073_741_823_500, 3)).toThrow("to refill within 2147483647 seconds");
  const slow = open({ policy: { capacity: 1, refill: { tokens: 1, everyMs: 2_147_483_647_000 } } });
  expect(exhaust(slow).field("Retry-After")).toBe("2147483647");

  expect(() => open({ cost: 4 })).toThrow(new RangeError("Expected `cost` to be at most the capacity, 3, got 4"));
  const computed = open({ cost: () => 4 }).ask();
  expect([computed.status, computed.body["code"], computed.field("Retry-After"), computed.body["retry_after"]]).toEqual([400, "cost_above_capacity", undefined, undefined]);
});

test("8 · a policy that is picked for a request is held to the same", () => {
  const slow = definePolicy({ name: "slow", capacity: 1, refill: { tokens: 1, everyMs: 2_147_483_647_001 } });
  expect(() => open({ policy: () => slow }).ask()).toThrow(RangeError);
});

test("26 · q is the capacity and w the seconds to fill it: never more on average than the true rate", () => {
  fc.assert(
    fc.property(policies, (policy) => {
      const match = /^"drawn";q=(\d+);w=(\d+)$/.exec(open({ policy }).ask().field("RateLimit-Policy") ?? "");
      const [q, w] = [Number(match?.[1]), Number(match?.[2])];
      const { capacity, refill } = policy.limits[0] as Rate;
      expect(q).toBe(capacity);
      // Whole numbers throughout: w = max(1, ceil(capacity * everyMs / (tokens * 1000))).
      const [over, under] = [BigInt(capacity) * BigInt(refill.everyMs), BigInt(refill.tokens) * 1_000n];
      const ceiling = (over + under - 1n) / under;
      expect(BigInt(w)).toBe(ceiling < 1n ? 1n : ceiling);
      if (over >= under) expect(BigInt(q) * BigInt(refill.everyMs)).toBeLessThanOrEqual(BigInt(w) * under);
    }),
  );
});

test("31 · on a clock that jumps back, ahead or a year, what remains stays within 0 and the capacity, and waits within bounds", () => {
  const year = 365 * 86_400_000;
  const jump = fc.oneof(fc.integer({ min: -10_000, max: 10_000 }), fc.constantFrom(-year, year, -1, 0, 0.25), fc.double({ min: -1e6, max: 1e6, noNaN: true }));
  fc.assert(
    fc.property(policies, fc.array(fc.record({ jump, cost: fc.integer({ min: 0, max: 12 }) }), { maxLength: 30 }), (policy, steps) => {
      const { capacity, fullMs } = policy.limits[0];
      const gate = open({ policy }, new ManualClock(1_000_000));
      for (const { jump: ms, cost } of steps) {
        gate.clock.advance(ms);
        const answer = gate.ask({ cost: Math.min(cost, capacity) });
        expect(answer.number("RateLimit-Remaining")).toBeGreaterThanOrEqual(0);
        expect(answer.number("RateLimit-Remaining")).toBeLessThanOrEqual(capacity);
        // The normal wait is at most one refill; a step back adds at most one more (law L6).
        if (answer.status === 429) {
          expect(answer.number("Retry-After")).toBeGreaterThanOrEqual(1);
          expect(answer.number("Retry-After")).toBeLessThanOrEqual(toRetryAfter(2 * fullMs));
        }
      }
    }),
    { numRuns: 200 },
  );
});

test("36 · a burst of the capacity, then the rate: over any span at most capacity + rate * time", () => {
  fc.assert(
    fc.property(histories, ({ policy, steps }) => {
      const gate = open({ policy });
      const granted: { at: number; cost: number }[] = [];
      for (const { waitMs, cost } of steps) {
        gate.clock.advance(waitMs);
        if (gate.ask({ cost }).status === 200) granted.push({ at: gate.clock.now(), cost });
      }
      const { capacity, refill } = policy.limits[0] as Rate;
      for (let from = 0; from < granted.length; from++) {
        let sum = 0n;
        for (const { at, cost } of granted.slice(from)) {
          sum += BigInt(cost);
          const ms = BigInt(at - (granted[from]?.at ?? 0));
          expect((sum - BigInt(capacity)) * BigInt(refill.everyMs)).toBeLessThanOrEqual(ms * BigInt(refill.tokens));
        }
      }
    }),
  );
});

test("36 · a full bucket is no more than its capacity, however long it idled, and no window's edge gives it twice", () => {
  const gate = open({ policy: { capacity: 5, refill: perSecond(2) } });
  const burst = (): number => Array.from({ length: 20 }, () => gate.ask().status).filter((status) => status === 200).length;
  gate.clock.advance(59_999);
  expect(burst()).toBe(5);
  gate.clock.advance(1);
  expect(burst()).toBe(0);
  gate.clock.advance(1_000);
  expect(burst()).toBe(2);
  gate.clock.advance(365 * 86_400_000);
  expect(burst()).toBe(5);
});

test("the promise holds for a caller whose tier changes meanwhile: the larger numbers admit no later", () => {
  const pro: Policy = definePolicy({ name: "small", capacity: 9, refill: perSecond(3) });
  const clock = new ManualClock();
  const store = new MemoryStore({ clock: clock.now });
  let tier = SMALL;
  const gate = open({ policy: () => tier, store }, clock);
  const wait = exhaust(gate).number("Retry-After");
  tier = pro;
  clock.advance(wait * 1_000);
  expect(gate.ask().status).toBe(200);
});
