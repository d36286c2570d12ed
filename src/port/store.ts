import { show } from "../core/check.js";
import type { Clock } from "../core/clock.js";
import type { Costs } from "../core/limit.js";
import type { Decision, Reading, Refused } from "../core/decision.js";
import { bucketId, type Policy } from "../core/policy.js";
import type { Move, Origin } from "../core/model.js";
import type { Charge } from "../core/records.js";

/**
 * Keeps buckets: one required method, `consume`, and a few optional methods.
 *
 * A correct store keeps these promises under any concurrency:
 *
 * 1. The policy's name and the key identify a bucket. Both are arbitrary strings; two different pairs share no state. A
 *    key of any length costs the store about the same (L16).
 * 2. `consume` is atomic: it decides and charges in one step, and other calls see the state before or after it. It
 *    charges every limit of the policy or none (L10).
 * 3. The decision equals the core's, to the last unit (L8): the same history gives the same numbers.
 * 4. A refusal writes nothing, at any cost. The one exception is the conversion to new numbers, or of a record too far
 *    ahead of the clock (L3, L6, L14).
 * 5. An absent bucket is a full bucket (L4). A record expires no earlier than it is full: round up, to at least 1 ms.
 * 6. The decision is plain data with properties of its own, and the store never changes it afterwards (L7).
 * 7. The store reads the time itself, from `clock`. Processes that share a store share its server's clock.
 * 8. A store that fails throws or rejects; it never invents a decision (L11). The limiter has checked the costs (whole
 *    numbers of at least 0) and encoded the key (a non-empty string), so bad input does not reach the store.
 * 9. Costs are one number for every limit of the policy, or a list with one for each limit in the policy's order. The
 *    list is for policies of several limits alone (L19).
 *
 * A {@link SyncStore} answers at once and makes every limiter over it synchronous. Any other store is an
 * {@link AsyncStore}. A store that can fail carries a {@link Guard}: `readonly guard = guard()`, from `sluice/store`.
 */
export type Store = SyncStore | AsyncStore;

/** A store that answers at once, in this process. Its methods return values, not promises. */
export interface SyncStore extends StoreMethods<true> {
  readonly sync: true;
  /** Only for a store that can fail, such as one in a file. An error of a store without a guard reaches the caller. */
  readonly guard?: Guard | undefined;
}

/** A store that answers with promises. Its methods reject; they never throw. */
export interface AsyncStore extends StoreMethods<false> {
  readonly sync: false;
  /** Timeout, circuit breaker and fallback: `guard` of `sluice/store`. */
  readonly guard: Guard;
  /**
   * The remembered refusal that `consume` would answer with. Null when `consume` must be called: always when the cost
   * might fit. Answers at once, writes nothing and never throws. The store documents how old the refusal may be.
   */
  recall?(policy: Policy, key: string, costs: Costs): Decision | null;
}

/**
 * All kinds of limits: what `kinds` of a store says that is built on the functions of `sluice/store`. A rate refills
 * evenly, a quota renews at a date, tokens in flight return when their work is done, and those of a window after a
 * fixed time.
 * @example
 * class TableStore {
 *   readonly kinds = LIMIT_KINDS;
 * }
 */
export const LIMIT_KINDS = ["rate", "quota", "in-flight", "window"] as const;

/** One of {@link LIMIT_KINDS}. */
export type LimitKind = (typeof LIMIT_KINDS)[number];

/** The methods of a store. They return values when `Sync` is true, and promises otherwise. */
export interface StoreMethods<Sync extends boolean> {
  /**
   * The clock that the store reads: a function that returns milliseconds, two clocks, or `"server"` for its server's.
   */
  readonly clock: Clock | "server";
  /**
   * The kinds of limits that the store keeps. Default: rates alone. A limiter refuses a policy with another kind: a
   * store that does not know quotas would grant them again and again. A store over the functions of `sluice/store`
   * knows all, {@link LIMIT_KINDS}, if it passes `from` on to `answerCall` and its clock has dates.
   */
  readonly kinds?: readonly LimitKind[] | undefined;
  /** Takes `costs` tokens from every limit of `policy` for `key`, or none. */
  consume(policy: Policy, key: string, costs: Costs): MaybePromise<Sync, Decision>;
  /** The decision that `consume` would make. Writes nothing. */
  peek?(policy: Policy, key: string, costs: Costs): MaybePromise<Sync, Decision>;
  /**
   * Takes all charges, at most 128, together or none. Returns one decision per charge, in order. When one is refused,
   * nothing is taken and the other decisions are those of `peek`. No two charges may name the same bucket.
   */
  consumeTogether?(charges: readonly Charge[]): MaybePromise<Sync, readonly Decision[]>;
  /**
   * Whether `consumeTogether` can take these charges, for a store that can only take some. Answers true or false at
   * once, and changes nothing. False is always safe: the charges are then made one after another. Absent when it can
   * always take them.
   */
  takesTogether?(charges: readonly Charge[]): boolean;
  /**
   * Changes every limit by so many tokens, in one step: above 0 they are taken even if they are not there, below 0 they
   * are given back, up to full. Settlements, refunds, debits and credits are this. A settlement also states `from`, the
   * instant of its decision by the store's clock: tokens of a quota are given back to the period of that instant only,
   * and tokens in flight to its date. If those were renewed, `from` has the instant of the renewal too. A give-back to
   * a rate states `since`, and the store takes off what has refilled from then on. What is above 0 is taken in full and
   * now, whatever `from` says. `answerCall` does all of this.
   *
   * Answers false, and changes nothing, when a limit would have more than 2^53 - 1 units spent.
   */
  adjust?(policy: Policy, key: string, changes: Costs, from?: number | Origin): MaybePromise<Sync, boolean>;
  /**
   * Moves `tokens` of each limit in flight from the date of `move.from` to that of `move.to`, at most those that are
   * there. Rates and quotas stay as they are. Needed by stores whose `kinds` include `"in-flight"`.
   *
   * Answers false when the date of `move.from` is over by the store's clock. Those tokens have come back, so tokens at
   * later dates belong to other work (law L21). A store that answers nothing says that they were moved.
   */
  renew?(policy: Policy, key: string, tokens: Costs, move: Move): MaybePromise<Sync, boolean | void>;
  /**
   * Refuses every `consume` of the key under the policy's name, at any cost, for `forMs` milliseconds, or for the rest
   * of an earlier block if that is longer. With 0 it ends a block, and changes nothing else. `adjust` and other numbers
   * leave a block alone; `reset` ends it.
   */
  block?(policy: Policy, key: string, forMs: number): MaybePromise<Sync, void>;
  /**
   * Forgets all that is stored under the policy's name and the key: a block, and limits that this version of the policy
   * does not have. The bucket is full afterwards, under any version of the policy.
   */
  reset?(policy: Policy, key: string): MaybePromise<Sync, void>;
  /** Closes what the store opened itself. Never closes a client that it was given. */
  close?(): Promise<void>;
}

