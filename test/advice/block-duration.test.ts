// The lines that the page on rate-limiter-flexible gives for `blockDuration`: after the block the count starts anew, as in the old package.
import { readFileSync } from "node:fs";
import { createLimiter, MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";

// rate-limiter-flexible 11.4 with points 5, duration 8, blockDuration 4: 5 allowed, then blocked, and 5 allowed after the block.
test("blocks and forgets, so that all tries are there after the block", () => {
  const page = readFileSync("docs/moving/from-rate-limiter-flexible.md", "utf8");
  expect(page).toMatch(/limiter\.block\(.*, 60_000\);\n\s*limiter\.credit\(.*, 100\);/);
  const clock = new ManualClock();
  const limiter = createLimiter({ policy: { name: "login", refill: { tokens: 5, everyMs: 8_000 } }, store: new MemoryStore({ clock: clock.now }) });
  const tries = (count: number): boolean[] => Array.from({ length: count }, () => {
    const decision = limiter.consume("ann");
    if (decision.reason === "limited" && !decision.blocked) {
      limiter.block("ann", 4_000);
      limiter.credit("ann", 5);
    }
    return decision.allowed;
  });
  expect(tries(8)).toEqual([true, true, true, true, true, false, false, false]);
  clock.advance(3_999);
  expect(tries(2)).toEqual([false, false]);
  clock.advance(1);
  expect(tries(6)).toEqual([true, true, true, true, true, false]);
});
