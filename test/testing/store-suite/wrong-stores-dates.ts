// Changes of dated records, for stores that are wrong about quotas and limits in flight.
import { setDates, withUnits } from "../../../src/limits/dates.js";
import { costAt } from "../../../src/core/limit.js";
import type { Bucket, Costs, Kind, Limit } from "../../../src/core/model.js";
import type { Decision, Policy } from "../../../src/index.js";
import { right, wrongStore, type RightStore } from "./wrong-stores-base.js";

/** Changes a bucket of a dated limit: a quota, or a limit in flight. */
type Change = (bucket: Bucket, kind: Kind, now: number, place: number) => void;

/** The quota at this place of a policy. */
export const quotaAt = (policy: Policy, place: number): Kind | undefined => (policy.limits[place] as Limit).renews?.kindCode.kind;

/** The limit in flight at this place of a policy. */
export const heldAt = (policy: Policy, place: number): Kind | undefined => (policy.limits[place]?.kind.isInFlight ? policy.limits[place].kind : undefined);

/** Calls `change` with the bucket of each quota. */
export function eachQuota(buckets: readonly Bucket[], policy: Policy, now: number, change: Change): void {
  buckets.forEach((bucket, i) => {
    const kind = quotaAt(policy, i);
    if (kind !== undefined) change(bucket, kind, now, i);
  });
}

/** Calls `change` with the bucket of each limit in flight. */
export function eachHeld(buckets: readonly Bucket[], policy: Policy, now: number, change: Change): void {
  buckets.forEach((bucket, i) => {
    const kind = heldAt(policy, i);
    if (kind !== undefined) change(bucket, kind, now, i);
  });
}

/** Moves tokens in flight from one date to another. */
export function moveTokens(bucket: Bucket, tokens: number, from: number, to: number): void {
  setDates(bucket, bucket, withUnits(withUnits(bucket.dates ?? [], from, -tokens), to, tokens));
}

/** The milliseconds between two dates of a limit in flight. */
export const stepOf = (policy: Policy): number => Math.ceil((policy.inFlight?.returns.staleAfterMs ?? 0) / 16);

/** Tokens at one date. */
export function tokensAt(dates: readonly number[], date: number): number {
  const place = dates.findIndex((each, i) => i % 2 === 0 && each === date);
  return place < 0 ? 0 : (dates[place + 1] as number);
}

/** Each pair of date and tokens of a record in flight, changed. */
export function changeDates(bucket: Bucket, change: (date: number, tokens: number) => readonly [date: number, tokens: number]): void {
  const old = bucket.dates ?? [];
  let dates: number[] = [];
  for (let i = 0; i < old.length; i += 2) dates = withUnits(dates, ...change(old[i] as number, old[i + 1] as number));
  setDates(bucket, bucket, dates);
}

/** Changes each bucket that an allowed call has charged. */
export function afterTaking(change: (this: RightStore, buckets: readonly Bucket[], policy: Policy, now: number, costs: Costs) => void): typeof RightStore {
  return wrongStore({
    decide(buckets, policy, costs, now): Decision {
      const decision = right.decide.call(this, buckets, policy, costs, now);
      if (decision.allowed) change.call(this, buckets, policy, now, costs);
      return decision;
    },
  });
}

/** Changes each bucket before it is written. */
export function onWriting(change: (buckets: readonly Bucket[], policy: Policy, now: number) => void): typeof RightStore {
  return wrongStore({
    save(policy, key, buckets, now) {
      const copies = buckets.map((bucket) => ({ ...bucket }));
      change(copies, policy, now);
      right.save.call(this, policy, key, copies, now);
    },
  });
}

/** Changes each bucket after it was read. */
export function onReading(change: (buckets: readonly Bucket[], policy: Policy, now: number) => void): typeof RightStore {
  return wrongStore({
    load(policy, key, now) {
      const buckets = right.load.call(this, policy, key, now);
      change(buckets, policy, now);
      return buckets;
    },
  });
}

/** Changes each bucket after it was read. It is kept for one millisecond more. */
export function onReadingLate(change: (buckets: readonly Bucket[], policy: Policy, now: number) => void): typeof RightStore {
  return wrongStore({
    load(policy, key, now) {
      const buckets = right.load.call(this, policy, key, now - 1);
      change(buckets, policy, now);
      return buckets;
    },
  });
}

/** Replaces the costs of limits of some kind. */
export function costsBut(policy: Policy, costs: Costs, change: (cost: number, limit: Limit, place: number) => number): Costs {
  const [first, ...others] = policy.limits.map((limit, i) => change(costAt(costs, i), limit, i));
  return others.length === 0 ? (first as number) : [first as number, ...others];
}
