// Law L1, checked from the outside: charges in a window, minus what was given back of them, are at most the capacity, what
// refills in the window, and what works under way at its begin gave back within it.
import type { RateNumbers } from "./arbitraries.js";

/** A charge of one bucket. */
export interface Charge {
  readonly at: number;
  tokens: number;
  /** What was given back of it. */
  back: number;
  /** How many charges had been made when it was given back. */
  backAfter: number;
}

/** The charges of one bucket, in the order in which they were made. */
export class Charges {
  readonly #made: Charge[] = [];

  add(at: number, tokens: number): Charge {
    const charge = { at, tokens, back: 0, backAfter: Infinity };
    this.#made.push(charge);
    return charge;
  }

  /** Enters what a settlement gave back of a charge. */
  giveBack(charge: Charge, tokens: number): void {
    Object.assign(charge, { back: tokens, backAfter: this.#made.length });
  }

  /**
   * Throws unless each window that begins and ends with a charge is within the law. `largest` is its largest charge. Without
   * `withOlder`, what older works gave back does not count.
   */
  check({ capacity, refill }: RateNumbers, mostAtOnce = (_largest: number): number => capacity, withOlder = true): void {
    const [tokensPer, everyMs] = [BigInt(refill.tokens), BigInt(refill.everyMs)];
    this.#made.forEach((first, i) => {
      let [taken, largest] = [0n, 0];
      for (let j = i; j < this.#made.length; j++) {
        const last = this.#made[j] as Charge;
        taken += BigInt(last.tokens);
        largest = Math.max(largest, last.tokens);
        // What came back before the last charge: of the window's own, and of those before it, since it began.
        const isBack = ({ backAfter }: Charge): boolean => i < backAfter && backAfter <= j;
        const sum = (of: readonly Charge[]): bigint => of.filter(isBack).reduce((all, { back }) => all + BigInt(back), 0n);
        const net = taken - sum(this.#made.slice(i, j + 1));
        const older = withOlder ? sum(this.#made.slice(0, i)) : 0n;
        const most = (BigInt(mostAtOnce(largest)) + older) * everyMs + tokensPer * BigInt(last.at - first.at);
        if (net * everyMs > most) throw new Error(`L1: charges ${i} to ${j} hold ${net} tokens in ${last.at - first.at} ms`);
      }
    });
  }
}
