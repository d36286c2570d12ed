import { monotonicClock, readClock, type Clock } from "../core/clock.js";
import { peek, type Decision } from "../core/decision.js";
import { samePolicy, type Policy } from "../core/policy.js";
import type { Snapshot } from "./shared/snapshot.js";

// A few megabytes at the very most. Under attack the same few keys come again and again; the rest costs a call each.
const LARGEST = 10_000;

interface Denial {
  readonly policy: Policy;
  readonly snapshot: Snapshot;
  readonly sentAt: number;
}

/**
 * Remembers denials for a moment, so that an attack is answered without asking the server again.
 *
 * Others can only have spent more since; so while the remembered buckets refuse, the server would too. What it cannot see
 * is a refund, a reset or new numbers from another process: those it overlooks for at most `forMs`. Time is counted from
 * when the call was sent, so a bucket is never taken for emptier than it is.
 */
export class DenyCache {
  /** The local time, in whole milliseconds. */
  readonly now: () => number;
  readonly #forMs: number;
  readonly #denials = new Map<string, Denial>();

  constructor(forMs: number, clock: Clock = monotonicClock) {
    this.#forMs = forMs;
    this.now = () => readClock(clock);
  }

  /** The denial that the server would answer with, or null when it must be asked. */
  answer(name: string, policy: Policy, cost: number): Decision | null {
    const denial = this.#denials.get(name);
    if (denial === undefined) return null;
    const age = this.now() - denial.sentAt;
    if (age >= 0 && age < this.#forMs && samePolicy(denial.policy, policy)) {
      const decision = peek(denial.snapshot.buckets, policy, cost, denial.snapshot.now + age);
      if (!decision.allowed) return decision;
    }
    // Whatever the reason, asking brings a newer one.
    this.#denials.delete(name);
    return null;
  }

  /** Keeps a denial that a call sent at `sentAt` was answered with. */
  remember(name: string, policy: Policy, snapshot: Snapshot, sentAt: number): void {
    if (this.#forMs === 0) return;
    if (this.#denials.size >= LARGEST) {
      const [oldest] = this.#denials.keys();
      this.#denials.delete(oldest as string);
    }
    this.#denials.set(name, { policy, snapshot, sentAt });
  }

  /** Drops what is remembered of a key. */
  forget(name: string): void {
    this.#denials.delete(name);
  }
}
