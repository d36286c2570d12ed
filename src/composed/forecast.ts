import { charge, fullBucket, lagAt, spentAt, waitFor, type Bucket } from "../core/bucket.js";
import { costAt, type Costs } from "../core/costs.js";
import { monotonicClock, readClock } from "../core/clock.js";
import { readings, type Decision } from "../core/decision.js";
import type { Policy } from "../core/policy.js";

/** A key's buckets by the names of their limits. A limit that is missing counts as full. */
export type Forecast = ReadonlyMap<string, Bucket>;

/** The forecast for a key of which nothing is known. */
export const FULL: Forecast = new Map();

/**
 * The time in whole milliseconds, rounded up: a wait that begins there does not end a fraction of a millisecond too
 * early.
 */
export function nextMillisecond(): number {
  return readClock(() => Math.ceil(monotonicClock()));
}

/**
 * The buckets that `decision` tells, received at `now`.
 *
 * A decision counts in whole milliseconds. The forecast takes the least that may be spent, so that no prediction is too
 * late.
 */
export function forecastAfter(decision: Decision, policy: Policy, now: number): Forecast {
  const told = readings(decision);
  return new Map(policy.limits.map(({ name, unitsPerMs, unitsPerToken }, i): [string, Bucket] => {
    const spent = Math.max(0, ((told[i]?.resetMs ?? 0) - 1) * unitsPerMs + 1);
    return [name, { spent, at: now, unitsPerMs, unitsPerToken }];
  }));
}

/** Gives `costs` back to the buckets of `policy`. Changes the forecast. */
export function refundForecast(forecast: Forecast, policy: Policy, costs: Costs, now: number): void {
  policy.limits.forEach((limit, i) => {
    const bucket = forecast.get(limit.name);
    if (bucket !== undefined) charge(bucket, limit, now, -costAt(costs, i) * limit.unitsPerToken);
  });
}

/** What several callers want together: tokens by the names of limits. */
export type Wanted = Map<string, number>;

/** Adds what a caller wants, or takes it away with a `sign` of -1. */
export function want(wanted: Wanted, { policy, costs }: { readonly policy: Policy; readonly costs: Costs }, sign: 1 | -1 = 1): Wanted {
  policy.limits.forEach(({ name }, i) => wanted.set(name, (wanted.get(name) ?? 0) + sign * costAt(costs, i)));
  return wanted;
}

/**
 * Milliseconds from `now` until `wanted` has come under `policy`, all taken as soon as it comes. It may exceed the
 * capacity.
 *
 * Never too long, unless other callers refund tokens. It can be short by less than 1 ms for each caller before.
 */
export function expectedWait(forecast: Forecast, policy: Policy, wanted: Wanted, now: number): number {
  let longest = 0;
  for (const limit of policy.limits) {
    const bucket = forecast.get(limit.name) ?? fullBucket(limit);
    const tokens = wanted.get(limit.name) ?? 0;
    // A cost of 0 fits even when more is spent than a new, smaller capacity holds.
    const wait = tokens === 0 ? 0 : waitFor(tokens, spentAt(bucket, limit, now), limit);
    if (wait > 0) longest = Math.max(longest, wait + lagAt(bucket, limit, now));
  }
  return longest;
}
