import { LONGEST_WAIT_MS } from "../../port/store.js";
import { simplest, type Costs, type Limit, type RateOptions } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";

/** Random numbers that repeat for the same seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** A number from 0 up to, but not including, 1. */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  /** One element of a non-empty list. */
  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)] as T;
  }
}

const DAY = 86_400_000;
const YEAR = 365.25 * DAY;
/** The largest whole number that is exact. */
export const LARGEST = Number.MAX_SAFE_INTEGER;

/** A rate with both of its numbers. */
export type RateNumbers = RateOptions & { readonly capacity: number };

/** Limits that break inexact arithmetic in different ways. */
export const HOSTILE_LIMITS: readonly RateNumbers[] = [
  { capacity: 20, refill: { tokens: 7, everyMs: 13 } },
  { capacity: 100, refill: { tokens: 99_999, everyMs: 3_600_000 } },
  { capacity: 10, refill: { tokens: 999_983, everyMs: 1_000_003 } }, // two primes: the fraction cannot be reduced
  { capacity: 1, refill: { tokens: 1, everyMs: 30 * DAY } }, // one a month
  { capacity: 3, refill: { tokens: 3, everyMs: 3_600_000 } },
  { capacity: 1, refill: { tokens: 1, everyMs: 1 } },
  { capacity: 1, refill: { tokens: 1_000, everyMs: 1 } }, // full again within 1 ms
  { capacity: 1_000_000, refill: { tokens: 1_000_000, everyMs: 1_000 } },
  { capacity: Math.floor(LARGEST / DAY), refill: { tokens: 999_983, everyMs: DAY } }, // the largest size that is exact
  { capacity: LARGEST, refill: { tokens: 1_000_000_007, everyMs: 1 } },
  { capacity: 1, refill: { tokens: 1, everyMs: LARGEST } }, // one in 285 thousand years
];

/** Returns a limit of common size half of the time, otherwise a hostile one. */
export function randomLimit(random: Random): RateNumbers {
  if (random.next() < 0.5) return random.pick(HOSTILE_LIMITS);
  return { capacity: random.between(1, 30), refill: { tokens: random.between(1, 40), everyMs: random.between(1, 2_000) } };
}

/** Returns a cost for `limit`: mostly one that fits; sometimes 0, the capacity, or more than the capacity. */
function randomCost(random: Random, { capacity }: Limit): number {
  const kind = random.next();
  if (kind < 0.4) return 1;
  if (kind < 0.8) return random.between(0, capacity);
  return random.pick([0, capacity, Math.min(LARGEST, capacity + 1), LARGEST]);
}

/** Returns a cost for `policy`. Half of the time, each limit has a different cost. */
export function randomCosts(random: Random, { limits }: Policy): Costs {
  return random.next() < 0.5
    ? randomCost(random, random.pick(limits))
    : simplest(limits.map((limit) => randomCost(random, limit)));
}

/** Returns a change of `adjust`: tokens to take or give back, sometimes more than the capacity or than can be taken. */
export function randomChanges(random: Random, { limits }: Policy, sign: 1 | -1 | null): Costs {
  return simplest(limits.map((limit) => {
    const tokens =
      random.next() < 0.95
        ? Math.min(random.between(0, random.pick([1, 1, 3]) * limit.capacity), Math.floor(LARGEST / 4))
        : randomCost(random, limit);
    return (sign ?? random.pick([1, -1, 0])) * tokens + 0;
  }));
}

/** Returns the milliseconds of a block. */
export function randomBlock(random: Random, limit: Limit): number {
  return Math.min(1 + Math.abs(Math.round(randomMove(random, limit, false))), LONGEST_WAIT_MS);
}

/** Returns a move of the clock in ms, scaled to `limit`. It may be a fraction, and negative if `back` is true. */
export function randomMove(random: Random, limit: Limit, back: boolean): number {
  const direction = back && random.next() < 0.3 ? -1 : 1;
  const kind = random.next();
  if (kind < 0.25) return 0;
  if (kind < 0.45) return direction * random.pick([1, 2, 17, 0.25, 0.999, 1_000]);
  if (kind < 0.7) return direction * Math.round((random.next() * 3 * limit.unitsPerToken) / limit.unitsPerMs);
  if (kind < 0.95) return direction * Math.round(random.next() * 1.2 * limit.fullMs);
  return direction * random.pick([10 * YEAR, limit.fullMs, limit.fullMs + 1]);
}
