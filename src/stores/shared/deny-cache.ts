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
  readonly key: string;
  readonly snapshot: Snapshot;
  readonly sentAt: number;
  /** A newer answer that is on its way, and never rejects, and when it was asked for. */
  newer: { readonly answer: Promise<unknown>; readonly askedAt: number } | null;
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
  // By the policy's name, then the key: to look one up joins no strings.
  readonly #denials = new Map<string, Map<string, Denial>>();
  readonly #oldestFirst = new Set<Denial>();
  // The last drop of each key, by its number. Of those that were forgotten, the number of the latest: answers to calls from
  // before it are not remembered, whatever their key.
  readonly #drops = new Map<string, number>();
  #forgotten = 0;
  #characters = 0;
  #dropped = 0;

  constructor(forMs: number, clock: Clock = monotonicClock) {
    this.#forMs = forMs;
    this.#now = () => readClock(clock);
  }

  /** Whether nobody is known to be refused, as it mostly is. */
  get isEmpty(): boolean {
    return this.#oldestFirst.size === 0;
  }

  /** Whether anything is known of a key, which may be too old to be trusted. */
  has(policy: Policy, key: string): boolean {
    return !this.isEmpty && this.#find(policy, key) !== undefined;
  }

  /** The denial that the server would answer with, or null when it must be asked. */
  recall(policy: Policy, key: string, cost: number): Decision | null {
    const denial = this.#find(policy, key);
    return denial === undefined ? null : this.#decide(denial, policy, cost);
  }

  /**
   * What `recall` says; or, where somebody is asking about the key already, a promise to wait for before looking again; or
   * null when the server must be asked. A call without an answer is waited for no longer than a denial is remembered: it may be lost.
   */
  answer(policy: Policy, key: string, cost: number): Decision | Promise<unknown> | null {
    const denial = this.#find(policy, key);
    if (denial === undefined) return null;
    const { newer } = denial;
    return this.#decide(denial, policy, cost) ?? (newer !== null && this.#now() - newer.askedAt < this.#forMs ? newer.answer : null);
  }

  /** Lets others who ask about a refused key wait for an answer that is on its way, so that one of them asks for all. */
  expect(policy: Policy, key: string, answer: Promise<unknown>): void {
    const denial = this.#find(policy, key);
    if (denial === undefined) return;
    // Whatever the answer was, this denial has had its time.
    denial.newer = { answer: answer.catch(() => undefined).then(() => this.#delete(denial)), askedAt: this.#now() };
  }

  /** To be taken down when a call leaves. */
  sending(): Sent {
    return { at: this.#now(), drops: this.#dropped };
  }

  /** Keeps a denial that a call was answered with. */
  remember(policy: Policy, key: string, snapshot: Snapshot, sent: Sent): void {
    if (this.#forMs === 0) return;
    // Answers may overtake each other: one that was asked for before the key was dropped is older than the drop.
    if (this.#dropped > sent.drops && (this.#drops.get(nameOf(policy, key)) ?? this.#forgotten) > sent.drops) return;
    this.outdate(policy, key);
    const denial: Denial = { policy, key, snapshot, sentAt: sent.at, newer: null };
    const keys = this.#denials.get(policy.name) ?? new Map<string, Denial>();
    this.#denials.set(policy.name, keys.set(key, denial));
    this.#oldestFirst.add(denial);
    this.#characters += key.length;
    for (const oldest of this.#oldestFirst) {
      if (this.#oldestFirst.size <= MOST_DENIALS && this.#characters <= MOST_CHARACTERS) break;
      this.#delete(oldest);
    }
  }

  /** Forgets a denial, since tokens were taken after it: its waits have become too short. */
  outdate(policy: Policy, key: string): void {
    const denial = this.isEmpty ? undefined : this.#find(policy, key);
    if (denial !== undefined) this.#delete(denial);
  }

  /**
   * Forgets what is known of a key, and what calls that are under way will say of it. The last thousand drops are known by
   * their keys; while a call is under way that is older than those, its denials are not remembered, for any key.
   */
  drop(policy: Policy, key: string): void {
    if (this.#forMs === 0) return;
    this.outdate(policy, key);
    const name = nameOf(policy, key);
    this.#drops.delete(name);
    this.#drops.set(name, ++this.#dropped);
    if (this.#drops.size <= MOST_DROPS) return;
    const [oldest, number] = this.#drops.entries().next().value as [string, number];
    this.#drops.delete(oldest);
    this.#forgotten = number;
  }

  #find(policy: Policy, key: string): Denial | undefined {
    return this.#denials.get(policy.name)?.get(key);
  }

  #decide({ policy: own, snapshot, sentAt }: Denial, policy: Policy, cost: number): Decision | null {
    const age = this.#now() - sentAt;
    if (age < 0 || age >= this.#forMs || !samePolicy(own, policy)) return null;
    const decision = peek(snapshot.buckets, policy, cost, snapshot.now + age);
    return decision.allowed ? null : decision;
  }

  // One that is gone already may have been replaced, and its successor stays.
  #delete(denial: Denial): void {
    if (!this.#oldestFirst.delete(denial)) return;
    const { policy, key } = denial;
    const keys = this.#denials.get(policy.name) as Map<string, Denial>;
    keys.delete(key);
    if (keys.size === 0) this.#denials.delete(policy.name);
    this.#characters -= key.length;
  }
}

// Without the space that no policy's name has, two policies could meet.
function nameOf(policy: Policy, key: string): string {
  return `${policy.name} ${key}`;
}
