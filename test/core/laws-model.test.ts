import fc from "fast-check";
import { createLimiter, definePolicy, MemoryStore, TokenBucket, type Policy, type PolicyOptions } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { mapCosts } from "../../src/core/cost.js";
import { costAt, simplest } from "../../src/core/limit.js";
import type { Records } from "../../src/core/records.js";
import { adjustRecords, blockRecords, consumeRecords, peekRecords } from "../helpers/records.js";
import { anyHistories, anyStepsAndDebts, limits, policies, resolve, starts, versions, type ResolvedStep, type RateNumbers } from "../helpers/arbitraries.js";
import { Model } from "../helpers/model.js";
import { expectSame } from "./subjects.js";

// The same history in the big-integer model, in the core and through a limiter, compared call by call in every field.
// The model knows nothing of src; see test/helpers/model.ts.

describe("L8 · one arithmetic", () => {
  test("L8 · one arithmetic: TokenBucket answers as the model does, whatever the limit, the clock and the cost", () => {
    fc.assert(
      fc.property(anyHistories, ({ limit, history }) => {
        const clock = new ManualClock();
        const bucket = new TokenBucket({ ...limit, clock: clock.now });
        const model = new Model();
        for (const { call, now, cost } of history) {
          clock.set(now);
          if (call === "reset") {
            bucket.reset();
            model.reset(limit);
          } else if (call === "refund" && cost > 0) {
            bucket.credit(cost);
            model.adjust(limit, -cost, now);
          } else if (call === "consume") expectSame(bucket.consume(cost), model.consume(limit, cost, now));
          expectSame(bucket.peek(cost), model.peek(limit, cost, now));
        }
      }),
      { numRuns: 400 },
    );
  });

  test("L8 · one arithmetic: a limiter over memory does, for several keys at once", () => {
    fc.assert(
      fc.property(anyHistories, ({ limit, history }) => {
        const clock = new ManualClock();
        const limiter = createLimiter({ policy: limit, store: new MemoryStore({ clock: clock.now }) });
        // Few enough keys that the store has no reason to forget an idle one, which is only right while no clock steps back.
        const models = ["alice", "bob", "carol", "(", "2:ab"].map((key) => ({ key, model: new Model() }));
        for (const { call, now, cost, choice } of history) {
          clock.set(now);
          const { key, model } = models[choice % models.length] as (typeof models)[number];
          if (call === "reset") {
            limiter.reset(key);
            model.reset(limit);
          } else if (call === "refund" && cost > 0) {
            limiter.credit(key, cost);
            model.adjust(limit, -cost, now);
          } else if (call === "consume") expectSame(limiter.consume(key, cost), model.consume(limit, cost, now));
          expectSame(limiter.peek(key, cost), model.peek(limit, cost, now));
        }
      }),
      { numRuns: 250 },
    );
  });

  test("L8 · one arithmetic: policies of several limits do, in the core and in memory", () => {
    fc.assert(
      fc.property(policies, starts, anyStepsAndDebts, (policy, start, list) => {
        // Each history is aimed at one of its limits; the others see strange numbers.
        const aim = policy.limits[(list[0]?.choice ?? 0) % policy.limits.length] ?? (policy.limits[0] as RateNumbers);
        compare(resolve(start, list, aim), () => policy);
      }),
      { numRuns: 200 },
    );
  });
});

describe("L14 · numbers can change", () => {
  const name = "tier";

  test("L14 · numbers can change: every answer after a change is the model's, through any versions of a limit", () => {
    fc.assert(
      fc.property(versions, starts, anyStepsAndDebts, (list, start, history) => {
        const tiers = list.map((limit) => ({ name, ...limit }));
        compare(resolve(start, history, list[0]), ({ choice }) => tiers[choice % tiers.length] as PolicyOptions);
      }),
      { numRuns: 400 },
    );
  });

  test("L14 · numbers can change: so for several limits, when a deploy adds, drops or renames one", () => {
    fc.assert(
      fc.property(fc.array(limits, { minLength: 3, maxLength: 3 }), starts, anyStepsAndDebts, ([a, b, c], start, history) => {
        if (a === undefined || b === undefined || c === undefined) return;
        const before: PolicyOptions = { name, limits: [{ ...a, name: "burst" }, { ...b, name: "day" }] };
        const after: PolicyOptions = { name, limits: [{ ...b, name: "day" }, { ...c, name: "burst" }, { ...a, name: "month" }] };
        const steps = resolve(start, history, a);
        compare(steps, (_, i) => (i < steps.length / 2 ? before : after));
      }),
      { numRuns: 200 },
    );
  });
});

/** Plays a history under the policy that `policyAt` chooses for each step: over records, in memory and in the model. */
function compare(history: readonly ResolvedStep[], policyAt: (step: ResolvedStep, i: number) => PolicyOptions): void {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock: clock.now });
  const limiter = createLimiter({ policy: { ...policyAt(history[0] as ResolvedStep, 0) }, store });
  const model = new Model();
  const records: Records = new Map();
  const defined = new Map<PolicyOptions, Policy>();
  for (const [i, step] of history.entries()) {
    const { call, now, cost, choice } = step;
    const options = policyAt(step, i);
    const policy = defined.get(options) ?? definePolicy(options);
    defined.set(options, policy);
    const at = Math.floor(now);
    // Half of the calls have a cost of its own for each limit.
    const costs = simplest(policy.limits.map(({ capacity }, place) => (choice % 2 === 0 || place === 0 ? cost : (cost * (place + choice)) % (capacity + 2))));
    const byName = Object.fromEntries(policy.limits.map(({ name }, place) => [name, costAt(costs, place)]));
    clock.set(now);
    if (call === "reset") {
      records.clear();
      limiter.reset("alice", { policy });
      model.reset(options);
    } else if (call === "refund") {
      const back = mapCosts(policy, costs, (each) => 0 - each);
      expect(adjustRecords(records, policy, back, at)).toBe(true);
      limiter.credit("alice", { cost: byName, policy });
      model.adjust(options, back, now);
    } else if (call === "debit") {
      const done = model.adjust(options, costs, now);
      expect(adjustRecords(records, policy, costs, at)).toBe(done);
      const debit = (): void => limiter.debit("alice", { cost: byName, policy });
      if (done) debit();
      else expect(debit).toThrow("a debt of at most");
    } else if (call === "block") {
      const forMs = 1 + (cost % 100_000);
      blockRecords(records, forMs, at);
      limiter.block("alice", forMs, { policy });
      model.block(forMs, now);
    } else if (call === "consume") {
      const expected = model.consume(options, costs, now);
      expectSame(consumeRecords(records, policy, costs, at).decision, expected);
      expectSame(limiter.consume("alice", { cost: byName, policy }), expected);
    } else {
      const expected = model.peek(options, costs, now);
      expectSame(peekRecords(records, policy, costs, at), expected);
      expectSame(limiter.peek("alice", { cost: byName, policy }), expected);
    }
  }
}
