import { expected } from "../core/check.js";
import { monotonicClock } from "../core/clock.js";
import { costAt, type Costs } from "../core/costs.js";
import type { Decision } from "../core/decision.js";
import { encodeKey, type Key } from "../core/key.js";
import { bucketId, type Policy } from "../core/policy.js";
import { checkDecision, type Charge, type Store } from "../core/store.js";
import { costOf, policyOf, type ConsumeArgument, type ConsumeOptions } from "./arguments.js";
import { internalsOf } from "./internals.js";
import type { Limiter } from "./limiter.js";
import { tookNothing } from "./refund.js";

/** What one limiter is asked. */
export interface LimiterCharge {
  readonly limiter: Limiter;
  readonly key: Key;
  readonly policy: Policy;
  readonly cost: Costs;
  /** What its `consume` is asked. */
  readonly asked: ConsumeOptions;
  /** The key as the store knows it. */
  readonly encoded: string;
}

/** What `limiter` is asked. */
export function chargeOf(limiter: Limiter, key: Key, asked: ConsumeArgument): LimiterCharge {
  const policy = policyOf(asked, limiter.policy);
  const encoded = encodeKey(key);
  const cost = costOf(asked, policy);
  // Copies: the caller may change its key or cost before the charge is made.
  const byName = typeof cost === "number" ? cost : Object.fromEntries(policy.limits.map(({ name }, i) => [name, costAt(cost, i)]));
  return { limiter, key: typeof key === "string" ? key : [...key], policy, cost, asked: { cost: byName, policy }, encoded };
}

/**
 * Charges a group: all of it or none. When the store fails, each limiter decides as its `onStoreError` says.
 *
 * One call is made for all. Over an asynchronous store it has the timeout and the circuit breaker of the limiter with
 * the shortest timeout.
 */
export function chargeGroup(group: readonly LimiterCharge[]): readonly Decision[] | Promise<readonly Decision[]> {
  const [{ limiter, key, asked }] = group as [LimiterCharge];
  if (group.length === 1) return thenOne(limiter.consume(key, asked), (decision) => [decision]);
  const send = (): readonly Decision[] | Promise<readonly Decision[]> => chargeTogether(limiter.store, group);
  return limiter.store.sync ? chargeNow(group, send as () => readonly Decision[]) : chargeLater(group, send);
}

function chargeNow(group: readonly LimiterCharge[], send: () => readonly Decision[]): readonly Decision[] {
  // One in another, so that the circuit breaker of each limiter learns the outcome.
  const buckets = bucketIdsOf(group);
  const guarded = group.reduce((next, { limiter }) => () => internalsOf(limiter).guarded.call(buckets, next) as readonly Decision[], send);
  let decisions: readonly Decision[];
  try {
    decisions = markUntaken(guarded());
  } catch (error) {
    decisions = decideWithout(group, error);
  }
  return report(group, decisions);
}

async function chargeLater(group: readonly LimiterCharge[], send: () => readonly Decision[] | Promise<readonly Decision[]>): Promise<readonly Decision[]> {
  const { guarded } = group.map(({ limiter }) => internalsOf(limiter)).reduce((a, b) => (b.guarded.timeoutMs < a.guarded.timeoutMs ? b : a));
  const sentAt = monotonicClock();
  let decisions: readonly Decision[];
  try {
    decisions = markUntaken(await guarded.call(bucketIdsOf(group), send));
    decisions.forEach((decision, i) => internalsOf((group[i] as LimiterCharge).limiter).guarded.learnTime(decision, sentAt));
  } catch (error) {
    decisions = decideWithout(group, error);
  }
  return report(group, decisions, monotonicClock() - sentAt);
}

function chargeTogether(store: Store, group: readonly LimiterCharge[]): readonly Decision[] | Promise<readonly Decision[]> {
  const charges: Charge[] = group.map(({ policy, encoded, cost }) => ({ policy, key: encoded, cost }));
  return thenOne(store.consumeTogether?.(charges) as readonly Decision[] | Promise<readonly Decision[]>, (decisions) => {
    const isComplete = Array.isArray(decisions) && decisions.length === charges.length;
    if (!isComplete) throw new TypeError(expected("store.consumeTogether()", `a list of ${charges.length} decisions`, decisions));
    return decisions.map((decision) => checkDecision(decision, "consumeTogether"));
  });
}

function bucketIdsOf(group: readonly LimiterCharge[]): string[] {
  return group.map(({ policy, encoded }) => bucketId(policy, encoded));
}

// When one refuses, nothing was taken, and the other decisions must not be refunded.
function markUntaken(decisions: readonly Decision[]): readonly Decision[] {
  if (!isAllowed(decisions)) decisions.forEach(tookNothing);
  return decisions;
}

function decideWithout(group: readonly LimiterCharge[], error: unknown): readonly Decision[] {
  return group.map(({ limiter, policy, encoded, cost }) => internalsOf(limiter).guarded.decideWithout(policy, encoded, cost, error));
}

// A limiter that would have allowed has decided nothing when another refused.
function report(group: readonly LimiterCharge[], decisions: readonly Decision[], durationMs?: number): readonly Decision[] {
  const all = isAllowed(decisions);
  decisions.forEach((decision, i) => {
    const { limiter } = group[i] as LimiterCharge;
    const { observer } = internalsOf(limiter);
    if (all === decision.allowed && observer?.listens()) observer.decided(limiter, decision, durationMs);
  });
  return decisions;
}

/** Whether all of them are. */
export function isAllowed(decisions: readonly Decision[]): boolean {
  return decisions.every(({ allowed }) => allowed);
}

/** Calls `next` with `value`: at once unless it is a promise. */
export function thenOne<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Calls `next` with all values: at once unless one is a promise. */
export function thenAll<T, R>(values: ReadonlyArray<T | Promise<T>>, next: (values: readonly T[]) => R | Promise<R>): R | Promise<R> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values).then(next) : next(values as readonly T[]);
}
