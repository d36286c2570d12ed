/** A request that has entered. */
export interface Entry {
  /** How many were in flight when it entered, itself included. */
  readonly inFlight: number;
  readonly order: number;
}

/** Knows how many requests were in flight at most since each of them entered. */
export class Peaks {
  // The entries whose number none after them has reached. So their numbers fall, and there are no more of them than places.
  readonly #highest: Entry[] = [];
  #order = 0;

  enter(inFlight: number): Entry {
    const highest = this.#highest;
    while (highest.length > 0 && (highest.at(-1) as Entry).inFlight <= inFlight) highest.pop();
    const entry = { inFlight, order: (this.#order += 1) };
    highest.push(entry);
    return entry;
  }

  since({ order }: Entry): number {
    let [low, high] = [0, this.#highest.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#highest[middle] as Entry).order < order) low = middle + 1;
      else high = middle;
    }
    return (this.#highest[low] as Entry).inFlight;
  }
}
