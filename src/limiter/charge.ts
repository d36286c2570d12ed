import { checkAnswer } from "#diagnostics";
import { expected } from "../core/check.js";
import { monotonicClock } from "../core/clock.js";
import { costAt, type Costs } from "../core/limit.js";
import type { Decision } from "../core/decision.js";
import { encodeKey, UNIDENTIFIED, type Key } from "../core/key.js";
import { bucketId, type Policy } from "../core/policy.js";
import type { Charge, GuardedStore, Store } from "../port/store.js";
import { costOf, policyOf, type ConsumeArgument, type ConsumeOptions } from "./arguments.js";
import { internalsOf } from "./internals.js";
import type { Limiter } from "./limiter.js";
import { tookNothing } from "./refund.js";

/** One charge of a limiter, checked and copied. */
export interface LimiterCharge {
  readonly limiter: Limiter;
  readonly key: Key;
  readonly policy: Policy;
  readonly cost: Costs;
  /** The cost and the policy, as in `consume`. */
  readonly asked: ConsumeOptions;
  /** The key, encoded for the store. */
  readonly encoded: string;
}

/** Checks the arguments of `consume` and returns the charge on `limiter`. */
export function chargeOf(limiter: Limiter, key: Key, asked: ConsumeArgument): LimiterCharge {
  const policy = policyOf(asked, limiter.policy);
  const encoded = encodeKey(key);
  const cost = costOf(asked, policy);
  // These are copies, because the caller may change its key or cost before the charge is made. UNIDENTIFIED is compared
  // by identity, so it is not copied.
  const byName = typeof cost === "number" ? cost : Object.fromEntries(policy.limits.map(({ name }, i) => [name, costAt(cost, i)]));
  return { limiter, key: typeof key === "string" || key === UNIDENTIFIED ? key : [...key], policy, cost, asked: { cost: byName, policy }, encoded };
}

/**
 * Makes all charges of a group, or none. When the store fails, each limiter decides by its `onStoreError`.
 *
 * The group is one call to the store. Over an asynchronous store, the call uses the timeout and the circuit breaker of
 * the limiter with the shortest timeout.
 */
export function chargeGroup(group: readonly LimiterCharge[]): readonly Decision[] | Promise<readonly Decision[]> {
  const [{ limiter, key, asked }] = group as [LimiterCharge];
  if (group.length === 1) return thenOne(limiter.consume(key, asked), (decision) => [decision]);
  const { store } = limiter;
  const guards = group.map((each) => internalsOf(each.limiter).guarded);
  const buckets = group.map(({ policy, encoded }) => bucketId(policy, encoded));
  const send = (): readonly Decision[] | Promise<readonly Decision[]> => chargeTogether(store, group);
  // Over a synchronous store the calls are nested, because the circuit breaker of each limiter must see the outcome.
  const call = store.sync
    ? guards.reduce((next, guarded) => () => guarded.call(buckets, next), send)
    : () => guards.reduce((a, b) => (b.timeoutMs < a.timeoutMs ? b : a)).call(buckets, send);
  const sentAt = monotonicClock();
  const learn = (decisions: readonly Decision[]): readonly Decision[] => {
    if (!store.sync) decisions.forEach((decision, i) => guards[i]?.learnTime(decision, sentAt));
    // When one limit refuses, nothing was taken, so the other decisions must not be refunded.
    if (!isAllowed(decisions)) decisions.forEach(tookNothing);
    return decisions;
  };
  const decided = orElse(() => thenOne(call(), learn), (error) => decideWithout(group, error));
  return thenOne(decided, (decisions) => report(group, decisions, store.sync ? undefined : monotonicClock() - sentAt));
}

/** The charges in the form of the store. */
export function storeCharges(group: readonly LimiterCharge[]): readonly Charge[] {
  return group.map(({ policy, encoded, cost }) => ({ policy, key: encoded, cost }));
}

function chargeTogether(store: Store, group: readonly LimiterCharge[]): readonly Decision[] | Promise<readonly Decision[]> {
  const charges = storeCharges(group);
  return thenOne(store.consumeTogether?.(charges) as readonly Decision[] | Promise<readonly Decision[]>, (decisions) => {
    const isComplete = Array.isArray(decisions) && decisions.length === charges.length;
    if (!isComplete) throw new TypeError(expected("store.consumeTogether()", `a list of ${charges.length} decisions`, decisions));
    return decisions.map((decision) => checkAnswer(decision, "consumeTogether"));
  });
}

/**
 * Each limiter decides without the store. When one refuses, the tokens that the others took in this process are
 * refunded.
 */
function decideWithout(group: readonly LimiterCharge[], error: unknown): readonly Decision[] {
  const guards = group.map(({ limiter }) => internalsOf(limiter).guarded);
  const decisions = group.map(({ policy, encoded, cost }, i) => (guards[i] as GuardedStore).decideWithout(policy, encoded, cost, error));
  if (!isAllowed(decisions)) decisions.forEach((decision, i) => guards[i]?.refundLocally(tookNothing(decision), (group[i] as LimiterCharge).encoded));
  return decisions;
}

// A decision that would have allowed is not reported when another limiter refused.
function report(group: readonly LimiterCharge[], decisions: readonly Decision[], durationMs?: number): readonly Decision[] {
  const all = isAllowed(decisions);
  decisions.forEach((decision, i) => {
    const { limiter } = group[i] as LimiterCharge;
    const { observer } = internalsOf(limiter);
    if (all === decision.allowed && observer?.listens()) observer.decided(limiter, decision, durationMs);
  });
  return decisions;
}

/** Whether all decisions are allowed. */
export function isAllowed(decisions: readonly Decision[]): boolean {
  return decisions.every(({ allowed }) => allowed);
}

function orElse<T>(make: () => T | Promise<T>, instead: (error: unknown) => T): T | Promise<T> {
  try {
    const made = make();
    return made instanceof Promise ? made.catch(instead) : made;
  } catch (error) {
    return instead(error);
  }
}

/** Calls `next` with `value`: synchronously, unless `value` is a promise. */
export function thenOne<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Calls `next` with all values: synchronously, unless one is a promise. */
export function thenAll<T, R>(values: ReadonlyArray<T | Promise<T>>, next: (values: readonly T[]) => R | Promise<R>): R | Promise<R> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values).then(next) : next(values as readonly T[]);
}
