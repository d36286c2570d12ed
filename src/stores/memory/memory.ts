import { limiterChecks } from "#diagnostics";
import { fullBucket, type Bucket } from "../../core/bucket.js";
import { lostTimeOf, monotonicClock, readClock, type Clock, type LostTime } from "../../core/clock.js";
import {
  BLOCK_LIMIT, blockLeft, checkVerb, consumeBlocked, extendBlock, peekBlocked, redateBlock, STORE_VERBS, type Charge,
  type StoreAnswer, type StoreCall,
} from "../../core/records.js";
import type { Costs } from "../../core/limit.js";
import type { Decision } from "../../core/decision.js";
import { adjust, renewHeld } from "../../core/decide.js";
import { checkClock, checkOptions, expected, positiveInteger } from "../../core/check.js";
import type { Policy } from "../../core/policy.js";
import type { Limit, Move } from "../../core/model.js";
import { checkNamedOnce, LIMIT_KINDS, type SyncStore } from "../../port/store.js";
import type { Fingerprint, KindTable, RecordTable, StoredLimit } from "../../port/tables.js";
import { makeFingerprinter, type Fingerprinter } from "./fingerprint.js";
import { MemoryTable } from "./table.js";

/** The options of a {@link MemoryStore}. */
export interface MemoryStoreOptions {
  /**
   * The most buckets kept, for all policies together: 1 to 10^9, default 1,000,000. A key has one bucket for each limit
   * of its policy, and a block is one more. Memory grows with the buckets in use, up to about 40 MB at the default, and
   * returns as buckets are full again.
   *
   * At the maximum, a new key removes a bucket that is full again, which changes no decision. If 256 examined buckets
   * (or all, if fewer are kept) are busy, it removes the one that would be full soonest, of any policy. So no caller is
   * locked out. To lose a debt early, a caller must fill the store and place 255 buckets around its own that are full
   * no sooner.
   *
   * Limits in flight have a table of their own for as many buckets, with about 500 bytes for each. Only buckets whose
   * work is under way, or ended with its process, take a place. So have windows, with a place for each caller of the
   * last window: 60 to 100 bytes for one that came once, so up to 100 MB at the default, and about 430 bytes for one
   * whose takes are spread over the window.
   */
  readonly maxKeys?: number | undefined;
  /** Returns milliseconds, or is two clocks. Default: {@link monotonicClock} and `Date.now`. */
  readonly clock?: Clock | undefined;
}

/** Counts of the buckets that a {@link MemoryStore} keeps and has removed. */
export interface MemoryStats {
  /** Buckets kept now, over all policies and limits. Some of them may be full. */
  readonly buckets: number;
  /**
   * Buckets removed before they were full, because `maxKeys` was reached. Above 0, either `maxKeys` is too small or a
   * client is sending many different keys.
   */
  readonly evictedBusy: number;
}

// About 40 GB of memory: a larger number is a mistake.
const MOST_KEYS = 1_000_000_000;

/** The data that the store needs for each call under a policy. */
interface StoredPolicy {
  readonly policy: Policy | null;
  /** Mixed into the fingerprint of each key. Equal for all policies of one name. */
  readonly salt: Fingerprint;
  readonly limits: readonly StoredLimit[];
  /** Where the records of each limit are. */
  readonly tables: readonly RecordTable[];
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
  readonly kinds = LIMIT_KINDS;
  readonly verbs = STORE_VERBS;
  readonly together = true;
  readonly #lost: LostTime;

  readonly #fingerprint: Fingerprinter = makeFingerprinter();
  /** The fingerprint of the last key. */
  readonly #key: Fingerprint = { high: 0, low: 0 };
  /** The last key if it came at least twice in a row, so that its fingerprint is known; null otherwise. */
  #repeated: string | null = null;
  /** The fingerprint of the last key under the last policy's name. */
  readonly #bucketKey: Fingerprint = { high: 0, low: 0 };
  /** With a secret of its own: a key that equals a policy's name must not undo the salt. */
  readonly #saltOf: Fingerprinter = makeFingerprinter();
  readonly #maxKeys: number;
  readonly #table: MemoryTable;
  /** The records whose amounts stay apart, by the class of their table. Made for the first of them. */
  readonly #kindTables = new Map<KindTable, RecordTable>();
  readonly #byPolicy = new WeakMap<Policy, StoredPolicy>();
  /** The blocks, as buckets of a limit. While no block exists, no call looks for one. */
  readonly #blocks: StoredLimit = { limit: BLOCK_LIMIT, id: -1, buckets: 0, slot: 0 };
  readonly #block: Bucket = fullBucket(BLOCK_LIMIT);
  /** The entry of the last policy, since most stores serve one policy. */
  #last: StoredPolicy = { policy: null, salt: { high: 0, low: 0 }, limits: [], tables: [], buckets: [] };

