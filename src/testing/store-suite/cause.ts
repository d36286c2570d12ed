import { BLOCK } from "../../core/records.js";
import { isStale, type Bucket } from "../../core/bucket.js";
import { costAt, type Limit } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";
import { agrees, apply, describeCall, lifetimeMs, type AnsweredCall, type PossibleState, type SuiteCall } from "./states.js";

/** The facts that the oracle has about one key. */
export interface TrackedKey {
  /** Every content that explains the answers so far. A store may forget a full bucket, so there can be several. */
  states: readonly PossibleState[];
  /** The contents before the latest changes, the oldest first. */
  readonly past: PastState[];
  /** Every policy that a call on the key has used. */
  readonly policies: Set<Policy>;
}

/** A content of the store, and the calls that changed it. */
interface PastState {
  readonly state: PossibleState;
  readonly changedBy: readonly AnsweredCall[];
  readonly changedAt: number;
}

/** A mistake, and the situation in which the wrong answer would be right. */
interface Suspicion {
  readonly state: PossibleState;
  readonly cause: string;
  readonly call?: SuiteCall;
  readonly now?: number;
}

/** The wrong answer to a call. */
interface WrongAnswer extends AnsweredCall {
  readonly now: number;
  /** The number of concurrent calls on the same bucket. */
  readonly beside: number;
}

/** Returns the mistake that explains a wrong answer: the first situation in which the answer would be right. */
export function likelyCause(
  wrong: WrongAnswer, tracked: TrackedKey, others: Iterable<readonly [owner: string, TrackedKey]>,
): string | undefined {
  // An adjustment has only two possible answers, so a situation in which one is right proves nothing.
  if (typeof wrong.answer === "boolean") return undefined;
  for (const { state, cause, call = wrong.call, now = wrong.now } of suspicions(wrong, tracked, others)) {
    const { answer } = apply(state, call, now);
    if (answer !== undefined && agrees(wrong.answer, answer)) return cause;
  }
  return undefined;
}

function* suspicions(
  { call, answer, now, beside }: WrongAnswer,
  { states, past, policies }: TrackedKey,
  others: Iterable<readonly [string, TrackedKey]>,
): Generator<Suspicion> {
  const { limits } = call.policy;
  for (const state of states) {
    if (beside > 0) {
      yield {
        state,
        cause:
          `This is the answer without the ${beside} concurrent calls: ` +
          `two calls read one record before either wrote it. Read, decide and write in one atomic step.`,
      };
    }
    const stale = limits.filter((limit) => state.has(limit.name) && isStale(state.get(limit.name) as Bucket, limit, now));
    if (stale.length > 0) {
      yield {
        state: without(state, stale),
        cause: "This is the answer of a bucket that new numbers of the policy made full. Convert its record to the new numbers.",
      };
      yield {
        state: reinterpreted(state, stale),
        cause: "This is the answer of a record in old numbers that was read as if it were in the new ones. Convert it first.",
      };
    }
    if (typeof call.tokens !== "number") {
      yield {
        state, call: { ...call, tokens: costAt(call.tokens, 0) },
        cause: "This is the answer with the first cost for every limit. Use the cost of each limit, in the policy's order.",
      };
    }
    const rest = [...state].filter(([name]) => name !== BLOCK);
    if (rest.length < state.size) {
      yield {
        state: new Map(rest),
        cause:
          "This is the answer without the block. Keep the block beside the buckets until it ends, under any numbers " +
          "of the policy, and refuse a cost of 0 as well.",
      };
    }
    for (const [block, wasEnded] of blocksOf(past)) {
      const isOver = wasEnded || !state.has(BLOCK);
      const cause = isOver
        ? "This is the answer of a block that is over. `reset` and `block` with 0 end a block, and the clock does."
        : "This is the answer of one of several blocks. Keep the later of the two ends.";
      yield { state: new Map([...rest, [BLOCK, block]]), cause };
    }
    for (const most of wasAdjusted(past) ? [1, 2] : []) {
      const cut = [...state].map(
        ([name, bucket]) =>
          [
            name,
            cutTo(
              most, bucket, limits.find((limit) => limit.name === name),
            ),
          ] as const,
      );
      yield {
        state: new Map(cut),
        cause:
          `This is the answer of a debt that ends at ${most === 1 ? "the capacity" : "twice the capacity"}. ` +
          `\`adjust\` takes exactly the given number.`,
      };
    }
    const last = past.at(-1);
    const [first, second] = last?.changedBy ?? [];
    if (last !== undefined && first?.call.method === "adjust" && second === undefined && typeof first.call.tokens !== "number") {
      yield {
        state: apply(last.state, { ...first.call, tokens: costAt(first.call.tokens, 0) }, last.changedAt).state,
        cause: "This is the answer after an `adjust` of all limits by its first number. Use the number of each limit.",
      };
    }
    if (last !== undefined && isConversion(last)) yield lostChange(last, now);
    yield { state: new Map(), cause: fullBucketCause(past.at(-1), state, now) };
    for (const limit of limits) {
      for (const full of [[limit], limits.filter((other) => other !== limit)]) {
        const names = full.map(({ name }) => `\`${name}\``).join(", ");
        yield {
          state: without(state, full),
          cause:
            `This is the answer of a bucket with a full limit ${names}. ` +
            `Store all limits, and keep them until the slowest is full.`,
        };
      }
    }
    const at = (answer as { at?: unknown } | null)?.at;
    if (typeof at === "number" && at !== now) {
      yield {
        state, now: at,
        cause:
          `This is the right answer ${Math.abs(at - now)} ms ${at > now ? "later" : "earlier"}: ` +
          `the store read another clock, or rounded the time in another way than down.`,
      };
    }
    for (const policy of policies) {
      if (policy !== call.policy) {
        yield {
          state, call: { ...call, policy },
          cause: "This is the answer under other numbers of the policy, from an earlier call. Use the policy of the call.",
        };
      }
    }
  }
  for (const change of [...past].reverse()) yield lostChange(change, now);
  for (const [owner, { states: theirs }] of others) {
    for (const state of theirs) {
      if (state.size > 0) yield { state, cause: `This is the answer for the key ${owner}: the two keys share a record.` };
    }
  }
}

