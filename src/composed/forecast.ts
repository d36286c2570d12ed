import { charge, fullBucket, lagAt, spentAt, waitFor, type Bucket } from "../core/bucket.js";
import { costAt, type Limit } from "../core/limit.js";
import { monotonicClock, readClock } from "../core/clock.js";
import { readings, type Decision } from "../core/decision.js";
import type { LimiterCharge } from "../limiter/charge.js";
import { isShadow } from "../limiter/internals.js";

/** Buckets by name: those of a key, or of the keys of several limiters. A bucket that is missing counts as full. */
export type Forecast = ReadonlyMap<string, Bucket>;

/** The forecast when nothing is known. */
export const FULL: Forecast = new Map();

/** Tokens by the names of buckets. */
export type Wanted = Map<string, number>;

type PricedCharge = Pick<LimiterCharge, "policy" | "cost"> & Partial<Pick<LimiterCharge, "limiter">>;

/**
 * The time in whole milliseconds, rounded up: a wait that begins there does not end a fraction of a millisecond too
 * early.
 */
export function nextMillisecond(): number {
  return readClock(() => Math.ceil(monotonicClock()));
}

/**
 * The buckets that a decision tells, received at `now`: `parts` is what it says of each charge.
 *
 * A decision counts in whole milliseconds. The forecast takes the least that may be spent, so that no prediction is too
 * late.
 */
export function forecastAfter(parts: ReadonlyArray<Decision | null>, charges: readonly PricedCharge[], now: number): Forecast {
  const forecast = new Map<string, Bucket>();
  eachBucket(charges, ({ unitsPerMs, unitsPerToken }, name, _cost, charge, place) => {
    const part = parts[charge];
    // What decided in a store's place knows nothing of the shared bucket.
    if (!part || part.degraded) return;
    const spent = Math.max(0, ((readings(part)[place]?.resetMs ?? 0) - 1) * unitsPerMs + 1);
    forecast.set(name, { spent, at: now, unitsPerMs, unitsPerToken });
  });
  return forecast;
}

/** Gives charges back to their buckets. Changes the forecast. */
export function refundForecast(forecast: Forecast, charges: readonly PricedCharge[], now: number): void {
  eachBucket(charges, (limit, name, cost) => {
    const bucket = forecast.get(name);
    if (bucket !== undefined) charge(bucket, limit, now, -cost * limit.unitsPerToken);
  });
}

/** Adds what charges take, or takes it away with a `sign` of -1. */
export function want(wanted: Wanted, charges: readonly PricedCharge[], sign: 1 | -1 = 1): Wanted {
  eachBucket(charges, (_limit, name, cost) => wanted.set(name, (wanted.get(name) ?? 0) + sign * cost));
  return wanted;
}

/**
 * Milliseconds from `now` until what is wanted of the buckets of `charges` has come, all taken as soon as it comes. It
 * may exceed their capacities.
 *
 * Never too long, unless other callers refund tokens. It can be short by less than 1 ms for each caller before.
 */
export function expectedWait(forecast: Forecast, charges: readonly PricedCharge[], wanted: Wanted, now: number): number {
  let longest = 0;
  eachBucket(charges, (limit, name) => {
    const bucket = forecast.get(name) ?? fullBucket(limit);
    const tokens = wanted.get(name) ?? 0;
    // A cost of 0 fits even when more is spent than a new, smaller capacity holds.
    const wait = tokens === 0 ? 0 : waitFor(tokens, spentAt(bucket, limit, now), limit);
    if (wait > 0) longest = Math.max(longest, wait + lagAt(bucket, limit, now));
  });
  return longest;
}

/**
 * Visits each limit of each charge that can refuse: a limiter with `shadow: true` holds up no caller. The buckets of
 * the first charge have the names of their limits.
 */
function eachBucket(charges: readonly PricedCharge[], visit: (limit: Limit, name: string, cost: number, charge: number, place: number) => void): void {
  charges.forEach(({ limiter, policy, cost }, i) => {
    if (limiter && isShadow(limiter)) return;
    policy.limits.forEach((limit, place) => visit(limit, i === 0 ? limit.name : `${i} ${limit.name}`, costAt(cost, place), i, place));
  });
}