  /** Throws a TypeError or RangeError that names the wrong option. */
  constructor(options: MemoryStoreOptions = {}) {
    const { maxKeys = 1_000_000, clock = monotonicClock } = checkOptions(options, ["maxKeys", "clock"]);
    checkClock(clock);
    if (positiveInteger("maxKeys", maxKeys) > MOST_KEYS) {
      throw new RangeError(expected("maxKeys", `at most ${MOST_KEYS}`, maxKeys));
    }
    this.clock = clock;
    this.#lost = lostTimeOf(clock);
    this.#maxKeys = maxKeys;
    this.#table = new MemoryTable(maxKeys, this.#lost);
  }

  /** Carries out a call, at once. */
  ask(call: StoreCall): readonly StoreAnswer[] {
    const { verb, parts } = call;
    checkVerb(verb);
    if (verb === "consume" && parts.length > 1) return this.#consumeTogether(parts);
    return parts.length === 1 ? [this.#answer(call, parts[0])] : parts.map((part) => this.#answer(call, part));
  }

  /** Returns how many buckets are kept now, and how many busy ones were removed since the store was created. */
  stats(): MemoryStats {
    const tables = [this.#table, ...this.#kindTables.values()];
    const sumOf = (count: "size" | "evictedBusy"): number => tables.reduce((sum, table) => sum + table[count], 0);
    return { buckets: sumOf("size"), evictedBusy: sumOf("evictedBusy") };
  }

  // `ask` for a `consume`, without its lists. For limiters alone, and no name that a subclass would choose.
  private consumeUnlisted(policy: Policy, key: string, costs: Costs): Decision {
    const now = readClock(this.clock);
    const decision = this.#take(policy, key, costs, now);
    return decision.allowed || !this.#lost.look(now) ? decision : this.#take(policy, key, costs, now);
  }

  // As `answerCall` does it over records.
  #consumeTogether(parts: readonly Charge[]): readonly Decision[] {
    checkNamedOnce(parts);
    const now = readClock(this.clock);
    const would = parts.map(({ policy, key, cost }) => this.#peek(policy, key, cost, now));
    const all = would.every(({ allowed }) => allowed);
    return parts.map(({ policy, key, cost }, i) => {
      // A cost above every capacity takes nothing, and brings old records to the numbers of the policy all the same.
      const decision = this.#take(policy, key, all ? cost : Infinity, now);
      return all ? decision : (would[i] as Decision);
    });
  }

  #answer({ verb, from, move }: StoreCall, { policy, key, cost }: Charge): StoreAnswer {
    if (verb === "consume") return this.consumeUnlisted(policy, key, cost);
    const now = readClock(this.clock);
    if (verb === "peek") return this.#peek(policy, key, cost, now);
    const entry = this.#load(policy, key);
    if (verb === "reset") return this.#forget();
    if (verb === "block") return this.#blockFor(cost as number, now);
    const isDone = verb === "renew"
      ? renewHeld(entry.buckets, policy, cost, now, move as Move)
      : adjust(entry.buckets, policy, cost, now, from);
    if (isDone || verb === "renew") this.#save(entry, now);
    return isDone;
  }

  // A block takes the place of one bucket.
  #blockFor(forMs: number, now: number): void {
    if (forMs === 0) return this.#table.delete(this.#bucketKey, this.#blocks);
    this.#table.get(this.#bucketKey, this.#blocks, this.#block);
    extendBlock(this.#block, forMs, now);
    this.#table.put(this.#bucketKey, this.#blocks, this.#block, now);
  }

  // Also the buckets of limits that this version of the policy does not have.
  #forget(): void {
    this.#table.delete(this.#bucketKey, null);
    for (const table of this.#kindTables.values()) table.delete(this.#bucketKey, null);
  }

  #peek(policy: Policy, key: string, costs: Costs, now: number): Decision {
    const decision = peekBlocked(this.#load(policy, key).buckets, policy, costs, now, this.#blockMs(now));
    return decision.allowed || !this.#lost.look(now) ? decision : this.#peek(policy, key, costs, now);
  }

  #take(policy: Policy, key: string, costs: Costs, now: number): Decision {
    const entry = this.#load(policy, key);
    const blockMs = this.#blockMs(now);
    const decision = consumeBlocked(entry.buckets, policy, costs, now, blockMs);
    if (blockMs > 0 && redateBlock(this.#block, now)) this.#table.put(this.#bucketKey, this.#blocks, this.#block, now);
    this.#save(entry, now);
    return decision;
  }

  /** Loads the block of the loaded key, and returns the milliseconds that it has left. */
  #blockMs(now: number): number {
    if (this.#blocks.buckets === 0) return 0;
    this.#table.get(this.#bucketKey, this.#blocks, this.#block);
    return blockLeft(this.#block, now);
  }

  #load(policy: Policy, key: string): StoredPolicy {
    if (this.#last.policy !== policy) this.#last = this.#byPolicy.get(policy) ?? this.#addPolicy(policy);
    const entry = this.#last;
    if (key !== this.#repeated) {
      const { high, low } = this.#key;
      this.#fingerprint(key, this.#key);
      // Keeping every key, to compare it with the next, would cost a tenth of a decision.
      this.#repeated = this.#key.high === high && this.#key.low === low ? key : null;
    }
    this.#bucketKey.high = this.#key.high ^ entry.salt.high;
    this.#bucketKey.low = this.#key.low ^ entry.salt.low;
    // Both 0 marks an empty slot.
    if ((this.#bucketKey.high | this.#bucketKey.low) === 0) this.#bucketKey.low = 1;
    for (let i = 0; i < entry.limits.length; i++) {
      (entry.tables[i] as RecordTable).get(this.#bucketKey, entry.limits[i] as StoredLimit, entry.buckets[i] as Bucket);
    }
    return entry;
  }

  #save(entry: StoredPolicy, now: number): void {
    for (let i = 0; i < entry.limits.length; i++) {
      const bucket = entry.buckets[i] as Bucket;
      const table = entry.tables[i] as RecordTable;
      if (bucket.spent > 0) table.put(this.#bucketKey, entry.limits[i] as StoredLimit, bucket, now);
      else table.delete(this.#bucketKey, entry.limits[i] as StoredLimit);
    }
  }

  // Policies of one name share buckets although their numbers differ, so that a change of tier keeps what was spent.
  #addPolicy(policy: Policy): StoredPolicy {
    if (limiterChecks) limiterChecks.checkPolicyName(this, policy.name);
    const salt = { high: 0, low: 0 };
    this.#saltOf(policy.name, salt);
    const buckets = policy.limits.map(fullBucket);
    const limits = policy.limits.map((limit) => ({ limit, id: -1, buckets: 0, slot: 0 }));
    const tables = policy.limits.map((limit) => (limit.kind.amounts === undefined ? this.#table : this.#tableOf(limit)));
    const entry = { policy, salt, limits, tables, buckets };
    this.#byPolicy.set(policy, entry);
    return entry;
  }

  #tableOf({ renews, returns }: Limit): RecordTable {
    const Table = (renews ?? returns)?.kindCode.table as KindTable;
    const table = this.#kindTables.get(Table) ?? new Table(this.#maxKeys, this.#lost, MemoryTable);
    this.#kindTables.set(Table, table);
    return table;
  }
}

/**
 * The decision of a memory store on a `consume`, without the lists of `ask`. Undefined when a subclass or a spy
 * replaced `ask`.
 */
export function consumeIn(store: MemoryStore, policy: Policy, key: string, costs: Costs): Decision | undefined {
  return store.ask === unchangedAsk ? store["consumeUnlisted"](policy, key, costs) : undefined;
}

const unchangedAsk = MemoryStore.prototype.ask;
