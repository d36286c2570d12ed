import type { Bucket } from "../../core/bucket.js";
import type { Limit } from "../../core/limit.js";
import type { Fingerprint } from "./fingerprint.js";
import { MemoryShard } from "./shard.js";

// 5000 keys fill a shard of 8192 slots to 61 %: short probes, 39 bytes a key, and growing it takes well under a millisecond.
const KEYS_PER_SHARD = 5_000;

/**
 * The buckets of one limit, by fingerprint, at most `maxKeys` of them.
 *
 * What always holds:
 * - `size` counts the buckets kept, idle ones included, and never passes `maxKeys`.
 * - A bucket that is idle at `now` may vanish at any `put`, which changes no answer (law L4).
 * - A busy bucket vanishes only when `maxKeys` are kept and none of those examined is idle. The one of them that would have
 *   been full soonest goes, and `evictedBusy` counts it.
 * - No call touches more than one shard, or two when the first is empty, so none takes longer than one shard's growth.
 */
export class MemoryTable {
  size = 0;
  evictedBusy = 0;

  readonly #maxKeys: number;
  readonly #limit: Limit;
  /** Made when first used: a large table costs nothing before it is. */
  readonly #shards: Array<MemoryShard | undefined>;

  constructor(limit: Limit, maxKeys: number) {
    this.#maxKeys = maxKeys;
    this.#limit = limit;
    this.#shards = Array.from({ length: Math.ceil(maxKeys / KEYS_PER_SHARD) });
  }

  /** Reads a bucket into `out`; an absent one reads as full. */
  get(key: Fingerprint, out: Bucket): void {
    this.#shardOf(key).get(key, out);
  }

  /** Writes a bucket, making room for it when it is new. */
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
    // A shard that is empty although the table is full is possible, if only just.
    const shard = preferred.used > 0 ? preferred : (this.#shards.find((other) => other !== undefined && other.used > 0) as MemoryShard);
    if (shard.evictOne(now) === "busy") this.evictedBusy += 1;
    this.size -= 1;
  }

  #shardOf(key: Fingerprint): MemoryShard {
    const place = Math.floor(((key.high >>> 0) / 2 ** 32) * this.#shards.length);
    return (this.#shards[place] ??= new MemoryShard(this.#limit));
  }
}
