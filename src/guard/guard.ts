import { readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import type { AsyncStore, GuardedStore, GuardSetup, Store } from "../core/store.js";
import { ConsumeCall, PlainCall, type CallSetup, type StartConsume } from "./call.js";
import { CircuitBreaker } from "./circuit-breaker.js";
import { Deadlines } from "./deadlines.js";
import { StoreUnavailableError } from "./errors.js";
import { Fallback } from "./fallback.js";
import { ServerClock } from "./server-clock.js";
import { UnansweredCalls } from "./unanswered.js";

/**
 * Timeout, circuit breaker and fallback for a store that can fail. A store carries it as `readonly guard = guard`, and
 * each limiter over the store asks what it makes instead of the store.
 *
 * A store whose `consume` can do without a promise hands over `start`, which sends the call and tells the outcome.
 * @example
 * class MyStore implements AsyncStore {
 *   readonly sync = false;
 *   readonly clock = "server";
 *   readonly guard = guard;
 *   constructor(private readonly client: { take(name: string, policy: Policy, cost: number): Promise<Decision> }) {}
 *   consume(policy: Policy, key: string, cost: number): Promise<Decision> {
 *     return this.client.take(`${policy.name} ${portableKey(key)}`, policy, cost);
 *   }
 * }
 */
export function guard(store: Store, setup: GuardSetup, start?: StartConsume): GuardedStore {
  const { storeTimeoutMs: timeoutMs } = setup.failure;
  const breaker = new CircuitBreaker(setup.failure.breaker, setup.onChange);
  const fallback = new Fallback(store, setup);
  const serverClock = new ServerClock(store.clock);
  const { consume, call } = store.sync ? guardedNow() : guardedLater();

  return {
    timeoutMs,
    consume,
    call,
    decideWithout: (policy, key, cost, error) => fallback.decide(policy, key, cost, error),
    localChargeOf: (decision) => fallback.chargeOf(decision),
    refundLocally: (decision, key) => fallback.refund(decision, key),
    learnTime: (decision, sentAt) => serverClock.learn(decision, sentAt),
    ageOf: (decision) => serverClock.ageOf(decision),
  };

  function guardedLater(): Pick<GuardedStore, "consume" | "call"> {
    const send: StartConsume = start ?? ((policy, key, cost, sent) => sent.follow(store.consume(policy, key, cost) as Promise<Decision>));
    const calls: CallSetup = { timeoutMs, breaker, deadlines: new Deadlines(timeoutMs), fallback, serverClock, unanswered: new UnansweredCalls(), send };
    const { recall } = store as AsyncStore;
    return {
      consume: (policy, key, cost) =>
        recall?.call(store, policy, key, cost) ?? new Promise((resolve) => new ConsumeCall(calls, policy, key, cost, resolve).start()),
      call: (make, notAsked) =>
        new Promise((resolve, reject) => {
          const failed = (error: unknown): void => {
            if (error instanceof StoreUnavailableError && error.code === "ERR_STORE_OPEN") notAsked?.();
            reject(error);
          };
          new PlainCall(calls, make, resolve, failed).start();
        }),
    };
  }

  function guardedNow(): Pick<GuardedStore, "consume" | "call"> {
    const callNow: GuardedStore["call"] = (make) => {
      try {
        const answer = make();
        breaker.succeeded();
        return answer;
      } catch (error) {
        // A clock that is not finite is misuse, not an outage.
        if (store.clock !== "server") readClock(store.clock);
        breaker.failed(error);
        throw error;
      }
    };
    return {
      call: callNow,
      consume(policy, key, cost) {
        try {
          return callNow(() => store.consume(policy, key, cost));
        } catch (error) {
          return fallback.decide(policy, key, cost, error);
        }
      },
    };
  }
}
