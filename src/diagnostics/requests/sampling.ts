// Some checks cost as much as a decision, so they run for the first requests and then for a few of many.

/** The first requests, each of which is checked. */
export const FIRST_CHECKED = 1_000;

/** Whether a later request is checked, by the number of requests before it: 250 in a row of every 16,000. */
export function isCheckedTurn(before: number): boolean {
  return before % 16_000 < 250;
}
