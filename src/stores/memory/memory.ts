/**
 * The in-memory store on its own, for those who make it before a limiter or share it among several.
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

/** How a {@link MemoryStore} is made. */
export interface MemoryStoreOptions {
  /**
   * The most callers kept for each limit of each policy. From 1 to 10^9, default 1 000 000, which takes about 40 MB a limit
   * when it is reached and next to nothing before.
   *
   * Callers whose bucket is full again make room first. When every bucket is busy, the one that would be full soonest of
   * 256 (of all, where fewer are kept) goes: nobody is locked out, and getting rid of one's own debt takes a full table and
   * 255 other callers around it that would all be full no sooner.
   */
  readonly maxKeys?: number | undefined;
  /** Default: {@link monotonicClock}. */
  readonly clock?: Clock | undefined;
}

/** What a {@link MemoryStore} holds and has let go. */
export interface MemoryStats {
  /** Buckets kept at this moment, over all limits; full ones may linger among them. */
  readonly buckets: number;
  /** Buckets that were dropped while something was spent, because `maxKeys` was reached. Above 0: raise it, or somebody is spraying keys. */
  readonly evictedBusy: number;
}

// Forty gigabytes: more is a mistake.
const MOST_KEYS = 1_000_000_000;

interface Place {
  readonly policy: Policy | null;
  readonly tables: readonly MemoryTable[];
  /** One record for each limit, filled for each call: the store allocates nothing but the decision. */
  readonly buckets: readonly Bucket[];
}

/**
 * Keeps buckets in this process, and answers at once.
 *
 * No timers and no clean-up pauses; memory is bounded by `maxKeys`. Keys are kept as 64-bit keyed fingerprints, so a key of
 * any length costs the same and the chance that any two of a million callers share a bucket is 3 in 10^8.
 * @example
 * const store = new MemoryStore({ maxKeys: 100_000 });
 * const limiter = createLimiter({ policy: { capacity: 30, refill: perSecond(5) }, store });
 */
export class MemoryStore implements SyncStore {
  readonly sync = true;
  readonly clock: Clock;

  readonly #maxKeys: number;
  readonly #fingerprint: Fingerprinter = makeFingerprinter();
  /** Of the last caller. */
  readonly #key: Fingerprint = { high: 0, low: 0 };
  /** The last caller, when it came several times in a row and need not be read again. */
  #again: string | null = null;
  readonly #tables = new Map<string, MemoryTable>();
  readonly #places = new WeakMap<Policy, Place>();
  /** Of the last policy, as most stores have but one. */
  #place: Place = { policy: null, tables: [], buckets: [] };

  /** Throws a TypeError or RangeError that names the wrong option. */
  constructor(options: MemoryStoreOptions = {}) {
    checkOptions(options, ["maxKeys", "clock"]);
    const { maxKeys = 1_000_000, clock = monotonicClock } = options;
    checkClock(clock);
    this.#maxKeys = positiveInteger("maxKeys", maxKeys);
    if (maxKeys > MOST_KEYS) throw new RangeError(expected("maxKeys", `at most ${MOST_KEYS}`, maxKeys));
    this.clock = clock;
  }

  consume(policy: Policy, key: string, cost: number): Decision {
    const now = readClock(this.clock);
    const place = this.#load(policy, key);
    const decision = consume(place.buckets, policy, cost, now);
    this.#save(place, now);
    return decision;
  }

  /** All or none: nothing else runs in between. Throws a TypeError when two charges name one bucket. */
  consumeTogether(charges: readonly Charge[]): readonly Decision[] {
    if (new Set(charges.map(({ policy, key }) => `${policy.name} ${key}`)).size < charges.length) {
      throw new TypeError("Expected `charges` to name each bucket once, got one twice");
    }
    const now = readClock(this.clock);
    const would = charges.map(({ policy, key, cost }) => peek(this.#load(policy, key).buckets, policy, cost, now));
    const all = would.every(({ allowed }) => allowed);
    return charges.map(({ policy, key, cost }, i) => {
      const place = this.#load(policy, key);
      // What can never fit takes nothing; like any denial it settles what was counted in other numbers (law L14).
      const decision = consume(place.buckets, policy, all ? cost : policy.maxCost + 1, now);
      this.#save(place, now);
      return all ? decision : (would[i] as Decision);
    });
  }

  peek(policy: Policy, key: string, cost: number): Decision {
    return peek(this.#load(policy, key).buckets, policy, cost, readClock(this.clock));
  }

  refund(policy: Policy, key: string, tokens: number): void {
    const now = readClock(this.clock);
    const place = this.#load(policy, key);
    refund(place.buckets, policy, tokens, now);
    this.#save(place, now);
  }

  debit(policy: Policy, key: string, tokens: number): void {
    const now = readClock(this.clock);
    const place = this.#load(policy, key);
    debit(place.buckets, policy, tokens, now);
    this.#save(place, now);
  }

  reset(policy: Policy, key: string): void {
    const place = this.#load(policy, key);
    for (const table of place.tables) table.delete(this.#key);
  }

  /** What is kept and what had to go, counted since the store was made. */
  stats(): MemoryStats {
    let buckets = 0;
    let evictedBusy = 0;
    for (const table of this.#tables.values()) {
      buckets += table.size;
      evictedBusy += table.evictedBusy;
    }
    return { buckets, evictedBusy };
  }

  #load(policy: Policy, key: string): Place {
    if (this.#place.policy !== policy) this.#place = this.#places.get(policy) ?? this.#findPlace(policy);
    const place = this.#place;
    if (key !== this.#again) {
      const { high, low } = this.#key;
      this.#fingerprint(key, this.#key);
      // To keep every key, and to compare it with the next, would cost a tenth of a decision.
      this.#again = this.#key.high === high && this.#key.low === low ? key : null;
    }
    for (let i = 0; i < place.tables.length; i++) (place.tables[i] as MemoryTable).get(this.#key, place.buckets[i] as Bucket);
    return place;
  }

  #save(place: Place, now: number): void {
    for (let i = 0; i < place.tables.length; i++) {
      const bucket = place.buckets[i] as Bucket;
      if (bucket.spent > 0) (place.tables[i] as MemoryTable).put(this.#key, bucket, now);
      else (place.tables[i] as MemoryTable).delete(this.#key);
    }
  }

  // Limits of one name share a table whatever their numbers, so that a caller who changes tier keeps what was spent.
  #findPlace(policy: Policy): Place {
    const tables = policy.limits.map((limit) => {
      const name = `${policy.name} ${limit.name}`;
      const table = this.#tables.get(name) ?? new MemoryTable(limit, this.#maxKeys);
      this.#tables.set(name, table);
      return table;
    });
    const place = { policy, tables, buckets: policy.limits.map(fullBucket) };
    this.#places.set(policy, place);
    return place;
  }
}
