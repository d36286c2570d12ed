import { charge, fullBucket, lagAt, spentAt, waitFor, type Bucket } from "../core/bucket.js";
import { costAt, type Limit } from "../core/limit.js";
import { monotonicClock, readClock } from "../core/clock.js";
import { readings, type Decision } from "../core/decision.js";
import type { LimiterCharge } from "../limiter/charge.js";
import { isShadow } from "../limiter/internals.js";

/** Buckets by name: those of one key, or of the keys of several limiters. A bucket that is missing counts as full. */
export type Forecast = ReadonlyMap<string, Bucket>;

/** The forecast without any information: all buckets are full. */
export const FULL: Forecast = new Map();

/** Tokens by the names of buckets. */
export type Wanted = Map<string, number>;

type PricedCharge = Pick<LimiterCharge, "policy" | "cost"> & Partial<Pick<LimiterCharge, "limiter">>;

/**
 * The time in whole milliseconds, rounded up. A wait that begins here does not end a fraction of a millisecond too
 * early.
 */
export function nextMillisecond(): number {
  return readClock(() => Math.ceil(monotonicClock()));
}

/**
 * The buckets as described by a decision that was received at `now`. `parts` has the decision for each charge.
 *
 * A decision counts in whole milliseconds. The forecast uses the smallest possible number of spent tokens, so no
 * prediction is too late.
 */
export function forecastAfter(parts: ReadonlyArray<Decision | null>, charges: readonly PricedCharge[], now: number): Forecast {
  const forecast = new Map<string, Bucket>();
  eachBucket(charges, ({ unitsPerMs, unitsPerToken }, name, _cost, charge, place) => {
    const part = parts[charge];
    // A fallback's decision says nothing about the shared bucket.
    if (!part || part.degraded) return;
    const spent = Math.max(0, ((readings(part)[place]?.resetMs ?? 0) - 1) * unitsPerMs + 1);
    forecast.set(name, { spent, at: now, unitsPerMs, unitsPerToken });
  });
  return forecast;
}

/** Returns the tokens of charges to their buckets in the forecast. */
export function refundForecast(forecast: Forecast, charges: readonly PricedCharge[], now: number): void {
  eachBucket(charges, (limit, name, cost) => {
    const bucket = forecast.get(name);
    if (bucket !== undefined) charge(bucket, limit, now, -cost * limit.unitsPerToken);
  });
}

/** Adds the tokens of charges, or subtracts them with a `sign` of -1. */
export function want(wanted: Wanted, charges: readonly PricedCharge[], sign: 1 | -1 = 1): Wanted {
  eachBucket(charges, (_limit, name, cost) => wanted.set(name, (wanted.get(name) ?? 0) + sign * cost));
  return wanted;
}

/**
 * Milliseconds from `now` until the buckets of `charges` have refilled the wanted tokens. Each token is taken as soon
 * as it is there. `wanted` may exceed the capacities.
 *
 * The result is never too long, unless other callers refund tokens. It can be too short by less than 1 ms for each
 * earlier caller.
 */
export function expectedWait(forecast: Forecast, charges: readonly PricedCharge[], wanted: Wanted, now: number): number {
  let longest = 0;
  eachBucket(charges, (limit, name) => {
    const bucket = forecast.get(name) ?? fullBucket(limit);
    const tokens = wanted.get(name) ?? 0;
    // A cost of 0 fits even when more is spent than a new, smaller capacity allows.
    const wait = tokens === 0 ? 0 : waitFor(tokens, spentAt(bucket, limit, now), limit);
    if (wait > 0) longest = Math.max(longest, wait + lagAt(bucket, limit, now));
  });
  return longest;
}

/**
 * Visits each limit of each charge that can refuse. Limiters with `shadow: true` delay no caller and are left out. The
 * buckets of the first charge have the names of their limits.
 */
function eachBucket(charges: readonly PricedCharge[], visit: (limit: Limit, name: string, cost: number, charge: number, place: number) => void): void {
  charges.forEach(({ limiter, policy, cost }, i) => {
    if (limiter && isShadow(limiter)) return;
    policy.limits.forEach((limit, place) => visit(limit, i === 0 ? limit.name : `${i} ${limit.name}`, costAt(cost, place), i, place));
  });
}
