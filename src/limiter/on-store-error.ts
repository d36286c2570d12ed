import { readClock, type Clock } from "../core/clock.js";
import type { Decision, DecisionFacts } from "../core/decision.js";
import type { Policy } from "../core/policy.js";
import type { Store } from "../core/store.js";
import { MemoryStore } from "../stores/memory.js";
import { shareOf } from "./local-share.js";
import { stillOut } from "./still-out.js";

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
export class Fallback {
  readonly #choice: OnStoreError;
  readonly #share: number;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #shares = new WeakMap<Policy, Policy>();

  constructor(choice: OnStoreError, share: number, store: Store, clock: Clock) {
    this.#choice = choice;
    this.#share = share;
    this.#store = store;
    this.#clock = clock;
  }

  /** The decision for a call that the store failed with `error`. */
  decide(policy: Policy, key: string, cost: number, error: unknown): Decision {
    // That much is known without the store: waiting would not help, and nothing asks for nothing.
    if (cost > policy.maxCost) return this.#unasked(policy, cost, "cost_above_capacity", Infinity, error);
    if (cost === 0 || this.#choice === "allow") return this.#unasked(policy, cost, null, 0, error);
    if (this.#choice === "unavailable") return this.#unasked(policy, cost, "store_unavailable", RETRY_AFTER_MS, error);
    const local = localOf(this.#store, this.#clock);
    const share = this.#shareOf(policy, cost);
    const decision = local.consume(share, key, cost);
    // Its own reason would be a 429.
    const degraded = { ...decision, reason: decision.allowed ? null : "store_unavailable", degraded: true, error } as Decision;
    if (decision.allowed) charged.set(degraded, { store: local, policy: share });
    return degraded;
  }

  /** Where a local decision took its tokens, and under which policy; null for a decision that took none here. */
  chargeOf(decision: Decision): Charged | null {
    return charged.get(decision) ?? null;
  }

  /** Gives back what a local decision took. Nothing for any other: nobody knows that it took something. */
  refund(key: string, decision: Decision): void {
    const { store, policy } = charged.get(decision) ?? {};
    if (store === undefined || policy === undefined) return;
    const ageMs = readClock(store.clock) - decision.at;
    for (const due of stillOut(decision, policy, decision.cost, ageMs)) store.refund(due.policy, key, due.tokens);
  }

  #unasked(policy: Policy, cost: number, reason: Decision["reason"], retryAfterMs: number, error: unknown): Decision {
    const [{ name: limit, capacity }] = policy.limits;
    const facts: DecisionFacts = {
      policy: policy.name, limit, cost, capacity, remaining: 0, retryAfterMs, nextTokenMs: 0, resetMs: 0,
      limits: null, at: readClock(this.#clock), degraded: true, error,
    };
    return { allowed: reason === null, reason, ...facts } as Decision;
  }

  // Costs above the share are rare, and as many as the capacity: they are not kept.
  #shareOf(policy: Policy, cost: number): Policy {
    let share = this.#shares.get(policy);
    if (share === undefined) this.#shares.set(policy, (share = shareOf(policy, this.#share, 1)));
    return cost <= share.maxCost ? share : shareOf(policy, this.#share, cost);
  }
}
