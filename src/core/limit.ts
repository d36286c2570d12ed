import { checkName, checkOptions, expected, ownMembers, positiveInteger, show, wholeNumber } from "./check.js";
import { ALL_UNITS, RATE } from "./bucket.js";
import type { Costs, Limit, Refill, Renewal, Returns, ReturnsAfter } from "./model.js";

export type { Costs, InFlight, Limit, Quota, Rate, Refill, SlidingWindow } from "./model.js";

/** The numbers of one limit, as a user writes them: a rate with `refill`, a quota with `renews`, or `returns`. */
export type LimitOptions = RateOptions | QuotaOptions | InFlightOptions | WindowOptions;

/** A rate: its tokens refill evenly. */
export interface RateOptions extends LimitNumbers {
  /** The sustained rate, such as `perSecond(5)`. */
  readonly refill: Refill;
  readonly renews?: undefined;
  readonly returns?: undefined;
}

/** A quota: all its tokens come back at a date. */
interface QuotaOptions extends LimitNumbers {
  /** Whole tokens of one period. At least 1. */
  readonly capacity: number;
  /** When the quota starts again, such as `monthly({ timeZone: "Europe/Berlin" })`. */
  readonly renews: Renewal;
  readonly refill?: undefined;
  readonly returns?: undefined;
}

/** A limit in flight: its tokens come back when the work that took them is done. */
interface InFlightOptions extends LimitNumbers {
  /** Whole tokens that may be in flight at once. At least 1. */
  readonly capacity: number;
  /** When the tokens come back: `whenDone()`. */
  readonly returns: Returns;
  readonly refill?: undefined;
  readonly renews?: undefined;
}

/** A sliding window: never more than `capacity` in any stretch of so many milliseconds. */
interface WindowOptions extends LimitNumbers {
  /** The most whole tokens in any such stretch. At least 1. */
  readonly capacity: number;
  /** When each token comes back: `afterMs(60_000)`. */
  readonly returns: ReturnsAfter;
  readonly refill?: undefined;
  readonly renews?: undefined;
}

/** The numbers that all limits have. */
interface LimitNumbers {
  /** Names the limit within its policy: 1 to 64 letters, digits and `_ - .`. Default: its position, `"1"`, `"2"`, … */
  readonly name?: string | undefined;
  /**
   * Whole tokens that the bucket can hold: the largest burst. At least 1. A rate may leave it out: it is then the tokens
   * of `refill`. An explicit `undefined` throws.
   *
   * `refill: perMinute(100)` grants 100 at once, and 100 a minute after that: up to 200 in the first minute. For never
   * more than 100 in any minute write `capacity: 100, returns: afterMs(60_000)`.
   */
  readonly capacity?: number;
  /**
   * Whole tokens of this limit that a request costs unless it says otherwise. At most the capacity; 0 for a limit that
   * only named costs draw on. Default 1.
   */
  readonly cost?: number | undefined;
  /** What the tokens count, for header fields: `"content-bytes"`, `"tokens"`. Default `"requests"`. */
  readonly unit?: string | undefined;
}

/**
 * Refills `tokens` (a whole number) every second, evenly. For another period write `{ tokens: 5, everyMs: 900_000 }`.
 * @example
 * const limit = { capacity: 30, refill: perSecond(5) };
 */
export const perSecond: (tokens: number) => Refill = /* @__PURE__ */ refillEach(1_000);

/** Refills `tokens` every minute, evenly: `{ capacity: 30, refill: perMinute(100) }`. */
export const perMinute: (tokens: number) => Refill = /* @__PURE__ */ refillEach(60_000);

/** Refills `tokens` every hour, evenly. `perHour(3)` is one token every twenty minutes. */
export const perHour: (tokens: number) => Refill = /* @__PURE__ */ refillEach(3_600_000);

/** Refills `tokens` every 24 hours, evenly: `{ name: "api", refill: perDay(100) }`. */
export const perDay: (tokens: number) => Refill = /* @__PURE__ */ refillEach(86_400_000);

// `perMinute(5, 15)` reads as 5 in 15 minutes, and would be 5 a minute. `[5, 10].map(perMinute)` passes three arguments.
function refillEach(everyMs: number): (tokens: number) => Refill {
  return (tokens, ...more: unknown[]) => {
    if (more.length !== 1) return { tokens, everyMs };
    const ms = String(everyMs * ((more[0] as number) > 0 ? Number(more[0]) : 15)).replace(/\B(?=(?:\d{3})+$)/g, "_");
    throw new TypeError(`Expected one number, got two. For another period write { tokens: ${show(tokens)}, everyMs: ${ms} }`);
  };
}

/** The names of all {@link LimitOptions}. */
export const LIMIT_OPTIONS: readonly (keyof LimitOptions)[] = ["name", "capacity", "refill", "renews", "returns", "cost", "unit"];

/**
 * Checks a limit's numbers and prepares them for the arithmetic.
 *
 * Throws a TypeError or RangeError when a number is not a positive integer. Also throws a RangeError when `capacity`
 * times the reduced `everyMs` exceeds 2^53 - 1: beyond that, JavaScript, Lua and SQL no longer agree to the last unit.
 */
