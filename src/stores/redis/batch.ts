/**
 * The callbacks for the result of an item. One of them is called, once. It must not throw, because a loop calls many of
 * them.
 */
export interface PendingResult<Answer> {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** One item of a batch, and the callbacks for its result. */
export interface BatchItem<Result> {
  /** The size that counts toward `largest`. */
  readonly size: number;
  readonly pending: PendingResult<Result>;
}

/** Replaces a result when another batcher got the item and settles it. */
export const HANDED_ON = Symbol("handed on");

/** Sends a batch. Resolves to one entry per item, in order. An error fails only its item. */
export type SendBatch<Item, Result> = (batch: readonly Item[]) => Promise<ReadonlyArray<Result | Error | typeof HANDED_ON>>;

/**
 * Collects items into batches: the items of one tick, and the items that arrive while `maxInFlight` calls are in
 * flight.
 *
 * - Fewer than `maxInFlight` calls in flight: sends at the end of the tick, because a few callers should not wait.
 * - None in flight: also sends at a size of `largest / 4`. The server then works while the client collects more.
 * - `maxInFlight` or more in flight: waits for a reply, or for a size of `largest`.
 *
 * A batch has at most size `largest`, unless a single item is larger. A failed call fails only its items. An item is
 * sent and counted even if its caller has timed out. A call without a reply delays later items until their size reaches
 * `largest`, so give the client a timeout.
 */
export class Batcher<Item extends BatchItem<Result>, Result> {
  readonly #send: SendBatch<Item, Result>;
  readonly #largest: number;
  readonly #enough: number;
  readonly #maxInFlight: number;
  readonly #endOfTick = (): void => {
    // On a server, requests arrive one by one within one turn of the event loop.
    if (this.#waiting.length === 1 && this.#sizeInFlight >= this.#maxInFlight && startImmediate !== undefined) {
      startImmediate(this.#endOfTurn);
    }
    else this.#endOfTurn();
  };
  readonly #endOfTurn = (): void => {
    this.#scheduled = false;
    this.#flush();
  };
  #waiting: Item[] = [];
  #size = 0;
  #inFlight = 0;
  #sizeInFlight = 0;
  #scheduled = false;

  constructor(send: SendBatch<Item, Result>, largest: number, maxInFlight: number) {
    this.#send = send;
    this.#largest = largest;
    this.#enough = Math.ceil(largest / 4);
    this.#maxInFlight = maxInFlight;
  }

  /** Adds `item`, and calls its `pending` with the result. */
  add(item: Item): void {
    if (this.#size + item.size > this.#largest) this.#flush();
    // `push` to an empty array reserves room for 17 items. Most batches of a small service have one.
    if (this.#waiting.length === 0) this.#waiting = [item];
    else this.#waiting.push(item);
    this.#size += item.size;
    if (this.#size >= (this.#inFlight === 0 ? this.#enough : this.#largest)) this.#flush();
    else if (!this.#scheduled && this.#inFlight < this.#maxInFlight) {
      this.#scheduled = true;
      void endOfTick.then(this.#endOfTick);
    }
  }

  #flush(): void {
    if (this.#waiting.length === 0) return;
    const [batch, size] = [this.#waiting, this.#size];
    this.#waiting = [];
    this.#size = 0;
    this.#inFlight += 1;
    this.#sizeInFlight += size;
    // Not an async function, because each additional promise delays a lone item by one turn of the microtask queue.
    this.#start(batch).then(
      (results) => this.#settle(batch, size, ({ pending }, i) => {
        const result = results[i] as Result | Error | typeof HANDED_ON;
        if (result === HANDED_ON) return;
        if (result instanceof Error) pending.reject(result);
        else pending.resolve(result);
      }),
      (error: unknown) => this.#settle(batch, size, ({ pending }) => pending.reject(error)),
    );
  }

  #start(batch: readonly Item[]): ReturnType<SendBatch<Item, Result>> {
    try {
      return this.#send(batch);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  #settle(batch: readonly Item[], size: number, settle: (item: Item, i: number) => void): void {
    try {
      batch.forEach(settle);
    } finally {
      this.#inFlight -= 1;
      this.#sizeInFlight -= size;
      // A reply sends the waiting items, even while other calls are in flight.
      if (!this.#scheduled) this.#flush();
    }
  }
}

// Absent in browsers and Workers. Read once at import, because tests replace it with a function that waits for them.
const startImmediate = (globalThis as { setImmediate?(then: () => void): unknown }).setImmediate;

// Used for `then`, which costs less than queueMicrotask: Node wraps queueMicrotask.
const endOfTick = Promise.resolve();
