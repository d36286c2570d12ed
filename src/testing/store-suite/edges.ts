import type { LimitOptions } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";
import type { Trial } from "./trial.js";

/**
 * The edges of the port: the most that a caller can ask of a store. One table, so that all cases try the same edges. A
 * store that is right in the middle is most often wrong here.
 */
export const EDGES = {
  /** The most charges of one call. `combine` sends no more. */
  charges: 128,
  /** The limits of a policy in the random histories. Each has a cost of its own. */
  limits: 9,
  /** The longest list of costs that a case tries. A policy can have any number of limits. */
  costs: 129,
  /** Characters of the longest name of a policy or a limit. */
  name: 64,
  /** Lengths of keys at which stores cut them or replace them with a digest, and the longest that fits in a header. */
  keys: [15_000, 8_191, 2_047, 1_000, 511, 255, 127, 100, 63, 31],
} as const;

// If many limits of one caller are full at once, the oracle has to follow every choice of those that a store forgets.
const MILLENNIUM = 31_557_600_000_000;

/** A longest name. Two of them differ only in `end`, the last characters. `taken` characters are put before it. */
function longestName(end: string | number, taken = 0): string {
  return `${"name-".repeat(EDGES.name)}`.slice(0, EDGES.name - taken - String(end).length) + String(end);
}

/** So many limits with longest names, each with other numbers. A token comes back in a thousand years. */
export function edgeLimits(count: number = EDGES.limits, first = 0): LimitOptions[] {
  return Array.from({ length: count }, (_, i) => {
    const place = first + i;
    return { name: longestName(place), capacity: 100 + 3 * place, refill: { tokens: 1, everyMs: MILLENNIUM + place } };
  });
}

/** A policy with a longest name. Two of them differ only in `end`. */
export function edgePolicy(trial: Trial, end: string, limits: readonly LimitOptions[]): Policy {
  return trial.policy(longestName(end, trial.namespace.length + 1), ...limits);
}

/** A different cost for each limit, as far as the costs stay small. */
export function differentCosts({ limits }: Policy): number[] {
  return limits.map((_limit, i) => 1 + ((7 * i) % 100));
}
