import type { Decision } from "../core/decision.js";
import type { Charge } from "../core/store.js";
import { check } from "./adapter-suite-check.js";
import { differences, type Call } from "./store-suite-oracle.js";
import type { StoreCase, Trial } from "./store-suite-trial.js";

const POWERS = ["peek", "refund", "reset", "debit", "consumeTogether", "close"] as const;

/** What a store may be able to do beyond consuming. Histories with peek, refund, reset and debit are among the schedules. */
export const powers: readonly StoreCase[] = [
  {
    name: "port · has the powers that it does not lack, and no others",
    async run(trial) {
      const store = await trial.open({ clock: trial.clock.now });
      check(typeof store.consume === "function", "Expected the store to have `consume`");
      for (const power of POWERS) {
        const has = typeof store[power] === "function";
        check(has === trial.has(power), `Expected a store that ${has ? "has" : "has no"} \`${power}\` to ${has ? "be tested with it" : "say so in `lacks`"}`);
      }
    },
  },
  ...(["refund", "reset", "debit"] as const).map((what): StoreCase => ({
    name: `${what} · what ${what === "debit" ? "is owed counts" : "comes back is there"} at once, for whoever was just refused`,
    needs: [what],
    async run(trial) {
      await trial.tell("mixed");
      const policy = trial.policy("p", { capacity: 5, refill: { tokens: 1, everyMs: 1_000 } });
      for (let turn = 0; turn < 4; turn++) {
        const key = `caller ${turn}`;
        const ask = (call: Call["what"], tokens: number): Promise<unknown> => trial.askThrough(call === what ? turn >> 1 : turn, { what: call, policy, key, tokens });
        await ask("consume", 5);
        for (let round = 0; round < 3; round++) {
          await ask("consume", 3);
          await ask(what, 3);
          await ask("consume", 3);
        }
      }
    },
  })),
  {
    name: "L10 · charges that are made together are all taken or none",
    needs: ["consumeTogether"],
    async run(trial) {
      await trial.tell("mixed");
      const policies = [
        trial.policy("user", { capacity: 6, refill: { tokens: 1, everyMs: 1_000 } }),
        trial.policy("tenant", { name: "a", capacity: 15, refill: { tokens: 2, everyMs: 1_000 } }, { name: "b", capacity: 40, refill: { tokens: 1, everyMs: 700 } }),
      ] as const;
      for (let round = 0; round < 40; round++) {
        trial.move(trial.random.pick([0, 0, 300, 1_000, 2_500]));
        const charges: Charge[] = [
          { policy: policies[0], key: `user ${round % 3}`, cost: trial.random.between(0, 4) },
          { policy: policies[1], key: "tenant", cost: trial.random.pick([0, 1, 2, 7, 16]) },
          { policy: policies[0], key: "device", cost: trial.random.between(0, 2) },
        ];
        await chargeAndCompare(trial, trial.random.next() < 0.5 ? charges : charges.reverse());
      }
      for (let user = 0; user < 3; user++) await trial.consume(policies[0], `user ${user}`, 1);
      await trial.consume(policies[1], "tenant", 1);
    },
  },
  {
    name: "L14 · charges that are refused together settle what was counted in other numbers, all of them",
    needs: ["consumeTogether"],
    async run(trial) {
      await trial.tell("mixed");
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
    name: "L10 · charges that cross each other at once get exactly the budget, and do not wait for each other for ever",
    needs: ["consumeTogether"],
    async run(trial) {
      await trial.tell("alike");
      for (let round = 0; round < 4; round++) {
        const policy = trial.policy(`p${round}`, { capacity: 9, refill: { tokens: 1, everyMs: 1_000 } });
        const both = (turn: number): Charge[] => {
          const charges = ["a", "b"].map((key) => ({ policy, key, cost: 1 }));
          return turn % 2 === 0 ? charges : charges.reverse();
        };
        // Among them some that ask for one bucket alone.
        const [answers, single] = await Promise.all([
          Promise.all(Array.from({ length: 24 }, (_, i) => trial.together(both(i), trial.store(Math.floor(i / 2))))),
          Promise.all(Array.from({ length: 6 }, async (_, i) => trial.within(trial.store(i).consume(policy, "a", 1), "consume to be answered"))),
        ]);
        const pairs = answers.filter((decisions) => decisions.every(({ allowed }) => allowed)).length;
        const alone = single.filter(({ allowed }) => allowed).length;
        check(pairs + alone === 9, `Expected 9 of 24 pairs and 6 single charges to be allowed, got ${pairs} and ${alone}`);
        for (let i = 0; i < 9; i++) trial.oracle.assume(charge(policy, "a", 1), trial.now);
        for (let i = 0; i < pairs; i++) trial.oracle.assume(charge(policy, "b", 1), trial.now);
        trial.move(2_000);
        for (const key of ["a", "b"]) await trial.consume(policy, key, 3);
      }
    },
  },
  {
    name: "close · lets go of what the store opened, once, and leaves others alone",
    needs: ["close"],
    async run(trial) {
      const policy = trial.policy("p", { capacity: 5, refill: { tokens: 1, everyMs: 1_000 } });
      await trial.tell("mixed");
      const other = await trial.open({ clock: trial.clock.now });
      await other.consume(policy, "other", 1);
      for (const time of ["once", "twice"]) {
        const problem = await trial.within(Promise.resolve(other.close?.()).then(() => null, String), "close to be done");
        check(problem === null, `Expected a store to be closed ${time}, got ${problem}`);
      }
      await trial.consume(policy, "caller", 2);
    },
  },
];

/** What the answers must be: everybody's own decision when all fit, and otherwise what each would have been told alone. */
async function chargeAndCompare(trial: Trial, charges: readonly Charge[]): Promise<void> {
  const alone = charges.map(({ policy, key, cost }) => trial.oracle.foresee(charge(policy, key, cost), trial.now));
  const all = alone.every(({ allowed }) => allowed);
  const wanted = all ? alone : charges.map(({ policy, key, cost }) => trial.oracle.foresee({ ...charge(policy, key, cost), what: "peek" }, trial.now));
  const answers = await trial.together(charges);
  answers.forEach((answer: Decision, i) => {
    const wrong = differences(answer, wanted[i]);
    check(wrong.length === 0, `Expected charge ${i + 1} of ${charges.length}, ${all ? "all allowed" : "not all allowed"}, to be answered as the core does, got ${wrong.join(", ")}`);
  });
  // Refused together, each is at least settled, as what can never fit would be.
  for (const { policy, key, cost } of charges) trial.oracle.assume(charge(policy, key, all ? cost : policy.maxCost + 1), trial.now);
}

function charge(policy: Charge["policy"], key: string, tokens: number): Call {
  return { what: "consume", policy, key, tokens };
}
