import { checkAnswers, limiterChecks } from "#diagnostics";
import { memberOf, ownMembers } from "../core/check.js";
import { monotonicClock, readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import { encodeKey, type Key } from "../core/key.js";
import { definePolicy, samePolicy, type Policy } from "../core/policy.js";
import type { StoreAnswer, StoreCall } from "../core/records.js";
import { processWide } from "../platform.js";
import { markNew } from "../port/charged.js";
import { callOf, type Store, type SyncStore } from "../port/store.js";
import { openGuard, peekGuarded, type GuardedStore, type GuardSetup } from "../port/guarded-store.js";
import { dateRulesOf } from "../port/kind-rules.js";
import { consumeIn, MemoryStore, type MemoryStoreOptions } from "../stores/memory/memory.js";
import { DOCS } from "../warnings/warnings.js";
import {
  checkNotCosts, checkPolicyIn, costOf, policyOf, requireVerb, throwOrReject, type ConsumeArgument,
} from "./arguments.js";
import {
  attachInternals, plainInternalsOf, type Thunk, type GateLimiter, type LimiterInternals, type PlainInternals, type VerbName,
} from "./internals.js";
import { inTier } from "./charge.js";
import type { PlainLimiter } from "./limiter.js";
import { thenOne } from "./now-or-later.js";
import { checkOnStoreError, LIMITER_OPTIONS, type LimiterOptions } from "./options.js";
import { createShadow, inShadow } from "./shadow.js";
import { isUnlimited, withoutLimit } from "./unlimited.js";
import { createOperatorVerbs } from "./verbs/operator-verbs.js";
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
  if (limiterChecks) limiterChecks.checkLimiterSetup(options, LIMITER_OPTIONS);
  const limiter = createGateLimiter(options);
  const internals = plainInternalsOf(limiter);
  Object.assign(internals, createPeek(internals), createOperatorVerbs(internals));
  // `S` has the type of `store.sync`, and the type checker cannot see that.
  return Object.assign(limiter, verbsOf(internals)) as PlainLimiter<S>;
}

/**
 * Makes a limiter whose only verb is `consume`, for a gate. `options` may have other members. Throws like
 * {@link createLimiter}.
 */
export function createGateLimiter<S extends Store>(options: LimiterOptions<S>): GateLimiter {
  const own = ownMembers(options);
  const policy = definePolicy(own.policy);
  const store: Store = own.store === undefined ? defaultStore(dateRulesOf(policy)?.storeOptions(policy)) : own.store;
  if (limiterChecks) limiterChecks.checkStore(store);
  const observer = own.observe ?? null;
  checkClaim(store, policy);
  if (limiterChecks) limiterChecks.checkLimiter(policy, store);
  dateRulesOf(policy)?.checkStore(store, policy, policy);
  const setup: GuardSetup = {
    onStoreError: checkOnStoreError(own.onStoreError), policy, observer,
    makeLocal: (clock) => new MemoryStore({ clock }),
  };
  const guarded = openGuard(memberOf(store, "guard"))?.protect(store, setup) ?? unguarded(store as SyncStore);

  const { shadow = false } = own;
  const isShadow = createShadow(shadow);
  const base = {
    sync: store.sync, policy, store, guarded, observer, isShadow, tiers: { wereCharged: false },
    log: limiterChecks ? limiterChecks.createDecisionLog() : null,
  };
  const consume = createConsume(base, shadow !== false, () => limiter);
  const limiter = {
    policy,
    store,
    parts: [] as readonly GateLimiter[],
    waits: false,
    shadow: isShadow,
    consume: store.sync ? consume : (key: Key, asked?: ConsumeArgument) => throwOrReject(store, () => consume(key, asked)),
  } as GateLimiter & { parts: readonly GateLimiter[] };
  limiter.parts = Object.freeze([limiter]);
  attachInternals(limiter, { ...base, settle: createSettle(base, () => limiter) });
  return limiter;
}

// Beyond 1,000 names the oldest is forgotten. A warning has been given by then.
const MOST_CLAIMS = 1_000;

/** Throws for two policies of one name with different numbers on one store. */
function checkClaim(store: Store, policy: Policy): void {
  const claims = processWide("claims", () => new WeakMap<Store, Map<string, Policy>>());
  const byName = claims.get(store) ?? new Map<string, Policy>();
  const other = byName.get(policy.name);
  if (other !== undefined && !samePolicy(other, policy)) {
    throw new RangeError(
      `Expected policy "${policy.name}" to have the same numbers in every limiter on one store, got others: give it another ` +
      `name. To leave room for some calls, write one limiter and a \`policy\` for each call, see ${DOCS}/guides/priority.md`,
    );
  }
  claims.set(store, byName.set(policy.name, policy));
  if (byName.size > MOST_CLAIMS) byName.delete(byName.keys().next().value as string);
}

