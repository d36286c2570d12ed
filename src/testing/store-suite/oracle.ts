import { BLOCK, blockLeft } from "../../core/records.js";
import { spentAt, type Bucket } from "../../core/bucket.js";
import { sameCosts } from "../../core/limit.js";
import type { Decision } from "../../core/decision.js";
import type { Policy } from "../../core/policy.js";
import { likelyCause, type TrackedKey } from "./cause.js";
import {
  agrees, apply, quoteKey, sameState, stateText, type AnsweredCall, type PossibleState, type SuiteCall,
} from "./states.js";

/** An answer that no order of the calls explains, and the decision that the core expects instead. */
export interface Contradiction {
  readonly wrong: AnsweredCall;
  readonly wanted: Decision | boolean | undefined;
  /** The mistake that would give this answer. Undefined if none of the usual ones does. */
  readonly cause: string | undefined;
}

// A message names a lost change up to this many changes ago.
const REMEMBERED_CHANGES = 8;

/**
 * The core's arithmetic over a plain map. Every store must give the same answers.
 *
 * A store may forget a bucket with nothing spent at any time (law L4). That changes later answers if the clock steps
 * back. The oracle therefore keeps every possible state, and drops the states that an answer excludes.
 */
export class Oracle {
  readonly #keys = new Map<string, TrackedKey>();

  /** Forgets all buckets. No later call may use them. */
  forget(): void {
    this.#keys.clear();
  }

