/**
 * Options of other packages, and the replacement in sluice. `gate` options belong to a middleware, the others to a
 * policy or limiter.
 */
export interface Replacement {
  /** The packages that have these options. */
  readonly of: readonly string[];
  /** The options, separated by spaces. */
  readonly names: string;
  readonly here: string;
  readonly gate?: boolean;
}

export const NONE_TEXT = "there is no such option";
export const POLICY_TEXT =
  "`policy: { name: \"limit-1\", refill: { tokens: 100, everyMs: 900_000 } }` is a burst of 100 and 100 " +
  "every 15 minutes";
export const BLOCK_TEXT = "`limiter.block(key, ms)`, after a refusal or at any time";
