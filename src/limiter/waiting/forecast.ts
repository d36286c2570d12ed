import { returnsFrom, changeUnits, fullBucket, msUntil, spentAt, unitsOver, type Bucket } from "../../core/bucket.js";
import { isInFlight, readings, type Decision, type Reading } from "../../core/decision.js";
import { peek } from "../../core/decide.js";
import { costAt, type Limit } from "../../core/limit.js";
import { bucketId } from "../../core/policy.js";
import { dateRulesOf } from "../../port/kind-rules.js";
import type { Charges, LimiterCharge } from "../charge.js";

/** Tokens of one limit that a caller waits for. */
export interface Want {
  /** The bucket and the limit. Policy and limit have names without a space, so no key can look like another. */
  readonly bucket: string;
  readonly limit: Limit;
  readonly tokens: number;
  /** The position of its charge, and that of the limit in its policy. */
  readonly part: number;
  readonly place: number;
}

/** Sums of tokens by the names of buckets. */
export type Tokens = Map<string, number>;

/** The decision on each charge. */
type Parts = ReadonlyArray<Decision | null>;

/** The buckets of a queue as the last answer shows them. */
export interface Forecast {
  /** When the store decided, by the monotonic clock, with fractions. */
  readonly at: number;
  /** The same instant by the store's clock. */
  readonly storeAt: number;
  /** By name. A missing one counts as full. */
  readonly buckets: ReadonlyMap<string, KnownBucket>;
}

/** A record, by the store's clock. */
interface KnownBucket extends Bucket {
  /** Milliseconds without any token: while the bucket of `limit` refills its next one, or a block lasts. */
  readonly emptyMs: number;
  readonly limit: Limit;
  /** Whether its tokens may come back at any time. */
  readonly mayReturn: boolean;
}

/**
 * The tokens that can make the caller of `charges` wait. Parts without a limit and parts in shadow mode never do.
 */
export function wantsOf(charges: Charges): readonly Want[] {
  return charges.flatMap((each, part) => {
    if (each === null || each.shadow) return [];
    const { policy, encoded, cost } = each;
    const id = bucketId(policy, encoded);
    return policy.limits.map((limit, place) => {
      return { bucket: `${id} ${limit.name}`, limit, tokens: costAt(cost, place), part, place };
    });
  });
}

/** Adds tokens to `sums`, or subtracts them with a `sign` of -1. Returns the same map. */
export function addTokens(sums: Tokens, wants: readonly Want[], sign: 1 | -1 = 1): Tokens {
  for (const { bucket, tokens } of wants) sums.set(bucket, (sums.get(bucket) ?? 0) + sign * tokens);
  return sums;
}

/**
 * Whether the limit that binds a decision is in flight: its tokens come back when work is done, at any time before
 * their dates. A block ends at its date.
 */
export function mayReturn(decision: Decision): boolean {
  return isInFlight(decision) && !isBlocked(decision);
}

function isBlocked(decision: Decision): boolean {
  return !decision.allowed && Object.hasOwn(decision, "blocked");
}

/** The forecast without any information: all buckets are full. */
export function allFull(at: number): Forecast {
  return { at, storeAt: Math.floor(at), buckets: new Map() };
}

/**
 * The forecast after an answer that the store gave at `at`. `parts` has the decision on each charge, and `returned` the
 * tokens that have been given back since.
 *
 * A decision counts in whole milliseconds. The forecast uses the smallest possible number of spent tokens, so no
 * prediction is too late.
 */
export function forecastAfter(parts: Parts, wants: readonly Want[], returned: Tokens, at: number): Forecast {
  const buckets = new Map<string, KnownBucket>();
  const storeAt = parts.find((part) => part && !part.degraded)?.at ?? Math.floor(at);
  for (const { bucket, limit, part, place } of wants) {
    const decision = parts[part];
    // A fallback's decision says nothing about the shared bucket.
    if (!decision || decision.degraded) continue;
    const { unitsPerMs, unitsPerToken, capacity, refill, kind } = limit;
    const { remaining, nextTokenMs, resetMs } = readings(decision)[place] as Reading;
    const back = returned.get(bucket) ?? 0;
    // Of a quota the decision shows all: the tokens, and the date until which they are spent. Of tokens in flight it
    // shows the last date. Of a window it shows the first one: not all of its tokens come back then.
    const least = refill ? (resetMs - 1) * unitsPerMs + 1 : capacity - remaining;
    const spent = Math.max(0, least - back * unitsPerToken);
    const last = refill ? storeAt : storeAt + (kind.amounts && !kind.isInFlight ? nextTokenMs : resetMs) - 1;
    buckets.set(bucket, {
      spent, at: last, unitsPerMs, unitsPerToken, limit,
      dates: kind.isInFlight && spent > 0 ? [last, spent] : undefined,
      emptyMs: remaining + back === 0 ? nextTokenMs : 0,
      mayReturn: kind.isInFlight && !isBlocked(decision),
    });
  }
  return { at, storeAt, buckets };
}

