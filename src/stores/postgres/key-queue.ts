interface QueueEntry<Item> {
  /** Resolves when the entry's work has settled. Never rejects. */
  readonly done: Promise<void>;
  /** The items of a batch that others may still join. Null once the batch has begun, and for other work. */
  items: Item[] | null;
}

/**
 * Runs one piece of work at a time for each name, in the order of arrival.
 *
 * So a call that waits for a bucket holds no connection. Work on several names enters all of their queues at one
 * instant. Two pieces of work therefore have the same order in every queue, and no deadlock is possible. Names without
 * work take no memory.
 */
export class KeyQueue<Item> {
  readonly #last = new Map<string, QueueEntry<Item>>();

  /** The number of names that have work, in progress or queued. */
  get size(): number {
    return this.#last.size;
  }

  /** Runs `work` when all earlier work for any of `names` is done. Settles as `work` does. */
  run<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    return this.#append(names, work, null);
  }

  /**
   * Adds `item` to the batch at the end of the queue for `name` if `fits` returns true for the batch's first item.
   * Otherwise starts a new batch. `work` gets all items of a batch, and must not reject.
   */
  join(name: string, item: Item, fits: (first: Item) => boolean, work: (items: readonly Item[]) => Promise<void>): void {
    const batch = this.#last.get(name)?.items;
    if (batch && fits(batch[0] as Item)) {
      batch.push(item);
      return;
    }
    const items = [item];
    const begin = (): Promise<void> => {
      const last = this.#last.get(name);
      if (last?.items === items) last.items = null;
      return work(items);
    };
    void this.#append([name], begin, items);
  }

  #append<T>(names: readonly string[], work: () => Promise<T>, items: Item[] | null): Promise<T> {
    const before = names.flatMap((name) => this.#last.get(name)?.done ?? []);
    // Always deferred, so that the items of one tick share a batch.
    const result = (before.length === 0 ? Promise.resolve() : Promise.all(before)).then(work);
    const leave = (): void => {
      for (const name of names) if (this.#last.get(name) === entry) this.#last.delete(name);
    };
    const entry: QueueEntry<Item> = { done: result.then(leave, leave), items };
    for (const name of names) this.#last.set(name, entry);
    return result;
  }
}
