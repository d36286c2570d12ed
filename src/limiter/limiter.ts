import type { Clock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import { expected } from "../core/check.js";
import { encodeKey, type Key } from "../core/key.js";
import { definePolicy, samePolicy, type Policy } from "../core/policy.js";
import type { Store, SyncStore } from "../core/store.js";
import { MemoryStore } from "../stores/memory/memory.js";
import { makeAge } from "../guard/server-clock.js";
import { answer, policyOf, power, type ConsumeOptions } from "./arguments.js";
import { makeBreaker } from "../guard/circuit-breaker.js";
import { consumeLater, consumeNow } from "./decide.js";
import { makeReporter } from "./events.js";
import { Guard } from "../guard/call.js";
import { lookAtLimiter } from "../diagnostics/limiters.js";
import { makeFallback } from "../guard/fallback.js";
import { checkLimiterOptions, shadowOf, timeoutOf, type LimiterOptions } from "./options.js";
import { keepParts, type Parts } from "./internals.js";
import { peeker } from "./peek.js";
import { refunder } from "./refund.js";

/** `T` itself over a synchronous store, a promise of it over an asynchronous one, either when the type does not say which. */
export type Answer<S extends Store, T> = S extends SyncStore ? T : Promise<T>;

/**
 * A policy, a store, and what to do when the store fails.
 *
 * Over a synchronous store every method answers at once and throws on misuse; over an asynchronous one every method
 * returns a promise, which rejects on misuse.
 */
export interface Limiter<S extends Store = Store> {
  /** The limits it applies unless a request brings its own. */
  readonly policy: Policy;
  /** Where its buckets live. */
  readonly store: S;
  /**
   * Takes tokens for `key` if they are there, and nothing otherwise. The cost is 1 unless a number or options say so.
   *
   * A refusal is an answer, not an error. Throws a TypeError for a key that identifies nobody and a RangeError for a cost
   * that is not a whole number; nothing is taken then. A store that fails, or does not answer in time, does not throw: see
   * `onStoreError`.
   */
  consume(key: Key, cost?: number | ConsumeOptions): Answer<S, Decision>;
  /** What `consume` would answer, with what is left now. Takes nothing. Throws a TypeError when the store cannot, and what it fails with. */
  peek(key: Key, cost?: number | ConsumeOptions): Answer<S, Decision>;
  /**
   * Gives back what `decision` took from `key`, once, to where it was taken: the store, or this process where it decided
   * in the store's place. What has come back by itself meanwhile is not given back again: of a decision older than its
   * `resetMs` nothing. A second refund of one decision does nothing, and neither does one of a refusal or of a `peek`. That it
   * was this limiter's, and about this key, is taken on trust; and a copy (`{ ...decision }`) is another decision. A bare number of tokens is the administrator's form, which gives back as often as it is called.
   *
   * Never beyond full. Throws a TypeError when the store cannot, or for a decision under another policy name; what the store
   * fails with is thrown, and not tried again unless its code is `"ERR_STORE_OPEN"`.
   */
  refund(key: Key, what: Decision | number, options?: { readonly policy?: Policy }): Answer<S, void>;
  /** Forgets what `key` has spent. Throws a TypeError when the store cannot. */
  reset(key: Key, options?: { readonly policy?: Policy }): Answer<S, void>;
}

/**
 * Makes a limiter: the thing to ask before doing work for a caller.
 *
 * Throws a TypeError or RangeError that names the wrong option, and for a second limiter on one store that uses a policy
 * name with other numbers: their callers would share buckets that mean different things.
 * @example
 * const limiter = createLimiter({ policy: { name: "interactive", capacity: 30, refill: perSecond(5) } });
 * const decision = limiter.consume(["user", "42"]);
 * if (!decision.allowed) console.log(`try again in ${decision.retryAfterMs} ms`);
 */
export function createLimiter<S extends Store = MemoryStore>(options: LimiterOptions<S>): Limiter<S> {
  checkLimiterOptions(options);
  const policy = definePolicy(options.policy);
  const store = checkStore(options.store === undefined ? defaultStore(options.clock) : options.store);
  if (options.clock !== undefined && store.clock !== "server" && store.clock !== options.clock) {
    throw new TypeError("Expected `clock` to be the store's own, got another: give the clock to the store");
  }
  const fallback = makeFallback(options, store);
  const reporter = makeReporter(options.observe, policy, () => limiter);
  const breaker = makeBreaker(options.breaker, reporter.storeIs);
  const timeoutMs = timeoutOf(options);
  const guard = new Guard(timeoutMs, breaker);
  const parts: Parts = {
    policy,
    store,
    ask: guard.ask,
    timeoutMs,
    breaker,
    decideWithout: fallback.decide,
    localCharge: fallback.chargeOf,
    age: makeAge(store.clock),
    shadow: shadowOf(options),
    reporter,
  };
  claim(store, policy);
  lookAtLimiter(policy, store);

  const limiter: Limiter = {
    policy,
    store,
    consume: store.sync ? consumeNow(store, parts, breaker) : consumeLater(store, parts, guard),
    peek: peeker(parts),
    refund: refunder(parts, fallback),
    reset: (key, asked) =>
      answer(store, () => {
        const reset = power(store, "reset");
        const [own, encoded] = [policyOf(asked, policy), encodeKey(key)];
        return store.sync ? reset.call(store, own, encoded) : parts.ask(async () => reset.call(store, own, encoded));
      }),
  };
  keepParts(limiter, parts);
  // The type says by `S` what the value is by `store.sync`.
  return limiter as Limiter<S>;
}

/** The store of a limiter that is given none. */
export function defaultStore(clock: Clock | undefined): MemoryStore {
  return new MemoryStore(clock === undefined ? {} : { clock });
}

function checkStore(store: Store): Store {
  if (typeof store !== "object" || store === null || typeof store.consume !== "function" || typeof store.sync !== "boolean") {
    throw new TypeError(expected("store", "an object with `sync` and `consume`", store));
  }
  return store;
}

const claims = new WeakMap<Store, Map<string, Policy>>();

function claim(store: Store, policy: Policy): void {
  const byName = claims.get(store) ?? new Map<string, Policy>();
  const other = byName.get(policy.name);
  if (other !== undefined && !samePolicy(other, policy)) {
    throw new RangeError(
      `Expected policy "${policy.name}" to have the same numbers in every limiter on one store, got others: give it another name`,
    );
  }
  byName.set(policy.name, policy);
  claims.set(store, byName);
}
