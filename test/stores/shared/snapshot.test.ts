// What a server found becomes the core's decision, while a block lasts and after it.
import { definePolicy, perSecond, type Policy } from "sluice";
import { expect, test } from "vitest";
import { Snapshot } from "../../../src/stores/shared/snapshot.js";

const policy = definePolicy({
  name: "chat",
  limits: [
    { name: "requests", capacity: 10, refill: perSecond(1) },
    { name: "tokens", capacity: 1_000, refill: perSecond(100) },
  ],
});

function snapshot(tokens: readonly number[], fits: boolean, blockMs?: number, of: Policy = policy): Snapshot {
  const buckets = of.limits.map(({ unitsPerMs, unitsPerToken }, i) => ({ spent: (tokens[i] as number) * unitsPerToken, at: 5_000, unitsPerMs, unitsPerToken }));
  return new Snapshot(5_000, buckets, fits, blockMs);
}

test("L19 · each limit is charged with its own cost", () => {
  expect(snapshot([4, 500], true).consume(policy, [1, 200])).toMatchObject({ allowed: true, limits: [{ cost: 1, remaining: 5 }, { cost: 200, remaining: 300 }] });
  expect(snapshot([4, 500], true).peek(policy, [6, 500])).toMatchObject({ allowed: true, limits: [{ remaining: 6 }, { remaining: 500 }] });
  expect(snapshot([4, 500], false).consume(policy, [1, 600])).toMatchObject({ allowed: false, retryAfterMs: 1_000, limit: "tokens" });
});

test("while a block lasts nothing fits, and every wait is at least what it has left", () => {
  for (const call of ["consume", "peek"] as const) {
    const before = snapshot([4, 500], false, 2_500);
    expect(before[call](policy, 1)).toMatchObject({
      allowed: false, reason: "limited", blocked: true, at: 5_000, limits: [{ remaining: 0, retryAfterMs: 2_500, resetMs: 4_000 }, { remaining: 0, retryAfterMs: 2_500, resetMs: 5_000 }],
    });
    expect(before[call](policy, 0)).toMatchObject({ allowed: false, retryAfterMs: 2_500 });
    expect(before[call](policy, [1, 1_001])).toMatchObject({ allowed: false, reason: "cost_above_capacity", blocked: true, retryAfterMs: Infinity });
    expect(before.buckets).toEqual(snapshot([4, 500], false).buckets);
  }
});

test("a verdict that is not the core's is an error, also during a block", () => {
  for (const call of ["consume", "peek"] as const) {
    expect(() => snapshot([4, 500], true, 1)[call](policy, 0)).toThrow("Expected the server and the core to decide alike");
    expect(() => snapshot([4, 500], false)[call](policy, 1)).toThrow("Expected the server and the core to decide alike");
  }
});

test("a refusal holds until the block ends, and then for as long as the buckets refuse", () => {
  const blocked = snapshot([4, 500], false, 2_500);
  expect(blocked.refusalAfter(2_499, policy, 1)).toMatchObject({ allowed: false, blocked: true, retryAfterMs: 1, at: 7_499 });
  expect(blocked.refusalAfter(2_500, policy, 1)).toBeNull();
  const empty = snapshot([10, 0], false, 500);
  expect(empty.refusalAfter(499, policy, 0)).toMatchObject({ allowed: false, retryAfterMs: 1 });
  expect(empty.refusalAfter(500, policy, 0)).toBeNull();
  expect(empty.refusalAfter(500, policy, 1)).toMatchObject({ allowed: false, retryAfterMs: 500 });
  expect(empty.refusalAfter(500, policy, 1)).not.toHaveProperty("blocked");
  expect(empty.refusalAfter(1_000, policy, 1)).toBeNull();
});
