import type { Bucket } from "../../core/bucket.js";
import type { LostTime } from "../../core/clock.js";
import type { Fingerprint, RecordTable, StoredLimit } from "../../port/tables.js";
import { MemoryShard, type OnRemoved } from "./shard.js";
import { StoredLimits } from "./stored-limits.js";

// 5850 buckets fill a shard of 8192 slots to 71 %: a bucket takes 39.2 bytes, and growth takes well under 1 ms.
const BUCKETS_PER_SHARD = 5_850;
// A sweep may forget all buckets of a shard, which are then inserted again. At 256 such a store was 1.4 times slower.
const PUTS_PER_SWEEP = 4_096;

/**
 * The buckets of a store, by fingerprint and limit: at most `maxKeys`. A bucket is idle when it is full, and busy
 * otherwise.
 *
 * Invariants:
 * - `size` counts the buckets kept, idle ones included, and never exceeds `maxKeys`.
 * - Any `put` may remove buckets that are idle at `now`, which changes no decision (law L4).
 * - A `put` removes a busy bucket only when `maxKeys` are kept and all buckets it examines are busy. It removes the one
 *   that would be full soonest, and `evictedBusy` counts it.
 * - A call touches at most three shards. So no call takes longer than rebuilding three shards.
 */
export class MemoryTable implements RecordTable {
  size = 0;
  evictedBusy = 0;

  readonly #maxKeys: number;
  readonly #lost: Pick<LostTime, "lostMs">;
  readonly #limits = new StoredLimits();
  /** Created on first use, so that a large empty table costs next to nothing. */
  readonly #shards: Array<MemoryShard | undefined>;
  /** The last shard, and the part of a fingerprint that chose it: a decision asks for it twice for each limit. */
  #shard: MemoryShard | undefined;
  #high = 0;
  /** The shard that was swept last, and the calls of `put` until the next one is. */
  #swept = 0;
  #untilSweep = 0;

  readonly #onRemoved: OnRemoved;

  /** `lost` is what the clock has lost. `onRemoved` gets the `spent` of each bucket that is removed. */
  constructor(maxKeys: number, lost: Pick<LostTime, "lostMs"> = { lostMs: 0 }, onRemoved?: OnRemoved) {
    this.#maxKeys = maxKeys;
    this.#lost = lost;
    this.#onRemoved = onRemoved;
    this.#shards = Array.from({ length: Math.ceil(maxKeys / BUCKETS_PER_SHARD) });
  }

  /** Reads a bucket into `out`. An absent bucket reads as full. */
  get(key: Fingerprint, stored: StoredLimit, out: Bucket): void {
    this.#shardOf(key).get(key, stored, out);
  }

  /** Writes a bucket that was brought to the numbers of its limit. Makes room for a new one. */
  put(key: Fingerprint, stored: StoredLimit, bucket: Bucket, now: number): void {
    if (--this.#untilSweep < 0) this.#sweep(now);
    const shard = this.#shardOf(key);
    if (shard.update(key, stored, bucket)) return;
    if (this.size >= this.#maxKeys) this.#evict(shard, now);
    const dropped = shard.insert(key, stored, bucket, now);
    this.size += 1 - dropped;
  }

  /** Forgets a bucket of a key, or with null those of all limits. */
  delete(key: Fingerprint, stored: StoredLimit | null): void {
    this.size -= this.#shardOf(key).delete(key, stored);
  }

  #evict(preferred: MemoryShard, now: number): void {
    // In rare cases the key's own shard is empty although the table is full.
    const shard =
      preferred.used > 0 ? preferred : (this.#shards.find((other) => other !== undefined && other.used > 0) as MemoryShard);
    if (shard.evictOne(now) === "busy") this.evictedBusy += 1;
    this.size -= 1;
  }

  // One shard after another. So the memory of idle buckets returns without a timer and without a pause.
  #sweep(now: number): void {
    this.#untilSweep = PUTS_PER_SWEEP;
    this.#swept = (this.#swept + 1) % this.#shards.length;
    this.size -= this.#shards[this.#swept]?.sweep(now) ?? 0;
  }

  #shardOf({ high }: Fingerprint): MemoryShard {
    if (high === this.#high && this.#shard !== undefined) return this.#shard;
    const i = Math.floor(((high >>> 0) / 2 ** 32) * this.#shards.length);
    this.#high = high;
    return (this.#shard = this.#shards[i] ??= new MemoryShard(this.#limits, this.#lost, this.#onRemoved));
  }
}
