import { monotonicClock, readClock, type Clock } from "../core/clock.js";
import type { Decision, DecisionFacts } from "../core/decision.js";
import { expected } from "../core/check.js";
import type { Policy } from "../core/policy.js";
import type { Store } from "../core/store.js";
import { MemoryStore } from "../stores/memory/memory.js";
import { shareOf } from "./local-share.js";
import type { LimiterOptions } from "../limiter/options.js";
import { refundable } from "../core/refundable.js";

/**
 * What the caller sees when the store fails: `"local"` (the default) decides in this process with a share of each limit,
 * `"allow"` lets everybody through, `"unavailable"` refuses. A refusal has the reason `"store_unavailable"`, which HTTP
 * says as 503, and is never a 429: that would claim a healthy service.
 */
export type OnStoreError = "local" | "allow" | "unavailable";

// Long enough that callers do not make an outage worse, short enough that they are back soon after it.
const RETRY_AFTER_MS = 1_000;

/** Where tokens were taken. */
export interface Charged {
  readonly store: Store;
  /** By whose numbers. */
  readonly policy: Policy;
}

// Whichever limiter is asked to give back.
const charged = new WeakMap<Decision, Charged & { readonly store: MemoryStore }>();

// Limiters that share buckets in a store share them here too, or each would give out a share of its own.
const locals = new WeakMap<Store, WeakMap<Clock, MemoryStore>>();

function localOf(store: Store, clock: Clock): MemoryStore {
  const byClock = locals.get(store) ?? new WeakMap<Clock, MemoryStore>();
  const local = byClock.get(clock) ?? new MemoryStore({ clock });
  locals.set(store, byClock.set(clock, local));
  return local;
}

/** Decides in the store's place. */
export interface Fallback {
  /** The decision for a call that the store failed with `error`. */
  decide(policy: Policy, key: string, cost: number, error: unknown): Decision;
  /** Where a local decision took its tokens, and under which policy; null for a decision that took none here. */
  chargeOf(decision: Decision): Charged | null;
  /** Gives back what a local decision took. Nothing for any other: nobody knows that it took something. */
  refund(key: string, decision: Decision): void;
}

/** What decides in place of `store`. Throws a RangeError or TypeError that names the wrong option. */
export function makeFallback(options: LimiterOptions<Store>, store: Store): Fallback {
  const { onStoreError = "local", localShare = 0.5 } = options;
  if (!CHOICES.includes(onStoreError)) throw new RangeError(expected("onStoreError", '"local", "allow" or "unavailable"', onStoreError));
  if (typeof localShare !== "number") throw new TypeError(expected("localShare", SHARE, localShare));
  if (!(localShare > 0 && localShare <= 1)) throw new RangeError(expected("localShare", SHARE, localShare));
  const clock = store.clock !== "server" ? store.clock : options.clock === undefined ? monotonicClock : options.clock;
  const shares = new WeakMap<Policy, Policy>();

  return {
    decide(policy, key, cost, error) {
      // That much is known without the store: waiting would not help, and nothing asks for nothing.
      if (cost > policy.maxCost) return unasked(policy, cost, "cost_above_capacity", Infinity, error);
      if (cost === 0 || onStoreError === "allow") return unasked(policy, cost, null, 0, error);
      if (onStoreError === "unavailable") return unasked(policy, cost, "store_unavailable", RETRY_AFTER_MS, error);
      const local = localOf(store, clock);
      const share = shareFor(policy, cost);
      const decision = local.consume(share, key, cost);
      // Its own reason would be a 429.
      const degraded = { ...decision, reason: decision.allowed ? null : "store_unavailable", degraded: true, error } as Decision;
      if (decision.allowed) charged.set(degraded, { store: local, policy: share });
      return degraded;
    },
    chargeOf: (decision) => charged.get(decision) ?? null,
    refund(key, decision) {
      const { store: local, policy } = charged.get(decision) ?? {};
      if (local === undefined || policy === undefined) return;
      const ageMs = readClock(local.clock) - decision.at;
      for (const due of refundable(decision, policy, decision.cost, ageMs)) local.refund(due.policy, key, due.tokens);
    },
  };

  function unasked(policy: Policy, cost: number, reason: Decision["reason"], retryAfterMs: number, error: unknown): Decision {
    const [{ name: limit, capacity }] = policy.limits;
    const facts: DecisionFacts = {
      policy: policy.name, limit, cost, capacity, remaining: 0, retryAfterMs, nextTokenMs: 0, resetMs: 0,
      limits: null, at: readClock(clock), degraded: true, error,
    };
    return { allowed: reason === null, reason, ...facts } as Decision;
  }

  // Costs above the share are rare, and as many as the capacity: they are not kept.
  function shareFor(policy: Policy, cost: number): Policy {
    let share = shares.get(policy);
    if (share === undefined) shares.set(policy, (share = shareOf(policy, localShare, 1)));
    return cost <= share.maxCost ? share : shareOf(policy, localShare, cost);
  }
}

const CHOICES: readonly OnStoreError[] = ["local", "allow", "unavailable"];
const SHARE = "a number above 0 and at most 1";
