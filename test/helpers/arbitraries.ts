import fc from "fast-check";
import { perHour } from "sluice";
import type { ManyLimitsPolicy } from "../../src/core/policy.js";
import type { RateOptions } from "../../src/core/limit.js";

/** Any character but half a surrogate pair. The unit "binary" of fast-check draws the same, and takes a second to make. */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(0x10f7ff).map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800));

/** Random clocks, and random requests of valid and invalid sizes, for the tests of the laws. */

const YEAR = 31_557_600_000;
const LARGEST = Number.MAX_SAFE_INTEGER;

/** A rate with both of its numbers. */
export type RateNumbers = RateOptions & { readonly capacity: number };

/** Limits that have broken rate limiters. Each loses a unit in a different way. */
const hostileLimits: readonly RateNumbers[] = [
  { capacity: 1, refill: { tokens: 1, everyMs: 30 * 86_400_000 } }, // one a month
  { capacity: 1_000_000, refill: { tokens: 1_000_000, everyMs: 1_000 } }, // a million a second
  { capacity: 1, refill: { tokens: 1, everyMs: 1 } },
  { capacity: 1, refill: { tokens: 1_000, everyMs: 1 } }, // full again long before the next millisecond
  { capacity: 20, refill: { tokens: 7, everyMs: 13 } },
  { capacity: 100, refill: perHour(99_999) },
  { capacity: 3, refill: perHour(3) },
  { capacity: 10, refill: { tokens: 999_983, everyMs: 1_000_003 } }, // two primes: nothing cancels
  { capacity: Math.floor(LARGEST / 86_400_000), refill: { tokens: 1, everyMs: 86_400_000 } }, // the last unit that is exact
  { capacity: Math.floor(LARGEST / 86_400_000), refill: { tokens: 999_983, everyMs: 86_400_000 } },
  { capacity: LARGEST, refill: { tokens: 1_000_000_007, everyMs: 1 } },
  { capacity: 1, refill: { tokens: 1, everyMs: LARGEST } }, // one in 285 thousand years
];

const plainLimit: fc.Arbitrary<RateNumbers> = fc.record({
  capacity: fc.integer({ min: 1, max: 30 }),
  refill: fc.record({ tokens: fc.integer({ min: 1, max: 40 }), everyMs: fc.integer({ min: 1, max: 2_000 }) }),
});

/** One limit, which is hostile half of the time. */
export const limits: fc.Arbitrary<RateNumbers> = fc.oneof(plainLimit, fc.constantFrom(...hostileLimits));

/** A policy of rates alone. */
export type RatesPolicy = Omit<ManyLimitsPolicy, "limits"> & { readonly limits: readonly RateNumbers[] };

/** Two or three limits under one policy name. */
export const policies: fc.Arbitrary<RatesPolicy> = fc
  .array(limits, { minLength: 2, maxLength: 3 })
  .map((list) => ({ name: "several", limits: list as [RateNumbers, ...RateNumbers[]] }));

/** Versions of one limit with different numbers: tiers, deploys, corrections (L14). */
export const versions: fc.Arbitrary<readonly [RateNumbers, ...RateNumbers[]]> = fc
  .array(limits, { minLength: 2, maxLength: 4 })
  .map((list) => list as [RateNumbers, ...RateNumbers[]]);

/** The start of a clock: any epoch, an instant before it, or one between two milliseconds. */
export const starts: fc.Arbitrary<number> = fc.constantFrom(0, 0.5, -123_456.75, 1_700_000_000_000, 86_399_999.999);

/** A call at one instant. `cost` and `ms` are resolved against a limit by {@link costOf} and {@link moved}. */
export interface Step {
  readonly call: "consume" | "peek" | "refund" | "reset" | "debit" | "block";
  readonly move: Move;
  readonly cost: Cost;
  /** The index of the key, limit or version. */
  readonly choice: number;
}

/** A move of the clock, in units that depend on the limit. */
type Move = readonly [unit: "ms" | "token" | "refill" | "year", factor: number];
type Cost = readonly [of: "one" | "capacity" | "far", factor: number];

