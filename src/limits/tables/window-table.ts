import type { Bucket } from "../../core/bucket.js";
import type { LostTime } from "../../core/clock.js";
import type { Fingerprint, PlainTable, RecordTable, StoredLimit } from "../../port/tables.js";

/**
 * The records of windows in memory: at most `maxKeys`, in typed arrays, with 20 bytes for each amount.
 *
 * The index is a table of buckets. A bucket of it is busy until the last date of its record, and its `spent` is the
 * place of the record in {@link Rows}.
 */
export class WindowTable {
  readonly #rows = new Rows();
  readonly #index: RecordTable;
  /** Of the record that is written: where it was, then where it is. */
  readonly #entry: Bucket = { spent: 0, at: 0, unitsPerMs: 1, unitsPerToken: 1 };

  readonly #lost: Pick<LostTime, "lostMs">;
  /** What the clock had lost when the amounts were last made older. */
  #agedMs: number;

  constructor(maxKeys: number, lost: Pick<LostTime, "lostMs">, Plain: PlainTable) {
    this.#index = new Plain(maxKeys, lost, (place) => this.#rows.free(place));
    this.#lost = lost;
    this.#agedMs = lost.lostMs;
  }

  get size(): number {
    return this.#index.size;
  }

  get evictedBusy(): number {
    return this.#index.evictedBusy;
  }

  /** Reads a record into `out`. An absent one reads as full. */
  get(key: Fingerprint, stored: StoredLimit, out: Bucket): void {
    const { lostMs } = this.#lost;
    // As the index does with its buckets.
    if (this.#agedMs !== lostMs) this.#rows.age(lostMs - this.#agedMs);
    this.#agedMs = lostMs;
    this.#index.get(key, stored, out);
    out.spent = this.#rows.read(out.spent, (out.dates ??= []));
  }

  /** Writes a record that was brought to `now`, and has tokens. */
  put(key: Fingerprint, stored: StoredLimit, { at, dates = [] }: Bucket, now: number): void {
    const entry = this.#entry;
    this.#index.get(key, stored, entry);
    // The index may remove what is idle, and would free the row that is written here.
    if (entry.spent > 0 && entry.at < now) {
      this.#index.delete(key, stored);
      entry.spent = 0;
    }
    entry.spent = this.#rows.write(entry.spent, dates);
    entry.at = at;
    this.#index.put(key, stored, entry, now);
  }

  /** Forgets a record of a key, or with null those of all limits. */
  delete(key: Fingerprint, stored: StoredLimit | null): void {
    this.#index.delete(key, stored);
  }
}

// Amounts in a row. A record has a row of the narrowest pool that holds it.
const WIDTHS = [1, 2, 3, 5, 8, 12, 18] as const;
// The pool for so many amounts, from 0 to 18.
const POOL_OF = [0, 0, 1, 2, 3, 3, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6] as const;
// The arrays of 256 rows take 5 to 92 kB.
const ROWS_PER_CHUNK = 256;
// A place is the number of the row in its pool, times this, plus the number of amounts.
const MOST_IN_PLACE = 32;

/** The amounts of the records, in rows. */
class Rows {
  readonly #pools = WIDTHS.map((width) => new Pool(width));

  /** Reads the amounts at `place` into `list`. Returns the sum of their units. 0 is the place of none. */
  read(place: number, list: number[]): number {
    const count = place % MOST_IN_PLACE;
    while (list.length > 3 * count) list.pop();
    if (count === 0) return 0;
    const row = Math.floor(place / MOST_IN_PLACE);
    const { width, chunks } = this.#pools[POOL_OF[count] as number] as Pool;
    const { numbers, spans } = chunks[Math.floor(row / ROWS_PER_CHUNK)] as Chunk;
    let from = (row % ROWS_PER_CHUNK) * width;
    let sum = 0;
    for (let to = 0; to < 3 * count; from++) {
      const last = numbers[2 * from] as number;
      const units = numbers[2 * from + 1] as number;
      list[to++] = last;
      list[to++] = units;
      list[to++] = last - (spans[from] as number);
      sum += units;
    }
    return sum;
  }

