import { checkAnswers, guardChecks } from "#diagnostics";
import { memberOf, ownMembers, expected, positiveInteger } from "../core/check.js";
import { monotonicClock, readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import type { StoreAnswer, StoreCall } from "../core/records.js";
import { markNew } from "../port/charged.js";
import type { GuardOptions, GuardSettings } from "../port/guard-options.js";
import { callOf, type AsyncStore, type Guard, type Store, type StoreObserver, type SyncStore } from "../port/store.js";
import type { GuardedStore, OpenGuard, GuardSetup } from "../port/guarded-store.js";
import { bucketIdsOf, ConsumeCall, StoreAsk, type CallSetup, type StartConsume } from "./call.js";
import { CircuitBreaker, type BreakerCall } from "./circuit-breaker.js";
import { createDeadlines, type Deadlines } from "./deadlines.js";
import { StoreUnavailableError, type CauseOf } from "./errors.js";
import { Fallback } from "./fallback.js";
import { ServerClock } from "./server-clock.js";
import { StoreWarnings } from "./store-warnings.js";

/** The parts of a store that make its {@link guard} faster, and its errors clearer. */
interface GuardedClient {
  /** Sends a `consume` without a promise, and reports the outcome. Default: `store.ask`. */
  readonly start?: StartConsume | undefined;
  readonly causeOf?: CauseOf | undefined;
}

/**
 * Makes the guard of a store that can fail: timeout, circuit breaker and fallback. A store makes one and carries it as
 * `readonly guard = guard(options)`. All limiters over the store call the guard instead of the store. So they share one
 * timeout, one circuit breaker and one local share of each bucket.
 *
 * `client.causeOf` makes errors clearer. It returns the error with which the client's connection failed: the cause of a
 * timeout, or of the client's own error. It returns null while the client is not connected and does not know why yet,
 * and undefined while it is connected, when it never tells, and for an error that the server sent.
 *
 * An answer that is not a decision is a failure of the store. At most 1,000 observers are told of an outage. Throws a
 * TypeError or RangeError that names the wrong option.
 * @example
 * class MyStore implements AsyncStore {
 *   readonly sync = false;
 *   readonly clock = "server";
 *   readonly guard = guard({ timeoutMs: 250, sharedBy: 4 });
 *   constructor(private readonly client: { take(name: string, policy: Policy, costs: Costs): Promise<Decision> }) {}
 *   async ask({ parts: [{ policy, key, cost }] }: StoreCall): Promise<readonly Decision[]> {
 *     return [await this.client.take(bucketName(policy, key), policy, cost)];
 *   }
 * }
 */
export function guard(
  options: GuardOptions = {}, client: { readonly causeOf?: ((error: unknown) => unknown) | undefined } = {},
): Guard {
  return guardStarting(options, client);
}

/** The {@link guard} of a store that can send a `consume` without a promise. */
export function guardStarting(options: GuardOptions, client: GuardedClient): Guard {
  return new StoreGuard(guardSettingsOf(options), ownMembers(client));
}

// The guard keeps observers of limiters that are gone. Not every platform has weak references, so there is a bound.
const MOST_OBSERVERS = 1_000;

class StoreGuard implements OpenGuard {
  declare readonly "made by guard() of sluice/store": true;
  readonly #settings: GuardSettings;
  readonly #client: GuardedClient;
  readonly #warnings: StoreWarnings;
  readonly #breaker: CircuitBreaker;
  readonly #deadlines: Deadlines;
  /** Each observer, with the store that its first limiter asks: this one, or a wrapper of it. */
  readonly #observers = new Map<StoreObserver, Store>();
  #fallback: Fallback | null = null;
  #serverClock: ServerClock | null = null;

  constructor(settings: GuardSettings, client: GuardedClient) {
    this.#settings = settings;
    this.#client = client;
    this.#warnings = new StoreWarnings(settings, client.causeOf ?? neverKnown);
    this.#breaker = new CircuitBreaker(settings.breaker, (state, error) => this.#tell(state, error));
    this.#deadlines = createDeadlines(settings.timeoutMs);
  }

  protect(store: Store, limiter: GuardSetup): GuardedStore {
    if (guardChecks && store.sync) guardChecks.checkNoTimeout(this.#settings.givenTimeoutMs);
    if (guardChecks && !store.sync) guardChecks.hintSharedBy(this.#settings, limiter);
    const calls = this.#setupOf(store, limiter);
    this.#add(store, limiter);
    const { serverClock, timeoutMs, decideWithout, fallback } = calls;
    return {
      timeoutMs,
      ...(store.sync ? answeringNow(store, calls) : answeringLater(store, calls)),
      decideWithout,
      granted: (policy, key, costs, decision) => fallback.granted(policy, key, costs, decision),
      localChargeOf: (decision) => fallback.chargeOf(decision),
      now: () => serverClock.now(),
    };
  }

  #setupOf(store: Store, { onStoreError, makeLocal }: GuardSetup): CallSetup {
    const { timeoutMs, sharedBy } = this.#settings;
    const { start = startWithPromise, causeOf = neverKnown } = this.#client;
    const fallback = (this.#fallback ??= new Fallback(
      sharedBy, store.clock === "server" ? monotonicClock : store.clock, makeLocal,
    ));
    this.#serverClock ??= new ServerClock(store.clock);
    return {
      timeoutMs, breaker: this.#breaker, deadlines: this.#deadlines, serverClock: this.#serverClock,
      warnings: this.#warnings, start, causeOf, store, fallback,
      tellFailure: (error) => this.#warnings.failed(error, this.#breaker.successes),
      decideWithout: (policy, key, costs, error) => {
        const decision = fallback.decide(policy, key, costs, error, onStoreError);
        if (decision.reason === "store_unavailable" && this.#observers.size === 0) {
          this.#warnings.refused(error, this.#breaker.successes);
        }
        return markNew(decision, store, key);
      },
    };
  }

  #add(store: Store, { onStoreError, policy, observer }: GuardSetup): void {
    this.#warnings.add(policy.name, onStoreError);
    if (observer === null || this.#observers.has(observer) || this.#observers.size >= MOST_OBSERVERS) return;
    this.#observers.set(observer, store);
  }

  #tell(state: "unavailable" | "available", error: unknown): void {
    let isHeard = false;
    for (const [observer, store] of this.#observers) if (observer.storeChanged(store, state, error)) isHeard = true;
    if (state === "unavailable" && !isHeard) this.#warnings.unavailable(error, this.#breaker.successes);
  }
}

const neverKnown: CauseOf = () => undefined;

const startWithPromise: StartConsume = (store, policy, key, costs, call) =>
  call.follow(store.ask(callOf("consume", policy, key, costs)));

type GuardedCalls = Pick<GuardedStore, "consume" | "ask">;

function answeringLater(store: AsyncStore, calls: CallSetup): GuardedCalls {
  const recall = memberOf(store, "recall");
  return {
    consume: (policy, key, costs) =>
      recall?.call(store, policy, key, costs) ??
      new Promise((resolve) => new ConsumeCall(calls, policy, key, costs, resolve).start()),
    ask: (call, given) =>
      new Promise((resolve, reject) => {
        const options = ownMembers(given ?? {});
        const failed = (error: unknown): void => {
          if (error instanceof StoreUnavailableError && error.code === "ERR_STORE_OPEN") options.notAsked?.();
          reject(error);
        };
        new StoreAsk(calls, call, options, resolve, failed).start();
      }),
  };
}

function answeringNow(store: SyncStore, { breaker, tellFailure, decideWithout, fallback }: CallSetup): GuardedCalls {
  const send = (call: StoreCall): readonly StoreAnswer[] => checkAnswers(call.verb, call.parts.length, store.ask(call));
  const ask = (call: StoreCall): readonly StoreAnswer[] => {
    const made: BreakerCall = { isProbe: false, bucketIds: () => bucketIdsOf(call) };
    // Asked in any case, since it answers at once.
    breaker.refusal(made);
    try {
      const answers = send(call);
      breaker.succeeded(made);
      return answers;
    } catch (error) {
      // A clock that is not finite is misuse, not an outage.
      if (store.clock !== "server") readClock(store.clock);
      tellFailure(error);
      breaker.failed(error, made);
      throw error;
    }
  };
  return {
    // A call in the background takes no time from others, since it answers at once.
    ask: (call, options) => (ownMembers(options ?? {}).inBackground === true ? send(call) : ask(call)),
    consume(policy, key, costs) {
      try {
        const [made] = ask(callOf("consume", policy, key, costs));
        const decision = markNew(made as Decision, store, key);
        fallback.granted(policy, key, costs, decision);
        return decision;
      } catch (error) {
        return decideWithout(policy, key, costs, error);
      }
    },
  };
}

/** The names of all {@link GuardOptions}, which are options of every store that can fail. */
export const GUARD_OPTIONS = ["timeoutMs", "breaker", "sharedBy"] as const satisfies readonly (keyof GuardOptions)[];

const MOST_PROCESSES = 1_000_000;

/** Returns the options with their defaults. Throws a TypeError or RangeError that names the wrong option. */
function guardSettingsOf(options: GuardOptions): GuardSettings {
  if (guardChecks) guardChecks.checkGuardSetup(options, GUARD_OPTIONS);
  const { timeoutMs: givenTimeoutMs, breaker = {}, sharedBy: givenSharedBy } = ownMembers(options);
  const sharedBy = givenSharedBy === undefined ? 2 : givenSharedBy;
  const timeoutMs = givenTimeoutMs === undefined ? 100 : givenTimeoutMs;
  if (timeoutMs !== Infinity) positiveInteger("timeoutMs", timeoutMs);
  const { failures = 5, probeEveryMs = 1_000 } = ownMembers(breaker === false ? {} : breaker);
  positiveInteger("breaker.failures", failures);
  positiveInteger("breaker.probeEveryMs", probeEveryMs);
  if (positiveInteger("sharedBy", sharedBy) > MOST_PROCESSES) {
    throw new RangeError(expected("sharedBy", `at most ${MOST_PROCESSES}`, sharedBy));
  }
  return {
    timeoutMs, givenTimeoutMs, sharedBy, isDefaultShare: givenSharedBy === undefined,
    breaker: breaker && { failures, probeEveryMs },
  };
}

/** Returns the options of the guard among those of a store. */
export function guardOptionsOf({ timeoutMs, breaker, sharedBy }: GuardOptions): GuardOptions {
  return { timeoutMs, breaker, sharedBy };
}
