import type { Bucket } from "../../core/bucket.js";
import type { LostTime } from "../../core/clock.js";
import type { Fingerprint, StoredLimit } from "../../port/tables.js";
import type { StoredLimits } from "./stored-limits.js";

const SMALLEST = 8;
const LARGEST_FILL = 0.75;
// The most buckets examined for an idle one before a busy one is removed.
const EXAMINED = 256;
// The slots in which a sweep looks for a busy bucket.
const SAMPLED = 16;

// A slot is 28 bytes, mostly one cache miss: `high`, `low` and the limit's number as integers, then `spent` and `at` as
// doubles.
const WORDS = 7;
const LOW = 1;
const LIMIT = 2;
const SPENT = 12;
const AT = 20;

/** Gets the `spent` of a bucket that is removed. */
export type OnRemoved = ((spent: number) => void) | undefined;

/**
 * One open-addressing hash table of buckets in one buffer, with no object and no string per key.
 *
 * Invariants:
 * - A slot is empty when both halves of its fingerprint are 0.
 * - No slot is empty between a fingerprint's home slot (`low & mask`) and its own slot.
 * - At most three quarters of the slots are taken, so every probe ends.
 * - The buckets of one key have one fingerprint. Their limits differ in name.
 */
export class MemoryShard {
  /** Slots taken, idle buckets included. */
  used = 0;

  #mask = SMALLEST - 1;
  #words = new Int32Array(WORDS * SMALLEST);
  /** The same bytes. Half of the doubles begin between two multiples of 8 bytes. */
  #bytes = new DataView(this.#words.buffer);
  /** The slot where the last eviction stopped; the next one continues there. */
  #hand = 0;
  readonly #limits: StoredLimits;
  readonly #lost: Pick<LostTime, "lostMs">;
  readonly #onRemoved: OnRemoved;
  /** What the clock had lost when the buckets were last made older. */
  #agedMs: number;

  constructor(limits: StoredLimits, lost: Pick<LostTime, "lostMs">, onRemoved: OnRemoved) {
    this.#limits = limits;
    this.#lost = lost;
    this.#onRemoved = onRemoved;
    this.#agedMs = lost.lostMs;
  }

