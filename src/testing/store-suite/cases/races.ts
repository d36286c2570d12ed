import type { Limit } from "../../../core/limit.js";
import type { Decision } from "../../../core/decision.js";
import { assert } from "../../assert.js";
import type { StoreCall } from "../states.js";
import type { StoreCase } from "../trial.js";

const MAX_KEYS = 64;

interface Grant {
  readonly at: number;
  readonly cost: number;
}

/** Cases about concurrent calls, through one store and through several stores on the same buckets. */
export const raceCases: readonly StoreCase[] = [
  {
    name: "L5 · a burst on a new bucket at one instant gets exactly the capacity",
    cause: "Two calls read the same record before either writes. Read, decide and write in one atomic step.",
    async run(trial) {
      await trial.openStores("identical");
      for (let round = 0; round < 12; round++) {
        const capacity = trial.random.pick([1, 2, 7, 25]);
        const policy = trial.policy(`p${round}`, { capacity, refill: { tokens: 7, everyMs: 1_300 } });
        const call: StoreCall = { method: "consume", policy, key: `caller ${round}`, tokens: 1 };
        const decisions = (await trial.callAll(...Array<StoreCall>(capacity + 9).fill(call))) as Decision[];
        const granted = decisions.filter(({ allowed }) => allowed).length;
        assert(
          granted === capacity,
          `Expected ${capacity} of ${decisions.length} concurrent calls to be allowed, got ${granted}`,
        );
      }
    },
  },
  {
    name: "L5 · concurrent bursts on 20 new keys do not affect each other",
    cause: "Creating a record races: both callers find it absent and both write it.",
    async run(trial) {
      await trial.openStores("identical");
      const policy = trial.policy("p", { capacity: 3, refill: { tokens: 1, everyMs: 1_000 } });
      await trial.callAll(
        ...Array.from({ length: 100 }, (_, i): StoreCall => ({ method: "consume", policy, key: `caller ${i % 20}`, tokens: 1 })),
      );
    },
  },
  {
    name: "L1 · in every window at most capacity + rate × time is granted, and not one token less",
    cause: "Two calls read the same record before either writes, or the clock is rounded.",
    async run(trial) {
      await trial.openStores("identical");
      const policy = trial.policy("p", { capacity: 6, refill: { tokens: 3, everyMs: 1_000 } });
      const call: StoreCall = { method: "consume", policy, key: "caller", tokens: 1 };
      const grants: Grant[] = [];
      for (let tick = 0; tick < 25; tick++) {
        trial.move(trial.random.pick([0, 1, 333, 334, 1_000, 2_000]));
        const decisions = (await trial.callAll(...Array<StoreCall>(trial.random.between(4, 10)).fill(call))) as Decision[];
        for (const { allowed } of decisions) if (allowed) grants.push({ at: trial.now, cost: 1 });
      }
      checkBound(grants, policy.limits[0]);
    },
  },
  {
    name: "L1 · concurrent calls of mixed costs take effect one after another",
    cause: "Two calls read the same record before either writes, and the last write wins.",
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy(
        "p",
        { name: "a", capacity: 11, refill: { tokens: 7, everyMs: 1_000 } },
        { name: "b", capacity: 17, refill: { tokens: 5, everyMs: 1_000 } },
      );
      for (let tick = 0; tick < 25; tick++) {
        trial.move(trial.random.between(0, 1_500));
        await trial.callAll(
          ...Array.from({ length: 5 }, (): StoreCall => ({
            method: "consume", policy, key: "caller", tokens: trial.random.between(0, 6),
          })),
        );
      }
    },
  },
  {
    name: "L4 · a burst at the instant when the bucket is full again gets exactly the capacity",
    cause: "A cleanup deletes the record after a new call has written it. Check again when deleting.",
    async run(trial) {
      await trial.openStores("identical");
      const policy = trial.policy("p", { capacity: 4, refill: { tokens: 7, everyMs: 13 } });
      const call: StoreCall = { method: "consume", policy, key: "caller", tokens: 1 };
      for (let round = 0; round < 9; round++) {
        const decisions = (await trial.callAll(...Array<StoreCall>(7).fill(call))) as Decision[];
        for (let i = 0; i < 3; i++) await trial.callAll(call); // a late cleanup finds the new record
        trial.move(Math.max(...decisions.map(({ resetMs }) => resetMs)));
      }
    },
  },
  {
    name: "L14 · concurrent calls under two versions of a policy take effect one after another",
    cause: "The numbers are converted outside the atomic step.",
    async run(trial) {
      await trial.openStores("mixed");
      const versions = [
        trial.policy("p", { name: "only", capacity: 9, refill: { tokens: 7, everyMs: 1_300 } }),
        trial.policy("p", { name: "only", capacity: 14, refill: { tokens: 11, everyMs: 1_700 } }),
      ];
      for (let round = 0; round < 20; round++) {
        trial.move(trial.random.between(0, 900));
        await trial.callAll(
          ...Array.from({ length: 5 }, (): StoreCall => ({
            method: "consume", policy: trial.random.pick(versions), key: "caller", tokens: trial.random.between(1, 3),
          })),
        );
      }
    },
  },
];