/**
 * The instant at which the buckets of `wants` will have refilled the `wanted` tokens, each taken as soon as it is
 * there. -Infinity when they were there at once. `wanted` may exceed the capacities.
 *
 * The result is never too late, unless other callers return tokens. It can be too early by less than 1 ms for each
 * earlier caller. Of a quota it is the renewal that brings the last of the tokens: too early where the callers leave
 * some of a period, because their costs do not fit, and beyond 100 renewals. Tokens in flight are left out, because the
 * end of work is unknown.
 */
export function expectedAt(forecast: Forecast, wants: readonly Want[], wanted: Tokens): number {
  return latestOf(forecast, wants, wanted, false);
}

/**
 * The instant until which missing tokens in flight are held if no work is done before. -Infinity when none are missing.
 */
export function heldUntil(forecast: Forecast, wants: readonly Want[], wanted: Tokens): number {
  return latestOf(forecast, wants, wanted, true);
}

function latestOf(forecast: Forecast, wants: readonly Want[], wanted: Tokens, mayReturn: boolean): number {
  let latest = -Infinity;
  for (const { bucket, limit } of wants) {
    const known = forecast.buckets.get(bucket);
    if ((known?.mayReturn ?? limit.kind.isInFlight) !== mayReturn) continue;
    // Another tier may have tokens where this one has none.
    const emptyMs = known?.limit === limit && wanted.get(bucket) !== 0 ? known.emptyMs : 0;
    const waitMs = Math.max(waitAt(forecast, bucket, limit, wanted, 0), emptyMs);
    if (waitMs > 0) latest = Math.max(latest, forecast.at + waitMs);
  }
  return latest;
}

/** Whether the `wanted` tokens are there together at `now`. */
export function areThere(forecast: Forecast, wants: readonly Want[], wanted: Tokens, now: number): boolean {
  return wants.every(({ bucket, limit }) => waitAt(forecast, bucket, limit, wanted, elapsed(forecast, now)) === 0);
}

/** The decision on each charge at `now`, if `front` had been taken before. Null for a part that never refuses. */
export function predicted(forecast: Forecast, charges: Charges, wants: readonly Want[], front: Tokens, now: number): Parts {
  const storeNow = forecast.storeAt + elapsed(forecast, now);
  return charges.map((each, part) => {
    const own = wants.filter((want) => want.part === part);
    if (own.length === 0) return null;
    const buckets = own.map(({ bucket, limit }) => {
      const known = forecast.buckets.get(bucket) ?? fullBucket(limit);
      const copy = { ...known, dates: known.dates?.slice() };
      changeUnits(copy, limit, storeNow, (front.get(bucket) ?? 0) * limit.unitsPerToken);
      return copy;
    });
    const { policy, cost } = each as LimiterCharge;
    return peek(buckets, policy, cost, storeNow);
  });
}

function waitAt(forecast: Forecast, name: string, limit: Limit, wanted: Tokens, ms: number): number {
  const tokens = wanted.get(name) ?? 0;
  const bucket = forecast.buckets.get(name) ?? fullBucket(limit);
  const storeNow = forecast.storeAt + ms;
  // A cost of 0 fits even when more is spent than a new, smaller capacity allows.
  const spent = spentAt(bucket, limit, storeNow);
  const over = tokens === 0 ? 0 : unitsOver(limit, tokens, spent);
  if (over === 0) return 0;
  const { kind, capacity } = limit;
  if (kind.isInFlight) return Math.max(0, (bucket.dates?.at(-2) ?? storeNow) - storeNow) + 1;
  const from = spent === 0 ? kind.dateOf(storeNow) : returnsFrom(bucket, limit, storeNow);
  const work = dateRulesOf({ kindCode: (limit.renews ?? limit.returns)?.kindCode });
  if (work === undefined) return msUntil(over, limit, from, storeNow);
  // Each renewal of a quota brings one capacity, and clears a debt.
  const renewals = Math.ceil((tokens - Math.max(0, capacity - spent)) / capacity) - 1;
  return work.dateAfter(limit, from, renewals) + 1 - storeNow;
}

// Whole milliseconds. A sum of fractions may miss the whole one by a rounding error.
function elapsed({ at }: Forecast, now: number): number {
  return Math.max(0, Math.floor(now - at + 0.001));
}
