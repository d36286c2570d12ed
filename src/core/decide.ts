import { returnsFrom, changeUnits, isStale, msUntil, setBucket, spentAt, stillSpent, unitsOver } from "./bucket.js";
import { memberOf } from "./check.js";
import { costAt } from "./limit.js";
import { bindsMore, isInFlight, type Decision, type Reading, type Refused } from "./decision.js";
import type { Bucket, Costs, Instant, Limit, Move, Origin, Policy } from "./model.js";

/**
 * Decides, and takes the tokens from every bucket or from none (law L10). Every store follows this arithmetic; stores
 * differ only in where they keep the records.
 *
 * `buckets` holds one record for each limit of the policy, in its order, and is changed in place. A refusal changes
 * nothing (law L3), except that it converts records in old numbers (law L14) and brings impossible ones to now (L6).
 */
export function consume(buckets: readonly Bucket[], policy: Policy, costs: Costs, now: number): Decision {
  const decision = decide(buckets, policy, costs, now, true);
  if (!decision.allowed) convertStale(buckets, policy, now);
  return decision;
}

/** The decision that {@link consume} would make. Changes nothing. */
export function peek(buckets: readonly Bucket[], policy: Policy, costs: Costs, now: number): Decision {
  return decide(buckets, policy, costs, now, false);
}

/**
 * Changes every bucket by the tokens of `changes`. A number above 0 takes tokens, even if they are not there. A number
 * below 0 gives tokens back, up to full. With `from`, the instant of a decision, a quota gets them back only in the
 * period of that instant, and a limit in flight or a window only at its date. A rate gets back what has not refilled
 * since the origin's `since` (law L1). Returns false, and changes nothing, when more than 2^53 - 1 units would be
 * spent.
 */
export function adjust(
  buckets: readonly Bucket[], policy: Policy, changes: Costs, now: number, from?: number | Origin,
): boolean {
  // A product beyond 2^53 is rounded, but it then exceeds anything that can be spent.
  const tooMuch = policy.limits.some(
    (limit, i) => spentAt(buckets[i] as Bucket, limit, now) + costAt(changes, i) * limit.unitsPerToken > Number.MAX_SAFE_INTEGER,
  );
  if (tooMuch) return false;
  const noDebt = typeof from === "object" && memberOf(from, "withoutDebt");
  for (let i = 0; i < buckets.length; i++) {
    const limit = policy.limits[i] as Limit;
    const bucket = buckets[i] as Bucket;
    const units = stillSpent(costAt(changes, i) * limit.unitsPerToken, limit, now - (sinceAt(from, i) ?? now));
    const most = noDebt ? Math.max(0, limit.size - spentAt(bucket, limit, now)) : units;
    changeUnits(bucket, limit, now, Math.min(units, most), from);
  }
  return true;
}

/** The instant at which tokens were taken that come back, or at which those in flight were. */
export function takenAt(from: Instant, name: "at" | "heldAt"): number | undefined {
  return typeof from === "object" ? memberOf(from, name) : from;
}

/** The instant since which a limit that is a rate refills what is given back. */
export function sinceAt(from: Instant, position: number): number | undefined {
  const since = typeof from === "object" ? memberOf(from, "since") : undefined;
  return typeof since === "object" ? since[position] : since;
}

/** Moves `tokens` in flight to a later date, and brings other records to now. Returns false when their date is over. */
export function renewHeld(buckets: readonly Bucket[], policy: Policy, tokens: Costs, now: number, move: Move): boolean {
  policy.limits.forEach((limit, i) => {
    const bucket = buckets[i] as Bucket;
    const { amounts } = limit.kind;
    if (amounts?.move === undefined) changeUnits(bucket, limit, now, 0);
    else amounts.move(bucket, limit, now, costAt(tokens, i), move);
  });
  return isHeldAt(policy, move.from, now);
}

/** Whether tokens in flight that were taken or renewed at `from` have not come back by themselves at `now`. */
export const isHeldAt = ({ inFlight }: Policy, from: number, now: number): boolean =>
  (inFlight?.kind.dateOf(from) ?? now) >= now;

/** Brings the records that were counted in old numbers to those of `policy` (law L14), and impossible ones to now. */
export function convertStale(buckets: readonly Bucket[], policy: Policy, now: number): void {
  for (let i = 0; i < buckets.length; i++) {
    const [bucket, limit] = [buckets[i] as Bucket, policy.limits[i] as Limit];
    if (isStale(bucket, limit, now)) changeUnits(bucket, limit, now, 0);
  }
}

/**
 * The decision of {@link peek} as it is while a block has `blockMs` left: no limit has a token before the block ends.
 */
