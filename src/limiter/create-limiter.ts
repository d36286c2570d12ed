import { checkAnswer, checkLimiter, checkLimiterSetup, checkStore } from "#diagnostics";
import { ownMembers } from "../core/check.js";
import { monotonicClock, type Clock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import { encodeKey, type Key } from "../core/key.js";
import { bucketId, definePolicy, samePolicy, type Policy } from "../core/policy.js";
import { processWide } from "../platform.js";
import type { GuardSetup, Store, SyncStore } from "../port/store.js";
import { MemoryStore } from "../stores/memory/memory.js";
import { warnOnce } from "../warnings/warnings.js";
import { costOf, policyOf, requireMethod, throwOrReject, type ConsumeArgument } from "./arguments.js";
import { attachInternals, unguarded, type Internals } from "./internals.js";
import type { Limiter } from "./limiter.js";
import { failureSettingsOf, LIMITER_OPTIONS, type LimiterOptions } from "./options.js";
import { createBlock, createDebit } from "./fines.js";
import { createRefund, tookNothing } from "./refund.js";

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
export function createLimiter<S extends Store = MemoryStore>(options: LimiterOptions<S>): Limiter<S> {
  checkLimiterSetup(options, LIMITER_OPTIONS);
  const own = ownMembers(options);
  const policy = definePolicy(own.policy);
  const store: Store = own.store === undefined ? defaultStore(own.clock) : own.store;
  checkStore(store, own.clock);
  const failure = failureSettingsOf(own);
  const observer = own.observe ?? null;
  const { clock = monotonicClock } = own;
  const setup: GuardSetup = {
    failure,
    clock: store.clock === "server" ? clock : store.clock,
    makeLocal: defaultStore,
    policy,
    onChange: observer && ((state, error) => observer.storeChanged(limiter, state, error)),
    warn: warnOnce,
    check: checkAnswer,
  };
  const guarded = store.guard?.(store, setup) ?? unguarded(store as SyncStore, failure.storeTimeoutMs);
  const internals: Internals = { policy, store, guarded, shadow: own.shadow === true, observer };
  const consume = createConsume(internals, () => limiter);
  claim(store, policy);
  checkLimiter(policy, store);

  const limiter: Limiter = {
    policy,
    store,
    consume: store.sync ? consume : (key, asked) => throwOrReject(store, () => consume(key, asked)),
    peek: createPeek(internals),
    refund: createRefund(internals),
    debit: createDebit(internals),
    block: createBlock(internals),
    reset: (key, asked) =>
      throwOrReject(store, () => {
        const reset = requireMethod(store, "reset");
        const [named, encoded] = [policyOf(asked, policy), encodeKey(key)];
        return guarded.call([bucketId(named, encoded)], () => reset.call(store, named, encoded));
      }),
  };
  attachInternals(limiter, internals);
  // `S` has the type of `store.sync`, and the type checker cannot see that.
  return limiter as Limiter<S>;
}

/** The store of a limiter without the option `store`. */
export function defaultStore(clock: Clock | undefined): MemoryStore {
  return new MemoryStore({ clock });
}

function createConsume({ policy: own, store, guarded, shadow, observer }: Internals, limiterOf: () => Limiter) {
  // Calls our memory store directly, which saves one call per decision.
  const decider = store instanceof MemoryStore ? store : guarded;

  return (key: Key, asked?: ConsumeArgument): Decision | Promise<Decision> => {
    const policy = policyOf(asked, own);
    const cost = costOf(asked, policy);
    const encoded = encodeKey(key);
    const listens = observer !== null && observer.listens();
    const sentAt = listens && !store.sync ? monotonicClock() : 0;
    const decided = decider.consume(policy, encoded, cost);
    return listens || shadow ? finish(decided, listens, sentAt) : decided;
  };

  // A separate function, because a function that makes a closure allocates for it on every call.
  function finish(decided: Decision | Promise<Decision>, listens: boolean, sentAt: number): Decision | Promise<Decision> {
    const report = (taken: Decision, durationMs?: number): Decision => {
      const decision = shadow ? inShadow(taken) : taken;
      if (listens) observer?.decided(limiterOf(), decision, durationMs);
      return decision;
    };
    if (decided instanceof Promise) return decided.then((decision) => report(decision, monotonicClock() - sentAt));
    return report(decided, store.sync ? undefined : 0);
  }
}

function createPeek({ policy: own, store, guarded, shadow }: Internals): Limiter["peek"] {
  const finish = (decision: Decision): Decision => tookNothing(shadow ? inShadow(decision) : decision);
  return (key, asked) =>
    throwOrReject(store, () => {
      requireMethod(store, "peek");
      const [policy, encoded] = [policyOf(asked, own), encodeKey(key)];
      const peeked = guarded.peek(policy, encoded, costOf(asked, policy));
      return peeked instanceof Promise ? peeked.then(finish) : finish(peeked);
    });
}

/** Returns the decision of a limiter with `shadow: true`: a refusal becomes allowed and carries the refusal. */
function inShadow(decision: Decision): Decision {
  if (decision.allowed) return decision;
  return tookNothing({ ...decision, allowed: true, reason: null, retryAfterMs: 0, shadow: decision });
}

// Beyond 1,000 names the oldest is forgotten. A warning has been given by then.
const MOST_CLAIMS = 1_000;

/** Throws for two policies of one name with different numbers on one store. */
function claim(store: Store, policy: Policy): void {
  const claims = processWide("claims", () => new WeakMap<Store, Map<string, Policy>>());
  const byName = claims.get(store) ?? new Map<string, Policy>();
  const other = byName.get(policy.name);
  if (other !== undefined && !samePolicy(other, policy)) {
    throw new RangeError(
      `Expected policy "${policy.name}" to have the same numbers in every limiter on one store, got others: give it another name`,
    );
  }
  byName.set(policy.name, policy);
  if (byName.size > MOST_CLAIMS) byName.delete(byName.keys().next().value as string);
  claims.set(store, byName);
}
