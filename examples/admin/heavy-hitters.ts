/**
 * The ids that come most often, in bounded memory: the sketch Space-Saving (Metwally, Agrawal and El Abbadi, "Efficient
 * Computation of Frequent and Top-k Elements in Data Streams", 2005).
 *
 * Of n additions to a sketch of `size` places, each id that came more than n / size times is in it, and no count is more
 * than n / size too high. No count is too low.
 */
export class HeavyHitters {
  readonly #size: number;
  /** A heap: the entry with the smallest count comes first. */
  readonly #heap: Entry[] = [];
  readonly #places = new Map<string, number>();
  #total = 0;

  constructor(size: number) {
    if (!Number.isSafeInteger(size) || size < 1) throw new RangeError(`Expected \`size\` to be a whole number above 0, got ${size}`);
    this.#size = size;
  }

  /** Counts an id once. */
  add(id: string): void {
    this.#total += 1;
    const place = this.#places.get(id);
    if (place !== undefined) {
      (this.#heap[place] as Entry).count += 1;
      this.#sink(place);
    } else if (this.#heap.length < this.#size) {
      this.#heap.push({ id, count: 1, error: 0 });
      this.#rise(this.#heap.length - 1);
    } else {
      // The new id takes the place of the rarest one, and its count: it may have come that often before.
      const rarest = this.#heap[0] as Entry;
      this.#places.delete(rarest.id);
      this.#heap[0] = { id, count: rarest.count + 1, error: rarest.count };
      this.#places.set(id, 0);
      this.#sink(0);
    }
  }

  /** What the sketch knows now. */
  summary(): Summary {
    const isFull = this.#heap.length === this.#size;
    return { entries: this.#heap.map((each) => ({ ...each })), floor: isFull ? (this.#heap[0] as Entry).count : 0, total: this.#total, size: this.#size };
  }

  #rise(place: number): void {
    for (let at = place; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (this.#count(parent) <= this.#count(at)) return this.#mark(at);
      this.#swap(at, parent);
      at = parent;
    }
    this.#mark(0);
  }

  #sink(place: number): void {
    for (let at = place; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const least = right < this.#heap.length && this.#count(right) < this.#count(left) ? right : left;
      if (least >= this.#heap.length || this.#count(at) <= this.#count(least)) return this.#mark(at);
      this.#swap(at, least);
      at = least;
    }
  }

  #count(place: number): number {
    return (this.#heap[place] as Entry).count;
  }

  #swap(a: number, b: number): void {
    [this.#heap[a], this.#heap[b]] = [this.#heap[b] as Entry, this.#heap[a] as Entry];
    this.#mark(a);
    this.#mark(b);
  }

  #mark(place: number): void {
    this.#places.set((this.#heap[place] as Entry).id, place);
  }
}

/** An id, and how often it came: at most `count` times, and at least `count - error` times. */
export interface Entry {
  readonly id: string;
  count: number;
  error: number;
}

/** The state of a sketch, or of several sketches together. It is plain data, so processes can send it. */
export interface Summary {
  readonly entries: readonly Readonly<Entry>[];
  /** An id that is not in `entries` came at most so often. At most total / size. */
  readonly floor: number;
  readonly total: number;
  /** The most entries. */
  readonly size: number;
}

/**
 * Several summaries as one: of minutes that follow each other, or of processes that run side by side. Most first.
 *
 * The result has as many entries as the smallest of them may have, and no fewer. So its bound is total / size, in any
 * grouping: the counts above the floor add up to at most total - size * floor in each summary, and in the result.
 */
export function mergeSummaries(summaries: readonly Summary[]): Summary {
  const size = Math.min(...summaries.map((each) => each.size));
  const floor = summaries.reduce((sum, each) => sum + each.floor, 0);
  const merged = new Map<string, Entry>();
  for (const { entries, floor: own } of summaries) {
    for (const { id, count, error } of entries) {
      // Until a summary has the id, it may have missed it as often as its floor says.
      const entry = merged.get(id) ?? { id, count: floor, error: floor };
      merged.set(id, { id, count: entry.count - own + count, error: entry.error - own + error });
    }
  }
  const sorted = [...merged.values()].sort((a, b) => b.count - a.count);
  const total = summaries.reduce((sum, each) => sum + each.total, 0);
  return { entries: sorted.slice(0, size), floor: Math.max(floor, sorted[size]?.count ?? 0), total, size };
}
