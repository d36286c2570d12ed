import { fullBucket, type Bucket } from "../../core/bucket.js";
import type { Limit } from "../../core/limit.js";
import type { Fingerprint } from "./fingerprint.js";

const SMALLEST = 8;
const LARGEST_FILL = 0.75;
// The most buckets examined for an idle one before a busy one is removed.
const EXAMINED = 256;

// A slot is 24 bytes, mostly one cache miss: `high` and `low` as integers, then `spent` and `at` as doubles.
const WORDS = 6;
const LOW = 1;
const DOUBLES = 3;
const SPENT = 1;
const AT = 2;

/**
 * One open-addressing hash table of buckets in one buffer, with no object and no string per key.
 *
 * Invariants:
 * - A slot is empty when both halves of its fingerprint are 0.
 * - No slot is empty between a fingerprint's home slot (`low & mask`) and its own slot.
 * - At most three quarters of the slots are taken, so every probe ends.
 */
export class MemoryShard {
  /** Slots taken, idle buckets included. */
  used = 0;

  #mask = SMALLEST - 1;
  #words = new Int32Array(WORDS * SMALLEST);
  #amounts = new Float64Array(this.#words.buffer);
  /** `unitsPerMs` and `unitsPerToken` of each slot. Null while all records have those of `#limit` (law L14). */
  #numbers: Float64Array | null = null;
  /** The slot where the last eviction stopped; the next one continues there. */
  #hand = 0;
  readonly #limit: Limit;

  constructor(limit: Limit) {
    this.#limit = limit;
  }

  /** Reads a bucket into `out`. An absent bucket reads as full. */
  get(key: Fingerprint, out: Bucket): void {
    const slot = this.#find(key);
    if (slot >= 0) this.#read(slot, out);
    else out.spent = 0;
  }

  /** Overwrites a bucket if it is there. Returns whether it was. */
  update(key: Fingerprint, bucket: Bucket): boolean {
    const slot = this.#find(key);
    if (slot >= 0) this.#write(slot, bucket);
    return slot >= 0;
  }

  /** Adds a bucket that is not there yet. Returns how many idle buckets it removed to make room. */
  insert(key: Fingerprint, bucket: Bucket, now: number): number {
    const dropped = this.used < (this.#mask + 1) * LARGEST_FILL ? 0 : this.#rebuild(now);
    let slot = key.low & this.#mask;
    while (this.#isTaken(slot)) slot = (slot + 1) & this.#mask;
    this.#words[WORDS * slot] = key.high;
    this.#words[WORDS * slot + LOW] = key.low;
    this.#write(slot, bucket);
    this.used += 1;
    return dropped;
  }

  /** Removes a bucket. Returns whether it was there. */
  delete(key: Fingerprint): boolean {
    const slot = this.#find(key);
    if (slot >= 0) this.#remove(slot);
    return slot >= 0;
  }

  /** Removes the first idle bucket of 256, or else the one that would be full soonest. The shard must not be empty. */
  evictOne(now: number): "idle" | "busy" {
    let victim = -1;
    let soonest = Infinity;
    let slot = this.#hand;
    for (let examined = 0, left = this.#mask; examined < EXAMINED && left >= 0 && soonest > now; left--) {
      slot = (slot + 1) & this.#mask;
      if (!this.#isTaken(slot)) continue;
      examined += 1;
      const fullAt = this.#fullAt(slot, now);
      if (fullAt < soonest || victim < 0) {
        soonest = fullAt;
        victim = slot;
      }
    }
    this.#hand = slot;
    this.#remove(victim);
    return soonest > now ? "busy" : "idle";
  }

  #find(key: Fingerprint): number {
    const { high, low } = key;
    const words = this.#words;
    for (let slot = low & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const foundHigh = words[WORDS * slot];
      const foundLow = words[WORDS * slot + LOW];
      if (foundHigh === high && foundLow === low) return slot;
      if (foundHigh === 0 && foundLow === 0) return -1;
    }
  }

  #isTaken(slot: number): boolean {
    return this.#words[WORDS * slot] !== 0 || this.#words[WORDS * slot + LOW] !== 0;
  }

  #read(slot: number, out: Bucket): void {
    const numbers = this.#numbers;
    out.spent = this.#amounts[DOUBLES * slot + SPENT] as number;
    out.at = this.#amounts[DOUBLES * slot + AT] as number;
    out.unitsPerMs = numbers === null ? this.#limit.unitsPerMs : (numbers[2 * slot] as number);
    out.unitsPerToken = numbers === null ? this.#limit.unitsPerToken : (numbers[2 * slot + 1] as number);
  }

