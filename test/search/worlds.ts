// The named worlds. Instants are a list beside the edges of each world: a date, one before, one after.
import { breakerWorld, type BreakerWorld } from "./breaker-world.js";
import type { World } from "./explore.js";
import type { Real } from "./real.js";
import type { StoreWorld } from "./state.js";
import { storeWorld } from "./store-world.js";

/** A world of any kind. */
export interface NamedWorld {
  readonly name: string;
  make(real: Real): World<unknown>;
}

const PERIOD_MS = 2_000;

/** A quota of periods of 2 s. */
const shortQuota = (real: Real, name: string, capacity: number) => ({
  name, capacity,
  renews: Object.defineProperty({ every: "day", at: "00:00", timeZone: "UTC" }, "kindCode", {
    value: real.quotaCode({ calendar: "2 s", fullMs: PERIOD_MS, windowSeconds: 2 }, (now) => (Math.floor(now / PERIOD_MS) + 1) * PERIOD_MS - 1),
  }) as never,
});

// `staleAfterMs` is 1,600, so a date is the end of a step of 100 ms.
const parallel = (real: Real, capacity: number) => ({ name: "parallel", capacity, returns: real.whenDone({ staleAfterMs: 1_600, maxWorkMs: 4_000 }) });

/** The worlds of one store. */
export const STORE_WORLDS: readonly StoreWorld[] = [
  // A crash, a lost answer and a lost settlement leave a charge as it is. So does a work that used all that it took.
  {
    name: "one rate",
    policies: () => [{ name: "p", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } }],
    works: 4, instants: [0, 1, 500, 999, 1_000, 2_000], used: [0, 1],
    happens: ["calls sent again", "late calls"],
  },
  // Each gives back all that it took, so what refills meanwhile is saved up.
  {
    name: "a chain of works",
    policies: () => [{ name: "p", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } }],
    works: 8, instants: [0, 999, 1_998, 2_997, 3_996], used: [0],
    happens: [],
  },
  {
    name: "one rate, credits and debits",
    policies: () => [{ name: "p", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } }],
    works: 3, instants: [0, 500, 1_000, 1_500], used: [0, 1],
    happens: ["credits", "debits", "late calls"], faults: 1,
  },
  {
    name: "one rate, resets and blocks",
    policies: () => [{ name: "p", capacity: 1, refill: { tokens: 1, everyMs: 1_000 } }],
    works: 3, instants: [0, 500, 699, 700, 1_200], used: [0],
    happens: ["resets", "blocks", "lost writes", "steps back"],
  },
  {
    name: "three in two",
    policies: () => [{ name: "p", capacity: 2, refill: { tokens: 3, everyMs: 2_000 } }],
    works: 3, instants: [0, 666, 667, 1_333, 1_334, 2_000], used: [0],
    happens: ["crashes", "lost answers"],
  },
  {
    name: "two rates",
    policies: () => [{ name: "p", limits: [{ name: "fast", capacity: 1, refill: { tokens: 1, everyMs: 500 } }, { name: "slow", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } }] }],
    cost: [1, 2], works: 3, instants: [0, 499, 500, 1_000, 1_999, 2_000], used: [[0, 0], [1, 1]],
    happens: ["crashes", "lost answers", "calls sent again", "late calls"],
  },
  {
    name: "a quota over its edge",
    policies: (real) => [{ name: "p", limits: [shortQuota(real, "month", 2)] }],
    works: 4, instants: [0, 1_000, 1_999, 2_000, 2_001, 4_000], used: [0, 1],
    happens: ["calls sent again", "late calls"],
  },
  {
    name: "a quota, resets and steps back",
    policies: (real) => [{ name: "p", limits: [shortQuota(real, "month", 2)] }],
    works: 3, instants: [0, 1_999, 2_000, 4_000], used: [0],
    happens: ["resets", "lost writes", "steps back"], stepBackMs: 1_000,
  },
  {
    name: "in flight with renewals",
    policies: (real) => [{ name: "p", limits: [parallel(real, 1)] }],
    works: 3, instants: [0, 533, 1_066, 1_599, 1_600, 1_699, 1_700, 2_133],
    happens: ["renewals", "crashes", "lost answers", "calls sent again", "late calls", "resets"], used: [0],
  },
  {
    name: "in flight, two places",
    policies: (real) => [{ name: "p", limits: [parallel(real, 2)] }],
    works: 4, instants: [0, 533, 1_600, 1_700],
    happens: ["renewals", "calls sent again", "late calls"], used: [0], faults: 1,
  },
  {
    name: "in flight beside a rate",
    policies: (real) => [{ name: "p", limits: [parallel(real, 2), { name: "rate", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } }] }],
    works: 3, instants: [0, 533, 1_600, 1_700], used: [0, 1],
    happens: ["renewals", "crashes", "late calls"], faults: 1,
  },
  // A window keeps two amounts here: see `real.ts`.
  {
    name: "a window, late give-backs",
    policies: (real) => [{ name: "p", capacity: 3, returns: real.afterMs(1_000) }],
    works: 4, instants: [0, 300, 999, 1_000, 1_299, 1_300], used: [0],
    happens: ["calls sent again", "late calls", "resets"], faults: 1,
  },
  {
    name: "a window, credits and steps back",
    policies: (real) => [{ name: "p", capacity: 2, returns: real.afterMs(1_000) }],
    works: 3, instants: [0, 300, 999, 1_000, 1_300], used: [0],
    happens: ["credits", "debits", "steps back", "lost writes"], stepBackMs: 500, faults: 1,
  },
  {
    name: "new numbers",
    policies: () => [
      { name: "p", capacity: 1, refill: { tokens: 1, everyMs: 1_000 } },
      { name: "p", capacity: 1, refill: { tokens: 3, everyMs: 2_000 } },
    ],
    works: 4, instants: [0, 333, 500, 1_000, 1_001], used: [0],
    happens: ["new numbers", "late calls", "lost answers"],
  },
  {
    name: "new numbers, a burst",
    policies: () => [
      { name: "p", capacity: 3, refill: { tokens: 1, everyMs: 1_000 } },
      { name: "p", capacity: 2, refill: { tokens: 2, everyMs: 1_000 } },
    ],
    works: 3, cost: 2, instants: [0, 500, 1_000, 1_001], used: [0, 1],
    happens: ["new numbers", "late calls"], faults: 1,
  },
];

const BREAKER_WORLDS: readonly BreakerWorld[] = [
  { name: "a breaker", callers: 2, asks: [["a"], ["b"]], failures: 2, probeEveryMs: 2, timeoutMs: 1 },
  { name: "a breaker, three callers", callers: 3, asks: [["a"], ["b"]], failures: 2, probeEveryMs: 2, timeoutMs: 1 },
  { name: "a breaker, late answers", callers: 2, asks: [["a"], ["b"]], failures: 2, probeEveryMs: 2, timeoutMs: 3 },
  { name: "a breaker, calls about both buckets", callers: 2, asks: [["a"], ["b"], ["a", "b"]], failures: 3, probeEveryMs: 2, timeoutMs: 1 },
];

export const WORLDS: readonly NamedWorld[] = [
  ...STORE_WORLDS.map((world) => ({ name: world.name, make: (real: Real) => storeWorld(world, real) })),
  ...BREAKER_WORLDS.map((world) => ({ name: world.name, make: (real: Real) => breakerWorld(world, real) })),
];