  /** Reads a bucket into `out`. An absent bucket reads as full. */
  get(key: Fingerprint, stored: StoredLimit, out: Bucket): void {
    if (this.#agedMs !== this.#lost.lostMs) this.#age();
    const slot = this.#find(key, stored);
    if (slot < 0) {
      out.spent = 0;
      return;
    }
    stored.slot = slot;
    const id = this.#words[WORDS * slot + LIMIT] as number;
    const { limit } = id === stored.id ? stored : this.#limits.get(id);
    out.spent = this.#bytes.getFloat64(4 * WORDS * slot + SPENT, true);
    out.at = this.#bytes.getFloat64(4 * WORDS * slot + AT, true);
    out.unitsPerMs = limit.unitsPerMs;
    out.unitsPerToken = limit.unitsPerToken;
  }

  /** Overwrites a bucket if it is there. Returns whether it was. */
  update(key: Fingerprint, stored: StoredLimit, bucket: Bucket): boolean {
    const known = stored.slot & this.#mask;
    const slot = this.#isAt(known, key.high, key.low, stored) ? known : this.#find(key, stored);
    if (slot < 0) return false;
    const id = this.#words[WORDS * slot + LIMIT] as number;
    if (id !== stored.id) {
      this.#words[WORDS * slot + LIMIT] = this.#limits.addBucket(stored);
      this.#limits.removeBucket(id);
    }
    this.#write(slot, bucket);
    return true;
  }

  /** Adds a bucket that is not there yet. Returns how many idle buckets it removed to make room. */
  insert({ high, low }: Fingerprint, stored: StoredLimit, bucket: Bucket, now: number): number {
    const dropped = this.used < (this.#mask + 1) * LARGEST_FILL ? 0 : this.#rebuild(now, this.#mask + 1);
    const slot = this.#take(low);
    this.#words[WORDS * slot] = high;
    this.#words[WORDS * slot + LOW] = low;
    this.#words[WORDS * slot + LIMIT] = this.#limits.addBucket(stored);
    this.#write(slot, bucket);
    return dropped;
  }

  /** Removes a bucket of a key, or with null those of all limits. Returns how many there were. */
  delete({ high, low }: Fingerprint, stored: StoredLimit | null): number {
    const before = this.used;
    for (let slot = low & this.#mask; this.#isTaken(slot); ) {
      // The gap may close with another bucket of the key.
      if (this.#isAt(slot, high, low, stored)) this.#remove(slot);
      else slot = (slot + 1) & this.#mask;
    }
    return before - this.used;
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
      // Records of a clock that stepped back go first: they would never be full, and crowd out live ones.
      const fullAt = this.#fullAt(slot, now, now);
      if (fullAt < soonest || victim < 0) {
        soonest = fullAt;
        victim = slot;
      }
    }
    this.#hand = slot;
    const isBusy = this.#fullAt(victim, now) > now;
    this.#remove(victim);
    return isBusy ? "busy" : "idle";
  }

  /** Removes all idle buckets if a sample finds no busy one. Returns how many it removed. */
  sweep(now: number): number {
    for (let i = 0; i < SAMPLED; i++) {
      this.#hand = (this.#hand + 1) & this.#mask;
      if (this.#isTaken(this.#hand) && this.#fullAt(this.#hand, now) > now) return 0;
    }
    return this.#rebuild(now, SMALLEST);
  }

  #find({ high, low }: Fingerprint, stored: StoredLimit): number {
    for (let slot = low & this.#mask; ; slot = (slot + 1) & this.#mask) {
      if (this.#isAt(slot, high, low, stored)) return slot;
      if (!this.#isTaken(slot)) return -1;
    }
  }

  // Another version of a policy may have other numbers in a limit of one name.
  #isAt(slot: number, high: number, low: number, stored: StoredLimit | null): boolean {
    if (this.#words[WORDS * slot] !== high || this.#words[WORDS * slot + LOW] !== low) return false;
    const id = this.#words[WORDS * slot + LIMIT] as number;
    return stored === null || id === stored.id || this.#limits.get(id).limit.name === stored.limit.name;
  }

  // Makes each bucket older by what the clock lost, but for blocks: a corrected clock must lift no ban.
  #age(): void {
    const { lostMs } = this.#lost;
    for (let slot = 0; slot <= this.#mask; slot++) {
      if (!this.#isTaken(slot) || this.#limits.get(this.#words[WORDS * slot + LIMIT] as number).limit.fullMs === 0) continue;
      const place = 4 * WORDS * slot + AT;
      this.#bytes.setFloat64(place, this.#bytes.getFloat64(place, true) - (lostMs - this.#agedMs), true);
    }
    this.#agedMs = lostMs;
  }

  #isTaken(slot: number): boolean {
    return this.#words[WORDS * slot] !== 0 || this.#words[WORDS * slot + LOW] !== 0;
  }

  #write(slot: number, { spent, at }: Bucket): void {
    this.#bytes.setFloat64(4 * WORDS * slot + SPENT, spent, true);
    this.#bytes.setFloat64(4 * WORDS * slot + AT, at, true);
  }

  /** Takes the next empty slot for a fingerprint. */
  #take(low: number): number {
    let slot = low & this.#mask;
    while (this.#isTaken(slot)) slot = (slot + 1) & this.#mask;
    this.used += 1;
    return slot;
  }

  // A record more than one full refill ahead of the clock is brought to now (law L6). `ifImpossible` stands for it. A
  // block has no capacity: it is impossible when it is further ahead than it is long.
  #fullAt(slot: number, now: number, ifImpossible: number | null = null): number {
    const { limit } = this.#limits.get(this.#words[WORDS * slot + LIMIT] as number);
    const at = this.#bytes.getFloat64(4 * WORDS * slot + AT, true);
    const leftMs = Math.ceil(this.#bytes.getFloat64(4 * WORDS * slot + SPENT, true) / limit.unitsPerMs);
    const isImpossible = at - now > (limit.fullMs || leftMs);
    if (isImpossible && ifImpossible !== null) return ifImpossible;
    return (isImpossible ? now : at) + leftMs;
  }

  #forget(slot: number): void {
    this.#onRemoved?.(this.#bytes.getFloat64(4 * WORDS * slot + SPENT, true));
    this.#limits.removeBucket(this.#words[WORDS * slot + LIMIT] as number);
  }

  // Closes the gap (backward shift), so that no probe stops early and no tombstones pile up.
  #remove(slot: number): void {
    this.#forget(slot);
    let gap = slot;
    for (let next = (gap + 1) & this.#mask; this.#isTaken(next); next = (next + 1) & this.#mask) {
      const home = (this.#words[WORDS * next + LOW] as number) & this.#mask;
      const awayFromHome = (next - home) & this.#mask;
      const awayFromGap = (next - gap) & this.#mask;
      if (awayFromHome < awayFromGap) continue;
      this.#words.copyWithin(WORDS * gap, WORDS * next, WORDS * (next + 1));
      gap = next;
    }
    this.#words[WORDS * gap] = 0;
    this.#words[WORDS * gap + LOW] = 0;
    this.used -= 1;
  }

  // Keeps the busy buckets only, in as many slots as these fill to three eighths at most, so that rebuilding stays
  // rare. Only a sweep makes a shard smaller: one whose buckets are idle soon would be rebuilt at every few inserts.
  #rebuild(now: number, leastSlots: number): number {
    const busy: number[] = [];
    for (let slot = 0; slot <= this.#mask; slot++) {
      if (!this.#isTaken(slot)) continue;
      if (this.#fullAt(slot, now) > now) busy.push(WORDS * slot);
      else this.#forget(slot);
    }
    const dropped = this.used - busy.length;
    const words = this.#words;
    let slots = leastSlots;
    while (busy.length > (slots * LARGEST_FILL) / 2) slots *= 2;
    this.#mask = slots - 1;
    this.#words = new Int32Array(WORDS * slots);
    this.#bytes = new DataView(this.#words.buffer);
    this.#hand = 0;
    this.used = 0;
    for (const from of busy) {
      const to = WORDS * this.#take(words[from + LOW] as number);
      for (let i = 0; i < WORDS; i++) this.#words[to + i] = words[from + i] as number;
    }
    return dropped;
  }
}
