import { bucketId, type Policy } from "../../core/policy.js";
import { HOT_REQUESTS, KeyLease, type LeaseInstant } from "./key-lease.js";

// Together these bound the memory to a few megabytes.
const MOST_LEASES = 10_000;
const MOST_COUNTED = 10_000;
const LONGEST_LEASED = 128;

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
    return lease?.isOf(policy) === true ? lease : undefined;
  }

  /** The lease of a key that is asked for now. Undefined while the key is cold, or too long to keep. */
  ask(policy: Policy, key: string, cost: number, now: LeaseInstant): KeyLease | undefined {
    if (policy.name.length + key.length >= LONGEST_LEASED) return undefined;
    const lease = this.find(policy, key) ?? (this.#isHot(policy, key, now) ? this.#begin(policy, key, cost, now) : undefined);
    lease?.count(cost, now);
    if (lease?.isCold(now) !== true) return lease;
    this.drop(policy, key, now);
    return undefined;
  }

  /** Makes a lease the last to be forgotten. */
  touch(lease: KeyLease): void {
    if (this.#renewedFirst.delete(lease)) this.#renewedFirst.add(lease);
  }

  /** Ends the lease of a key, under any numbers. Its tokens lapse. */
  drop(policy: Policy, key: string, now: LeaseInstant): void {
    const keys = this.#leases.get(policy.name);
    const lease = keys?.get(key);
    if (keys === undefined || lease === undefined) return;
    lease.end(now);
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

  #begin(policy: Policy, key: string, cost: number, now: LeaseInstant): KeyLease {
    this.drop(policy, key, now); // of other numbers
    const lease = new KeyLease(policy, key, cost, this.#leaseMs, now);
    const keys = this.#leases.get(policy.name) ?? new Map<string, KeyLease>();
    this.#leases.set(policy.name, keys.set(key, lease));
    this.#renewedFirst.add(lease);
    if (this.#renewedFirst.size > MOST_LEASES) {
      const oldest = this.#renewedFirst.values().next().value as KeyLease;
      this.drop(oldest.policy, oldest.key, now);
    }
    return lease;
  }
}