/** `T` from a synchronous store, a promise of `T` from an asynchronous one, either when the type does not say which. */
export type MaybePromise<Sync extends boolean, T> = Sync extends true ? T : Promise<T>;

/**
 * What stands before a store that can fail: timeout, circuit breaker and fallback. A store makes one with `guard` of
 * `sluice/store`, and carries it. It serves all limiters over the store, and over wrappers that carry it too.
 *
 * Its inside is for sluice alone.
 */
export interface Guard {
  /** Only `guard` makes one. */
  readonly "made by guard() of sluice/store": true;
}

/** What is told when a store becomes unavailable, or available again. */
export interface StoreObserver {
  /** Returns whether anyone listens. When no observer does, the guard gives a warning instead. Must not throw. */
  storeChanged(store: Store, state: "unavailable" | "available", error: unknown): boolean;
}

/** Throws a TypeError when two charges name the same bucket. */
export function checkNamedOnce(charges: readonly Charge[]): void {
  if (new Set(charges.map(({ policy, key }) => bucketId(policy, key))).size === charges.length) return;
  throw new TypeError("Expected `charges` to name each bucket once, got one twice. Add up their costs.");
}

/**
 * Returns what a store's method answered if it is a decision. Throws a TypeError otherwise: an answer without `allowed`
 * must not become a refusal (law L11).
 */
export function checkDecision(answer: unknown, method: string): Decision {
  if (isDecision(answer)) return answer;
  Promise.resolve(answer).catch(() => undefined); // its rejection would end the process
  const got = typeof answer === "object" && answer !== null ? membersOf(answer) : show(answer);
  throw new TypeError(
    `Expected \`store.${method}()\` to return a decision, got ${got}. Return what \`answerCall\` of sluice/store answers.`,
  );
}

function isDecision(answer: unknown): answer is Decision {
  // An inherited `allowed` is no answer: it may come from `Object.prototype`.
  if (typeof answer !== "object" || answer === null || !Object.hasOwn(answer, "allowed")) return false;
  const { allowed, reason, policy, at, limits } = answer as Decision;
  return (
    allowed === (reason === null) &&
    (allowed || REASONS.includes(reason)) &&
    typeof policy === "string" &&
    Number.isFinite(at) &&
    isReading(answer as Decision) &&
    (reason === "cost_above_capacity" || (answer as Decision).retryAfterMs <= MOST_WAIT_MS) &&
    // An inherited one may come from `Object.prototype`, too.
    (!Object.hasOwn(answer, "blocked") || isMark((answer as Refused).blocked, allowed)) &&
    (limits === null || (Array.isArray(limits) && limits.length > 0 && limits.every((each) => isReading(Object(each)))))
  );
}

// A whole refill is at most 2^53 units, and a unit takes at most one millisecond.
const MOST_WAIT_MS = 2 ** 54;

const REASONS: readonly unknown[] = ["limited", "cost_above_capacity", "store_unavailable"];

function isReading({ limit, cost, capacity, remaining, retryAfterMs, nextTokenMs, resetMs }: Reading): boolean {
  return (
    typeof limit === "string" &&
    isAmount(cost) &&
    Number.isSafeInteger(capacity) &&
    Number.isSafeInteger(remaining) &&
    isAmount(remaining) &&
    isAmount(retryAfterMs) &&
    isAmount(nextTokenMs) &&
    isAmount(resetMs)
  );
}

function isAmount(value: unknown): boolean {
  return typeof value === "number" && value >= 0;
}

function isMark(blocked: unknown, allowed: boolean): boolean {
  return blocked === undefined || (blocked === true && !allowed);
}

const SHOWN = [
  "allowed", "reason", "policy", "limit", "cost", "capacity", "remaining", "retryAfterMs", "nextTokenMs", "resetMs",
  "at", "limits", "blocked",
];

// Only a decision's own members: others may hold the caller's key.
function membersOf(answer: object): string {
  return `{ ${SHOWN.map((name) => `${name}: ${show((answer as Record<string, unknown>)[name])}`).join(", ")} }`;
}