export function makeLimit(options: LimitOptions, name: string): Limit {
  // Modules call it when they are loaded. Code loaded before them may have polluted `Object.prototype` (CWE-1321).
  const own = ownMembers(options);
  const field = own.returns === undefined ? "renews" : "returns";
  const written = own[field];
  const kindCode = written?.kindCode;
  const given = (["refill", "renews", "returns"] as const).filter((each) => own[each] !== undefined);
  if (given.length > 1) throw new TypeError(`Expected only one of \`${given.join("` and `")}\`, got ${given.length}`);
  // Only a rate may leave it out. `undefined` is refused: it is a variable that is missing.
  const asked = !("capacity" in own) && !written ? undefined : positiveInteger("capacity", own.capacity);
  if (written !== undefined && kindCode?.field !== field) {
    const { every, name: made } = Object(written) as { readonly every?: string; readonly name?: string };
    const [, day, week] = /^"?(?:(da)|(week))/.exec(every ?? made ?? show(written)) ?? [];
    const returns = "afterMs" in Object(written) ? "afterMs" : "whenDone";
    const maker = field === "returns" ? returns : day ? "daily" : week ? "weekly" : "monthly";
    const copy = typeof written === "object" ? `. For a copy write ${maker}(limit.${field})` : "";
    throw new TypeError(expected(field, `made by ${maker}()`, written) + copy);
  }
  const refill =
    kindCode ? { tokens: ALL_UNITS, everyMs: 1 } :
    checkOptions(
      own.refill as Refill, ["tokens", "everyMs"],
      typeof own.refill === "function" ? `called, as in perMinute(${asked ?? 5})` : REFILL_TEXT, explainRefill, "refill",
    );
  const tokens = positiveInteger(
    "refill.tokens", refill.tokens, ". For one token every two seconds write { tokens: 1, everyMs: 2000 }.",
  );
  const everyMs = positiveInteger("refill.everyMs", refill.everyMs);
  const capacity = asked ?? tokens;

  const divisor = greatestCommonDivisor(tokens, everyMs);
  const unitsPerMs = tokens / divisor;
  const unitsPerToken = everyMs / divisor;
  const size = capacity * unitsPerToken;
  if (size > Number.MAX_SAFE_INTEGER) {
    const most = Math.floor(Number.MAX_SAFE_INTEGER / unitsPerToken);
    throw new RangeError(
      `${expected("capacity", `at most ${most} at this refill`, capacity)}. Lower it, or shorten \`refill.everyMs\`.`,
    );
  }
  const cost = own.cost === undefined ? 1 : wholeNumber("cost", own.cost);
  if (cost > capacity) {
    throw new RangeError(`${expected("cost", `at most the capacity, ${capacity}`, cost)}. Lower it, or raise \`capacity\`.`);
  }
  const unit = own.unit === undefined ? {} : { unit: checkName("unit", own.unit) };
  const kept = {
    name, capacity, [kindCode ? field : "refill"]: written ?? Object.freeze({ tokens, everyMs }), ...unit,
    ...(own.cost !== undefined && { cost }),
  };
  const fullMs = Math.ceil(size / unitsPerMs);
  return withComputed(kept, {
    ...ABSENT, kind: kindCode?.kind ?? RATE, unitsPerMs, unitsPerToken, size, fullMs, cost, ...kindCode?.numbers,
  }) as Limit;
}

// Own members of each limit, so that it has none of those that other code adds to `Object.prototype` (CWE-1321).
const ABSENT: object = {
  refill: undefined, renews: undefined, returns: undefined, unit: undefined, windowSeconds: undefined, calendar: undefined,
};
const REFILL_TEXT = "an object such as perSecond(5), or `renews: monthly()`, or `returns: whenDone()`";
const explainRefill = (): string => " of `refill`. Write { tokens: 5, everyMs: 60_000 }, or perMinute(5)";

/** Adds members that the object lacks, and that copies by `structuredClone`, JSON or RPC leave out. Freezes the object. */
export function withComputed<Written extends object, Computed extends object>(
  written: Written, computed: Computed,
): Readonly<Written & Computed> {
  for (const name of Reflect.ownKeys(computed)) {
    if (!Object.hasOwn(written, name)) Object.defineProperty(written, name, { value: computed[name as keyof Computed] });
  }
  return Object.freeze(written) as Written & Computed;
}

/** The largest number that divides both, above 0, without rest. */
export function greatestCommonDivisor(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}

/** The cost of the limit at `position` of a policy. */
export function costAt(costs: Costs, position: number): number {
  return typeof costs === "number" ? costs : (costs[position] as number);
}

/** One number where all costs are equal, as {@link Costs} wants it. */
export function simplest(list: readonly number[]): Costs {
  for (let i = 1; i < list.length; i++) if (list[i] !== list[0]) return list;
  return list[0] as number;
}

/** Whether two costs of one policy are the same. */
export function sameCosts(a: Costs, b: Costs): boolean {
  return a === b || (typeof a === "object" && typeof b === "object" && a.every((cost, i) => cost === b[i]));
}
