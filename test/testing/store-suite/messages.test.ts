import type { Policy } from "sluice";
import { isStale, fullBucket, type Bucket } from "../../../src/core/bucket.js";
import { costAt } from "../../../src/core/limit.js";
import { adjust, consume } from "../../../src/core/decide.js";
import { describe, expect, test } from "vitest";
import { factoryOf, failureOf } from "./run-case.js";
import { nextTurn, right, wrongStore, type RightStore } from "./wrong-stores-base.js";

const limitAt = (policy: Policy, place: number) => policy.limits[place] as Policy["limits"][number];
const first = new Map<string, Policy>();

/** Cuts what is spent of each limit. */
function cut(buckets: readonly Bucket[], policy: Policy, capacities: number): boolean {
  policy.limits.forEach(({ size }, i) => void Object.assign(buckets[i] as Bucket, { spent: Math.min((buckets[i] as Bucket).spent, capacities * size) }));
  return true;
}

/**
 * The mistake, the store, the case, and what its message says besides the wrong answer. Two mistakes can explain one wrong
 * answer: a seed then draws another history.
 */
const mistakes: ReadonlyArray<readonly [mistake: string, store: typeof RightStore, failing: string, message: RegExp, seed?: number]> = [
  [
    "forgets records too early",
    wrongStore({ lifetimeMs: ({ spent, unitsPerMs }) => Math.floor(spent / unitsPerMs) }),
    "L4 · no bucket is forgotten",
    /Likely cause: This is the answer of a full bucket: was the record forgotten, or not written\? It was written (\d+) ms ago and must be kept for (?!\1 )\d+ ms \(the right `ttlMs`\)\.$/,
  ],
  [
    "reads and writes without a lock",
    wrongStore({
      async consume(policy, key, cost) {
        const now = this.now();
        const buckets = this.load(policy, key, now);
        await nextTurn();
        const decision = this.decide(buckets, policy, cost, now);
        if (decision.allowed) this.save(policy, key, buckets, now);
        return decision;
      },
    }),
    "L8 · concurrent calls of all methods",
    /Likely cause: This is the answer without the 2 concurrent calls: two calls read one record before either wrote it\./,
  ],
  [
    "keeps a bucket until its first limit is full",
    wrongStore({
      load(policy, key, now) {
        const buckets = right.load.call(this, policy, key, now);
        return buckets[0]?.spent === 0 ? policy.limits.map(fullBucket) : buckets;
      },
    }),
    "L4 · no bucket is forgotten",
    /Likely cause: This is the answer of a full bucket: .* must be kept for 345\d+ ms/,
  ],
  [
    "stores the first limit only",
    wrongStore({
      save(policy, key, buckets, now) {
        right.save.call(this, policy, key, policy.limits.map((limit, i) => (i === 0 ? (buckets[0] as Bucket) : fullBucket(limit))), now);
      },
    }),
    "L10, L19 · the limits",
    /Likely cause: This is the answer of a bucket with a full limit (`[ab]`(, )?)+\. Store all limits/,
    3,
  ],
  [
    "rounds the time up",
    wrongStore({ now() { return Math.ceil((this.setup.clock ?? Date.now)()); } }),
    "L6, L8 · the same history",
    /Likely cause: This is the right answer 1 ms later: the store read another clock, or rounded the time/,
  ],
  [
    "remembers a policy by its name",
    wrongStore({
      decide(buckets, policy, cost, now) {
        const known = first.get(policy.name) ?? policy;
        first.set(policy.name, known);
        return right.decide.call(this, buckets, known.limits.length === policy.limits.length ? known : policy, cost, now);
      },
    }),
    "L9 · a cost of 0",
    /Likely cause: This is the answer under other numbers of the policy, from an earlier call\./,
  ],
  [
    "makes a bucket full under new numbers",
    wrongStore({
      load(policy, key, now) {
        return right.load.call(this, policy, key, now).map((bucket, i) => (isStale(bucket, limitAt(policy, i), now) ? fullBucket(limitAt(policy, i)) : bucket));
      },
    }),
    "L14 · spent tokens still count",
    /Likely cause: This is the answer of a bucket that new numbers of the policy made full\./,
  ],
  [
    "reads old units as new ones",
    wrongStore({
      load(policy, key, now) {
        return right.load.call(this, policy, key, now).map((bucket, i) => {
          const { unitsPerMs, unitsPerToken } = limitAt(policy, i);
          return { ...bucket, unitsPerMs, unitsPerToken };
        });
      },
    }),
    "L14 · spent tokens still count",
    /Likely cause: This is the answer of a record in old numbers that was read as if it were in the new ones\./,
  ],
  [
    "does not convert a record when it refuses under new numbers",
    wrongStore({ isStale: () => false }),
    "L14 · spent tokens still count",
    /Likely cause: This is the answer without `consume \d+`, a refusal that converted the record to new numbers, \d+ ms before: that change was lost/,
    3,
  ],
  [
    "loses refunds",
    wrongStore({ adjust: async () => true }),
    "adjust, block, reset · take effect at once",
    /Likely cause: This is the answer without `adjust -3`, 0 ms before: that change was lost/,
  ],
  [
    "charges the first cost to all limits",
    wrongStore({ decide: (buckets, policy, costs, now) => consume(buckets, policy, costAt(costs, 0), now) }),
    "L10, L19 · the limits",
    /Likely cause: This is the answer with the first cost for every limit\. Use the cost of each limit, in the policy's order\.$/,
  ],
  [
    "ends debts at twice the capacity",
    wrongStore({ change: (buckets, policy, changes, now) => adjust(buckets, policy, changes, now) && cut(buckets, policy, 2) }),
    "L4 · no bucket is forgotten",
    /Likely cause: This is the answer of a debt that ends at twice the capacity\. `adjust` takes exactly the given number\.$/,
  ],
  [
    "ends debts at the capacity",
    wrongStore({ change: (buckets, policy, changes, now) => adjust(buckets, policy, changes, now) && cut(buckets, policy, 1) }),
    "L4 · no bucket is forgotten",
    /Likely cause: This is the answer of a debt that ends at the capacity\./,
  ],
  [
    "gives one change to all limits",
    wrongStore({ change: (buckets, policy, changes, now) => adjust(buckets, policy, costAt(changes, 0), now) }),
    "adjust · refunds up to full",
    /Likely cause: This is the answer after an `adjust` of all limits by its first number\. Use the number of each limit\.$/,
  ],
  [
    "answers that every adjustment was done",
    wrongStore({ async adjust(policy, key, changes) { return (await right.adjust.call(this, policy, key, changes)) || true; } }),
    "adjust · refunds up to full",
    /got true instead of false\n(.*\n)*Likely cause: .*one number is applied to all limits, a list of changes is cut, or some limits are changed although another cannot be\.$/,
  ],
  [
    "lets a cost of 0 through while a block lasts",
    wrongStore({
      refuse(buckets, policy, costs, now, blockMs) {
        return costs === 0 ? consume(buckets, policy, costs, now) : right.refuse.call(this, buckets, policy, costs, now, blockMs);
      },
    }),
    "block · refuses everything",
    /Likely cause: This is the answer without the block\. Keep the block beside the buckets until it ends, under any numbers of the policy, and refuse a cost of 0 as well\.$/,
  ],
  [
    "lets a later block shorten an earlier one",
    wrongStore({ extend: (block, forMs, now) => void Object.assign(block, { spent: forMs, at: now, unitsPerMs: 1, unitsPerToken: 1 }) }),
    "block · of two blocks",
    /Likely cause: This is the answer of one of several blocks\. Keep the later of the two ends\.$/,
  ],
  [
    "keeps a block after a reset",
    wrongStore({
      reset(policy, key) {
        return this.atomically(() => {
          for (const name of this.row(policy, key)?.keys() ?? []) if (name !== "!") this.row(policy, key)?.delete(name);
        });
      },
    }),
    "reset · makes all limits full",
    /Likely cause: This is the answer of a block that is over\. `reset` and `block` with 0 end a block, and the clock does\.$/,
  ],
  [
    "ignores the end of a block",
    wrongStore({ async block(policy, key, forMs) { if (forMs > 0) await right.block.call(this, policy, key, forMs); } }),
    "block · of two blocks",
    /Likely cause: This is the answer of a block that is over\. `reset` and `block` with 0 end a block, and the clock does\.$/,
  ],
  [
    "does not say that a block refused",
    wrongStore({ refuse(...asked) { return { ...right.refuse.call(this, ...asked), blocked: undefined } as never; } }),
    "block · a decision that a block refuses",
    /^Expected `consume 0` to get the core's decision, got `blocked` undefined instead of true\n(.*\n)*Likely cause: The store makes the refusal itself and leaves the mark out/,
  ],
  [
    "trims keys",
    wrongStore({ name: (policy, key) => JSON.stringify([policy.name, key.trim()]) }),
    "keys · similar texts",
    /key "a ", policy "p0" (.*\n)*Likely cause: This is the answer for the key "a" of the policy "p0": the two keys share a record\.$/,
  ],
  [
    "counts wrongly, in no way that has a name",
    wrongStore({ decide: (buckets, policy, cost, now) => ({ ...consume(buckets, policy, cost, now), nextTokenMs: 7 }) }),
    "L6, L8 · the same history",
    /Likely cause: The arithmetic is not the core's/,
  ],
];

describe("a failure names the mistake that explains the wrong answer: a store that", () => {
  test.each(mistakes.map((one) => [one[0], one] as const))("%s", async (_mistake, [, Store, failing, message, seed]) => {
    expect(await failureOf(failing, { factory: factoryOf(Store), seed })).toMatch(message);
  });
});

test("of ten readings, a failure shows the first that differs", async () => {
  const Wrong = wrongStore({
    decide(buckets, policy, cost, now) {
      const decision = consume(buckets, policy, cost, now);
      return { ...decision, limits: decision.limits?.map((reading, i) => (i > 2 ? { ...reading, resetMs: 7, remaining: 3 } : reading)) ?? null };
    },
  });
  const message = await failureOf("keys · policies and limits", { factory: factoryOf(Wrong) });
  const [line] = message.split("\n");
  expect(line).toMatch(/got in `limits\[3\]` `remaining` 3 instead of \d+ and `resetMs` 7 instead of \d+, and 5 more of 9 limits$/);
});
