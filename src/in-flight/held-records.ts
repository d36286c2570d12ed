import type { Bucket } from "../core/bucket.js";
import type { HeldTable, KeyHalves, LimitOf } from "../core/rules.js";

/** A record: what its dates sum up to, and the dates. */
type StoredDates = Pick<Bucket, "spent" | "at" | "dates">;

const NO_RECORD: StoredDates = { spent: 0, at: 0, dates: undefined };

/**
 * The records of limits in flight in memory, for at most `maxKeys` keys. Each new key looks at two others, and forgets
 * one whose last date is over. So no timer is needed. A full table forgets the key that came first.
 */
export class HeldRecords implements HeldTable {
  size = 0;
  evictedBusy = 0;
  /** By key, and then by the limit's name. */
  readonly #keys = new Map<string, Map<string, StoredDates>>();
  readonly #maxKeys: number;
  #looked = this.#keys.entries();

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  get(key: KeyHalves, { limit }: LimitOf, out: Bucket): void {
    Object.assign(out, this.#keys.get(idOf(key))?.get(limit.name) ?? NO_RECORD);
  }

  put(key: KeyHalves, { limit }: LimitOf, { spent, at, dates }: Bucket, now: number): void {
    const id = idOf(key);
    let records = this.#keys.get(id);
    if (records === undefined) {
      this.#forgetOld(now);
      this.#keys.set(id, (records = new Map<string, StoredDates>()));
    }
    this.size += records.has(limit.name) ? 0 : 1;
    records.set(limit.name, { spent, at, dates });
  }

  delete(key: KeyHalves, stored: LimitOf | null): void {
    const id = idOf(key);
    const records = this.#keys.get(id);
    if (records === undefined) return;
    if (stored === null) return this.#forget(id, records);
    if (records.delete(stored.limit.name)) this.size -= 1;
    if (records.size === 0) this.#keys.delete(id);
  }

  #forgetOld(now: number): void {
    for (let i = 0; i < 2; i++) {
      let next = this.#looked.next();
      if (next.done) next = (this.#looked = this.#keys.entries()).next();
      if (next.done) return;
      const [id, records] = next.value;
      if ([...records.values()].every(({ at }) => at < now)) this.#forget(id, records);
    }
    const first = this.#keys.entries().next().value;
    if (this.#keys.size < this.#maxKeys || first === undefined) return;
    this.evictedBusy += first[1].size;
    this.#forget(...first);
  }

  #forget(id: string, records: ReadonlyMap<string, StoredDates>): void {
    this.size -= records.size;
    this.#keys.delete(id);
  }
}

const idOf = ({ high, low }: KeyHalves): string => `${high} ${low}`;
