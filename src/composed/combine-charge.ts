import { monotonicClock, readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { AsyncStore, Charge, Store, SyncStore } from "../core/store.js";
import type { Limiter } from "../limiter/limiter.js";
import { partsOf } from "../limiter/internals.js";
import { tookNothing } from "../limiter/refund.js";

/** What one of several limiters is asked. */
export interface Part {
  readonly limiter: Limiter;
  readonly key: Key;
  readonly policy: Policy;
  readonly cost: number;
  /** The key as the store knows it. */
  readonly encoded: string;
}

/**
 * The places of limiters that are charged in one step, in order of the first of each: those that share a store which can do
 * that, and every other by itself. One that refuses nothing must not hold up the others.
 */
export function groupsOf(limiters: readonly Limiter[]): number[][] {
  const groups: number[][] = [];
  const byStore = new Map<Store, number[]>();
  limiters.forEach((limiter, place) => {
    const { store, shadow } = partsOf(limiter);
    const alone = shadow || store.consumeTogether === undefined;
    const known = alone ? undefined : byStore.get(store);
    if (known !== undefined) return void known.push(place);
    const group = [place];
    groups.push(group);
    if (!alone) byStore.set(store, group);
  });
  return groups;
}

/**
 * Charges a group: all of it or none, unless the store fails, when each is decided as its limiter has it. One call is made for
 * all: over an asynchronous store within the deadline and by the breaker of the limiter whose deadline is shortest.
 */
export function charge(group: readonly Part[]): readonly Decision[] | Promise<readonly Decision[]> {
  const [{ limiter, key, policy, cost }] = group as [Part];
  if (group.length === 1) return thenOne(limiter.consume(key, { cost, policy }), (decision) => [decision]);
  const { store } = limiter;
  return store.sync ? chargeNow(store, group) : chargeLater(store, group);
}

function chargeNow(store: SyncStore, group: readonly Part[]): readonly Decision[] {
  let decisions: readonly Decision[];
  try {
    decisions = unlessAll(charged(store, group));
    for (const { limiter } of group) partsOf(limiter).breaker.answered();
  } catch (error) {
    // A clock that tells nonsense is misuse, and must not pass for an outage.
    if (store.clock !== "server") readClock(store.clock);
    for (const { limiter } of group) partsOf(limiter).breaker.failed(error);
    decisions = withoutStore(group, error);
  }
  return report(group, decisions);
}

async function chargeLater(store: AsyncStore, group: readonly Part[]): Promise<readonly Decision[]> {
  const { ask } = group.map(({ limiter }) => partsOf(limiter)).reduce((a, b) => (b.timeoutMs < a.timeoutMs ? b : a));
  const sentAt = monotonicClock();
  let decisions: readonly Decision[];
  try {
    decisions = unlessAll(await ask(async () => charged(store, group)));
    decisions.forEach((decision, i) => partsOf((group[i] as Part).limiter).age.hear(decision, sentAt));
  } catch (error) {
    decisions = withoutStore(group, error);
  }
  return report(group, decisions, monotonicClock() - sentAt);
}

function charged<S extends Store>(store: S, group: readonly Part[]): ReturnType<NonNullable<S["consumeTogether"]>> {
  const charges: Charge[] = group.map(({ policy, encoded, cost }) => ({ policy, key: encoded, cost }));
  return store.consumeTogether?.(charges) as ReturnType<NonNullable<S["consumeTogether"]>>;
}

// Where one is refused, the others tell what they would have answered, and there is nothing to give back of that.
function unlessAll(decisions: readonly Decision[]): readonly Decision[] {
  if (!isAllowed(decisions)) decisions.forEach(tookNothing);
  return decisions;
}

function withoutStore(group: readonly Part[], error: unknown): readonly Decision[] {
  return group.map(({ limiter, policy, encoded, cost }) => partsOf(limiter).decideWithout(policy, encoded, cost, error));
}

// Whoever would have allowed it has decided nothing when another refused.
function report(group: readonly Part[], decisions: readonly Decision[], durationMs?: number): readonly Decision[] {
  const all = isAllowed(decisions);
  decisions.forEach((decision, i) => {
    const { reporter } = partsOf((group[i] as Part).limiter);
    if (all === decision.allowed && reporter.listens()) reporter.decided(decision, durationMs);
  });
  return decisions;
}

/** Whether all of them are. */
export function isAllowed(decisions: readonly Decision[]): boolean {
  return decisions.every(({ allowed }) => allowed);
}

/** Gives back what was taken for a part. What cannot be given back stays taken: less is granted then, never more. */
export function undo({ limiter, key, policy }: Part, decision: Decision): void | Promise<void> {
  try {
    const done = limiter.refund(key, decision, { policy }) as void | Promise<void>;
    return done?.catch(() => undefined);
  } catch {
    return undefined;
  }
}

/** What a part would be told; null when nobody can say. */
export function wouldSay({ limiter, key, policy, cost }: Part): Decision | null | Promise<Decision | null> {
  if (limiter.store.peek === undefined) return null;
  try {
    const decision = limiter.peek(key, { cost, policy });
    return decision instanceof Promise ? decision.catch(() => null) : decision;
  } catch {
    return null;
  }
}

/** Goes on with `value`, at once where it is there already. */
export function thenOne<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Goes on with all of them, at once where all are there already. */
export function thenAll<T, R>(values: ReadonlyArray<T | Promise<T>>, next: (values: readonly T[]) => R | Promise<R>): R | Promise<R> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values).then(next) : next(values as readonly T[]);
}
