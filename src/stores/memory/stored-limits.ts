import type { StoredLimit } from "../../port/tables.js";

/**
 * The limits that have buckets in a table, by a number that fits into a slot.
 *
 * A limit leaves with its last bucket, so this list never holds more limits than the table has held buckets.
 */
export class StoredLimits {
  readonly #byId: Array<StoredLimit | undefined> = [];
  readonly #freeIds: number[] = [];

  /** The limit of a bucket that is kept. */
  get(id: number): StoredLimit {
    return this.#byId[id] as StoredLimit;
  }

  /** Adds a bucket of `stored`, and returns the limit's number. */
  addBucket(stored: StoredLimit): number {
    if (stored.buckets === 0) {
      stored.id = this.#freeIds.pop() ?? this.#byId.length;
      this.#byId[stored.id] = stored;
    }
    stored.buckets += 1;
    return stored.id;
  }

  /** Removes a bucket of the limit with this number. */
  removeBucket(id: number): void {
    const stored = this.get(id);
    stored.buckets -= 1;
    if (stored.buckets > 0) return;
    stored.id = -1;
    this.#byId[id] = undefined;
    this.#freeIds.push(id);
  }
}
