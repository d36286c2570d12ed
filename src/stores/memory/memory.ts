/**
 * The in-memory store as an entry of its own, to create it before a limiter or to share it among several limiters.
 * @module sluice/memory
 */
import { fullBucket, type Bucket } from "../../core/bucket.js";
import { monotonicClock, readClock, type Clock } from "../../core/clock.js";
import { consume, debit, peek, refund, type Decision } from "../../core/decision.js";
import { checkClock, checkOptions, expected, positiveInteger } from "../../core/check.js";
import type { Policy } from "../../core/policy.js";
import type { Charge, SyncStore } from "../../core/store.js";
import { makeFingerprinter, type Fingerprint, type Fingerprinter } from "./fingerprint.js";
import { MemoryTable } from "./table.js";

/** The options of a {@link MemoryStore}. */
export interface MemoryStoreOptions {
  /**
   * The most keys kept for each limit of each policy: 1 to 10^9, default 1,000,000. Memory grows with the keys in use,
   * up to about 40 MB per limit at the default.
   *
   * At the maximum, a new key removes a bucket that is full again, which changes no decision. If 256 examined buckets
   * (or all, if fewer are kept) are busy, it removes the one that would be full soonest. So no caller is locked out. To
   * lose a debt early, a caller must fill the table and place 255 keys around its own that are full no sooner.
   */
  readonly maxKeys?: number | undefined;
  /** Returns milliseconds. Default: {@link monotonicClock}. */
  readonly clock?: Clock | undefined;
}

/** What a {@link MemoryStore} keeps and has removed. */
export interface MemoryStats {
  /** Buckets kept now, over all limits. Some of them may be full. */
  readonly buckets: number;
  /**
   * Buckets removed before they were full, because `maxKeys` was reached. Above 0, either `maxKeys` is too small or a
   * client is sending many different keys.
   */
  readonly evictedBusy: number;
}

// About 40 GB of memory: a larger number is a mistake.
const MOST_KEYS = 1_000_000_000;

/** The tables of a policy's limits. */
interface PolicyTables {
  readonly policy: Policy | null;
  readonly tables: readonly MemoryTable[];
  /** One record per limit, reused by every call: the store allocates only the decision. */
  readonly buckets: readonly Bucket[];
}

/**
 * Keeps buckets in this process, and answers at once. Suits one process, or a limit per process.
 *
 * It uses no timers and never pauses to clean up; `maxKeys` bounds its memory. It keeps keys as 64-bit keyed hashes, so
 * a key of any length costs the same memory. Any two of a million keys share a bucket with a chance of 3 in 10^8.
 * @example
 * const store = new MemoryStore({ maxKeys: 100_000 });
 * const limiter = createLimiter({ policy: { capacity: 30, refill: perSecond(5) }, store });
 */
export class MemoryStore implements SyncStore {
  readonly sync = true;
  readonly clock: Clock;

  readonly #maxKeys: number;
  readonly #fingerprint: Fingerprinter = makeFingerprinter();
  /** The fingerprint of the last key. */
  readonly #key: Fingerprint = { high: 0, low: 0 };
  /** The last key if it came at least twice in a row, so that its fingerprint is known; null otherwise. */
  #repeated: string | null = null;
  readonly #tables = new Map<string, MemoryTable>();
  readonly #byPolicy = new WeakMap<Policy, PolicyTables>();
  /** The entry of the last policy, since most stores serve one policy. */
  #last: PolicyTables = { policy: null, tables: [], buckets: [] };

  /** Throws a TypeError or RangeError that names the wrong option. */
  constructor(options: MemoryStoreOptions = {}) {
    const { maxKeys = 1_000_000, clock = monotonicClock } = checkOptions(options, ["maxKeys", "clock"]);
    checkClock(clock);
    this.#maxKeys = positiveInteger("maxKeys", maxKeys);
    if (maxKeys > MOST_KEYS) throw new RangeError(expected("maxKeys", `at most ${MOST_KEYS}`, maxKeys));
    this.clock = clock;
  }

