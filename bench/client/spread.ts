// The rows of docs/images/client-spread.svg.
import { afterOutage, DEVICES } from "./outage.js";

/** One case. */
export interface SpreadRow {
  readonly name: string;
  /** The times of the retries, in milliseconds after the refusal. */
  readonly retries: readonly number[];
  /**
   * The most retries allowed within 100 ms: the number expected at the densest place, plus five standard deviations.
   */
  readonly bound: number;
}

/** The drawn part of the time after the refusal. */
export const SPREAD_END_MS = 12_000;

// With a wait, the retries spread over 1 s, so 100 are expected within 100 ms. Without a wait, the first retries spread
// over 0.9 s, which gives 111. The second and third retries of the fastest devices add 47.
const BOUND_WITH_WAIT = 150;
const BOUND_WITHOUT = 220;

export async function spreadRows(options: { readonly seed?: number; readonly traffic?: boolean } = {}): Promise<readonly [SpreadRow, SpreadRow, SpreadRow]> {
  const without = await afterOutage(2_000, null, options);
  return [
    { name: "Retry-After: 10, obeyed to the millisecond", retries: Array<number>(DEVICES).fill(10_000), bound: BOUND_WITH_WAIT },
    { name: "Retry-After: 10, this client", retries: await afterOutage(10_000, 10, options), bound: BOUND_WITH_WAIT },
    { name: "429 without Retry-After for 2 s, this client", retries: without, bound: BOUND_WITHOUT },
  ];
}
