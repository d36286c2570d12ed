import type { Policy } from "../../../core/policy.js";
import { assert, AssertionError, because } from "../../assert.js";
import type { StoreCall } from "../states.js";
import type { StoreCase } from "../trial.js";

const ENDED =
  "`peek` still refuses at the instant when the block ends. " +
  "A block of 1,000 ms refuses for the last time after 999 ms, in every method.";
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
        assert(
          has === trial.has(method),
          `Expected \`${method}\` ${wanted}, got a store ${has ? "with" : "without"} that method`,
        );
      }
    },
  },
  ...(
    [["adjust", "refund", -3], ["adjust", "debit", 3], ["reset", "reset", 0], ["block", "block", 7_000]] as const
  ).map(([tested, name, tokens]): StoreCase => ({
    name: `${name} · takes effect at once, even for a key that was just refused`,
    cause: `The store answers a refusal from memory. \`${tested}\` must clear that memory.`,
    needs: [tested],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", { capacity: 5, refill: { tokens: 1, everyMs: 1_000 } });
      await Promise.all(
        [0, 1, 2, 3].map(async (turn) => {
          const call = (method: StoreCall["method"], amount: number): Promise<unknown> =>
            trial.callThrough(method === tested ? turn >> 1 : turn, { method, policy, key: `caller ${turn}`, tokens: amount });
          await call("consume", 5);
          for (let round = 0; round < 3; round++) {
            await call("consume", 3);
            await call(tested, tokens);
            await call("consume", 3);
          }
        }),
      );
    },
  })),
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
    name: "refund · gives back more than one capacity to a key that owes it",
    cause:
      "`adjust` gives back at most the capacity. Give back exactly the given number, up to full: " +
      "after a debit, spent can be more than the capacity.",
    needs: ["adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const refill = { tokens: 1, everyMs: 60_000 };
      const one = trial.policy("one", { capacity: 10, refill });
      const two = trial.policy("two", { name: "a", capacity: 10, refill }, { name: "b", capacity: 30, refill });
      for (const [policy, debit, refund] of [[one, 50, -45], [one, 29, -19], [two, [50, 150], [-45, -125]]] as const) {
        const key = `owes ${String(debit)}`;
        for (const tokens of [debit, refund, refund]) {
          await trial.callAll({ method: "adjust", policy, key, tokens });
          await trial.consume(policy, key, 1);
        }
      }
    },
  },
  {
    name: "L1 · a give-back that is late gives back less, for each rate what has refilled since its instant",
    cause:
      "`adjust` ignores `since` of its origin, or takes off whole tokens. Of what is given back, take off the units that " +
      "have refilled since then: `adjustRecords` of sluice/store does it when it gets `from`.",
    needs: ["adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const at = trial.now;
      const one = trial.policy("one", { capacity: 100, refill: { tokens: 7, everyMs: 13 } });
      const [a, b] = [{ tokens: 1, everyMs: 9 }, { tokens: 1, everyMs: 700 }];
      const two = trial.policy("two", { name: "a", capacity: 90, refill: a }, { name: "b", capacity: 80, refill: b });
      for (const [policy, tokens, ahead] of [
        [one, 50, 0], [one, 50, 25], [one, 50, -400], [two, 40, 0], [two, 40, [200, -900]],
      ] as const) {
        const key = `late ${tokens} ${String(ahead)}`;
        const since = typeof ahead === "number" ? trial.now + ahead : ahead.map((ms) => trial.now + ms);
        // Others spend as well, so that what comes back is seen in full.
        await trial.consume(policy, key, tokens);
        await trial.callAll({ method: "adjust", policy, key, tokens: 200 });
        trial.move(45);
        await trial.callAll({ method: "adjust", policy, key, tokens: 0 - tokens, at: { at, heldAt: at, since } });
        await trial.consume(policy, key, 1);
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
        if (trial.store(0).peek) await trial.callAll({ method: "peek", policy, key, tokens: 5 });
        await trial.consume(policy, key, 0);
        trial.move(1);
        if (trial.store(0).peek) await because(ENDED, () => trial.callAll({ method: "peek", policy, key, tokens: 5 }));
        const { allowed } = await trial.consume(policy, key, 5);
        assert(allowed, "Expected a key to be allowed when its block has ended, got refused");
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
