import { lostTimeOf, monotonicClock, readClock, type Clock, type LostTime } from "../../core/clock.js";
import type { Costs } from "../../core/limit.js";
import type { Decision } from "../../core/decision.js";
import { samePolicy, type Policy } from "../../core/policy.js";
import { sharesWork } from "../../platform.js";
import { bucketName, nameOfShort, shortKey } from "./bucket-name.js";
import type { Snapshot } from "./snapshot.js";

// Together these bound the cache to a few megabytes, for a digest takes the place of a long key. In an attack the same
// few keys repeat; each denial beyond the bound costs a call.
const MOST_DENIALS = 10_000;
const MOST_DROPS = 1_000;

/** The state of the cache at the moment a call was sent. */
export interface CallStart {
  /** The local time, in whole milliseconds. */
  readonly at: number;
  /** The number of drops before it. */
  readonly drops: number;
}

interface Denial {
  readonly policy: Policy;
  /** The result of `shortKey` for the key. */
  readonly short: string;
  readonly snapshot: Snapshot;
  readonly sentAt: number;
  /** A newer reply in flight, and when it was requested. Its promise never rejects. Null when there is none. */
  newer: { readonly answer: Promise<unknown>; readonly askedAt: number } | null;
}

/**
 * Remembers denials for `forMs` milliseconds, so that an attack is answered without calling the server.
 *
 * Other processes can only have spent more since. So while the remembered buckets refuse, or the remembered block
 * lasts, the server would refuse too. The cache cannot see a refund, a reset, the end of a block or new numbers from
 * another process, and overlooks them for at most `forMs`. It overlooks a block or a debit from another process for as
 * long: the key is refused all the same, but the told wait can be too short. A denial's age counts from when its call
 * was sent, so that the time for refilling is never underestimated.
 */
export class DenyCache {
  readonly #clock: Clock;
  readonly #lost: LostTime;
  readonly #forMs: number;
  readonly #isShared = sharesWork();
  // By the policy's name, then the short key, so that a lookup concatenates no strings.
  readonly #denials = new Map<string, Map<string, Denial>>();
  readonly #oldestFirst = new Set<Denial>();
  // The sequence number of the last drop of each key, for the last 1,000 dropped keys.
  readonly #drops = new Map<string, number>();
  // The highest number removed from `#drops`. Denials of calls sent before it are not remembered, for any key.
  #forgotten = 0;
  #dropped = 0;

  constructor(forMs: number, clock: Clock = monotonicClock) {
    this.#forMs = forMs;
    this.#clock = clock;
    this.#lost = lostTimeOf(clock);
  }

  /** Whether no denial is remembered, which is the usual state. */
  get isEmpty(): boolean {
    return this.#oldestFirst.size === 0;
  }

  /** Whether a denial of the key is remembered, even one that is too old to use. */
  has(policy: Policy, key: string): boolean {
    return !this.isEmpty && this.#find(policy, key) !== undefined;
  }

  /** The denial that the server would answer with, or null when the server must be asked. */
  recall(policy: Policy, key: string, costs: Costs): Decision | null {
    const denial = this.#find(policy, key);
    return denial === undefined ? null : this.#decide(denial, policy, costs);
  }

  /**
   * Like `recall`, but when a call about the key is in flight, returns a promise: await it, then call `answer` again.
   * Null when the server must be asked. A call older than `forMs` is not awaited, because its reply may be lost.
   */
  answer(policy: Policy, key: string, costs: Costs): Decision | Promise<unknown> | null {
    const denial = this.#find(policy, key);
    if (denial === undefined) return null;
    const { newer } = denial;
    return (
      this.#decide(denial, policy, costs) ?? (newer !== null && this.#now() - newer.askedAt < this.#forMs ? newer.answer : null)
    );
  }

  /**
   * Announces a reply in flight about a refused key. Other calls about the key then await it instead of asking too,
   * except where requests share no promises (law L15).
   */
  expect(policy: Policy, key: string, answer: Promise<unknown>): void {
    const denial = this.#find(policy, key);
    if (denial === undefined) return;
    // The reply replaces this denial, also when it is an error.
    const replaced = answer.catch(() => undefined).then(() => this.#delete(denial));
    if (this.#isShared) denial.newer = { answer: replaced, askedAt: this.#now() };
  }

  /** The moment to pass to `remember` later. Call it when a call is sent. */
  startCall(): CallStart {
    return { at: this.#now(), drops: this.#dropped };
  }

  /** Keeps the denial that a call returned. `start` is the moment the call was sent. */
  remember(policy: Policy, key: string, snapshot: Snapshot, start: CallStart): void {
    // A refusal for tokens in flight ends with the work of any process.
    if (this.#forMs === 0 || policy.inFlight !== undefined) return;
    const short = shortKey(policy, key);
    // Replies may overtake each other: the denial of a call that was sent before the drop is older than the drop.
    if (this.#dropped > start.drops && (this.#drops.get(nameOfShort(policy, short)) ?? this.#forgotten) > start.drops) return;
    this.#delete(this.#denials.get(policy.name)?.get(short));
    const denial: Denial = { policy, short, snapshot, sentAt: start.at, newer: null };
    const keys = this.#denials.get(policy.name) ?? new Map<string, Denial>();
    this.#denials.set(policy.name, keys.set(short, denial));
    this.#oldestFirst.add(denial);
    if (this.#oldestFirst.size > MOST_DENIALS) this.#delete(this.#oldestFirst.values().next().value);
  }

  /** Forgets a denial after which tokens were taken: its waits are now too short. */
  outdate(policy: Policy, key: string): void {
    if (!this.isEmpty) this.#delete(this.#find(policy, key));
  }

  /**
   * Forgets the denial of a key, and ignores the denials that calls in flight will return for it. The cache keeps the
   * keys of the last 1,000 drops. The denial of a call that was sent before an older drop is ignored, for any key.
   */
  drop(policy: Policy, key: string): void {
    if (this.#forMs === 0) return;
    this.outdate(policy, key);
    const name = bucketName(policy, key);
    this.#drops.delete(name);
    this.#drops.set(name, ++this.#dropped);
    if (this.#drops.size <= MOST_DROPS) return;
    const [oldest, number] = this.#drops.entries().next().value as [string, number];
    this.#drops.delete(oldest);
    this.#forgotten = number;
  }

  #find(policy: Policy, key: string): Denial | undefined {
    return this.#denials.get(policy.name)?.get(shortKey(policy, key));
  }

  #decide(denial: Denial, policy: Policy, costs: Costs): Decision | null {
    const now = readClock(this.#clock);
    const age = now + this.#lost.lostMs - denial.sentAt;
    if (age < 0 || age >= this.#forMs || !samePolicy(denial.policy, policy)) return null;
    const refusal = denial.snapshot.refusalAfter(age, policy, costs);
    return refusal !== null && this.#lost.look(now) ? this.#decide(denial, policy, costs) : refusal;
  }

  /** The time by the clock, and what it lost while the machine was suspended. */
  #now(): number {
    return readClock(this.#clock) + this.#lost.lostMs;
  }

  // A denial that is gone may have been replaced; the replacement stays.
  #delete(denial: Denial | undefined): void {
    if (denial === undefined || !this.#oldestFirst.delete(denial)) return;
    const { policy, short } = denial;
    const keys = this.#denials.get(policy.name) as Map<string, Denial>;
    keys.delete(short);
    if (keys.size === 0) this.#denials.delete(policy.name);
  }
}