const ahead: fc.Arbitrary<Move> = fc.oneof(
  fc.constant<Move>(["ms", 0]),
  fc.tuple(fc.constant("ms" as const), fc.constantFrom(1, 2, 17, 0.25, 0.999, 1_000)),
  fc.tuple(fc.constant("token" as const), fc.double({ min: 0, max: 3, noNaN: true })),
  fc.tuple(fc.constant("refill" as const), fc.double({ min: 0, max: 1.2, noNaN: true })),
);
const rare: fc.Arbitrary<Move> = fc.constantFrom<Move>(["year", 10], ["refill", 1], ["refill", 1.000001]);
const back: fc.Arbitrary<Move> = fc.oneof(
  fc.tuple(fc.constant("ms" as const), fc.constantFrom(-1, -0.25, -50)),
  fc.tuple(fc.constant("token" as const), fc.double({ min: -3, max: 0, noNaN: true })),
  fc.tuple(fc.constant("refill" as const), fc.double({ min: -1.2, max: 0, noNaN: true })),
  fc.constantFrom<Move>(["year", -10], ["refill", -1]),
);
const onward: fc.Arbitrary<Move> = fc.oneof({ weight: 12, arbitrary: ahead }, { weight: 1, arbitrary: rare });
const anywhere: fc.Arbitrary<Move> = fc.oneof({ weight: 3, arbitrary: onward }, { weight: 1, arbitrary: back });

const costs: fc.Arbitrary<Cost> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Cost>(["one", 1]) },
  { weight: 4, arbitrary: fc.tuple(fc.constant("capacity" as const), fc.double({ min: 0, max: 1, noNaN: true })) },
  { weight: 1, arbitrary: fc.constantFrom<Cost>(["one", 0], ["one", 2], ["capacity", 1], ["far", 1], ["far", LARGEST]) },
);

/** Histories with a clock that never steps back. Most calls are `consume`. */
export const onwardSteps = steps(onward);
/** The same under a clock that also steps back, by a millisecond or by ten years. */
export const anySteps = steps(anywhere);
/** Both again, with debts among the calls. The laws about granted tokens do not cover debts. */
export const onwardStepsAndDebts = steps(onward, 1);
export const anyStepsAndDebts = steps(anywhere, 1);

function steps(moves: fc.Arbitrary<Move>, debts = 0): fc.Arbitrary<readonly Step[]> {
  const call = fc.oneof(
    { weight: 8, arbitrary: fc.constant("consume" as const) },
    { weight: 2, arbitrary: fc.constantFrom("peek" as const, "refund" as const) },
    { weight: 1, arbitrary: fc.constant("reset" as const) },
    { weight: debts, arbitrary: fc.constantFrom("debit" as const, "block" as const) },
  );
  return fc.array(fc.record({ call, move: moves, cost: costs, choice: fc.nat(5) }), { minLength: 1, maxLength: 40, size: "max" });
}

/** Milliseconds from empty to full, rounded up. Use it to pick instants, not to judge answers. */
export function refillMs({ capacity, refill }: RateNumbers): number {
  return Math.ceil((capacity / refill.tokens) * refill.everyMs);
}

/** The clock's reading after a move. A move beyond the precision of a clock in milliseconds is not made. */
function moved(now: number, [unit, factor]: Move, limit: RateNumbers): number {
  const { tokens, everyMs } = limit.refill;
  const size = { ms: 1, token: everyMs / tokens, refill: refillMs(limit), year: YEAR }[unit];
  const next = now + (unit === "ms" ? factor : Math.round(factor * size));
  return Math.abs(next) > LARGEST / 4 ? now : next;
}

/** Whole tokens; `far` is above the capacity. */
export function costOf([of, factor]: Cost, { capacity }: RateNumbers): number {
  if (of === "one") return factor;
  return of === "far" ? Math.min(LARGEST, capacity + factor) : Math.round(factor * capacity);
}

/** A history with its numbers filled in. */
export function resolve(start: number, history: readonly Step[], limit: RateNumbers): ResolvedStep[] {
  let now = start;
  return history.map(({ call, move, cost, choice }) => {
    now = moved(now, move, limit);
    return { call, now, cost: costOf(cost, limit), choice };
  });
}

export interface ResolvedStep {
  readonly call: Step["call"];
  readonly now: number;
  readonly cost: number;
  readonly choice: number;
}

/** A limit and a history for it, with a clock that never steps back. */
export const onwardHistories = histories(onwardSteps);
/** A limit and a history for it, with a clock that may step back. */
export const anyHistories = histories(anySteps);

function histories(of: fc.Arbitrary<readonly Step[]>): fc.Arbitrary<{ limit: RateNumbers; history: ResolvedStep[] }> {
  return fc.tuple(limits, starts, of).map(([limit, start, list]) => ({ limit, history: resolve(start, list, limit) }));
}
