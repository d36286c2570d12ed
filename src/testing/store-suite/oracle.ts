import { fullBucket, spentAt, type Bucket } from "../../core/bucket.js";
import { consume, debit, peek, refund, type Decision, type Reading } from "../../core/decision.js";
import type { Policy } from "../../core/policy.js";

/** A call of a store method on one bucket. `tokens` is the cost, or the tokens to refund or debit. */
export interface StoreCall {
  readonly method: "consume" | "peek" | "refund" | "reset" | "debit";
  readonly policy: Policy;
  readonly key: string;
  readonly tokens: number;
}

/** A call with the store's answer. */
export interface AnsweredCall {
  readonly call: StoreCall;
  readonly answer: unknown;
}

/** An answer that no order of the calls explains, and the decision that the core expects instead. */
export interface Contradiction {
  readonly wrong: AnsweredCall;
  readonly wanted: Decision | undefined;
}

/** One possible content of the store for one key: a bucket per name of a limit. */
type PossibleState = ReadonlyMap<string, Bucket>;

interface TrackedKey {
  states: PossibleState[];
  /** Every policy that a call on the key has used. */
  readonly policies: Set<Policy>;
}

/**
 * The core's arithmetic over a plain map. Every store must give the same answers.
 *
 * A store may forget a bucket with nothing spent at any time (law L4). That changes later answers if the clock steps
 * back. The oracle therefore keeps every possible state, and drops those that an answer excludes.
 */
export class Oracle {
  readonly #keys = new Map<string, TrackedKey>();

  /** Adds the states in which the store has forgotten buckets that are full at `now`. */
  tick(now: number): void {
    for (const tracked of this.#keys.values()) {
      for (const state of tracked.states) {
        const kept = [...state].filter(([, bucket]) => !mayForget(bucket, tracked.policies, now));
        if (kept.length < state.size) tracked.states = distinct(subsets(state, new Map(kept), tracked.states));
      }
    }
  }

  /**
   * Looks for an order of concurrent calls on one key that explains all answers.
   *
   * Returns null and keeps the resulting states if there is one; otherwise the first answer that cannot be right.
   */
  explain(calls: readonly AnsweredCall[], now: number): null | Contradiction {
    const [{ call }] = calls as [AnsweredCall];
    const tracked = this.#track(call);
    for (const { call: other } of calls) tracked.policies.add(other.policy);
    const search: OrderSearch = { now, survivors: [], depth: -1 };
    for (const state of tracked.states) tryOrders(search, state, calls, 0);
    if (search.survivors.length === 0) return search.stuck as Contradiction;
    tracked.states = distinct(search.survivors);
    return null;
  }

  /** Returns the core's decision for `call` in one of the possible states. Changes nothing. */
  foresee(call: StoreCall, now: number): Decision {
    return apply(this.#track(call).states[0] as PossibleState, call, now).answer as Decision;
  }

  /** Applies a call to every possible state, without an answer to compare. */
  assume(call: StoreCall, now: number): void {
    const tracked = this.#track(call);
    tracked.policies.add(call.policy);
    tracked.states = distinct(tracked.states.map((state) => apply(state, call, now).state));
  }

  #track({ policy, key }: StoreCall): TrackedKey {
    const name = JSON.stringify([policy.name, key]);
    let tracked = this.#keys.get(name);
    if (tracked === undefined) this.#keys.set(name, (tracked = { states: [new Map()], policies: new Set() }));
    return tracked;
  }
}

interface OrderSearch {
  readonly now: number;
  /** Every state that is possible afterwards: two orders with the same answers can leave different buckets. */
  readonly survivors: PossibleState[];
  /** The number of calls that the best order so far explains. */
  depth: number;
  stuck?: Contradiction;
}

/** Tries every order of the calls in `left`. */
function tryOrders(search: OrderSearch, state: PossibleState, left: readonly AnsweredCall[], depth: number): void {
  if (left.length === 0) search.survivors.push(state);
  const tried: AnsweredCall[] = [];
  for (const next of left) {
    // Two equal calls with equal answers are interchangeable.
    if (tried.some((other) => sameCall(other.call, next.call) && differences(other.answer, next.answer).length === 0)) continue;
    tried.push(next);
    const { answer, state: after } = apply(state, next.call, search.now);
    if (answer === undefined || differences(next.answer, answer).length === 0) {
      tryOrders(search, after, left.filter((other) => other !== next), depth + 1);
    } else if (depth > search.depth) {
      search.depth = depth;
      search.stuck = { wrong: next, wanted: answer };
    }
  }
}

function apply(state: PossibleState, { method, policy, tokens }: StoreCall, now: number): { answer: Decision | undefined; state: PossibleState } {
  const buckets = policy.limits.map((limit) => ({ ...(state.get(limit.name) ?? fullBucket(limit)) }));
  if (method === "peek") return { answer: peek(buckets, policy, tokens, now), state };
  const answer = method === "consume" ? consume(buckets, policy, tokens, now) : undefined;
  if (method === "refund") refund(buckets, policy, tokens, now);
  if (method === "debit") debit(buckets, policy, tokens, now);
  const after = new Map(state);
  policy.limits.forEach(({ name }, i) => {
    const bucket = buckets[i] as Bucket;
    if (method === "reset" || bucket.spent === 0) after.delete(name);
    else after.set(name, bucket);
  });
  return { answer, state: after };
}

// A store may judge whether a bucket is full by any of the key's policies.
function mayForget(bucket: Bucket, policies: ReadonlySet<Policy>, now: number): boolean {
  return [...policies].some(({ limits }) => limits.some((limit) => spentAt(bucket, limit, now) === 0));
}

/** Returns `states` and every state between `least` and `all`. */
function subsets(all: PossibleState, least: PossibleState, states: readonly PossibleState[]): PossibleState[] {
  let between: PossibleState[] = [least];
  for (const [name, bucket] of all) {
    if (!least.has(name)) between = between.flatMap((state) => [state, new Map([...state, [name, bucket]])]);
  }
  return [...states, ...between];
}

function distinct(states: readonly PossibleState[]): PossibleState[] {
  const text = (state: PossibleState): string => JSON.stringify([...state].sort(([a], [b]) => (a < b ? -1 : 1)));
  return [...new Map(states.map((state) => [text(state), state])).values()];
}

function sameCall(a: StoreCall, b: StoreCall): boolean {
  return a.method === b.method && a.policy === b.policy && a.tokens === b.tokens;
}

/** Lists the differences between two decisions, such as `` `remaining` 6 instead of 7 ``. Empty if they are equal. */
export function differences(got: unknown, wanted: unknown): string[] {
  if (typeof got !== "object" || got === null) return [`${String(got)} instead of a decision`];
  const [a, b] = [got as Record<string, unknown>, wanted as Record<string, unknown>];
  const fields = [...new Set([...Object.keys(b), ...Object.keys(a)])];
  return fields.flatMap((field) => {
    if (field === "limits" && Array.isArray(a[field]) && Array.isArray(b[field])) return differentReadings(a[field], b[field]);
    return Object.is(a[field], b[field]) ? [] : [`\`${field}\` ${String(a[field])} instead of ${String(b[field])}`];
  });
}

function differentReadings(got: readonly unknown[], wanted: readonly Reading[]): string[] {
  if (got.length !== wanted.length) return [`${got.length} readings instead of ${wanted.length}`];
  return wanted.flatMap((reading, i) => differences(got[i], reading).map((text) => `in \`limits[${i}]\` ${text}`));
}
