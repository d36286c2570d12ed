import type { LogEntry } from "../log/entry.js";

/** A caller, and how many requests it sent. */
export interface BusyCaller {
  readonly key: string;
  readonly requests: number;
}

/** The requests of a log in 12 bytes each, and 8 for each cost, in their order. Callers are numbered from 0. */
export class RequestList {
  length = 0;
  readonly #numbers = new Map<string, number>();
  #at = new Float64Array(1_024);
  #caller = new Uint32Array(1_024);
  readonly #costs: Float64Array[];

  /** `costs` is the number of costs that each request has. */
  constructor(costs: number) {
    this.#costs = Array.from({ length: costs }, () => new Float64Array(1_024));
  }

  get callers(): number {
    return this.#numbers.size;
  }

  /** The callers with the most requests, of which at most so many. */
  busiest(most: number): readonly BusyCaller[] {
    const counts = new Float64Array(this.callers);
    for (let i = 0; i < this.length; i++) counts[this.#caller[i] as number] = (counts[this.#caller[i] as number] as number) + 1;
    const all = [...this.#numbers].map(([key, number]) => ({ key, requests: counts[number] as number }));
    return all.sort((a, b) => b.requests - a.requests).slice(0, most);
  }

  /** The requests of one caller. */
  of(key: string): LogEntry[] {
    const number = this.#numbers.get(key);
    const found: LogEntry[] = [];
    for (let i = 0; i < this.length; i++) {
      if (this.#caller[i] === number)
        found.push({ at: this.#at[i] as number, key, costs: this.#costs.map((list) => list[i] as number) });
    }
    return found;
  }

  add({ at, key, costs }: LogEntry): void {
    if (this.length === this.#at.length) this.#grow();
    let caller = this.#numbers.get(key);
    if (caller === undefined) this.#numbers.set(key, (caller = this.#numbers.size));
    this.#at[this.length] = at;
    this.#caller[this.length] = caller;
    for (let i = 0; i < this.#costs.length; i++) (this.#costs[i] as Float64Array)[this.length] = costs[i] as number;
    this.length += 1;
  }

  /** The lists, as long as there are requests. `costAt` is the position of a cost; a request costs 1 without one. */
  lists(costAt: number): { readonly at: Float64Array; readonly cost: Float64Array; readonly caller: Uint32Array } {
    return {
      at: this.#at.subarray(0, this.length),
      cost: this.#costs[costAt]?.subarray(0, this.length) ?? new Float64Array(this.length).fill(1),
      caller: this.#caller.subarray(0, this.length),
    };
  }

  #grow(): void {
    const length = 2 * this.length;
    const grown = <T extends Float64Array | Uint32Array>(made: T, from: T): T => (made.set(from), made);
    this.#at = grown(new Float64Array(length), this.#at);
    this.#caller = grown(new Uint32Array(length), this.#caller);
    this.#costs.forEach((list, i) => (this.#costs[i] = grown(new Float64Array(length), list)));
  }
}
