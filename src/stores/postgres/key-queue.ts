import { createDeadlines, type Deadline, type Deadlines } from "../../guard/deadlines.js";
import { sharesWork } from "../../platform.js";

/** Milliseconds after which a statement without an answer counts as lost. */
export const LOST_AFTER_MS = 1_000;

/** One piece of work in the queues of its names. */
export class QueueTurn<Item> {
  /** The items of a batch that are in no statement yet. */
  items: readonly Item[];
  /** Whether items may still join. */
  isOpen: boolean;
  /** Whether the queues have gone on: the work has settled, or one of its statements was lost. */
  isOver = false;
  /** Resolves when the turn is over. Never rejects. */
  readonly done: Promise<void>;
  readonly #deadlines: Deadlines;
  readonly #onLost: () => void;
  #resolve!: () => void;

  constructor(items: readonly Item[], deadlines: Deadlines, onLost: () => void) {
    this.items = items;
    this.isOpen = items.length > 0;
    this.#deadlines = deadlines;
    this.#onLost = onLost;
    this.done = new Promise((resolve) => (this.#resolve = resolve));
  }

  /** Sends a statement and settles as it does. Ends the turn if the answer takes longer than 1,000 ms. */
  async send<T>(statement: () => Promise<T>): Promise<T> {
    const deadline: Deadline = { since: 0, before: null, after: null, over: false, expire: this.#onLost };
    this.#deadlines.begin(deadline);
    try {
      return await statement();
    } finally {
      this.#deadlines.end(deadline);
    }
  }

  /** Lets the queues go on. */
  end(): void {
    this.isOver = true;
    this.#resolve();
  }
}

/**
 * Runs one piece of work at a time for each name, in the order of arrival.
 *
 * So a call that waits for a bucket holds no connection. Work on several names enters all of their queues at one
 * instant. Two pieces of work therefore have the same order in every queue, and no deadlock is possible. Names without
 * work take no memory.
 *
 * The queue saves statements; the lock in the database keeps decisions exact. So a turn also ends when one of its
 * statements has no answer after 1,000 ms. A connection may stay silent for hours.
 *
 * Where requests share no work (law L15), no turn waits for another, and each decision is a batch of its own.
 */
export class KeyQueue<Item> {
  readonly #last = new Map<string, QueueTurn<Item>>();
  readonly #deadlines = createDeadlines(LOST_AFTER_MS);
  readonly #isShared = sharesWork();
  readonly #abandon: (item: Item) => void;

  /** `abandon` gets each item that a lost turn has not sent. */
  constructor(abandon: (item: Item) => void) {
    this.#abandon = abandon;
  }

  /** The number of names that have work, in progress or queued. */
  get size(): number {
    return this.#last.size;
  }

  /** Runs `work` when all earlier turns of any of `names` are over. Settles as `work` does. */
  run<T>(names: readonly string[], work: (turn: QueueTurn<Item>) => Promise<T>): Promise<T> {
    return this.#append(names, [], work);
  }

  /**
   * Adds `item` to the batch at the end of the queue for `name` if `fits` returns true for the batch's first item.
   * Otherwise starts a new batch. `work` gets a batch as a turn with items, and must not reject.
   */
  join(name: string, item: Item, fits: (first: Item) => boolean, work: (turn: QueueTurn<Item>) => Promise<void>): void {
    const last = this.#last.get(name);
    if (last?.isOpen && fits(last.items[0] as Item)) (last.items as Item[]).push(item);
    else void this.#append([name], [item], work);
  }

  #append<T>(names: readonly string[], items: Item[], work: (turn: QueueTurn<Item>) => Promise<T>): Promise<T> {
    const before = names.flatMap((name) => this.#last.get(name)?.done ?? []);
    const end = (): void => {
      for (const name of names) if (this.#last.get(name) === turn) this.#last.delete(name);
      turn.end();
    };
    const turn = new QueueTurn<Item>(items, this.#deadlines, () => {
      end();
      for (const item of turn.items) this.#abandon(item);
      turn.items = [];
    });
    if (this.#isShared) for (const name of names) this.#last.set(name, turn);
    // Always deferred, so that the items of one tick share a batch.
    const result = (before.length === 0 ? Promise.resolve() : Promise.all(before)).then(() => {
      turn.isOpen = false;
      return work(turn);
    });
    result.then(end, end);
    return result;
  }
}
