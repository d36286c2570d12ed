/** A place in a {@link Line}, until it is left. */
export interface Place<T> {
  readonly who: T;
  before: Place<T> | null;
  after: Place<T> | null;
  left: boolean;
}

/**
 * Those who wait, first come first: joining, leaving from anywhere and counting the tokens that they wait for take the same
 * time however long the line is.
 */
export class Line<T extends { readonly cost: number }> {
  /** How many wait. */
  length = 0;
  /** The tokens that all of them wait for. */
  tokens = 0;
  #first: Place<T> | null = null;
  #last: Place<T> | null = null;

  /** Who is next; null when nobody waits. */
  get first(): Place<T> | null {
    return this.#first;
  }

  /** Joins at the end. */
  join(who: T): Place<T> {
    const place: Place<T> = { who, before: this.#last, after: null, left: false };
    if (this.#last === null) this.#first = place;
    else this.#last.after = place;
    this.#last = place;
    this.length += 1;
    this.tokens += who.cost;
    return place;
  }

  /** Leaves, from wherever it stands. Leaving twice is leaving once. */
  leave(place: Place<T>): void {
    if (place.left) return;
    place.left = true;
    const { before, after } = place;
    if (before === null) this.#first = after;
    else before.after = after;
    if (after === null) this.#last = before;
    else after.before = before;
    this.length -= 1;
    this.tokens -= place.who.cost;
  }
}
