import type { Bucket } from "../../core/bucket.js";
import type { Limit } from "../../core/limit.js";
import type { Fingerprint } from "./fingerprint.js";
import { MemoryShard } from "./shard.js";

// 5000 keys fill a shard of 8192 slots to 61 %: probes are short, a key takes 39 bytes, and growth takes well under 1
// ms.
const KEYS_PER_SHARD = 5_000;

/**
 * The buckets of one limit, by fingerprint: at most `maxKeys`. A bucket is idle when it is full, and busy otherwise.
 *
 * Invariants:
 * - `size` counts the buckets kept, idle ones included, and never exceeds `maxKeys`.
 * - Any `put` may remove a bucket that is idle at `now`, which changes no decision (law L4).
 * - A `put` removes a busy bucket only when `maxKeys` are kept and all buckets it examines are busy. It removes the one
 *   that would be full soonest, and `evictedBusy` counts it.
 * - A call touches one shard, or two when the first is empty. So no call takes longer than growing one shard.
 */
export class MemoryTable {
  size = 0;
  evictedBusy = 0;

  readonly #maxKeys: number;
  readonly #limit: Limit;
  /** Created on first use, so that a large empty table costs next to nothing. */
  readonly #shards: Array<MemoryShard | undefined>;

  constructor(limit: Limit, maxKeys: number) {
    this.#maxKeys = maxKeys;
    this.#limit = limit;
    this.#shards = Array.from({ length: Math.ceil(maxKeys / KEYS_PER_SHARD) });
  }

  /** Reads a bucket into `out`. An absent bucket reads as full. */
  get(key: Fingerprint, out: Bucket): void {
    this.#shardOf(key).get(key, out);
  }

  /** Writes a bucket. Makes room for a new one. */
  put(key: Fingerprint, bucket: Bucket, now: number): void {
    const shard = this.#shardOf(key);
    if (shard.update(key, bucket)) return;
    if (this.size >= this.#maxKeys) this.#evict(shard, now);
    const dropped = shard.insert(key, bucket, now);
    this.size += 1 - dropped;
  }

  /** Forgets a bucket. */
  delete(key: Fingerprint): void {
    if (this.#shardOf(key).delete(key)) this.size -= 1;
  }

  #evict(preferred: MemoryShard, now: number): void {
    // In rare cases the key's own shard is empty although the table is full.
    const shard = preferred.used > 0 ? preferred : (this.#shards.find((other) => other !== undefined && other.used > 0) as MemoryShard);
    if (shard.evictOne(now) === "busy") this.evictedBusy += 1;
    this.size -= 1;
  }

  #shardOf(key: Fingerprint): MemoryShard {
    const i = Math.floor(((key.high >>> 0) / 2 ** 32) * this.#shards.length);
    return (this.#shards[i] ??= new MemoryShard(this.#limit));
  }
}
