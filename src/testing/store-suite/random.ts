import type { Limit, LimitOptions } from "../../core/limit.js";

/** Chance that is drawn again from the same seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** From 0 up to 1. */
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

  /** One of a list that is not empty. */
  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)] as T;
  }
}

const DAY = 86_400_000;
const YEAR = 365.25 * DAY;
const LARGEST = Number.MAX_SAFE_INTEGER;

/** Limits that have broken rate limiters: each has its own way of losing a unit. */
export const HOSTILE_LIMITS: readonly LimitOptions[] = [
  { capacity: 20, refill: { tokens: 7, everyMs: 13 } },
  { capacity: 100, refill: { tokens: 99_999, everyMs: 3_600_000 } },
  { capacity: 10, refill: { tokens: 999_983, everyMs: 1_000_003 } }, // two primes: nothing cancels
  { capacity: 1, refill: { tokens: 1, everyMs: 30 * DAY } }, // one a month
  { capacity: 3, refill: { tokens: 3, everyMs: 3_600_000 } },
  { capacity: 1, refill: { tokens: 1, everyMs: 1 } },
  { capacity: 1, refill: { tokens: 1_000, everyMs: 1 } }, // full again long before the next millisecond
  { capacity: 1_000_000, refill: { tokens: 1_000_000, everyMs: 1_000 } },
  { capacity: Math.floor(LARGEST / DAY), refill: { tokens: 999_983, everyMs: DAY } }, // the last unit that is exact
  { capacity: LARGEST, refill: { tokens: 1_000_000_007, everyMs: 1 } },
  { capacity: 1, refill: { tokens: 1, everyMs: LARGEST } }, // one in 285 thousand years
];

/** A limit of everyday size half of the time, a hostile one otherwise. */
export function someLimit(random: Random): LimitOptions {
  if (random.next() < 0.5) return random.pick(HOSTILE_LIMITS);
  return { capacity: random.between(1, 30), refill: { tokens: random.between(1, 40), everyMs: random.between(1, 2_000) } };
}

/** A cost that means something to `limit`: mostly what fits, sometimes nothing, everything, or more than it can ever hold. */
export function someCost(random: Random, { capacity }: Limit): number {
  const kind = random.next();
  if (kind < 0.4) return 1;
  if (kind < 0.8) return random.between(0, capacity);
  return random.pick([0, capacity, Math.min(LARGEST, capacity + 1), LARGEST]);
}

/** How far a clock moves, in a size that means something to `limit`; `back` allows steps back. Fractions happen. */
export function someMove(random: Random, limit: Limit, back: boolean): number {
  const direction = back && random.next() < 0.3 ? -1 : 1;
  const kind = random.next();
  if (kind < 0.25) return 0;
  if (kind < 0.45) return direction * random.pick([1, 2, 17, 0.25, 0.999, 1_000]);
  if (kind < 0.7) return direction * Math.round((random.next() * 3 * limit.unitsPerToken) / limit.unitsPerMs);
  if (kind < 0.95) return direction * Math.round(random.next() * 1.2 * limit.fullMs);
  return direction * random.pick([10 * YEAR, limit.fullMs, limit.fullMs + 1]);
}