function lostChange({ state, changedBy, changedAt }: PastState, now: number): Suspicion {
  return {
    state,
    cause:
      `This is the answer without ${describeChange(changedBy)}, ${now - changedAt} ms before: ` +
      `that change was lost, or another write replaced it.`,
  };
}

function fullBucketCause(last: PastState | undefined, state: PossibleState, now: number): string {
  const changedAt = last?.changedAt ?? now;
  const ttlMs = now - changedAt + lifetimeMs(state, now);
  return `This is the answer of a full bucket: was the record forgotten, or not written? It was written ` +
    `${now - changedAt} ms ago and must be kept for ${ttlMs} ms (the right \`ttlMs\`).`;
}

/** The blocks of earlier calls, each as if it were the only one, and whether a later call ended it. */
function* blocksOf(past: readonly PastState[]): Generator<readonly [block: Bucket, wasEnded: boolean]> {
  for (const [i, { changedBy, changedAt: at }] of past.entries()) {
    const wasEnded = past.slice(i + 1).some((later) => later.changedBy.some(({ call }) => endsBlock(call)));
    for (const { call } of changedBy) {
      if (call.method !== "block" || endsBlock(call)) continue;
      yield [{ spent: call.tokens as number, at, unitsPerMs: 1, unitsPerToken: 1 }, wasEnded];
    }
  }
}

function endsBlock({ method, tokens }: SuiteCall): boolean {
  return method === "reset" || (method === "block" && tokens === 0);
}

function wasAdjusted(past: readonly PastState[]): boolean {
  return past.some(({ changedBy }) => changedBy.some(({ call }) => call.method === "adjust"));
}

function cutTo(most: number, bucket: Bucket, limit: Limit | undefined): Bucket {
  return limit === undefined ? bucket : { ...bucket, spent: Math.min(bucket.spent, most * limit.size) };
}

function without(state: PossibleState, limits: readonly Limit[]): PossibleState {
  return new Map([...state].filter(([name]) => limits.every((limit) => limit.name !== name)));
}

function reinterpreted(state: PossibleState, limits: readonly Limit[]): PossibleState {
  const read = limits.map(
    ({ name, unitsPerMs, unitsPerToken }) => [name, { ...(state.get(name) as Bucket), unitsPerMs, unitsPerToken }] as const,
  );
  return new Map([...state, ...read]);
}

/** Names what changed a key: one call, or concurrent ones. */
function describeChange(calls: readonly AnsweredCall[]): string {
  const [first] = calls as [AnsweredCall];
  if (calls.length > 1) return `${calls.length} concurrent calls`;
  return `\`${describeCall(first.call)}\`${isRefusal(first) ? ", a refusal that converted the record to new numbers" : ""}`;
}

/** A refusal changes a record only by bringing it to new numbers. */
function isConversion({ changedBy }: PastState): boolean {
  return changedBy.length === 1 && isRefusal(changedBy[0] as AnsweredCall);
}

function isRefusal({ answer }: AnsweredCall): boolean {
  return (answer as { allowed?: unknown } | null | undefined)?.allowed === false;
}
