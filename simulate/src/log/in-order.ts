import type { LogEntry } from "./entry.js";

const FAR_MS = 86_400_000;
const MOST_AHEAD = 1_000;

/**
 * Passes entries on, sorted by their times. Servers write a line when a request ends, so lines are a little out of
 * order. An entry waits until one comes that is `windowMs` younger. An entry that is older than the last one passed on
 * gets the time of that one, and counts in `late`.
 *
 * Entries that come in order wait in a list, and cost one step each. Only the others are in a heap: a log in any order
 * costs O(log n) steps an entry.
 *
 * Entries more than a day ahead wait apart, so that one wrong clock does not keep the rest of the log in memory.
 */
export class InOrder {
  /** Entries that came more than `windowMs` after younger ones. */
  late = 0;

  readonly #windowMs: number;
  readonly #give: (entry: LogEntry) => void;
  #sorted: LogEntry[] = [];
  #head = 0;
  readonly #others = new EntryHeap();
  #given = -Infinity;
  #youngestAt: number | undefined;
  /** Entries far ahead of the others: a wrong clock, or a pause in the log. */
  #ahead: LogEntry[] = [];

  constructor(windowMs: number, give: (entry: LogEntry) => void) {
    this.#windowMs = windowMs;
    this.#give = give;
  }

  add(entry: LogEntry): void {
    const youngestAt = this.#youngestAt ?? entry.at;
    if (entry.at - youngestAt > FAR_MS) {
      this.#ahead.push(entry);
      if (this.#ahead.length >= MOST_AHEAD) this.#takeAhead();
      return;
    }
    // The log went on at its own time, so the clocks of those ahead were wrong. They wait until the end.
    if (this.#ahead.length > 0) for (const each of this.#ahead.splice(0)) this.#others.add(each);
    // The first entries had the wrong clock.
    if (this.#given === -Infinity && youngestAt - entry.at > FAR_MS) {
      for (const each of this.#sorted.splice(0)) this.#others.add(each);
      this.#youngestAt = undefined;
    }
    this.#append(entry);
  }

  /** Many entries ahead are a pause in the log. */
  #takeAhead(): void {
    for (const entry of this.#ahead.splice(0)) this.#append(entry);
  }

  #append(entry: LogEntry): void {
    if (entry.at < this.#given) {
      this.late += 1;
      this.#give({ ...entry, at: this.#given });
      return;
    }
    if (this.#head < this.#sorted.length && entry.at < (this.#youngestAt ?? -Infinity)) return this.#others.add(entry);
    this.#youngestAt = entry.at;
    this.#sorted.push(entry);
    this.#passUntil(entry.at - this.#windowMs);
    // Half of the list was given on: moving the rest costs one step for each entry.
    if (this.#head > 1_024 && this.#head * 2 > this.#sorted.length) {
      this.#sorted = this.#sorted.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Gives on what still waits. */
  end(): void {
    this.#takeAhead();
    this.#passUntil(Infinity);
  }

  #passUntil(at: number): void {
    for (;;) {
      const next = this.#sorted[this.#head];
      const other = this.#others.first;
      // Of one time, those of the list came first.
      const isOther = other !== undefined && (next === undefined || other.at < next.at);
      const entry = isOther ? other : next;
      if (entry === undefined) return;
      if (entry.at > at) return;
      if (isOther) this.#others.take();
      else this.#head += 1;
      this.#given = entry.at;
      this.#give(entry);
    }
  }
}

interface HeapItem {
  readonly entry: LogEntry;
  /** Entries of one time keep their order. */
  readonly order: number;
}

/** A binary heap of entries, the oldest first. */
class EntryHeap {
  readonly #items: HeapItem[] = [];
  #added = 0;

  get first(): LogEntry | undefined {
    return this.#items[0]?.entry;
  }

  add(entry: LogEntry): void {
    const item = { entry, order: this.#added++ };
    let at = this.#items.push(item) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(item, this.#items[above] as HeapItem)) break;
      this.#items[at] = this.#items[above] as HeapItem;
      at = above;
    }
    this.#items[at] = item;
  }

  take(): void {
    const last = this.#items.pop();
    if (last === undefined || this.#items.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      const right = this.#items[below + 1];
      if (right !== undefined && isBefore(right, this.#items[below] as HeapItem)) below += 1;
      const item = this.#items[below];
      if (item === undefined || !isBefore(item, last)) break;
      this.#items[at] = item;
      at = below;
    }
    this.#items[at] = last;
  }
}

function isBefore(a: HeapItem, b: HeapItem): boolean {
  return a.entry.at < b.entry.at || (a.entry.at === b.entry.at && a.order < b.order);
}
