import { fullBucket, isStale, RATE, setBucket } from "./bucket.js";
import { expected } from "./check.js";
import { adjust, consume, peek, renewHeld, convertStale, whileBlocked } from "./decide.js";
import type { Bucket, Costs, Limit, Move, Origin, Policy } from "./model.js";
import type { Decision } from "./decision.js";

/** The name of a block among the records of a key. No limit has it. */
export const BLOCK = "!";

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

/**
 * All that a store can be asked for: the `verbs` of a store over {@link answerCall}.
 *
 * `consume` takes the cost from every limit, or nothing; `peek` is the decision that it would make. `adjust` takes
 * tokens even if they are not there, or gives them back, up to full. `renew` moves tokens in flight to a later date, at
 * most those that are there. `block` refuses every `consume` of the key under the policy's name for so long, or for the
 * rest of an earlier block if that is longer; 0 ends it. `reset` forgets all under the name and the key, also of other
 * numbers.
 */
export const STORE_VERBS = ["consume", "peek", "adjust", "renew", "block", "reset"] as const;

/** One of {@link STORE_VERBS}. */
export type StoreVerb = (typeof STORE_VERBS)[number];

/**
 * One call of a store: a verb, and the buckets that it is about. Several only for `consume`: then all of them are
 * charged, or none.
 */
export interface StoreCall {
  readonly verb: StoreVerb;
  readonly parts: readonly [Charge, ...Charge[]];
  /** For `adjust`: when the tokens that come back were taken. What is taken is taken now. Undefined: unknown. */
  readonly from?: number | Origin | undefined;
  /** For `renew`: the dates of the tokens in flight. */
  readonly move?: Move | undefined;
}

/** One bucket of a call. */
export interface Charge {
  readonly policy: Policy;
  readonly key: string;
  /**
   * The cost of `consume` and `peek`; the changes of `adjust`, where a number below 0 gives back; the tokens of
   * `renew`; the milliseconds of `block`; 0 for `reset`.
   */
  readonly cost: Costs;
}

/** What a store answers for a part: a decision, for `adjust` and `renew` whether it was done, otherwise nothing. */
export type StoreAnswer = Decision | boolean | void;

/** The answers to a call, and which records it changed: only these must be stored. One of each for each part. */
export interface CallAnswers {
  readonly answers: readonly StoreAnswer[];
  readonly changed: readonly boolean[];
}

/** The answer for one part, and whether its records changed. */
interface PartAnswer<Answer = StoreAnswer> {
  readonly answer: Answer;
  readonly changed: boolean;
}

/**
 * Carries out a call of a store on the records of its parts, `found`, and changes these in place: all that a store does
 * beside keeping them. `now` is the time of the store's clock in whole milliseconds, read after the records are locked.
 *
 * A `peek` changes nothing. A refusal changes only records that were counted in other numbers than those of their
 * policy (law L14), and those too far ahead of the clock (L6). Several charges are taken together or not at all: when
 * one is refused, the others get the decision of `peek` (L10). An `adjust` that would leave more than 2^53 - 1 units
 * spent answers false and changes nothing. A `renew` answers false when the date of its tokens is over: tokens at later
 * dates belong to other work (L21).
 * @example
 * const policy = definePolicy({ name: "api", capacity: 5, refill: perSecond(1) });
 * const records: Records = new Map(); // of a store: read them, and write them if they changed
 * const call: StoreCall = { verb: "consume", parts: [{ policy, key: "ann", cost: 2 }] };
 * const { answers, changed } = answerCall(call, [records], Date.now());
 */
export function answerCall(call: StoreCall, found: readonly Records[], now: number): CallAnswers {
  const { verb, parts } = call;
  checkVerb(verb);
  const isTogether = verb === "consume" && parts.length > 1;
  const foreseen = isTogether ? parts.map((part, i) => peekRecords(part, found[i] as Records, now)) : [];
  const isRefused = foreseen.some(({ allowed }) => !allowed);
  const outcomes = parts.map((part, i) =>
    // A cost above every capacity takes nothing, and converts all the same.
    answerPart(call, isRefused ? { ...part, cost: Infinity } : part, found[i] as Records, now));
  const answers = isRefused ? foreseen : outcomes.map(({ answer }) => answer);
  return { answers, changed: outcomes.map(({ changed }) => changed) };
}

/** Throws a TypeError for a verb that this version does not know: it must not act as another one. */
export function checkVerb(verb: StoreVerb): void {
  if (!STORE_VERBS.includes(verb)) throw new TypeError(expected("verb", `one of ${STORE_VERBS.join(", ")}`, verb));
}

function answerPart({ verb, from, move }: StoreCall, part: Charge, records: Records, now: number): PartAnswer {
  if (verb === "consume") return consumeRecords(part, records, now);
  if (verb === "peek") return { answer: peekRecords(part, records, now), changed: false };
  if (verb === "reset") return { answer: records.clear(), changed: true };
  if (verb === "block") return blockRecords(records, part.cost as number, now);
  const { policy, cost } = part;
  const buckets = bucketsOf(records, policy);
  const isMove = verb === "renew";
  const answer = isMove ? renewHeld(buckets, policy, cost, now, move as Move) : adjust(buckets, policy, cost, now, from);
  const changed = isMove || answer;
  if (changed) keep(records, policy, buckets);
  return { answer, changed };
}

function consumeRecords({ policy, cost }: Charge, records: Records, now: number): PartAnswer<Decision> {
  const buckets = bucketsOf(records, policy);
  const block = blockOf(records);
  const isStaleRecord = policy.limits.some((limit, i) => isStale(buckets[i] as Bucket, limit, now));
  const answer = consumeBlocked(buckets, policy, cost, now, blockLeft(block, now));
  const isBlockRedated = redateBlock(block, now);
  if (isBlockRedated) records.set(BLOCK, block);
  const changed = answer.allowed || isStaleRecord || isBlockRedated;
  if (changed) keep(records, policy, buckets);
  return { answer, changed };
}

function peekRecords({ policy, cost }: Charge, records: Records, now: number): Decision {
  return peekBlocked(bucketsOf(records, policy), policy, cost, now, blockLeft(blockOf(records), now));
}

/** Blocks the key for `forMs`, or for the rest of an earlier block if that is longer. 0 ends a block. */
function blockRecords(records: Records, forMs: number, now: number): PartAnswer {
  if (forMs === 0) return { answer: undefined, changed: records.delete(BLOCK) };
  const block = blockOf(records);
  extendBlock(block, forMs, now);
  records.set(BLOCK, block);
  return { answer: undefined, changed: true };
}

// These are copies, because the callers change them in place.
function blockOf(records: Records): Bucket {
  return { ...(records.get(BLOCK) ?? fullBucket(BLOCK_LIMIT)) };
}

function bucketsOf(records: Records, policy: Policy): Bucket[] {
  return policy.limits.map((limit) => {
    const bucket = fullBucket(limit);
    const { name, kind } = limit;
    if (kind.amounts === undefined) Object.assign(bucket, records.get(name));
    else kind.amounts.read(records, limit, bucket);
    return bucket;
  });
}

function keep(records: Records, { limits }: Policy, buckets: readonly Bucket[]): void {
  limits.forEach((limit: Limit, i) => {
    const bucket = buckets[i] as Bucket;
    const { name, kind } = limit;
    if (kind.amounts !== undefined) kind.amounts.write(records, limit, bucket);
    else if (bucket.spent === 0) records.delete(name);
    else records.set(name, bucket);
  });
}
