import type { Policy } from "../../../../core/policy.js";
import type { Charge } from "../../../../port/store.js";
import { assert } from "../../../assert.js";
import { chargeAndCompare, consumeCall, keysTogether, type NamedBucket } from "../../together.js";
import type { StoreCase } from "../../trial.js";

/** Cases about `consumeTogether`. They take the keys that a store with `takesTogether` can take in one step. */
export const togetherCases: readonly StoreCase[] = [
  togetherCase("L10 · consumeTogether takes all charges or none", [0, 0, 300, 1_000, 2_500]),
  togetherCase(
    "L6 · consumeTogether takes all or none while the clock steps back or jumps ahead",
    [0, 300, -400, -2_000, 1_500, 90_000, -90_000],
  ),
  togetherCase("L14 · consumeTogether takes all or none while limits change, appear and disappear", [0, 300, 1_000, 2_500], true),
  {
    name: "L14 · refused charges of one call convert all records to the new numbers of their policies",
    cause: "The store writes nothing when it refuses several charges. Convert records of older numbers anyway.",
    needs: ["consumeTogether"],
    async run(trial) {
      await trial.openStores("mixed");
      const slow = trial.policy("tier", { capacity: 20, refill: { tokens: 1, everyMs: 1_000 } });
      const fast = trial.policy("tier", { capacity: 20, refill: { tokens: 7, everyMs: 1_000 } });
      const never = trial.policy("full", { capacity: 1, refill: { tokens: 1, everyMs: 60_000 } });
      const keys = await keysTogether(trial, [
        { policy: never, key: "full" },
        ...["would be refused", "would be allowed"].map((key) => ({ policy: slow, key })),
      ]);
      if (keys === null) return;
      const [full, ...tiers] = keys as [string, string, string];
      await trial.consume(never, full, 1);
      for (const [i, cost] of [30, 1].entries()) {
        const key = tiers[i] as string;
        await trial.consume(slow, key, 20);
        trial.move(2_000);
        await chargeAndCompare(trial, [{ policy: never, key: full, cost: 1 }, { policy: fast, key, cost }]);
        trial.move(1_000);
        await trial.consume(fast, key, 1);
      }
    },
  },
  {
    name: "L10 · consumeTogether refuses all charges while one of the keys is blocked",
    cause: "`consumeTogether` reads the limits and not the block.",
    needs: ["consumeTogether", "block"],
    async run(trial) {
      await trial.openStores("mixed");
      const numbers = { name: "only", capacity: 9, refill: { tokens: 1, everyMs: 1_000 } };
      const policies = [
        trial.policy("p", numbers), trial.policy("p", { ...numbers, refill: { tokens: 3, everyMs: 1_000 } }),
      ] as const;
      for (const [turn, costs] of [[1, 1], [0, 0], [2, 1]].entries()) {
        const keys = await keysTogether(
          trial, ["blocked", "free"].map((name) => ({ policy: policies[0], key: `${name} ${turn}` })),
        );
        if (keys === null) return;
        const charges = (version: 0 | 1): Charge[] =>
          keys.map((key, i) => ({ policy: policies[version], key, cost: costs[i] as number }));
        await chargeAndCompare(trial, charges(0));
        await trial.callAll({ method: "block", policy: policies[0], key: keys[0] as string, tokens: 2_000 });
        for (const ms of [0, 1_400, 599, 1]) {
          trial.move(ms);
          await chargeAndCompare(trial, turn === 1 ? charges(1).reverse() : charges(1));
        }
        for (const key of keys) await trial.consume(policies[0], key, 1);
      }
    },
  },
  {
    name: "L10 · concurrent consumeTogether calls in different orders get exactly the capacity, without a deadlock",
    cause: "The store locks buckets in the order of the charges. Lock them in one fixed order, or in one step.",
    needs: ["consumeTogether"],
    async run(trial) {
      await trial.openStores("identical");
      for (let round = 0; round < 4; round++) {
        const policy = trial.policy(`p${round}`, { capacity: 9, refill: { tokens: 1, everyMs: 1_000 } });
        const keys = await keysTogether(trial, ["a", "b"].map((key) => ({ policy, key })));
        if (keys === null) return;
        const [a, b] = keys as [string, string];
        const both = (turn: number): Charge[] => {
          const charges = keys.map((key) => ({ policy, key, cost: 1 }));
          return turn % 2 === 0 ? charges : charges.reverse();
        };
        // Some single charges run at the same time.
        const [answers, single] = await Promise.all([
          Promise.all(Array.from({ length: 24 }, (_, i) => trial.consumeTogether(both(i), trial.store(Math.floor(i / 2))))),
          Promise.all(Array.from({ length: 6 }, async (_, i) => trial.store(i).consume(policy, a, 1))),
        ]);
        const pairs = answers.filter((decisions) => decisions.every(({ allowed }) => allowed)).length;
        const alone = single.filter(({ allowed }) => allowed).length;
        assert(
          pairs + alone === 9,
          `Expected 9 of 24 pairs and 6 single charges to be allowed together, got ${pairs} and ${alone}`,
        );
        for (let i = 0; i < 9; i++) trial.oracle.assume(consumeCall(policy, a, 1), trial.now);
        for (let i = 0; i < pairs; i++) trial.oracle.assume(consumeCall(policy, b, 1), trial.now);
        trial.move(2_000);
        for (const key of keys) await trial.consume(policy, key, 3);
      }
    },
  },
];

