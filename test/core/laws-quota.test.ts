import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { definePolicy, type LimitOptions, type Policy, type Renewal } from "sluice";
import { quotaCode } from "../../src/limits/quota.js";
import { readings, type Decision } from "../../src/core/decision.js";
import { simplest } from "../../src/core/limit.js";
import type { Records } from "../../src/core/records.js";
import { adjustRecords, blockRecords, consumeRecords, peekRecords } from "../helpers/records.js";
import { correction } from "../../src/limiter/verbs/refundable.js";
import { periodOf, QuotaModel, type ModelLimit } from "../helpers/quota-model.js";

/** The lengths of periods: 3 to 60 ms, so that a short history crosses many. */
const lengths = fc.integer({ min: 5, max: 60 }).chain((most) => fc.array(fc.integer({ min: Math.ceil(most / 2), max: most }), { minLength: 1, maxLength: 8 }));
const capacity = fc.constantFrom(1, 1, 2, 3, 5, 8);
const rate = fc.record({ capacity, kind: fc.constant("rate" as const), tokens: fc.integer({ min: 1, max: 5 }), everyMs: fc.integer({ min: 1, max: 40 }) });
const quota = fc.record({ capacity, kind: fc.constant("quota" as const), lengths });
const version = fc.array(fc.oneof(rate, quota), { minLength: 1, maxLength: 3 }).map((list) => list.map((limit, i): ModelLimit => ({ ...limit, name: "abc"[i] as string })));

const quotas = new Map<readonly number[], Renewal>();

function renewalOf({ lengths: list }: Extract<ModelLimit, { kind: "quota" }>): Renewal {
  let renews = quotas.get(list);
  if (renews === undefined) {
    const facts = { calendar: list.join(" "), fullMs: Math.max(...list), windowSeconds: 1 };
    const kindCode = quotaCode(facts, (now) => periodOf(list, now)[1] - 1);
    renews = Object.defineProperty({ every: "day", at: "", timeZone: "" }, "kindCode", { value: kindCode }) as Renewal;
    quotas.set(list, renews);
  }
  return renews;
}

function policyOf(limits: readonly ModelLimit[]): Policy {
  return definePolicy({
    limits: limits.map((limit): LimitOptions => {
      const { name, capacity: size } = limit;
      return limit.kind === "rate" ? { name, capacity: size, refill: { tokens: limit.tokens, everyMs: limit.everyMs } } : { name, capacity: size, renews: renewalOf(limit) };
    }),
  });
}

const step = fc.record({
  onMs: fc.oneof(fc.constantFrom(0, 0, 1, 1, 2), fc.nat(10), fc.nat(70), fc.integer({ min: 50, max: 400 })),
  backMs: fc.option(fc.oneof(fc.constant(1), fc.nat(300)), { freq: 9, nil: 0 }).map((ms) => ms ?? 0),
  version: fc.nat(2),
  costs: fc.array(fc.constantFrom(0, 1, 1, 1, 2, -1, -2), { minLength: 3, maxLength: 3 }),
  does: fc.constantFrom("consume", "consume", "consume", "consume", "refund", "adjust", "reset", "forget"),
  which: fc.nat(50),
});

interface Made {
  readonly decision: Decision;
  readonly version: number;
  readonly costs: readonly number[];
}

const numbersOf = (decision: Decision) => readings(decision).map(({ limit, cost, capacity: size, remaining, retryAfterMs, nextTokenMs, resetMs }) => ({ limit, cost, capacity: size, remaining, retryAfterMs, nextTokenMs, resetMs }));

test("L6 · the fastest rate has the p of a quota, and waits like any rate for a clock that stepped back", () => {
  const policy = definePolicy({ capacity: 5, refill: { tokens: Number.MAX_SAFE_INTEGER, everyMs: 1 } });
  const records: Records = new Map();
  expect(consumeRecords(records, policy, 5, 10).decision.allowed).toBe(true);
  expect(peekRecords(records, policy, 1, 9)).toMatchObject({ allowed: false, retryAfterMs: 2 });
  expect(peekRecords(records, policy, 1, 11).allowed).toBe(true);
});

