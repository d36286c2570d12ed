import type { Costs } from "../../../core/limit.js";
import type { Policy } from "../../../core/policy.js";
import type { Charge } from "../../../port/store.js";
import { assert, AssertionError } from "../../assert.js";
import type { StoreCall } from "../states.js";
import type { StoreCase, Trial } from "../trial.js";

const OPTIONAL_METHODS = ["peek", "adjust", "block", "reset", "consumeTogether", "close"] as const;

/** Cases about the optional methods of the port. The random schedules test peek, adjust, block and reset as well. */
export const optionalMethodCases: readonly StoreCase[] = [
  {
    name: "port · the store has exactly the optional methods that `lacks` does not list",
    cause: "`lacks` is out of date, or the test makes another store than the one you ship.",
    async run(trial) {
      const store = await trial.open({ clock: trial.clock.now });
      assert(typeof store.consume === "function", `Expected the store to have \`consume\`, got ${typeof store.consume}`);
      for (const method of OPTIONAL_METHODS) {
        const has = typeof store[method] === "function";
        const wanted = has ? "not to be in `lacks`" : "to be in `lacks`, with a reason";
        assert(has === trial.has(method), `Expected \`${method}\` ${wanted}, got a store ${has ? "with" : "without"} that method`);
      }
    },
  },
  ...([["adjust", "refund", -3], ["adjust", "debit", 3], ["reset", "reset", 0], ["block", "block", 7_000]] as const).map(([tested, name, tokens]): StoreCase => ({
    name: `${name} · takes effect at once, even for a key that was just refused`,
    cause: `The store answers a refusal from memory. \`${tested}\` must clear that memory.`,
    needs: [tested],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", { capacity: 5, refill: { tokens: 1, everyMs: 1_000 } });
      for (let turn = 0; turn < 4; turn++) {
        const key = `caller ${turn}`;
        const call = (method: StoreCall["method"], amount: number): Promise<unknown> =>
          trial.callThrough(method === tested ? turn >> 1 : turn, { method, policy, key, tokens: amount });
        await call("consume", 5);
        for (let round = 0; round < 3; round++) {
          await call("consume", 3);
          await call(tested, tokens);
          await call("consume", 3);
        }
      }
    },
  })),
  togetherCase("L10 · consumeTogether takes all charges or none", [0, 0, 300, 1_000, 2_500]),
  togetherCase("L6 · consumeTogether takes all or none while the clock steps back or jumps ahead", [0, 300, -400, -2_000, 1_500, 90_000, -90_000]),
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
      await trial.consume(never, "full", 1);
      for (const [key, cost] of [["would be refused", 30], ["would be allowed", 1]] as const) {
        await trial.consume(slow, key, 20);
        trial.move(2_000);
        await chargeAndCompare(trial, [{ policy: never, key: "full", cost: 1 }, { policy: fast, key, cost }]);
        trial.move(1_000);
        await trial.consume(fast, key, 1);
      }
    },
  },
  {
    name: "L14 · an adjustment converts all limits to the new numbers, also those that it leaves as they are",
    cause: "`adjust` writes only the limits whose change is not 0. Bring every limit to now and to the policy's numbers.",
    needs: ["adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const [slow, fast] = [1, 7].map((tokens) => {
        const refill = { tokens, everyMs: 1_000 };
        return trial.policy("tier", { name: "a", capacity: 20, refill }, { name: "b", capacity: 40, refill });
      }) as [Policy, Policy];
      for (const changes of [[0, 3], [-2, 0], 0]) {
        const key = `changes ${String(changes)}`;
        await trial.consume(slow, key, 20);
        trial.move(1_500);
        await trial.callAll({ method: "adjust", policy: fast, key, tokens: changes });
        trial.move(700);
        await trial.consume(slow, key, 1);
      }
    },
  },
  {
    name: "block · of two blocks the later end counts, and its wait is exact",
    cause: "A later block replaces an earlier one, or is added to it. Keep the later of the two ends.",
    needs: ["block"],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", { capacity: 5, refill: { tokens: 5, everyMs: 1_000 } });
      for (const [first, second] of [[10_000, 4_000], [4_000, 10_000], [7_000, 7_000], [86_400_000, 1]] as const) {
        const key = `caller ${first}`;
        await trial.callAll({ method: "block", policy, key, tokens: first });
        await trial.consume(policy, key, 0);
        trial.move(500);
        await trial.callAll({ method: "block", policy, key, tokens: second });
        const { retryAfterMs } = await trial.consume(policy, key, 0);
        assert(retryAfterMs > 1, "Expected a blocked key to be refused, got allowed");
        trial.move(retryAfterMs - 1);
        await trial.consume(policy, key, 0);
        trial.move(1);
        const { allowed } = await trial.consume(policy, key, 5);
        assert(allowed, "Expected a key to be allowed when its block has ended, got refused");
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
      const policies = [trial.policy("p", numbers), trial.policy("p", { ...numbers, refill: { tokens: 3, everyMs: 1_000 } })] as const;
      for (const [turn, costs] of [[1, 1], [0, 0], [2, 1]].entries()) {
        const keys = ["blocked", "free"].map((name) => `${name} ${turn}`);
        const charges = (version: 0 | 1): Charge[] => keys.map((key, i) => ({ policy: policies[version], key, cost: costs[i] as number }));
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
        const both = (turn: number): Charge[] => {
          const charges = ["a", "b"].map((key) => ({ policy, key, cost: 1 }));
          return turn % 2 === 0 ? charges : charges.reverse();
        };
        // Some single charges run at the same time.
        const [answers, single] = await Promise.all([
          Promise.all(Array.from({ length: 24 }, (_, i) => trial.consumeTogether(both(i), trial.store(Math.floor(i / 2))))),
          Promise.all(Array.from({ length: 6 }, async (_, i) => trial.store(i).consume(policy, "a", 1))),
        ]);
        const pairs = answers.filter((decisions) => decisions.every(({ allowed }) => allowed)).length;
        const alone = single.filter(({ allowed }) => allowed).length;
        assert(pairs + alone === 9, `Expected 9 of 24 pairs and 6 single charges to be allowed together, got ${pairs} and ${alone}`);
        for (let i = 0; i < 9; i++) trial.oracle.assume(consumeCall(policy, "a", 1), trial.now);
        for (let i = 0; i < pairs; i++) trial.oracle.assume(consumeCall(policy, "b", 1), trial.now);
        trial.move(2_000);
        for (const key of ["a", "b"]) await trial.consume(policy, key, 3);
      }
    },
  },
  {
    name: "close · closes the store's connections, can be called twice, and leaves other stores open",
    cause: "`close` ends a connection that the store does not own, or fails the second time.",
    needs: ["close"],
    async run(trial) {
      const policy = trial.policy("p", { capacity: 5, refill: { tokens: 1, everyMs: 1_000 } });
      await trial.openStores("mixed");
      const other = await trial.open({ clock: trial.clock.now });
      await other.consume(policy, "other", 1);
      for (const time of ["once", "twice"]) {
        try {
          await other.close?.();
        } catch (error) {
          if (error instanceof AssertionError) throw error; // the deadline passed
          assert(false, `Expected \`close\` to work ${time}, got ${String(error)}`);
        }
      }
      await trial.consume(policy, "caller", 2);
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
        trial.policy("tenant", { name: "a", capacity: 15, refill: { tokens: 2, everyMs: 1_000 } }, { name: "b", capacity: 40, refill: { tokens: 1, everyMs: 700 } }),
        trial.policy("tenant", { name: "b", capacity: 30, refill: { tokens: 2, everyMs: 900 } }, { name: "c", capacity: 20, refill: { tokens: 5, everyMs: 3_000 } }),
      ];
      const one = (versions: readonly Policy[]): Policy => (changing ? random.pick(versions) : (versions[0] as Policy));
      for (let round = 0; round < 60; round++) {
        trial.move(random.pick(moves));
        const charges: Charge[] = [
          { policy: one(user), key: `user ${round % 3}`, cost: random.between(0, 4) },
          { policy: one(tenant), key: "tenant", cost: random.pick([0, 1, 2, 7, 16, [1, 9], [3, 0]]) },
          { policy: one(user), key: "device", cost: random.between(0, 2) },
        ];
        await chargeAndCompare(trial, random.next() < 0.5 ? charges : charges.reverse());
        if (round % 10 === 9) await trial.consume(one(tenant), "tenant", 1);
      }
      for (let i = 0; i < 3; i++) await trial.consume(one(user), `user ${i}`, 1);
    },
  };
}

/** Checks that all charges were taken, or that none was and each decision is that of `peek`. */
async function chargeAndCompare(trial: Trial, charges: readonly Charge[]): Promise<void> {
  const answers = await trial.consumeTogether(charges);
  const all = answers.every(({ allowed }) => allowed);
  const method = all ? "consume" : "peek";
  trial.compare(charges.map(({ policy, key, cost }, i) => ({ call: { ...consumeCall(policy, key, cost), method }, answer: answers[i] })));
  // After a refusal, each record still converts to the new numbers, as it does for a cost that can never fit.
  if (!all) for (const { policy, key } of charges) trial.oracle.assume(consumeCall(policy, key, policy.maxCost + 1), trial.now);
}

function consumeCall(policy: Charge["policy"], key: string, tokens: Costs): StoreCall {
  return { method: "consume", policy, key, tokens };
}
