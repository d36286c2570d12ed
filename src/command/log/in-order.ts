import type { LogEntry } from "./formats.js";

/**
 * Passes entries on, sorted by their times. Servers write a line when a request ends, so lines are a little out of
 * order. An entry waits until one comes that is `windowMs` younger. An entry that is older than the last one passed on
 * gets the time of that one, and counts in `late`.
 */
export class InOrder {
  /** Entries that came more than `windowMs` after younger ones. */
  late = 0;

  readonly #windowMs: number;
  readonly #give: (entry: LogEntry) => void;
  #waiting: LogEntry[] = [];
  #head = 0;
  #given = -Infinity;

  constructor(windowMs: number, give: (entry: LogEntry) => void) {
    this.#windowMs = windowMs;
    this.#give = give;
  }

  add(entry: LogEntry): void {
    if (entry.at < this.#given) {
      this.late += 1;
      this.#give({ ...entry, at: this.#given });
      return;
    }
    this.#insert(entry);
    const youngest = (this.#waiting.at(-1) as LogEntry).at;
    while (this.#head < this.#waiting.length && (this.#waiting[this.#head] as LogEntry).at <= youngest - this.#windowMs)
      this.#pass();
    // Half of the list was given on: moving the rest costs one step for each entry.
    if (this.#head > 1_024 && this.#head * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Gives on what still waits. */
  end(): void {
    while (this.#head < this.#waiting.length) this.#pass();
  }

  #pass(): void {
    const entry = this.#waiting[this.#head++] as LogEntry;
    this.#given = entry.at;
    this.#give(entry);
  }

  // Behind all that are not younger, so entries of one time keep their order.
  #insert(entry: LogEntry): void {
    let at = this.#waiting.length;
    while (at > this.#head && (this.#waiting[at - 1] as LogEntry).at > entry.at) at--;
    if (at === this.#waiting.length) this.#waiting.push(entry);
    else this.#waiting.splice(at, 0, entry);
  }
}