/** The store of a limiter without the option `store`. */
export function defaultStore(options?: MemoryStoreOptions): MemoryStore {
  return new MemoryStore(options);
}

type Base = Omit<PlainInternals, VerbName>;

function createConsume(base: Base, mayShadow: boolean, limiterOf: () => GateLimiter) {
  const { policy: own, store, guarded, observer, isShadow, tiers, log } = base;
  // Calls our memory store directly, which saves one call per decision.
  const memory = store instanceof MemoryStore ? store : null;

  return (key: Key, asked?: ConsumeArgument): Decision | Promise<Decision> => {
    // Most calls name neither a cost nor a policy.
    if (typeof asked === "object") checkNotCosts(asked, own.limits);
    const policy = asked === undefined ? own : policyOf(asked, base);
    const encoded = encodeKey(key);
    if (limiterChecks) limiterChecks.checkKeyText(key, own);
    if (policy !== own) {
      if (isUnlimited(policy)) return withoutLimit({ store, policy: own });
      tiers.wereCharged = true;
    }
    const cost = asked === undefined ? own.ownCosts : costOf(asked, policy as Policy, own);
    const listens = observer !== null && observer.listens();
    const sentAt = listens && !store.sync ? monotonicClock() : 0;
    const fast = memory === null ? undefined : consumeIn(memory, policy as Policy, encoded, cost);
    const made = fast === undefined ? guarded.consume(policy as Policy, encoded, cost) : markNew(fast, store, encoded);
    const decided = policy === own ? made : inTier(made, policy as Policy);
    if (limiterChecks && !mayShadow) limiterChecks.watchHeld(store, policy as Policy, decided);
    return listens || mayShadow || log !== null ? finish(key, decided, listens, sentAt) : decided;
  };

  // A separate function, because a function that makes a closure allocates for it on every call.
  function finish(
    key: Key, decided: Decision | Promise<Decision>, listens: boolean, sentAt: number,
  ): Decision | Promise<Decision> {
    const report = (taken: Decision, durationMs?: number): Decision => {
      const decision = !taken.allowed && mayShadow && isShadow(key) ? inShadow(taken) : taken;
      log?.(key, decision);
      if (listens) observer?.decided(limiterOf(), decision, key, durationMs);
      return decision;
    };
    if (decided instanceof Promise) return decided.then((decision) => report(decision, monotonicClock() - sentAt));
    return report(decided, store.sync ? undefined : 0);
  }
}

function createPeek(base: Base): Pick<LimiterInternals, "peek"> {
  const { policy: own, store, guarded, isShadow, tiers } = base;
  return {
    peek(key, asked): Thunk<Decision> {
      requireVerb(store, "peek");
      if (tiers.wereCharged) checkPolicyIn(asked);
      const [policy, encoded] = [policyOf(asked as ConsumeArgument, base), encodeKey(key as Key)];
      if (isUnlimited(policy)) return () => withoutLimit({ store, policy: own });
      const cost = costOf(asked as ConsumeArgument, policy, own);
      const seen = (decision: Decision): Decision => (isShadow(key as Key) ? inShadow(decision) : decision);
      return () => thenOne(peekGuarded(guarded, policy, encoded, cost), seen);
    },
  };
}

/** Replaces the guard for a store without one. The store answers at once, and its errors reach the caller. */
function unguarded(store: SyncStore): GuardedStore {
  const ask = (call: StoreCall): readonly StoreAnswer[] => checkAnswers(call.verb, call.parts.length, store.ask(call));
  return {
    timeoutMs: 100,
    consume: (policy, key, cost) => {
      const fast = store instanceof MemoryStore ? consumeIn(store, policy, key, cost) : undefined;
      return markNew(fast ?? (ask(callOf("consume", policy, key, cost))[0] as Decision), store, key);
    },
    ask,
    decideWithout(_policy, _key, _cost, error) {
      throw error;
    },
    // There is no local decision to find.
    localChargeOf: none,
    granted: none,
    now: () => (store.clock === "server" ? Number.NaN : readClock(store.clock)),
  };
}

const none = (): null => null;