  /** Adds the states in which the store has forgotten buckets that are full at `now`. */
  tick(now: number): void {
    for (const tracked of this.#keys.values()) {
      for (const names of recordsByLimit(tracked.states)) {
        const full = tracked.states.flatMap((state) => {
          const over = names.filter(
            (name) => state.has(name) && mayForget(name, state.get(name) as Bucket, tracked.policies, now),
          );
          return over.length > 0 ? [withoutFull(state, over)] : [];
        });
        if (full.length > 0) tracked.states = distinct([...tracked.states, ...full]);
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
    const search: OrderSearch = { now, policies: tracked.policies, survivors: [], depth: -1 };
    for (const state of tracked.states) tryOrders(search, state, calls, 0);
    if (search.survivors.length > 0) {
      this.#change(tracked, search.survivors, calls, now);
      return null;
    }
    const { wrong, wanted } = search.stuck as WrongStep;
    const others = [...this.#keys].filter(([, one]) => one !== tracked).map(([name, one]) => [ownerOf(name), one] as const);
    return { wrong, wanted, cause: likelyCause({ ...wrong, now, beside: calls.length - 1 }, tracked, others) };
  }

  /** Returns the core's decision for `call` in one of the possible states. Changes nothing. */
  foresee(call: SuiteCall, now: number): Decision {
    return apply(this.#track(call).states[0] as PossibleState, call, now).answer as Decision;
  }

  /** Applies a call to every possible state, without an answer to compare. */
  assume(call: SuiteCall, now: number): void {
    const tracked = this.#track(call);
    tracked.policies.add(call.policy);
    this.#change(tracked, tracked.states.map((state) => apply(state, call, now).state), [{ call, answer: undefined }], now);
  }

  #change(tracked: TrackedKey, states: readonly PossibleState[], changedBy: readonly AnsweredCall[], changedAt: number): void {
    const [before] = tracked.states as [PossibleState];
    tracked.states = distinct(states);
    if (sameState(tracked.states[0] as PossibleState, before)) return;
    tracked.past.push({ state: before, changedBy, changedAt });
    if (tracked.past.length > REMEMBERED_CHANGES) tracked.past.shift();
  }

  #track({ policy, key }: SuiteCall): TrackedKey {
    const name = JSON.stringify([policy.name, key]);
    let tracked = this.#keys.get(name);
    if (tracked === undefined) this.#keys.set(name, (tracked = { states: [new Map()], past: [], policies: new Set() }));
    return tracked;
  }
}

/** The wrong answer of a search, without its likely cause. */
type WrongStep = Omit<Contradiction, "cause">;

interface OrderSearch {
  readonly now: number;
  readonly policies: ReadonlySet<Policy>;
  /** Every state that is possible afterwards: two orders with the same answers can leave different buckets. */
  readonly survivors: PossibleState[];
  /** The number of calls that the best order so far explains. */
  depth: number;
  stuck?: WrongStep;
}

/** Tries every order of the calls in `left`. */
function tryOrders(search: OrderSearch, state: PossibleState, left: readonly AnsweredCall[], depth: number): void {
  if (left.length === 0) search.survivors.push(state);
  const tried: AnsweredCall[] = [];
  for (const next of left) {
    // Two equal calls with equal answers are interchangeable.
    if (tried.some((other) => sameCall(other.call, next.call) && agrees(other.answer, next.answer))) continue;
    tried.push(next);
    const { answer, state: after } = apply(state, next.call, search.now);
    if (answer === undefined || agrees(next.answer, answer)) {
      const rest = left.filter((other) => other !== next);
      tryOrders(search, after, rest, depth + 1);
      if (mayKeep(search, state, after, next)) tryOrders(search, state, rest, depth + 1);
    } else if (depth > search.depth) {
      search.depth = depth;
      search.stuck = { wrong: next, wanted: answer };
    }
  }
}

/**
 * Whether the store may have written nothing at a refusal that converts records. It may: if all of them are full, a
 * store that reads a full record as absent finds nothing to convert. A clock that steps back shows the record again.
 */
function mayKeep(
  { now, policies }: OrderSearch, before: PossibleState, after: PossibleState, { answer }: AnsweredCall,
): boolean {
  if ((answer as Decision | undefined)?.allowed !== false || sameState(before, after)) return false;
  const live = (state: PossibleState): string =>
    [...state].filter(([name, bucket]) => !mayForget(name, bucket, policies, now)).map(recordText).sort().join();
  return live(before) === live(after);
}

/** A record, without the number of a date: it changes when an earlier date is over. */
function recordText([name, { spent, at, unitsPerMs, unitsPerToken }]: readonly [name: string, Bucket]): string {
  return `${limitOfRecord(name)} ${spent} ${at} ${unitsPerMs} ${unitsPerToken}`;
}

// A store may judge whether a bucket is full by any of the key's policies. One date of a limit in flight is over by
// itself.
function mayForget(name: string, bucket: Bucket, policies: ReadonlySet<Policy>, now: number): boolean {
  if (name === BLOCK) return blockLeft(bucket, now) === 0;
  if (isHeld(name)) return bucket.at < now;
  return [...policies].some(({ limits }) =>
    limits.some((limit) => limit.kind.amounts === undefined && spentAt(bucket, limit, now) === 0));
}

/** Whether a record is one date of a limit in flight, or one amount of a window. */
function isHeld(name: string): boolean {
  return /^[~^]/.test(name);
}

/**
 * The name of a record's limit. The dates of a limit in flight and the amounts of a window have numbers after a dot.
 */
function limitOfRecord(name: string): string {
  return isHeld(name) ? name.slice(0, name.lastIndexOf(".")) : name;
}

function withoutFull(state: PossibleState, names: readonly string[]): PossibleState {
  const rest = new Map(state);
  for (const name of names) rest.delete(name);
  return rest;
}

/** The names of the records, together for each limit: a store forgets all dates of a limit that are over, or none. */
function recordsByLimit(states: readonly PossibleState[]): Iterable<readonly string[]> {
  const byLimit = new Map<string, string[]>();
  for (const name of new Set(states.flatMap((state) => [...state.keys()]))) {
    byLimit.set(limitOfRecord(name), [...(byLimit.get(limitOfRecord(name)) ?? []), name]);
  }
  return byLimit.values();
}

function distinct(states: readonly PossibleState[]): readonly PossibleState[] {
  return states.length === 1 ? states : [...new Map(states.map((state) => [stateText(state), state])).values()];
}

function sameCall(a: SuiteCall, b: SuiteCall): boolean {
  return a.method === b.method && a.policy === b.policy && a.at === b.at && sameCosts(a.tokens, b.tokens);
}

/** The key and the policy of a tracked name, as messages show them. */
function ownerOf(name: string): string {
  const [policy, key] = JSON.parse(name) as [string, string];
  return `${quoteKey(key)} of the policy "${policy}"`;
}
