// Histories of one caller under several policies of one name. They compare a store with the core and the model.
import fc from "fast-check";
import type { PolicyOptions } from "sluice";
import { anyStepsAndDebts, limits, onwardStepsAndDebts, resolve, starts, versions, type ResolvedStep } from "./arbitraries.js";
import type { ManyLimitsPolicy } from "../../src/core/policy.js";

/** A history, and the policies under one name that its steps choose from. */
export interface Run {
  readonly policies: readonly PolicyOptions[];
  readonly steps: readonly ResolvedStep[];
}

const name = "tier";

const ofTiers: fc.Arbitrary<Run> = fc
  .tuple(versions, starts, anyStepsAndDebts)
  .map(([list, start, history]) => ({ policies: list.map((limit) => ({ name, ...limit })), steps: resolve(start, history, list[0]) }));

// A full limit that the policy no longer has is deleted at the next write. While the clock moves on, this changes no
// answer.
const ofDeploys: fc.Arbitrary<Run> = fc.tuple(limits, limits, limits, starts, onwardStepsAndDebts).map(([a, b, c, start, history]) => {
  const before: ManyLimitsPolicy = { name, limits: [{ ...a, name: "burst" }, { ...b, name: "day" }] };
  const after: ManyLimitsPolicy = { name, limits: [{ ...b, name: "day" }, { ...c, name: "burst" }, { ...a, name: "month" }] };
  return { policies: [before, after], steps: resolve(start, history, a) };
});

const ofOneDeploy: fc.Arbitrary<Run> = fc.tuple(limits, limits, starts, anyStepsAndDebts).map(([a, b, start, history]) => {
  const limitsOf = (x: typeof a, y: typeof b): ManyLimitsPolicy => ({ name, limits: [{ ...x, name: "burst" }, { ...y, name: "day" }] });
  return { policies: [limitsOf(a, b), limitsOf(b, a)], steps: resolve(start, history, a) };
});

/** Changes of tier, in one limit and in several, with limits that appear and disappear. */
export const runs: fc.Arbitrary<Run> = fc.oneof(
  { weight: 2, arbitrary: ofTiers },
  { weight: 1, arbitrary: ofDeploys },
  { weight: 1, arbitrary: ofOneDeploy },
);
