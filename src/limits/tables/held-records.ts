import type { Bucket, Limit } from "../../core/model.js";
import type { Fingerprint } from "../../port/tables.js";

// The most records examined for an idle one before a busy one is removed.
const LOOKED_AT = 256;

/** A limit of a record. */
interface LimitOfRecord {
  readonly limit: Pick<Limit, "name">;
}

type Amounts = Pick<Bucket, "spent" | "at" | "dates">;

/** A record, between the one that was written before it and the one that was written after it. */
interface HeldRecord {
  readonly id: string;
  spent: number;
  /** The last of its dates. */
  at: number;
  dates: Bucket["dates"];
  before: HeldRecord;
  after: HeldRecord;
}

/**
 * The records of limits in flight in memory: at most `maxKeys`. A record is idle when its last date is over, and busy
 * otherwise.
 *
 * Each new record looks at two others, and removes those that are idle. So no timer is needed. In a full table it looks
 * at the 256 that were written longest ago. It removes the first idle one, or else the one whose last date comes first.
 * So a busy caller loses its record only when nearly `maxKeys` others were written since its last call or renewal.
 */
export class HeldRecords {
  evictedBusy = 0;
  /** By key and limit. */
  readonly #records = new Map<string, HeldRecord>();
  /** The names of the limits that have had records. */
  readonly #names = new Set<string>();
  readonly #maxKeys: number;
  /**
   * Between the last and the first record, in the order in which they were written. A Map is slow at its first items.
   */
  readonly #ends: HeldRecord = emptyRing("");
  /** The record that is looked at next. */
  #next = this.#ends;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  get size(): number {
    return this.#records.size;
  }

  get(key: Fingerprint, { limit }: LimitOfRecord, out: Bucket): void {
    copyAmounts(this.#records.get(idOf(key, limit.name)) ?? this.#ends, out);
  }

  put(key: Fingerprint, { limit }: LimitOfRecord, bucket: Bucket, now: number): void {
    const id = idOf(key, limit.name);
    let record = this.#records.get(id);
    if (record === undefined) {
      this.#makeRoom(now);
      this.#records.set(id, (record = emptyRing(id)));
    } else this.#unlink(record);
    copyAmounts(bucket, record);
    this.#names.add(limit.name);
    link(this.#ends.before, record);
    link(record, this.#ends);
  }

  delete(key: Fingerprint, stored: LimitOfRecord | null): void {
    for (const name of stored === null ? this.#names : [stored.limit.name]) {
      const record = this.#records.get(idOf(key, name));
      if (record !== undefined) this.#remove(record);
    }
  }

  #makeRoom(now: number): void {
    for (let i = 0; i < 2; i++) {
      const record = this.#next === this.#ends ? this.#ends.after : this.#next;
      if (record === this.#ends) return;
      this.#next = record.after;
      if (record.at < now) this.#remove(record);
    }
    if (this.#records.size >= this.#maxKeys) this.#evictOne(now);
  }

  #evictOne(now: number): void {
    let record = this.#ends.after;
    let victim = record;
    for (let i = 0; i < LOOKED_AT && record !== this.#ends && victim.at >= now; i++) {
      if (record.at < victim.at) victim = record;
      record = record.after;
    }
    if (victim.at >= now) this.evictedBusy += 1;
    this.#remove(victim);
  }

  #remove(record: HeldRecord): void {
    this.#unlink(record);
    this.#records.delete(record.id);
  }

  #unlink(record: HeldRecord): void {
    if (this.#next === record) this.#next = record.after;
    link(record.before, record.after);
  }
}

/** A ring of one link, with the values of a key without a record. */
function emptyRing(id: string): HeldRecord {
  const ends = { id, spent: 0, at: 0, dates: undefined } as Omit<HeldRecord, "before" | "after"> as HeldRecord;
  link(ends, ends);
  return ends;
}

// Object.assign takes ten times as long.
function copyAmounts({ spent, at, dates }: Amounts, to: Amounts): void {
  to.spent = spent;
  to.at = at;
  to.dates = dates;
}

function link(before: HeldRecord, after: HeldRecord): void {
  before.after = after;
  after.before = before;
}

// Four characters for the fingerprint. Writing its two numbers in digits takes five times as long.
const idOf = ({ high, low }: Fingerprint, name: string): string =>
  String.fromCharCode(high & 0xffff, high >>> 16, low & 0xffff, low >>> 16) + name;
