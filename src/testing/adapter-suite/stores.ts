import { fullBucket, type Bucket } from "../../core/bucket.js";
import type { Clock } from "../../core/clock.js";
import { consume, refund } from "../../core/decision.js";
import type { Policy } from "../../core/policy.js";
import type { AsyncStore, Store } from "../../core/store.js";
import { guard } from "../../guard/guard.js";

/** A store of a few keys that answers later, in a later turn of the event loop. */
export function laterStore(clock: Clock): AsyncStore {
  const kept = new Map<string, Bucket[]>();
  const bucketsOf = (policy: Policy, key: string): Bucket[] => {
    const name = `${policy.name} ${key}`;
    let buckets = kept.get(name);
    if (buckets === undefined) kept.set(name, (buckets = policy.limits.map(fullBucket)));
    return buckets;
  };
  const later = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
  return {
    sync: false,
    clock,
    guard,
    async consume(policy, key, cost) {
      await later();
      return consume(bucketsOf(policy, key), policy, cost, clock());
    },
    async refund(policy, key, tokens) {
      await later();
      refund(bucketsOf(policy, key), policy, tokens, clock());
    },
  };
}

/** Stores that are down, one that answers at once and one that answers later. */
export function deadStores(clock: Clock): readonly Store[] {
  const fail = (): never => {
    throw new Error("the store is down");
  };
  return [
    { sync: true, clock, guard, consume: fail },
    { sync: false, clock, guard, consume: async () => fail() },
    { sync: false, clock, guard, consume: () => new Promise(() => {}) },
  ];
}
