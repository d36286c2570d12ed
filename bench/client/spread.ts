// The rows of docs/images/client-spread.svg.
import { afterOutage, DEVICES } from "./outage.js";

/** One case. */
export interface SpreadRow {
  readonly name: string;
  /** When the retries came, in milliseconds after the refusal. */
  readonly retries: readonly number[];
  /** No stretch of 100 ms may hold more: what is expected where they are densest, and five standard deviations. */
  readonly bound: number;
}

/** How much of the time after the refusal is drawn. */
export const SPREAD_END_MS = 12_000;

// With a wait the retries spread over 1 s, so 100 are expected within 100 ms. Without one the first retries spread over
// 0.9 s, so 111 are; the second and third retries of the quickest add 47.
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
