import { expected, wholeNumber } from "../../core/check.js";
import type { Charge } from "../../core/store.js";

// What one call to Redis carries. As many everywhere, so that what works over one store works over the other.
const MOST_CHARGES = 128;

/**
 * Throws a TypeError or RangeError for charges that no server may see: a cost below zero would give tokens, and one that is
 * no number would wipe a record. Who charges together asks the store itself, with no limiter before it that checks.
 */
export function checkCharges(charges: readonly Charge[]): void {
  if (!Array.isArray(charges)) throw new TypeError(expected("charges", "a list", charges));
  if (charges.length > MOST_CHARGES) throw new RangeError(expected("charges", `a list of at most ${MOST_CHARGES}`, charges));
  for (const { key, cost } of charges as readonly Charge[]) {
    if (typeof key !== "string" || key === "") throw new TypeError(expected("key", "a non-empty string", key));
    wholeNumber("cost", cost);
  }
}