  consume(policy: Policy, key: string, cost: number): Decision {
    const now = readClock(this.clock);
    const entry = this.#load(policy, key);
    const decision = consume(entry.buckets, policy, cost, now);
    this.#save(entry, now);
    return decision;
  }

  /** Takes all charges or none, in one step. Throws a TypeError when two charges name the same bucket. */
  consumeTogether(charges: readonly Charge[]): readonly Decision[] {
    if (new Set(charges.map(({ policy, key }) => `${policy.name} ${key}`)).size < charges.length) {
      throw new TypeError("Expected `charges` to name each bucket once, got one twice. Add up their costs.");
    }
    const now = readClock(this.clock);
    const would = charges.map(({ policy, key, cost }) => peek(this.#load(policy, key).buckets, policy, cost, now));
    const all = would.every(({ allowed }) => allowed);
    return charges.map(({ policy, key, cost }, i) => {
      const entry = this.#load(policy, key);
      // A cost above the capacity takes nothing. Like any refusal, it settles records in old numbers (law L14).
      const decision = consume(entry.buckets, policy, all ? cost : policy.maxCost + 1, now);
      this.#save(entry, now);
      return all ? decision : (would[i] as Decision);
    });
  }

  peek(policy: Policy, key: string, cost: number): Decision {
    return peek(this.#load(policy, key).buckets, policy, cost, readClock(this.clock));
  }

  refund(policy: Policy, key: string, tokens: number): void {
    const now = readClock(this.clock);
    const entry = this.#load(policy, key);
    refund(entry.buckets, policy, tokens, now);
    this.#save(entry, now);
  }

  debit(policy: Policy, key: string, tokens: number): void {
    const now = readClock(this.clock);
    const entry = this.#load(policy, key);
    debit(entry.buckets, policy, tokens, now);
    this.#save(entry, now);
  }

  reset(policy: Policy, key: string): void {
    const entry = this.#load(policy, key);
    for (const table of entry.tables) table.delete(this.#key);
  }

  /** Returns how many buckets are kept now, and how many busy ones were removed since the store was created. */
  stats(): MemoryStats {
    let buckets = 0;
    let evictedBusy = 0;
    for (const table of this.#tables.values()) {
      buckets += table.size;
      evictedBusy += table.evictedBusy;
    }
    return { buckets, evictedBusy };
  }

  #load(policy: Policy, key: string): PolicyTables {
    if (this.#last.policy !== policy) this.#last = this.#byPolicy.get(policy) ?? this.#addPolicy(policy);
    const entry = this.#last;
    if (key !== this.#repeated) {
      const { high, low } = this.#key;
      this.#fingerprint(key, this.#key);
      // Keeping every key, to compare it with the next, would cost a tenth of a decision.
      this.#repeated = this.#key.high === high && this.#key.low === low ? key : null;
    }
    for (let i = 0; i < entry.tables.length; i++) (entry.tables[i] as MemoryTable).get(this.#key, entry.buckets[i] as Bucket);
    return entry;
  }

  #save(entry: PolicyTables, now: number): void {
    for (let i = 0; i < entry.tables.length; i++) {
      const bucket = entry.buckets[i] as Bucket;
      if (bucket.spent > 0) (entry.tables[i] as MemoryTable).put(this.#key, bucket, now);
      else (entry.tables[i] as MemoryTable).delete(this.#key);
    }
  }

  // Limits of one name share a table although their numbers differ, so that a change of tier keeps what was spent.
  #addPolicy(policy: Policy): PolicyTables {
    const tables = policy.limits.map((limit) => {
      const name = `${policy.name} ${limit.name}`;
      const table = this.#tables.get(name) ?? new MemoryTable(limit, this.#maxKeys);
      this.#tables.set(name, table);
      return table;
    });
    const entry = { policy, tables, buckets: policy.limits.map(fullBucket) };
    this.#byPolicy.set(policy, entry);
    return entry;
  }
}