describe("L20 · rates and quotas on one key", () => {
  test("L20 · equal a big-integer model that looks at each millisecond: versions, steps back, refunds of any age", () => {
    fc.assert(
      fc.property(fc.array(version, { minLength: 1, maxLength: 3 }), fc.boolean(), fc.array(step, { minLength: 5, maxLength: 40 }), (versions, stepsBack, steps) => {
        const policies = versions.map(policyOf);
        const records: Records = new Map();
        const model = new QuotaModel();
        const made: Made[] = [];
        let now = 200;
        for (const { onMs, backMs, version: n, costs: drawn, does, which } of steps) {
          now = Math.max(1, now + onMs - (stepsBack ? backMs : 0));
          const at = n % versions.length;
          const [limits, policy] = [versions[at] as ModelLimit[], policies[at] as Policy];
          const costs = limits.map((_, i) => Math.abs(drawn[i] as number));
          expect(numbersOf(peekRecords(records, policy, simplest(costs), now))).toEqual(model.decide(limits, costs, now, false).readings);
          if (does === "consume") {
            const { decision } = consumeRecords(records, policy, simplest(costs), now);
            const wanted = model.decide(limits, costs, now, true);
            expect([decision.allowed, numbersOf(decision)]).toEqual([wanted.allowed, wanted.readings]);
            if (decision.allowed) made.push({ decision, version: at, costs });
            else checkWait(records, policy, costs, decision);
          } else if (does === "refund" && made.length > 0) {
            const { decision, version: then, costs: taken } = made[which % made.length] as Made;
            const [ownLimits, own] = [versions[then] as ModelLimit[], policies[then] as Policy];
            const change = correction(decision, own, simplest(taken), 0, now - decision.at);
            const changes = ownLimits.map((_, i) => (typeof change === "number" ? change : (change[i] as number)));
            // A quota gets all of them: the store decides by the exact date.
            ownLimits.forEach(({ kind }, i) => kind === "quota" && expect(changes[i]).toBe(0 - (taken[i] as number)));
            adjustRecords(records, own, simplest(changes), now, decision.at);
            ownLimits.forEach((limit, i) => model.change(limit, changes[i] as number, now, decision.at));
          } else if (does === "adjust") {
            const changes = limits.map((_, i) => drawn[i] as number);
            adjustRecords(records, policy, simplest(changes), now);
            limits.forEach((limit, i) => model.change(limit, changes[i] as number, now));
          } else if (does === "reset") {
            records.clear();
            model.clear();
          } else if (does === "forget" && !stepsBack) {
            // L4: what has come back may be forgotten.
            for (const [name, { at: since, spent, unitsPerMs }] of records) if (since + Math.ceil(spent / unitsPerMs) <= now) records.delete(name);
          }
        }
      }),
      { numRuns: 400 },
    );
  });

  // L2: refused just before the stated instant, allowed at it. L3: a refusal changes no answer.
  function checkWait(records: Records, policy: Policy, costs: readonly number[], decision: Decision): void {
    const again = (t: number): Decision => peekRecords(records, policy, simplest(costs), t);
    expect(again(decision.at)).toEqual(decision);
    const { retryAfterMs } = decision;
    if (retryAfterMs === Infinity) return;
    expect([again(decision.at + retryAfterMs - 1).allowed, again(decision.at + retryAfterMs).allowed]).toEqual([false, true]);
  }

  test("L20 · in each period a quota grants at most its capacity, less what was given back in it: (1 + k) times with k steps back", () => {
    fc.assert(
      fc.property(quota, fc.array(rate, { maxLength: 2 }), fc.boolean(), fc.array(step, { minLength: 10, maxLength: 60 }), (drawn, rates, stepsBack, steps) => {
        const limits: ModelLimit[] = [{ ...drawn, name: "a" }, ...rates.map((each, i): ModelLimit => ({ ...each, name: "bc"[i] as string }))];
        const policy = policyOf(limits);
        const records: Records = new Map();
        const granted = new Map<number, number>();
        const made: Made[] = [];
        const dateOf = (t: number): number => policy.limits[0].kind.dateOf(t);
        let [now, back, resets] = [200, 0, 0];
        for (const { onMs, backMs, costs: wanted, does, which } of steps) {
          now += onMs;
          if (stepsBack && backMs > 0) {
            now = Math.max(1, now - backMs);
            back++;
          }
          const costs = limits.map((_, i) => Math.abs(wanted[i] as number));
          if (does === "consume") {
            const { decision } = consumeRecords(records, policy, simplest(costs), now);
            if (!decision.allowed) continue;
            made.push({ decision, version: 0, costs });
            granted.set(dateOf(now), (granted.get(dateOf(now)) ?? 0) + (costs[0] as number));
          } else if (does === "refund" && made.length > 0) {
            const [{ decision, costs: taken }] = made.splice(which % made.length, 1) as [Made];
            const before = records.get("a")?.spent ?? 0;
            const date = records.get("a")?.at;
            adjustRecords(records, policy, simplest(limits.map((_, i) => (i === 0 ? 0 - (taken[0] as number) : 0))), now, decision.at);
            // It goes to the period it was taken from, or nowhere.
            const given = before - (records.get("a")?.spent ?? 0);
            const isPossible = date !== undefined && date >= now && date - now <= Math.max(...drawn.lengths);
            if (isPossible && date === dateOf(decision.at)) {
              expect(given).toBe(Math.min(before, taken[0] as number));
              granted.set(date, (granted.get(date) ?? 0) - given);
            } else if (isPossible) expect(given).toBe(0);
          } else if (does === "reset" && which < 5) {
            records.clear();
            resets++;
          } else if (does === "adjust") blockRecords(records, which % 3 === 0 ? 0 : which, now);
        }
        for (const [, tokens] of granted) expect(tokens).toBeLessThanOrEqual(drawn.capacity * (1 + back + resets));
      }),
      { numRuns: 400 },
    );
  });
});