/** A history of charges on a user, a device and a tenant. Most are made together, some separately. */
function togetherCase(name: string, moves: readonly number[], changing = false): StoreCase {
  return {
    name,
    cause: "The store charges one bucket before it has checked all of them, or reads them at different instants.",
    needs: ["consumeTogether"],
    async run(trial) {
      await trial.openStores("mixed");
      const { random } = trial;
      const user = [
        trial.policy("user", { name: "only", capacity: 6, refill: { tokens: 1, everyMs: 1_000 } }),
        trial.policy("user", { name: "only", capacity: 8, refill: { tokens: 3, everyMs: 700 } }),
      ];
      const tenant = [
        trial.policy(
          "tenant",
          { name: "a", capacity: 15, refill: { tokens: 2, everyMs: 1_000 } },
          { name: "b", capacity: 40, refill: { tokens: 1, everyMs: 700 } },
        ),
        trial.policy(
          "tenant",
          { name: "b", capacity: 30, refill: { tokens: 2, everyMs: 900 } },
          { name: "c", capacity: 20, refill: { tokens: 5, everyMs: 3_000 } },
        ),
      ];
      const one = (versions: readonly Policy[]): Policy => (changing ? random.pick(versions) : (versions[0] as Policy));
      const wanted = (tenantKey: string): NamedBucket[] =>
        ["user 0", "user 1", "device", tenantKey].map((name, i) => ({
          policy: (i < 3 ? user[0] : tenant[0]) as Policy, key: `${name} of ${tenantKey}`,
        }));
      const found = await Promise.all(["one", "two", "three"].map((name) => keysTogether(trial, wanted(name))));
      const keys = found.filter((list): list is [string, string, string, string] => list !== null);
      for (let round = 0; round < 24; round++) {
        trial.move(random.pick(moves));
        await Promise.all(keys.map(([first, second, device, tenantKey]) => {
          const charges: Charge[] = [
            { policy: one(user), key: round % 2 === 0 ? first : second, cost: random.between(0, 6) },
            { policy: one(tenant), key: tenantKey, cost: random.pick([0, 1, 2, 7, 16, [1, 9], [3, 0]]) },
            { policy: one(user), key: device, cost: random.between(0, 3) },
          ];
          const from = random.between(0, 2);
          return chargeAndCompare(trial, [...charges.slice(from), ...charges.slice(0, from)]);
        }));
        if (round % 10 === 9) await trial.callAll(...keys.map(([, , , tenantKey]) => consumeCall(one(tenant), tenantKey, 1)));
      }
      await trial.callAll(...keys.flatMap(([first, second]) => [first, second].map((key) => consumeCall(one(user), key, 1))));
    },
  };
}
