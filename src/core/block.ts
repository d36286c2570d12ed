import type { Bucket } from "./bucket.js";
import type { Limit } from "./limit.js";

/** The name of a block among the records of a key. No limit has it. */
export const BLOCK = "!";

/** The longest block: 2^31 - 1 seconds, the longest wait that all clients read in `Retry-After`. */
export const LONGEST_BLOCK_MS = 2_147_483_647_000;

/** The numbers of a block: one unit is one millisecond. A block has no capacity. */
export const BLOCK_LIMIT: Limit = {
  name: BLOCK, capacity: 0, refill: { tokens: 1, everyMs: 1 }, cost: 0, unitsPerMs: 1, unitsPerToken: 1, size: 0, fullMs: 0,
};

/**
 * Milliseconds that a block has left. A clock that stepped back leaves the block's end where it was, unless the record
 * is further ahead than the block is long: then it is brought to now.
 */
export function blockLeft({ spent, at }: Bucket, now: number): number {
  const ahead = at - now;
  return ahead > spent ? spent : Math.max(0, spent + ahead);
}

/**
 * Brings the record to now if it is further ahead than the block is long. Returns whether it was: a refusal must do so.
 */
export function settleBlock(block: Bucket, now: number): boolean {
  const isImpossible = block.at - now > block.spent;
  if (isImpossible && block.spent > 0) block.at = now;
  return isImpossible && block.spent > 0;
}

/** Makes the block end `forMs` after `now`, or when it would have ended, whichever is later. */
export function extendBlock(block: Bucket, forMs: number, now: number): void {
  block.spent = Math.max(blockLeft(block, now), forMs);
  block.at = now;
  block.unitsPerMs = BLOCK_LIMIT.unitsPerMs;
  block.unitsPerToken = BLOCK_LIMIT.unitsPerToken;
}
