import fc from "fast-check";
import { definePolicy, type Policy } from "sluice";

/** One thing that a caller does: let time pass, then ask. */
interface Step {
  readonly waitMs: number;
  readonly cost: number;
}

/** A policy, and the steps of one caller under it. */
export interface History {
  readonly policy: Policy;
  readonly steps: readonly Step[];
}

// Rates that no binary fraction holds: a third, a seventh, a tenth of a token, in and out of step with seconds.
const EVERY_MS = [1, 3, 7, 13, 100, 333, 700, 1_000, 1_001, 3_000, 7_000, 10_000, 60_000, 3_600_000] as const;

/** One limit of every awkward kind. */
export const policies: fc.Arbitrary<Policy> = fc
  .record({
    capacity: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 100_000 })),
    tokens: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 99_999 })),
    everyMs: fc.oneof(fc.constantFrom(...EVERY_MS), fc.integer({ min: 1, max: 5_000_000 })),
  })
  .map(({ capacity, tokens, everyMs }) => definePolicy({ name: "drawn", capacity, refill: { tokens, everyMs } }));

/** Steps of one caller under a limit: waits up to twice its refill, costs up to its capacity, mostly large ones. */
function stepsUnder(policy: Policy): fc.Arbitrary<Step[]> {
  const { capacity, fullMs } = policy.limits[0];
  const waitMs = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: Math.ceil(fullMs / capacity) }), fc.integer({ min: 0, max: 2 * fullMs }));
  const cost = fc.oneof(fc.constant(1), fc.constant(capacity), fc.integer({ min: 0, max: capacity }));
  return fc.array(fc.record({ waitMs, cost }), { minLength: 1, maxLength: 25 });
}

/** A limit, and the steps of one caller under it. */
export const histories: fc.Arbitrary<History> = policies.chain((policy) =>
  stepsUnder(policy).map((steps) => ({ policy, steps })),
);