  #write(slot: number, bucket: Bucket): void {
    this.#amounts[DOUBLES * slot + SPENT] = bucket.spent;
    this.#amounts[DOUBLES * slot + AT] = bucket.at;
    if (this.#numbers === null) {
      if (bucket.unitsPerMs === this.#limit.unitsPerMs && bucket.unitsPerToken === this.#limit.unitsPerToken) return;
      this.#numbers = new Float64Array(2 * (this.#mask + 1));
      for (let i = 0; i < this.#numbers.length; i += 2) {
        this.#numbers[i] = this.#limit.unitsPerMs;
        this.#numbers[i + 1] = this.#limit.unitsPerToken;
      }
    }
    this.#numbers[2 * slot] = bucket.unitsPerMs;
    this.#numbers[2 * slot + 1] = bucket.unitsPerToken;
  }

  // A record more than one full refill ahead of the clock counts as full, so that it blocks no other bucket (law L6).
  #fullAt(slot: number, now: number): number {
    const at = this.#amounts[DOUBLES * slot + AT] as number;
    if (at - now > this.#limit.fullMs) return now;
    const unitsPerMs = this.#numbers === null ? this.#limit.unitsPerMs : (this.#numbers[2 * slot] as number);
    return at + Math.ceil((this.#amounts[DOUBLES * slot + SPENT] as number) / unitsPerMs);
  }

  // Closes the gap (backward shift), so that no probe stops early and no tombstones pile up.
  #remove(slot: number): void {
    let gap = slot;
    for (let next = (gap + 1) & this.#mask; this.#isTaken(next); next = (next + 1) & this.#mask) {
      const home = (this.#words[WORDS * next + LOW] as number) & this.#mask;
      const awayFromHome = (next - home) & this.#mask;
      const awayFromGap = (next - gap) & this.#mask;
      if (awayFromHome < awayFromGap) continue;
      // Copies integers: fingerprint bits that form a NaN could change if they were copied as a double.
      this.#words.copyWithin(WORDS * gap, WORDS * next, WORDS * (next + 1));
      this.#numbers?.copyWithin(2 * gap, 2 * next, 2 * (next + 1));
      gap = next;
    }
    this.#words[WORDS * gap] = 0;
    this.#words[WORDS * gap + LOW] = 0;
    this.used -= 1;
  }

  // Removes idle buckets, and doubles the slots when more than half of the buckets are busy. So rebuilding stays rare.
  #rebuild(now: number): number {
    const busy: number[] = [];
    for (let slot = 0; slot <= this.#mask; slot++) if (this.#isTaken(slot) && this.#fullAt(slot, now) > now) busy.push(slot);
    const dropped = this.used - busy.length;
    const slots = (this.#mask + 1) * (busy.length > this.used / 2 ? 2 : 1);
    const words = this.#words;
    const amounts = this.#amounts;
    const numbers = this.#numbers;

    this.#mask = slots - 1;
    this.#words = new Int32Array(WORDS * slots);
    this.#amounts = new Float64Array(this.#words.buffer);
    this.#numbers = null;
    this.#hand = 0;
    this.used = 0;
    const key = { high: 0, low: 0 };
    const bucket = fullBucket(this.#limit);
    for (const slot of busy) {
      key.high = words[WORDS * slot] as number;
      key.low = words[WORDS * slot + LOW] as number;
      bucket.spent = amounts[DOUBLES * slot + SPENT] as number;
      bucket.at = amounts[DOUBLES * slot + AT] as number;
      if (numbers !== null) {
        bucket.unitsPerMs = numbers[2 * slot] as number;
        bucket.unitsPerToken = numbers[2 * slot + 1] as number;
      }
      this.insert(key, bucket, now);
    }
    return dropped;
  }
}
