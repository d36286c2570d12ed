import type { Decision } from "../core/decision.js";
import type { Costs } from "../core/limit.js";
import type { Move } from "../core/model.js";
import type { Policy } from "../core/policy.js";
import type { Charge, StoreAnswer, StoreCall } from "../core/records.js";
import { callOf, type MaybePromise, type Store } from "../port/store.js";

/** One function for each verb of a store. */
export interface StoreCalls<Sync extends boolean> {
  consume(policy: Policy, key: string, cost: Costs): MaybePromise<Sync, Decision>;
  peek(policy: Policy, key: string, cost: Costs): MaybePromise<Sync, Decision>;
  /** Charges several buckets together. */
  together(parts: readonly Charge[]): MaybePromise<Sync, readonly Decision[]>;
  adjust(policy: Policy, key: string, changes: Costs, from?: StoreCall["from"]): MaybePromise<Sync, boolean>;
  renew(policy: Policy, key: string, tokens: Costs, move: Move): MaybePromise<Sync, boolean>;
  block(policy: Policy, key: string, forMs: number): MaybePromise<Sync, void>;
  reset(policy: Policy, key: string): MaybePromise<Sync, void>;
}

/** The calls of a store as functions that return one answer. Throws or rejects as its `ask` does. */
export function callsOf<S extends Store>(store: S): StoreCalls<S["sync"]> {
  const one = (...asked: Parameters<typeof callOf>): StoreAnswer | Promise<StoreAnswer> => {
    const answers = store.ask(callOf(...asked));
    return isPromised(answers) ? answers.then(([answer]) => answer) : answers[0];
  };
  const calls: { [Verb in keyof StoreCalls<boolean>]: (...asked: Parameters<StoreCalls<boolean>[Verb]>) => unknown } = {
    consume: (policy, key, cost) => one("consume", policy, key, cost),
    peek: (policy, key, cost) => one("peek", policy, key, cost),
    together: (parts) => store.ask({ verb: "consume", parts: parts as [Charge, ...Charge[]], from: undefined, move: undefined }),
    adjust: (policy, key, cost, from) => one("adjust", policy, key, cost, { from }),
    renew: (policy, key, cost, move) => one("renew", policy, key, cost, { move }),
    block: (policy, key, forMs) => one("block", policy, key, forMs),
    reset: (policy, key) => one("reset", policy, key, 0),
  };
  return calls as StoreCalls<S["sync"]>;
}

// A store of an author may return a promise of another class.
function isPromised<T>(answer: T | PromiseLike<T>): answer is PromiseLike<T> {
  return typeof (answer as PromiseLike<T> | undefined)?.then === "function";
}
