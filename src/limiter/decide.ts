import { monotonicClock, readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import { encodeKey, type Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { AsyncStore, SyncStore } from "../core/store.js";
import { costOf, policyOf, type Asked } from "./asked.js";
import type { Breaker } from "./breaker.js";
import type { Parts } from "./parts.js";
import { inShadow } from "./shadow.js";

/** `consume` of a limiter over a synchronous store. Input is checked first, so that only the store's own failures count as such. */
export function consumeNow(store: SyncStore, { policy: own, decideWithout, shadow, reporter }: Parts, breaker: Breaker) {
  return (key: Key, asked?: Asked): Decision => {
    const policy = policyOf(asked, own);
    const cost = costOf(asked);
    const encoded = encodeKey(key);
    let decision: Decision;
    try {
      decision = store.consume(policy, encoded, cost);
      breaker.answered();
    } catch (error) {
      // A clock that tells nonsense is misuse, and must not pass for an outage.
      if (store.clock !== "server") readClock(store.clock);
      breaker.failed(error);
      decision = decideWithout(policy, encoded, cost, error);
    }
    if (shadow) decision = inShadow(decision);
    if (reporter.listens()) reporter.decided(decision);
    return decision;
  };
}

/** `consume` of a limiter over an asynchronous store. */
export function consumeLater(store: AsyncStore, { policy: own, decideWithout, ask, age, shadow, reporter }: Parts) {
  return (key: Key, asked?: Asked): Promise<Decision> => {
    try {
      const policy = policyOf(asked, own);
      const cost = costOf(asked);
      const encoded = encodeKey(key);
      const known = store.recall?.(policy, encoded, cost) ?? null;
      return known === null ? decide(policy, encoded, cost) : Promise.resolve(finish(known, 0));
    } catch (error) {
      return Promise.reject(error as Error);
    }
  };

  async function decide(policy: Policy, key: string, cost: number): Promise<Decision> {
    const sentAt = monotonicClock();
    let decision: Decision;
    try {
      decision = await ask(() => store.consume(policy, key, cost));
      age.hear(decision, sentAt);
    } catch (error) {
      decision = decideWithout(policy, key, cost, error);
    }
    return finish(decision, reporter.listens() ? monotonicClock() - sentAt : 0);
  }

  function finish(decision: Decision, durationMs: number): Decision {
    const answer = shadow ? inShadow(decision) : decision;
    if (reporter.listens()) reporter.decided(answer, durationMs);
    return answer;
  }
}
