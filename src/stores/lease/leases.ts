import type { Decision } from "../../core/decision.js";
import { bucketId, samePolicy, type Policy } from "../../core/policy.js";
import { HOT_REQUESTS } from "./demand.js";
import { beginLease, step, type LeaseEffect, type LeaseEvent, type LeaseState } from "./key-lease.js";
import { refillOf, type LeaseInstant, type LeaseTerms } from "./terms.js";

// Together these bound the memory to a few megabytes.
const MOST_LEASES = 10_000;
const MOST_COUNTED = 10_000;
const LONGEST_LEASED = 128;

/** A leased key. */
export class KeyLease {
  readonly policy: Policy;
  readonly key: string;
  state: LeaseState;
  /** The call that is under way. Resolves to nothing of use; rejects as the store does. */
  flight: Promise<unknown> | null = null;

  constructor(terms: LeaseTerms, key: string, cost: number, now: LeaseInstant, isOther: boolean) {
    this.policy = terms.policy;
    this.key = key;
    this.state = beginLease(terms, cost, now, isOther);
  }

  /** The decision on a request, if it needs no call. Null when it does: nothing has changed then. */
  decide(cost: number, now: LeaseInstant): Decision | null {
    const { state, effect } = step(this.state, { what: "request", cost, now });
    if (effect.what !== "decide") return null;
    this.state = state;
    return effect.decision;
  }

  /** Tells the lease of an event. Returns what it wants done. */
  tell(event: LeaseEvent): LeaseEffect {
    const { state, effect } = step(this.state, event);
    this.state = state;
    return effect;
  }
}

/**
 * The hot keys of this process and their leases.
 *
 * A key is hot from 4 requests within `leaseMs`. Beyond 10,000 leases the one that was renewed longest ago is
 * forgotten, and its tokens lapse. Beyond 10,000 keys within `leaseMs`, further keys are not counted.
 */
export class Leases {
  readonly #leaseMs: number;
  // By the policy's name, then the key, so that a grant concatenates no strings.
  readonly #leases = new Map<string, Map<string, KeyLease>>();
  readonly #renewedFirst = new Set<KeyLease>();
  /** Requests of keys without a lease, since `#countedFrom`. */
  #counts = new Map<string, number>();
  #countedFrom = -Infinity;

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  /** All leases, the one renewed longest ago first. */
  all(): Iterable<KeyLease> {
    return this.#renewedFirst;
  }

  /** The lease of a key under these numbers. Undefined when it has none. */
  find(policy: Policy, key: string): KeyLease | undefined {
    const lease = this.#leases.get(policy.name)?.get(key);
    return lease !== undefined && samePolicy(lease.policy, policy) ? lease : undefined;
  }

  /** The lease of a key that is asked for now. Undefined while the key is cold, or is never leased. */
  ask(policy: Policy, key: string, cost: number, now: LeaseInstant): KeyLease | undefined {
    const terms = { policy, limit: policy.limits[0], leaseMs: this.#leaseMs };
    if (policy.name.length + key.length >= LONGEST_LEASED || terms.limit.capacity < refillOf(terms)) return undefined;
    const lease = this.find(policy, key);
    if (lease !== undefined) return lease;
    // Numbers that alternate end the other lease at once, before it holds tokens that would lapse.
    const isOther = this.#leases.get(policy.name)?.has(key) === true;
    return isOther || this.#isHot(policy, key, now) ? this.#begin(terms, key, cost, now, isOther) : undefined;
  }

  /** Makes a lease the last to be forgotten. */
  touch(lease: KeyLease): void {
    if (this.#renewedFirst.delete(lease)) this.#renewedFirst.add(lease);
  }

  /** Ends the lease of a key, under any numbers. Its tokens lapse. */
  drop(policy: Policy, key: string): void {
    const keys = this.#leases.get(policy.name);
    const lease = keys?.get(key);
    if (keys === undefined || lease === undefined) return;
    lease.tell({ what: "ended" });
    this.#renewedFirst.delete(lease);
    keys.delete(key);
    if (keys.size === 0) this.#leases.delete(policy.name);
  }

  #isHot(policy: Policy, key: string, { steady }: LeaseInstant): boolean {
    const elapsed = steady - this.#countedFrom;
    if (elapsed >= this.#leaseMs || elapsed < 0) {
      this.#counts = new Map();
      this.#countedFrom = steady;
    }
    const name = bucketId(policy, key);
    const count = (this.#counts.get(name) ?? 0) + 1;
    if (count < HOT_REQUESTS && (count > 1 || this.#counts.size < MOST_COUNTED)) this.#counts.set(name, count);
    return count >= HOT_REQUESTS;
  }

  #begin(terms: LeaseTerms, key: string, cost: number, now: LeaseInstant, isOther: boolean): KeyLease {
    const { policy } = terms;
    this.drop(policy, key); // of other numbers
    const lease = new KeyLease(terms, key, cost, now, isOther);
    const keys = this.#leases.get(policy.name) ?? new Map<string, KeyLease>();
    this.#leases.set(policy.name, keys.set(key, lease));
    this.#renewedFirst.add(lease);
    if (this.#renewedFirst.size > MOST_LEASES) {
      const oldest = this.#renewedFirst.values().next().value as KeyLease;
      this.drop(oldest.policy, oldest.key);
    }
    return lease;
  }
}
