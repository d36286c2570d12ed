import { notDefined } from "./check.js";
import type { SeparateAmounts, Bucket, Instant, Kind, Limit } from "./model.js";

export type { Bucket } from "./model.js";

/** All tokens in one millisecond: `p` of a record whose tokens come back together, after their date. */
export const ALL_UNITS: number = Number.MAX_SAFE_INTEGER;

/** A rate: its tokens come back evenly from the instant at which they are taken. */
export const RATE: Kind = {
  dateOf: (now) => now, backTo: () => undefined, retryAfterMs: Infinity, isInFlight: false, amounts: undefined,
};

/**
 * A full bucket of `limit`: the state of a key without a record.
 *
 * Throws a TypeError for a limit of a copied policy, which has no numbers to count with.
 */
export function fullBucket(limit: Limit): Bucket {
  if (limit.unitsPerMs === undefined) throw notDefined(limit);
  return { spent: 0, at: 0, unitsPerMs: limit.unitsPerMs, unitsPerToken: limit.unitsPerToken, dates: undefined };
}

/**
 * Units of `limit` that `bucket` still has spent at `now`. Does not change the bucket.
 *
 * Exact although the elapsed time is not capped: a product beyond 2^53 is rounded, but exceeds all that can be spent.
 */
export function spentAt(bucket: Bucket, limit: Limit, now: number): number {
  if (bucket.spent === 0) return 0;
  if (limit.kind.amounts !== undefined) return limit.kind.amounts.spentAt(bucket, now);
  const refilled = bucket.unitsPerMs * Math.max(0, now - bucket.at);
  const spent = Math.max(0, bucket.spent - refilled);
  return bucket.unitsPerToken === limit.unitsPerToken ? spent : convert(spent, bucket.unitsPerToken, limit.unitsPerToken);
}

/**
 * The instant from which what a joined record has spent comes back: `now`, the date of a quota, or the instant at which
 * a clock that stepped back has caught up. What another kind wrote, and what is impossible, has no instant of its own:
 * it is dated like tokens that are taken now.
 */
export function returnsFrom(bucket: Bucket, limit: Limit, now: number): number {
  if (bucket.spent === 0) return now;
  return hasOwnDate(bucket, limit, now) ? Math.max(bucket.at, now) : limit.kind.dateOf(now);
}

function hasOwnDate(bucket: Bucket, limit: Limit, now: number): boolean {
  const isSameKind = (bucket.unitsPerMs < ALL_UNITS) === (limit.unitsPerMs < ALL_UNITS);
  return isSameKind && !isImpossible(bucket, limit, now);
}

/** Units that are missing for `tokens` beside `spent` units: 0 when they fit. */
export function unitsOver(limit: Limit, tokens: number, spent: number): number {
  return Math.max(0, spent - (limit.size - tokens * limit.unitsPerToken));
}

/** Milliseconds from `now` until `units` have come back: from an instant on, or of a record with amounts apart. */
export function msUntil(units: number, limit: Limit, from: number | Bucket, now: number): number {
  return typeof from === "number"
    ? from - now + Math.ceil(units / limit.unitsPerMs)
    : (limit.kind.amounts as SeparateAmounts).msUntil(from, limit, now, units);
}

/** `units`, or if they are given back to a rate, those of them that did not refill in the last `lateMs`. */
export function stillSpent(units: number, { refill, unitsPerMs }: Limit, lateMs: number): number {
  return units < 0 && lateMs > 0 && refill !== undefined ? Math.min(0, units + unitsPerMs * lateMs) : units;
}

/**
 * Brings the record to `now` and to the numbers of `limit`, then spends `units`. Negative `units` are given back: those
 * that were taken at `from` to their own date only.
 */
export function changeUnits(bucket: Bucket, limit: Limit, now: number, units: number, from?: Instant): void {
  const { kind } = limit;
  const date = units > 0 ? kind.dateOf(now) : kind.backTo(from);
  if (kind.amounts !== undefined) return kind.amounts.changeUnits(bucket, limit, now, units, date);
  const spent = spentAt(bucket, limit, now);
  const isElsewhere = units < 0 && date !== undefined && (bucket.at !== date || !hasOwnDate(bucket, limit, now));
  const at = returnsFrom(bucket, limit, now);
  setBucket(bucket, limit, Math.max(0, isElsewhere ? spent : spent + units), units > 0 ? Math.max(at, date as number) : at);
}

/** Writes a record in the numbers of `limit`. */
export function setBucket(
  bucket: Bucket, limit: Pick<Limit, "unitsPerMs" | "unitsPerToken">, spent: number, at: number,
): void {
  bucket.spent = spent;
  bucket.at = at;
  bucket.unitsPerMs = limit.unitsPerMs;
  bucket.unitsPerToken = limit.unitsPerToken;
}

/**
 * Whether the record was counted in other numbers than those of `limit`, or is impossible. Even a refusal must convert
 * it (law L3): otherwise an impossible record would refuse until the clock has caught up (law L6).
 */
export function isStale(bucket: Bucket, limit: Limit, now: number): boolean {
  if (bucket.unitsPerMs !== limit.unitsPerMs || bucket.unitsPerToken !== limit.unitsPerToken) return true;
  return bucket.spent > 0 && isImpossible(bucket, limit, now);
}

// A record more than one full refill ahead of the clock is brought to now, because waiting for that instant would take
// too long. Its spent units stay: counting it as full would lift a fine.
function isImpossible(bucket: Bucket, limit: Limit, now: number): boolean {
  return bucket.at - now > limit.fullMs;
}

// Rounds up, so that a change of numbers never creates tokens. The product may pass 2^53 although the result does not.
function convert(spent: number, from: number, to: number): number {
  const units = (BigInt(spent) * BigInt(to) + BigInt(from) - 1n) / BigInt(from);
  return Math.min(Number(units), Number.MAX_SAFE_INTEGER);
}
