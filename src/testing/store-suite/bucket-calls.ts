import { hasVerb } from "../../port/store.js";
import type { Decision } from "../../core/decision.js";
import type { Costs } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";
import type { SuiteCall } from "./states.js";
import type { Trial } from "./trial.js";

/** The calls of one bucket, for a case that makes one after another. Each answer is compared with the core's. */
export interface BucketCalls {
  /** Calls `consume`. */
  take(cost?: Costs): Promise<Decision>;
  /** Calls `peek` if the store can be asked for it. */
  peek(cost: Costs): Promise<unknown>;
  adjust(changes: Costs, at?: SuiteCall["at"]): Promise<unknown>;
  renew(tokens: Costs, from: number, to: number): Promise<unknown>;
  block(forMs: number): Promise<unknown>;
  reset(): Promise<unknown>;
}

/** The calls of one bucket. A single call goes through a random one of the open stores. */
export function callsOn(trial: Trial, policy: Policy, key = "caller"): BucketCalls {
  const make = async (method: SuiteCall["method"], tokens: Costs, more: Partial<SuiteCall> = {}): Promise<unknown> =>
    (await trial.callAll({ method, policy, key, tokens, ...more }))[0];
  return {
    take: async (cost = 1) => (await make("consume", cost)) as Decision,
    peek: async (cost) => (hasVerb(trial.store(0), "peek") ? make("peek", cost) : undefined),
    adjust: (changes, at) => make("adjust", changes, { at }),
    renew: (tokens, from, to) => make("renew", tokens, { at: from, to }),
    block: (forMs) => make("block", forMs),
    reset: () => make("reset", 0),
  };
}
