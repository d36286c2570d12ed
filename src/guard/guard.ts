import { bucketId } from "../core/policy.js";
import { readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import type { AsyncStore, GuardedStore, GuardSetup, Store, StoreMethods } from "../port/store.js";
import { ConsumeCall, PlainCall, type CallSetup, type StartConsume } from "./call.js";
import { CircuitBreaker, type BreakerCall } from "./circuit-breaker.js";
import { createDeadlines } from "./deadlines.js";
import { StoreUnavailableError } from "./errors.js";
import { Fallback } from "./fallback.js";
import { ServerClock } from "./server-clock.js";
import { StoreWarnings } from "./store-warnings.js";

/**
 * Timeout, circuit breaker and fallback for a store that can fail. A store carries it as `readonly guard = guard`. Each
 * limiter over the store then asks the guarded store instead.
 *
 * A store whose `consume` works without a promise passes `start`, which sends the call and reports the outcome. An
 * answer that is not a decision is a failure of the store.
 * @example
 * class MyStore implements AsyncStore {
 *   readonly sync = false;
 *   readonly clock = "server";
 *   readonly guard = guard;
 *   constructor(private readonly client: { take(name: string, policy: Policy, costs: Costs): Promise<Decision> }) {}
 *   consume(policy: Policy, key: string, costs: Costs): Promise<Decision> {
 *     return this.client.take(bucketName(policy, key), policy, costs);
 *   }
 * }
 */
export function guard(store: Store, setup: GuardSetup, start?: StartConsume): GuardedStore {
  const { storeTimeoutMs: timeoutMs } = setup.failure;
  const warnings = new StoreWarnings(setup);
  const breaker = new CircuitBreaker(setup.failure.breaker, (state, error) => {
    if (setup.onChange !== null) setup.onChange(state, error);
    else if (state === "unavailable") warnings.unavailable(error);
  });
  const fallback = new Fallback(store, setup);
  const serverClock = new ServerClock(store.clock);
  const { consume, call } = store.sync ? guardedNow() : guardedLater();

  return {
    timeoutMs,
    consume,
    peek: (policy, key, costs) => call([bucketId(policy, key)], () => peekOnce(policy, key, costs)),
    call,
    decideWithout: (policy, key, costs, error) => fallback.decide(policy, key, costs, error),
    localChargeOf: (decision) => fallback.chargeOf(decision),
    refundLocally: (decision, key) => fallback.refund(decision, key),
    learnTime: (decision, sentAt) => serverClock.learn(decision, sentAt),
    ageOf: (decision) => serverClock.ageOf(decision),
  };

  function peekOnce(...asked: Parameters<GuardedStore["peek"]>): Decision | Promise<Decision> {
    const answer = (store as StoreMethods<boolean>).peek?.(...asked) as Decision | Promise<Decision>;
    return store.sync ? setup.check(answer, "peek") : Promise.resolve(answer).then((decision) => setup.check(decision, "peek"));
  }

  function guardedLater(): Pick<GuardedStore, "consume" | "call"> {
    const send: StartConsume = start ?? ((policy, key, costs, sent) => sent.follow(store.consume(policy, key, costs) as Promise<Decision>));
    const calls: CallSetup = { timeoutMs, breaker, deadlines: createDeadlines(timeoutMs), fallback, serverClock, warnings, send, check: setup.check };
    const { recall } = store as AsyncStore;
    return {
      consume: (policy, key, costs) =>
        recall?.call(store, policy, key, costs) ?? new Promise((resolve) => new ConsumeCall(calls, policy, key, costs, resolve).start()),
      call: (buckets, make, notAsked) =>
        new Promise((resolve, reject) => {
          const failed = (error: unknown): void => {
            if (error instanceof StoreUnavailableError && error.code === "ERR_STORE_OPEN") notAsked?.();
            reject(error);
          };
          new PlainCall(calls, buckets, make, resolve, failed).start();
        }),
    };
  }

  function guardedNow(): Pick<GuardedStore, "consume" | "call"> {
    const callNow = <T>(buckets: readonly string[], make: () => T): T => {
      const made: BreakerCall = { isProbe: false, bucketIds: () => buckets };
      // Asked in any case, since it answers at once.
      breaker.refusal(made);
      try {
        const answer = make();
        breaker.succeeded(made);
        return answer;
      } catch (error) {
        // A clock that is not finite is misuse, not an outage.
        if (store.clock !== "server") readClock(store.clock);
        warnings.failed(error);
        breaker.failed(error, made);
        throw error;
      }
    };
    return {
      call: callNow,
      consume(policy, key, costs) {
        try {
          return callNow([bucketId(policy, key)], () => setup.check(store.consume(policy, key, costs), "consume"));
        } catch (error) {
          return fallback.decide(policy, key, costs, error);
        }
      },
    };
  }
}
