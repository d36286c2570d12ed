import { checkLimiter, checkLimiterSetup, checkStore } from "#diagnostics";
import { ownMembers } from "../core/check.js";
import { monotonicClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import { encodeKey, type Key } from "../core/key.js";
import { definePolicy, type Policy } from "../core/policy.js";
import { markCharged, markNew } from "../port/charged.js";
import type { GuardSetup, Store, SyncStore } from "../port/store.js";
import { MemoryStore } from "../stores/memory/memory.js";
import { costOf, policyOf, requireMethod, throwOrReject, type ConsumeArgument } from "./arguments.js";
import { attachInternals, internalsOf, unguarded, type Act, type Acts, type Decider, type PlainInternals } from "./internals.js";
import type { PlainLimiter } from "./limiter.js";
import { thenOne } from "./now-or-later.js";
import { checkOnStoreError, LIMITER_OPTIONS, type LimiterOptions } from "./options.js";
import { createShadow, inShadow } from "./shadow.js";
import { isUnlimited, withoutLimit } from "./unlimited.js";
import { createGrantsAndFines } from "./verbs/grants-and-fines.js";
import { createSettle } from "./verbs/settle.js";
import { verbsOf } from "./verbs/verbs.js";

/**
 * Makes a limiter. Call its `consume` before you do work for a caller.
 *
 * Throws a TypeError or RangeError that names the wrong option. Throws a RangeError when two limiters on one store use
 * one policy name with different numbers. Their callers would share buckets, and the limits would disagree. For this
 * check, each store remembers the numbers of the last 1,000 names.
 * @example
 * const limiter = createLimiter({ policy: { name: "interactive", capacity: 30, refill: perSecond(5) } });
 * const decision = limiter.consume(["user", "42"]);
 * if (!decision.allowed) console.log(`try again in ${decision.retryAfterMs} ms`);
 */
export function createLimiter<S extends Store = MemoryStore>(options: LimiterOptions<S>): PlainLimiter<S> {
  checkLimiterSetup(options, LIMITER_OPTIONS);
  const decider = createDecider(options);
  const internals = internalsOf(decider) as PlainInternals;
  Object.assign(internals.acts, createPeek(internals), createGrantsAndFines(internals));
  // `S` has the type of `store.sync`, and the type checker cannot see that.
  return Object.assign(decider, verbsOf(internals)) as PlainLimiter<S>;
}

/**
 * Makes a limiter whose only verb is `consume`, for a gate. `options` may have other members. Throws like
 * {@link createLimiter}.
 */
export function createDecider<S extends Store>(options: LimiterOptions<S>): Decider {
  const own = ownMembers(options);
  const policy = definePolicy(own.policy);
  const store: Store = own.store === undefined ? defaultStore() : own.store;
  checkStore(store);
  const observer = own.observe ?? null;
  checkLimiter(policy, store);
  const setup: GuardSetup = { onStoreError: checkOnStoreError(own.onStoreError), policy, observer, makeLocal: (clock) => new MemoryStore({ clock }) };
  const guarded = store.guard?.protect(store, setup) ?? unguarded(store as SyncStore);

  const { shadow = false } = own;
  const isShadow = createShadow(shadow);
  const base = { sync: store.sync, policy, store, guarded, observer, isShadow };
  const consume = createConsume(base, shadow !== false, () => limiter);
  const limiter = {
    policy,
    store,
    parts: [] as readonly Decider[],
    waits: false,
    shadow: isShadow,
    consume: store.sync ? consume : (key: Key, asked?: ConsumeArgument) => throwOrReject(store, () => consume(key, asked)),
  } as Decider & { parts: readonly Decider[] };
  limiter.parts = Object.freeze([limiter]);
  attachInternals(limiter, { ...base, acts: { settle: createSettle(base) }, requests: null });
  return limiter;
}

/** The store of a limiter without the option `store`. */
export function defaultStore(): MemoryStore {
  return new MemoryStore();
}

type Base = Omit<PlainInternals, "acts" | "requests">;

function createConsume({ policy: own, store, guarded, observer, isShadow }: Base, mayShadow: boolean, limiterOf: () => Decider) {
  // Calls our memory store directly, which saves one call per decision. Each of its decisions is a new object.
  const isMemory = store instanceof MemoryStore;
  const decider = isMemory ? store : guarded;

  return (key: Key, asked?: ConsumeArgument): Decision | Promise<Decision> => {
    const policy = policyOf(asked, own);
    const encoded = encodeKey(key);
    if (policy !== own && isUnlimited(policy)) return withoutLimit({ store, policy: own });
    const cost = costOf(asked, policy as Policy);
    const listens = observer !== null && observer.listens();
    const sentAt = listens && !store.sync ? monotonicClock() : 0;
    const decided = decider.consume(policy as Policy, encoded, cost);
    if (listens || mayShadow || decided instanceof Promise) return finish(key, decided, listens, sentAt);
    return isMemory ? markNew(decided, store) : markCharged(decided, store);
  };

  // A separate function, because a function that makes a closure allocates for it on every call.
  function finish(key: Key, decided: Decision | Promise<Decision>, listens: boolean, sentAt: number): Decision | Promise<Decision> {
    const report = (taken: Decision, durationMs?: number): Decision => {
      const decision = !taken.allowed && mayShadow && isShadow(key) ? inShadow(taken) : markCharged(taken, store);
      if (listens) observer?.decided(limiterOf(), decision, durationMs);
      return decision;
    };
    if (decided instanceof Promise) return decided.then((decision) => report(decision, monotonicClock() - sentAt));
    return report(decided, store.sync ? undefined : 0);
  }
}

function createPeek({ policy: own, store, guarded, isShadow }: Base): Pick<Acts, "peek"> {
  return {
    peek(key, asked): Act<Decision> {
      requireMethod(store, "peek");
      const [policy, encoded] = [policyOf(asked as ConsumeArgument, own), encodeKey(key as Key)];
      if (isUnlimited(policy)) return () => withoutLimit({ store, policy: own });
      const cost = costOf(asked as ConsumeArgument, policy);
      return () => thenOne(guarded.peek(policy, encoded, cost), (decision) => (isShadow(key as Key) ? inShadow(decision) : decision));
    },
  };
}
