import { readClock, type Clock } from "../core/clock.js";
import type { Decision, DecisionFacts } from "../core/decision.js";
import type { Policy } from "../core/policy.js";
import { MemoryStore } from "../stores/memory.js";
import { stillSpent } from "./age.js";
import { shareOf } from "./local-share.js";

/**
 * What the caller sees when the store fails: `"local"` (the default) decides in this process with a share of each limit,
 * `"allow"` lets everybody through, `"unavailable"` refuses. A refusal has the reason `"store_unavailable"`, which HTTP
 * says as 503, and is never a 429: that would claim a healthy service.
 */
export type OnStoreError = "local" | "allow" | "unavailable";

// Long enough that callers do not make an outage worse, short enough that they are back soon after it.
const RETRY_AFTER_MS = 1_000;

/** Decides in the store's place. */
export class Fallback {
  readonly #choice: OnStoreError;
  readonly #share: number;
  readonly #clock: Clock;
  readonly #shares = new WeakMap<Policy, Policy>();
  /** Of each local decision, the policy that it was charged under. */
  readonly #charged = new WeakMap<Decision, Policy>();
  #local: MemoryStore | null = null;

  constructor(choice: OnStoreError, share: number, clock: Clock) {
    this.#choice = choice;
    this.#share = share;
    this.#clock = clock;
  }

  /** The decision for a call that the store failed with `error`. */
  decide(policy: Policy, key: string, cost: number, error: unknown): Decision {
    // That much is known without the store: waiting would not help, and nothing asks for nothing.
    if (cost > policy.maxCost) return this.#unasked(policy, cost, "cost_above_capacity", Infinity, error);
    if (cost === 0 || this.#choice === "allow") return this.#unasked(policy, cost, null, 0, error);
    if (this.#choice === "unavailable") return this.#unasked(policy, cost, "store_unavailable", RETRY_AFTER_MS, error);
    this.#local ??= new MemoryStore({ clock: this.#clock });
    const share = this.#shareOf(policy, cost);
    const decision = this.#local.consume(share, key, cost);
    // Its own reason would be a 429.
    const degraded = { ...decision, reason: decision.allowed ? null : "store_unavailable", degraded: true, error } as Decision;
    if (decision.allowed) this.#charged.set(degraded, share);
    return degraded;
  }

  /** Gives back what a local decision took. Nothing for any other: nobody knows that it took something. */
  refund(key: string, decision: Decision): void {
    const share = this.#charged.get(decision);
    const due = share === undefined ? null : stillSpent(share, decision, readClock(this.#clock) - decision.at);
    if (due !== null) this.#local?.refund(due, key, decision.cost);
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
