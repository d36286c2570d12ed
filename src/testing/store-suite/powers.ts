import type { Policy } from "../../core/policy.js";
import type { Charge } from "../../core/store.js";
import { check } from "../adapter-suite/check.js";
import type { Call } from "./oracle.js";
import type { StoreCase, Trial } from "./trial.js";

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
  togetherCase("L10 · charges that are made together are all taken or none", [0, 0, 300, 1_000, 2_500]),
  togetherCase("L6 · so they are under a clock that steps back or jumps ahead", [0, 300, -400, -2_000, 1_500, 90_000, -90_000]),
  togetherCase("L14 · so they are while numbers change and limits come and go", [0, 300, 1_000, 2_500], true),
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

/** A history of a user, a device and a tenant who are charged together, and now and then alone. */
function togetherCase(name: string, moves: readonly number[], changing = false): StoreCase {
  return {
    name,
    needs: ["consumeTogether"],
    async run(trial) {
      await trial.tell("mixed");
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
          { policy: one(tenant), key: "tenant", cost: random.pick([0, 1, 2, 7, 16]) },
          { policy: one(user), key: "device", cost: random.between(0, 2) },
        ];
        await chargeAndCompare(trial, random.next() < 0.5 ? charges : charges.reverse());
        if (round % 10 === 9) await trial.consume(one(tenant), "tenant", 1);
      }
      for (let i = 0; i < 3; i++) await trial.consume(one(user), `user ${i}`, 1);
    },
  };
}

/** Checks that all fit, or that each was told what a peek would have told it, and nothing was taken. */
async function chargeAndCompare(trial: Trial, charges: readonly Charge[]): Promise<void> {
  const answers = await trial.together(charges);
  const all = answers.every(({ allowed }) => allowed);
  trial.compare(charges.map(({ policy, key, cost }, i) => ({ call: { ...charge(policy, key, cost), what: all ? "consume" : "peek" }, answer: answers[i] })));
  // Refused together, each is at least settled, as what can never fit would be.
  if (!all) for (const { policy, key } of charges) trial.oracle.assume(charge(policy, key, policy.maxCost + 1), trial.now);
}

function charge(policy: Charge["policy"], key: string, tokens: number): Call {
  return { what: "consume", policy, key, tokens };
}
