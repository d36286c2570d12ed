interface Turn<Item> {
  /** Settles when its work has, well or not; never rejects. */
  readonly over: Promise<void>;
  /** What is to be done together, while others may still join; null for work of its own kind, and once it has begun. */
  items: Item[] | null;
}

/**
 * Lets one piece of work at a time have a bucket, in the order of arrival, and forgets buckets that nobody wants.
 *
 * So nobody who waits for a bucket holds a connection. Work on several buckets gets in line for all of them at one instant:
 * whoever is before it somewhere is before it everywhere, and nobody waits in a circle.
 */
export class Turns<Item> {
  readonly #last = new Map<string, Turn<Item>>();

  /** How many names somebody is in line for, or has. */
  get size(): number {
    return this.#last.size;
  }

  /** Runs `work` when all that came before it, for any of `names`, is over. Settles as `work` does. */
  take<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    return this.#append(names, work, null);
  }

  /**
   * Adds `item` to those that wait at the end of the line for `name`, if they go `together` with it, and else to the end as
   * the first of others. `work` then gets all of them. It must not reject.
   */
  join(name: string, item: Item, together: (first: Item) => boolean, work: (items: readonly Item[]) => Promise<void>): void {
    const waiting = this.#last.get(name)?.items;
    if (waiting && together(waiting[0] as Item)) {
      waiting.push(item);
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
    const before = names.flatMap((name) => this.#last.get(name)?.over ?? []);
    // Never at once, so that what one tick asks for gathers.
    const done = (before.length === 0 ? Promise.resolve() : Promise.all(before)).then(work);
    const leave = (): void => {
      for (const name of names) if (this.#last.get(name) === turn) this.#last.delete(name);
    };
    const turn: Turn<Item> = { over: done.then(leave, leave), items };
    for (const name of names) this.#last.set(name, turn);
    return done;
  }
}