/** Cases about a store with a bound: it keeps the bound, and keeps busy keys while there is room. */
export const boundCases: readonly StoreCase[] = [
  {
    name: "L13 · a store remembers as many busy keys as its bound, and forgets idle keys first",
    cause: "The oldest key is forgotten although an idle one exists, or new keys are turned away.",
    needs: ["bound"],
    async run(trial) {
      await trial.openStores("mixed", { maxKeys: MAX_KEYS });
      const policy = trial.policy("p", { capacity: 10, refill: { tokens: 1, everyMs: 1_000 } });
      const half = (name: string, tokens: number): StoreCall[] =>
        Array.from({ length: MAX_KEYS / 2 }, (_, i) => ({ method: "consume", policy, key: `${name} ${i}`, tokens }));
      await trial.callAll(...half("busy", 5));
      await trial.callAll(...half("idle", 1));
      trial.move(1_000);
      await trial.callAll(...half("new", 3));
      await trial.callAll(...half("busy", 2), ...half("new", 2));
    },
  },
  {
    name: "L13 · a store never remembers more keys than its bound, and each key has its own bucket",
    cause: "The bound is not enforced, or a new key gets the bucket of a forgotten one.",
    needs: ["bound"],
    async run(trial) {
      await trial.openStores("mixed", { maxKeys: MAX_KEYS });
      const policy = trial.policy("p", { capacity: 10, refill: { tokens: 1, everyMs: 1_000 } });
      const names = Array.from({ length: 8 * MAX_KEYS }, (_, i) => `caller ${i}`);
      // Twice in a row: the second call finds what the first has taken.
      const calls = names.flatMap((key) => Array<StoreCall>(2).fill({ method: "consume", policy, key, tokens: 4 }));
      for (let i = 0; i < calls.length; i += MAX_KEYS / 2) await trial.callAll(...calls.slice(i, i + MAX_KEYS / 2));
      const read = await Promise.all(names.map(async (name) => trial.store(0).consume(policy, name, 0)));
      const busy = read.filter(({ remaining }) => remaining < 10).length;
      assert(busy <= MAX_KEYS, `Expected at most ${MAX_KEYS} keys to be remembered, got ${busy}`);
    },
  },
];

/** Checks every pair of grants in whole units, so the result is exact. */
function checkBound(grants: readonly Grant[], { size, unitsPerMs, unitsPerToken }: Limit): void {
  for (const [i, first] of grants.entries()) {
    let units = 0;
    for (const last of grants.slice(i)) {
      units += last.cost * unitsPerToken;
      const most = size + unitsPerMs * (last.at - first.at);
      assert(
        units <= most,
        `Expected at most ${most / unitsPerToken} tokens within ${last.at - first.at} ms, got ${units / unitsPerToken}`,
      );
    }
  }
}
