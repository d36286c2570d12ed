import { fullBucket, isStale, RATE, setBucket } from "./bucket.js";
import { adjust, consume, peek, renewHeld, convertStale, whileBlocked } from "./decision.js";
import type { Bucket, Costs, Decision, Limit, Move, Origin, Policy } from "./model.js";

/** The name of a block among the records of a key. No limit has it. */
export const BLOCK = "!";

/** The longest block: 2^31 - 1 seconds, the longest wait that all clients read in `Retry-After`. */
export const LONGEST_BLOCK_MS = 2_147_483_647_000;

/** The numbers of a block: one unit is one millisecond. A block has no capacity. */
export const BLOCK_LIMIT: Limit = {
  name: BLOCK, capacity: 0, refill: { tokens: 1, everyMs: 1 }, cost: 0, unitsPerMs: 1, unitsPerToken: 1, size: 0, fullMs: 0,
  kind: RATE,
};

/**
 * Milliseconds that a block has left. A clock that stepped back leaves the block's end where it was. If the record is
 * further ahead than the block is long, it is brought to now.
 */
export function blockLeft({ spent, at }: Bucket, now: number): number {
  const ahead = at - now;
  return ahead > spent ? spent : Math.max(0, spent + ahead);
}

/**
 * Brings the record to now if it is further ahead than the block is long. Returns whether it did. Even a refusal must
 * do this.
 */
export function redateBlock(block: Bucket, now: number): boolean {
  const isImpossible = block.spent > 0 && block.at - now > block.spent;
  if (isImpossible) block.at = now;
  return isImpossible;
}

/** Makes the block end `forMs` after `now`, or when it would have ended, whichever is later. */
export function extendBlock(block: Bucket, forMs: number, now: number): void {
  setBucket(block, BLOCK_LIMIT, Math.max(blockLeft(block, now), forMs), now);
}

/** Decides like {@link consume}. While a block of the key has `blockMs` left, it refuses every cost. */
export function consumeBlocked(buckets: readonly Bucket[], policy: Policy, costs: Costs, now: number, blockMs: number): Decision {
  if (blockMs <= 0) return consume(buckets, policy, costs, now);
  convertStale(buckets, policy, now);
  return peekBlocked(buckets, policy, costs, now, blockMs);
}

/** The decision that {@link consumeBlocked} would make. Changes nothing. */
export function peekBlocked(buckets: readonly Bucket[], policy: Policy, costs: Costs, now: number, blockMs: number): Decision {
  const decision = peek(buckets, policy, costs, now);
  return blockMs > 0 ? whileBlocked(decision, blockMs) : decision;
}

/**
 * The stored data of one key under one policy name. It has a bucket for each limit that is not full, by the limit's
 * name, and a block under `"!"`. A limit without a bucket is full. Limits that a policy lacks belong to another version
 * of it; their buckets stay.
 */
export type Records = Map<string, Bucket>;

/** A decision, and whether the records changed: only then must they be stored. */
export interface RecordsDecision {
  readonly decision: Decision;
  readonly changed: boolean;
}

/**
 * Implements `consume` of a store: decides, and changes `records` in place. While a block lasts, it refuses every call.
 *
 * A refusal changes only records that were counted in other numbers than those of `policy` (law L14), and records too
 * far ahead of the clock (law L6).
 */
export function consumeRecords(records: Records, policy: Policy, costs: Costs, now: number): RecordsDecision {
  const buckets = bucketsOf(records, policy);
  const block = blockOf(records);
  const isStaleRecord = policy.limits.some((limit, i) => isStale(buckets[i] as Bucket, limit, now));
  const decision = consumeBlocked(buckets, policy, costs, now, blockLeft(block, now));
  const isBlockRedated = redateBlock(block, now);
  if (isBlockRedated) records.set(BLOCK, block);
  const changed = decision.allowed || isStaleRecord || isBlockRedated;
  if (changed) keep(records, policy, buckets);
  return { decision, changed };
}

/** The decision that {@link consumeRecords} would make. Changes nothing. */
export function peekRecords(records: Records, policy: Policy, costs: Costs, now: number): Decision {
  return peekBlocked(bucketsOf(records, policy), policy, costs, now, blockLeft(blockOf(records), now));
}

/**
 * Takes the given tokens of each limit, or gives tokens back for a number below 0. Returns false and changes nothing
 * when a limit would have more than 2^53 - 1 units spent.
 */
export function adjustRecords(
  records: Records, policy: Policy, changes: Costs, now: number, from?: number | Origin,
): boolean {
  const buckets = bucketsOf(records, policy);
  const done = adjust(buckets, policy, changes, now, from);
  if (done) keep(records, policy, buckets);
  return done;
}

/** Implements `renew` of a store: moves tokens in flight to a later date. Returns false when their own date is over. */
export function renewRecords(records: Records, policy: Policy, tokens: Costs, now: number, move: Move): boolean {
  const buckets = bucketsOf(records, policy);
  const isHeld = renewHeld(buckets, policy, tokens, now, move);
  keep(records, policy, buckets);
  return isHeld;
}

/** Blocks the key for `forMs`, or for the rest of an earlier block if that is longer. 0 ends a block. */
export function blockRecords(records: Records, forMs: number, now: number): void {
  if (forMs === 0) return void records.delete(BLOCK);
  const block = blockOf(records);
  extendBlock(block, forMs, now);
  records.set(BLOCK, block);
}

// These are copies, because the callers change them in place.
function blockOf(records: Records): Bucket {
  return { ...(records.get(BLOCK) ?? fullBucket(BLOCK_LIMIT)) };
}

function bucketsOf(records: Records, policy: Policy): Bucket[] {
  return policy.limits.map((limit) => {
    const bucket = fullBucket(limit);
    const { name, kind } = limit;
    if (kind.apart === undefined) Object.assign(bucket, records.get(name));
    else kind.apart.read(records, limit, bucket);
    return bucket;
  });
}

function keep(records: Records, { limits }: Policy, buckets: readonly Bucket[]): void {
  limits.forEach((limit: Limit, i) => {
    const bucket = buckets[i] as Bucket;
    const { name, kind } = limit;
    if (kind.apart !== undefined) kind.apart.write(records, limit, bucket);
    else if (bucket.spent === 0) records.delete(name);
    else records.set(name, bucket);
  });
}
