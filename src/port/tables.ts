// The tables of the memory store: what it asks of one. Kinds whose records keep several amounts bring a table.
import type { LostTime } from "../core/clock.js";
import type { Bucket, Limit } from "../core/model.js";

/** A 64-bit hash of a string, as two 32-bit integers. Never both 0. */
export interface Fingerprint {
  high: number;
  low: number;
}

/** A limit, and the buckets that were counted in its numbers. */
export interface StoredLimit {
  readonly limit: Limit;
  /** Stands for the limit in a slot. -1 while it has no buckets. */
  id: number;
  buckets: number;
  /** Where its bucket was read last. */
  slot: number;
}

/** Records by fingerprint and limit. */
export interface RecordTable {
  readonly size: number;
  readonly evictedBusy: number;
  get(key: Fingerprint, stored: StoredLimit, out: Bucket): void;
  put(key: Fingerprint, stored: StoredLimit, bucket: Bucket, now: number): void;
  delete(key: Fingerprint, stored: StoredLimit | null): void;
}

/** The table of records with one amount. `onRemoved` gets the `spent` of each that is removed. */
export type PlainTable = new (
  maxKeys: number, lost: Pick<LostTime, "lostMs">, onRemoved: (spent: number) => void,
) => RecordTable;

/** The table of a kind. `Plain` is the store's own, which it may build on. */
export type KindTable = new (maxKeys: number, lost: LostTime, Plain: PlainTable) => RecordTable;
