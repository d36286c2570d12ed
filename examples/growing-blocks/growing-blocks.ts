// Blocks that grow: a caller who continues after refusals is blocked for 1 minute, then for 5, 30 and 120.
import { createLimiter, perDay, perMinute, type Decision, type Key, type PlainLimiter } from "sluice";

const MINUTE = 60_000;
const STEPS_MS = [MINUTE, 5 * MINUTE, 30 * MINUTE, 120 * MINUTE];

/** Calls `limiter`, and blocks callers that were refused more than 10 times within a minute. */
export function withGrowingBlocks(limiter: PlainLimiter): (key: Key) => Promise<Decision> {
  const { store } = limiter; // the blocks of all processes are in one place
  const refusals = createLimiter({ policy: { name: "refusals", capacity: 10, refill: perMinute(10) }, store });
  // Its tokens are the remaining steps. One refills each day.
  const offenses = createLimiter({ policy: { name: "offenses", capacity: STEPS_MS.length, refill: perDay(1) }, store });
  // Of several requests at the same time, only the one that gets this token blocks the caller. During a block there is none.
  const turns = createLimiter({ policy: { name: "turns", capacity: 1, refill: perMinute(1) }, store });

  return async (key) => {
    const decision = await limiter.consume(key);
    if (decision.reason !== "limited" || (await refusals.consume(key)).allowed) return decision;
    try {
      if (!(await turns.consume(key)).allowed) return await limiter.peek(key);
      const { remaining } = await offenses.consume(key);
      const blockMs = STEPS_MS[STEPS_MS.length - 1 - remaining] ?? MINUTE;
      await turns.block(key, blockMs);
      await limiter.block(key, blockMs);
      await refusals.reset(key);
      return await limiter.peek(key); // it has the end of the block
    } catch {
      return decision; // the store is unavailable: refused, and not blocked
    }
  };
}
