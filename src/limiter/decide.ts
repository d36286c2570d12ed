import { readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import { encodeKey, type Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { AsyncStore, SyncStore } from "../core/store.js";
import { costOf, policyOf, type Asked } from "./asked.js";
import { decideWithoutStore, type OnStoreError } from "./on-store-error.js";

/** `consume` of a limiter over a synchronous store. Input is checked first, so that only the store's own failures count as such. */
export function consumeNow(store: SyncStore, fallback: Policy, onStoreError: OnStoreError) {
  return (key: Key, asked?: Asked): Decision => {
    const policy = policyOf(asked, fallback);
    const cost = costOf(asked);
    const encoded = encodeKey(key);
    try {
      return store.consume(policy, encoded, cost);
    } catch (error) {
      // A clock that tells nonsense is misuse, and must not pass for an outage.
      if (store.clock !== "server") readClock(store.clock);
      return decideWithoutStore(onStoreError, policy, cost, error);
    }
  };
}

/** `consume` of a limiter over an asynchronous store. */
export function consumeLater(store: AsyncStore, fallback: Policy, onStoreError: OnStoreError) {
  const ask = async (policy: Policy, encoded: string, cost: number): Promise<Decision> => {
    try {
      return await store.consume(policy, encoded, cost);
    } catch (error) {
      return decideWithoutStore(onStoreError, policy, cost, error);
    }
  };
  return (key: Key, asked?: Asked): Promise<Decision> => {
    try {
      const policy = policyOf(asked, fallback);
      const cost = costOf(asked);
      const encoded = encodeKey(key);
      const known = store.recall?.(policy, encoded, cost) ?? null;
      return known === null ? ask(policy, encoded, cost) : Promise.resolve(known);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  };
}
