import { monotonicClock, readClock, type Clock } from "../../core/clock.js";
import { peek, type Decision } from "../../core/decision.js";
import { samePolicy, type Policy } from "../../core/policy.js";
import type { Snapshot } from "./snapshot.js";

// A few megabytes at the very most, however long the keys are. Under attack the same few come again and again; the rest
// costs a call each.
const MOST_DENIALS = 10_000;
const MOST_CHARACTERS = 2_000_000;
const MOST_DROPS = 1_000;

/** When a call left, as the cache needs to know it. */
export interface Sent {
  /** The local time, in whole milliseconds. */
  readonly at: number;
  /** How many keys had been dropped by then. */
  readonly drops: number;
}

interface Denial {
  readonly policy: Policy;
  readonly snapshot: Snapshot;
  readonly sentAt: number;
  /** A newer answer that is on its way; never rejects. */
  newer: Promise<unknown> | null;
}

/**
 * Remembers denials for a moment, so that an attack is answered without asking the server again.
 *
 * Others can only have spent more since; so while the remembered buckets refuse, the server would too. What it cannot see
 * is a refund, a reset or new numbers from another process: those it overlooks for at most `forMs`. Time is counted from
 * when the call was sent, so a bucket is never taken for emptier than it is.
 */
export class DenyCache {
  readonly #now: () => number;
  readonly #forMs: number;
  readonly #denials = new Map<string, Denial>();
  readonly #drops = new Map<string, number>();
  #characters = 0;
  #dropped = 0;

  constructor(forMs: number, clock: Clock = monotonicClock) {
    this.#forMs = forMs;
    this.#now = () => readClock(clock);
  }

  /** Whether nobody is known to be refused, as it mostly is. */
  get isEmpty(): boolean {
    return this.#denials.size === 0;
  }

  /**
   * The denial that the server would answer with; or, where somebody is asking about the key already, a promise to wait
   * for before looking again; or null when the server must be asked.
   */
  answer(policy: Policy, key: string, cost: number): Decision | Promise<unknown> | null {
    const denial = this.#denials.get(nameOf(policy, key));
    if (denial === undefined) return null;
    const age = this.#now() - denial.sentAt;
    if (age >= 0 && age < this.#forMs && samePolicy(denial.policy, policy)) {
      const decision = peek(denial.snapshot.buckets, policy, cost, denial.snapshot.now + age);
      if (!decision.allowed) return decision;
    }
    return denial.newer;
  }

  /** Lets others who ask about a refused key wait for an answer that is on its way, so that one of them asks for all. */
  expect(policy: Policy, key: string, answer: Promise<unknown>): void {
    const name = nameOf(policy, key);
    const denial = this.#denials.get(name);
    if (denial === undefined) return;
    // Whatever the answer was, this denial has had its time.
    denial.newer = answer.catch(() => undefined).then(() => {
      if (this.#denials.get(name) === denial) this.#delete(name);
    });
  }

  /** To be taken down when a call leaves. */
  sending(): Sent {
    return { at: this.#now(), drops: this.#dropped };
  }

  /** Keeps a denial that a call was answered with. */
  remember(policy: Policy, key: string, snapshot: Snapshot, sent: Sent): void {
    if (this.#forMs === 0) return;
    const name = nameOf(policy, key);
    // Answers may overtake each other: one that was asked for before the key was dropped is older than the drop.
    if ((this.#drops.get(name) ?? 0) > sent.drops) return;
    this.#delete(name);
    this.#denials.set(name, { policy, snapshot, sentAt: sent.at, newer: null });
    this.#characters += name.length;
    for (const oldest of this.#denials.keys()) {
      if (this.#denials.size <= MOST_DENIALS && this.#characters <= MOST_CHARACTERS) break;
      this.#delete(oldest);
    }
  }

  /** Forgets a denial, since tokens were taken after it: its waits have become too short. */
  outdate(policy: Policy, key: string): void {
    if (this.#denials.size > 0) this.#delete(nameOf(policy, key));
  }

  /** Forgets what is known of a key, and what calls that are under way will say of it. */
  drop(policy: Policy, key: string): void {
    if (this.#forMs === 0) return;
    const name = nameOf(policy, key);
    this.#delete(name);
    this.#drops.delete(name);
    this.#drops.set(name, ++this.#dropped);
    if (this.#drops.size > MOST_DROPS) this.#drops.delete(this.#drops.keys().next().value as string);
  }

  #delete(name: string): void {
    if (this.#denials.delete(name)) this.#characters -= name.length;
  }
}

// Without the space that no policy's name has, two policies could meet.
function nameOf(policy: Policy, key: string): string {
  return `${policy.name} ${key}`;
}