  /** Writes amounts over those at `place`, or for 0 into a free row. Returns their place. */
  write(place: number, list: readonly number[]): number {
    const count = list.length / 3;
    const pool = this.#pools[POOL_OF[count] as number] as Pool;
    let row = Math.floor(place / MOST_IN_PLACE);
    if (place === 0 || POOL_OF[place % MOST_IN_PLACE] !== POOL_OF[count]) {
      this.free(place);
      row = pool.take();
    }
    const { numbers, spans } = pool.chunks[Math.floor(row / ROWS_PER_CHUNK)] as Chunk;
    let to = (row % ROWS_PER_CHUNK) * pool.width;
    for (let from = 0; from < list.length; to++) {
      const last = list[from++] as number;
      numbers[2 * to] = last;
      numbers[2 * to + 1] = list[from++] as number;
      // An eighth of a year fits into 32 bits.
      spans[to] = last - (list[from++] as number);
    }
    return row * MOST_IN_PLACE + count;
  }

  /** Makes each amount older. */
  age(ms: number): void {
    for (const { chunks } of this.#pools) {
      for (const { numbers } of chunks.filter((chunk) => chunk !== undefined)) {
        for (let i = 0; i < numbers.length; i += 2) numbers[i] = (numbers[i] as number) - ms;
      }
    }
  }

  free(place: number): void {
    if (place > 0) (this.#pools[POOL_OF[place % MOST_IN_PLACE] as number] as Pool).free(Math.floor(place / MOST_IN_PLACE));
  }
}

/** 256 rows. */
interface Chunk {
  readonly id: number;
  /** For each amount the last date and its units. */
  readonly numbers: Float64Array;
  /** For each amount how long before its last date the first one is. In a free row, the first is the next free row. */
  readonly spans: Uint32Array;
  used: number;
  /** The first free row. The row after the last one if there is none. */
  next: number;
}

/** Rows of one width. Chunks come and go, so that memory returns and is never copied. */
class Pool {
  readonly width: number;
  readonly chunks: Array<Chunk | undefined> = [];
  /** The chunks with free rows, and the numbers of those that are gone. */
  readonly #open = new Set<Chunk>();
  readonly #gone: number[] = [];
  /** The chunk that gave the last row. */
  #last: Chunk | undefined;

  constructor(width: number) {
    this.width = width;
  }

  take(): number {
    const chunk = this.#last && this.#open.has(this.#last) ? this.#last : (this.#open.values().next().value ?? this.#add());
    this.#last = chunk;
    const row = chunk.next;
    chunk.next = chunk.spans[row * this.width] as number;
    chunk.used += 1;
    if (chunk.used === ROWS_PER_CHUNK) this.#open.delete(chunk);
    return chunk.id * ROWS_PER_CHUNK + row;
  }

  free(row: number): void {
    const chunk = this.chunks[Math.floor(row / ROWS_PER_CHUNK)] as Chunk;
    chunk.spans[(row % ROWS_PER_CHUNK) * this.width] = chunk.next;
    chunk.next = row % ROWS_PER_CHUNK;
    chunk.used -= 1;
    this.#open.add(chunk);
    // One stays, so that a record that comes and goes makes no arrays.
    if (chunk.used > 0 || this.#open.size === 1) return;
    this.#open.delete(chunk);
    this.chunks[chunk.id] = undefined;
    this.#gone.push(chunk.id);
  }

  #add(): Chunk {
    const id = this.#gone.pop() ?? this.chunks.length;
    const spans = new Uint32Array(ROWS_PER_CHUNK * this.width);
    for (let row = 0; row < ROWS_PER_CHUNK; row++) spans[row * this.width] = row + 1;
    const chunk = { id, numbers: new Float64Array(2 * ROWS_PER_CHUNK * this.width), spans, used: 0, next: 0 };
    this.chunks[id] = chunk;
    this.#open.add(chunk);
    return chunk;
  }
}