export function whileBlocked(decision: Decision, blockMs: number): Decision {
  const blocked = <R extends Reading>(reading: R): R => ({
    ...reading,
    remaining: 0,
    retryAfterMs: Math.max(reading.retryAfterMs, blockMs),
    nextTokenMs: Math.max(reading.remaining > 0 ? 0 : reading.nextTokenMs, blockMs),
    resetMs: Math.max(reading.resetMs, blockMs),
  });
  const refused: Refused = { ...blocked(decision), allowed: false, blocked: true, reason: decision.reason ?? "limited" };
  if (decision.limits === null) return refused;
  const limits = decision.limits.map(blocked);
  return { ...refused, ...limits.reduce((a, b) => (bindsMore(b, a) ? b : a)), limits };
}

function decide(buckets: readonly Bucket[], policy: Policy, costs: Costs, now: number, take: boolean): Decision {
  if (policy.limits.length > 1) return decideSeveral(buckets, policy, costs, now, take);
  const reading = answer(buckets[0] as Bucket, policy.limits[0], costAt(costs, 0), now, take);
  return decisionBy(reading, policy, null, now);
}

// Loops, because `every`, `map` and `reduce` make this function take 1.3 times as long.
function decideSeveral(buckets: readonly Bucket[], policy: Policy, costs: Costs, now: number, take: boolean): Decision {
  let taken = take;
  for (let i = 0; taken && i < buckets.length; i++) {
    const limit = policy.limits[i] as Limit;
    taken = missingOf(limit, costAt(costs, i), spentAt(buckets[i] as Bucket, limit, now)) === 0;
  }
  // A copy to be overwritten, because a list that grows takes room for 17.
  const limits: unknown[] = buckets.slice();
  let binding: Reading | undefined;
  for (let i = 0; i < buckets.length; i++) {
    const next = answer(buckets[i] as Bucket, policy.limits[i] as Limit, costAt(costs, i), now, taken);
    limits[i] = next;
    if (binding === undefined || bindsMore(next, binding)) binding = next;
  }
  return decisionBy(binding as Reading, policy, limits as Reading[], now);
}

/**
 * The decision of a policy by the reading that binds. One literal, so that all decisions have one shape. Not a copy:
 * the mark of a decision costs 2 us more on an object that was made by spreading another.
 */
function decisionBy(binding: Reading, policy: Policy, limits: readonly Reading[] | null, now: number): Decision {
  const { limit, cost, capacity, remaining, retryAfterMs, nextTokenMs, resetMs } = binding;
  // The compiler cannot see that `allowed` and `reason` agree.
  const decision = {
    allowed: retryAfterMs === 0,
    reason: retryAfterMs === 0 ? null : retryAfterMs === Infinity ? "cost_above_capacity" : "limited",
    policy: policy.name,
    limit, cost, capacity, remaining, retryAfterMs, nextTokenMs, resetMs, limits, at: now,
    degraded: false,
  } as Decision & { inFlight?: true };
  if (policy.inFlight !== undefined && isInFlight(binding)) decision.inFlight = true;
  return decision;
}

// Units that are missing for the cost: 0 when it fits now, Infinity when it never does. A cost of 0 takes nothing. It
// fits even when more is spent than a new, smaller capacity holds (laws L9, L14).
function missingOf(limit: Limit, cost: number, spent: number): number {
  if (cost === 0) return 0;
  return cost > limit.capacity ? Infinity : unitsOver(limit, cost, spent);
}

/** What is left of one limit. Its wait is 0 if the cost fits. With `take` it takes the cost then. */
function answer(bucket: Bucket, limit: Limit, cost: number, now: number, take: boolean): Reading {
  const { kind, size, unitsPerToken } = limit;
  const before = spentAt(bucket, limit, now);
  const over = missingOf(limit, cost, before);
  const takes = take && over === 0;
  const taken = takes ? cost * unitsPerToken : 0;
  const spent = before + taken;
  let from: number | Bucket = bucket;
  if (kind.amounts === undefined) {
    from = before === 0 ? now : returnsFrom(bucket, limit, now);
    if (taken > 0) from = Math.max(from, kind.dateOf(now));
    if (takes) setBucket(bucket, limit, spent, from);
  } else if (takes) kind.amounts.changeUnits(bucket, limit, now, taken, kind.dateOf(now));
  const remaining = Math.max(0, Math.floor((size - spent) / unitsPerToken));
  const reading: Reading & { inFlight?: true } = {
    limit: limit.name,
    cost,
    capacity: limit.capacity,
    remaining,
    retryAfterMs: over === 0 || over === Infinity ? over : Math.min(kind.retryAfterMs, msUntil(over, limit, from, now)),
    nextTokenMs: spent === 0 ? 0 : msUntil(unitsOver(limit, remaining + 1, spent), limit, from, now),
    resetMs: spent === 0 ? 0 : msUntil(spent, limit, from, now),
  };
  if (kind.isInFlight) reading.inFlight = true;
  return reading;
}
