import type { Policy } from "../../../core/policy.js";
import type { Charge } from "../../../core/records.js";
import { assert, AssertionError, because } from "../../assert.js";
import { callsOn } from "../bucket-calls.js";
import { differentCosts, edgeLimits, EDGES } from "../edges.js";
import { chargeAndCompare, consumeCall, keysTogether, takenTogether, type NamedBucket } from "../together.js";
import type { StoreCase, Trial } from "../trial.js";
import { callsOf } from "../../store-calls.js";

// Pairs of so many keys: two of them are in one of 16,384 slots for certain, as good as.
const PAIRED_KEYS = 500;
const MOST_GROUPS = 24;
const FALSE_YES =
  "`together` answers true for charges that one call cannot take. Answer false for them: " +
  "`combine` then takes them one by one.";
const NEVER_TRUE =
  "`together` is wrong about charges that can be taken together. A store that can take none together says false.";
const ASKING_TAKES = "`together` takes tokens, or writes. It only answers.";

/** Cases about a `consume` of several parts. They take keys that the function `together` says yes to. */
export const togetherCases: readonly StoreCase[] = [
  {
    name: "L6, L10, L14 · a consume of several parts takes all charges or none, under any clock and under limits that change",
    cause: "The store charges one bucket before it has checked all of them, or reads them at different instants.",
    needs: ["together"],
    async run(trial) {
      await trial.openStores("mixed");
      await playTogether(trial, 14, [0, 300, 1_000, 2_500], true);
      await playTogether(trial, 14, [0, 300, -400, -2_000, 1_500, 90_000, -90_000], false);
      await trial.part("The store writes nothing when it refuses several charges. Convert records of older numbers anyway.", () =>
        convertRefused(trial));
    },
  },
  {
    name: "L10 · a consume of several parts is refused while one of the keys is blocked, and taken when the block ends",
    cause: "For several parts the store reads the limits and not the block, or finds it in another place, such as a memory.",
    needs: ["together", "block"],
    async run(trial) {
      await trial.openStores("mixed");
      const numbers = { name: "only", capacity: 9, refill: { tokens: 1, everyMs: 1_000 } };
      const [slow, fast] = [1, 3].map((tokens) =>
        trial.policy("p", { ...numbers, refill: { tokens, everyMs: 1_000 } })) as [Policy, Policy];
      const found = await Promise.all([0, 1, 2].map((turn) =>
        keysTogether(trial, ["blocked", "free"].map((name) => ({ policy: slow, key: `${name} ${turn}` })))));
      for (const [turn, costs] of [[2, 1], [0, 0], [2, 1]].entries()) {
        const keys = found[turn];
        if (!keys) return;
        const charges = (policy: Policy): Charge[] => keys.map((key, i) => ({ policy, key, cost: costs[i] as number }));
        const block = (tokens: number): Promise<void> =>
          trial.callThrough(turn, { method: "block", policy: slow, key: keys[0] as string, tokens });
        await chargeAndCompare(trial, charges(slow));
        await block(turn === 0 ? 3_600_000 : 2_000);
        for (const ms of turn === 0 ? [1_400] : [1_999, 1]) {
          trial.move(ms);
          await chargeAndCompare(trial, turn === 1 ? charges(fast).reverse() : charges(fast));
        }
        await block(0);
        await chargeAndCompare(trial, charges(fast));
        await trial.callAll(...keys.map((key) => consumeCall(slow, key, 1)));
      }
    },
  },
  {
    name: "L10 · concurrent calls of two parts in different orders get exactly the capacity, without a deadlock",
    cause: "The store locks buckets in the order of the charges. Lock them in one fixed order, or in one step.",
    needs: ["together"],
    async run(trial) {
      await trial.openStores("identical");
      for (let round = 0; round < 3; round++) {
        const policy = trial.policy(`p${round}`, { capacity: 9, refill: { tokens: 1, everyMs: 1_000 } });
        const keys = await keysTogether(trial, ["a", "b"].map((key) => ({ policy, key })));
        if (keys === null) return;
        const [a, b] = keys as [string, string];
        const charges = keys.map((key) => ({ policy, key, cost: 1 }));
        const both = (turn: number): Charge[] => (turn % 2 === 0 ? charges : [...charges].reverse());
        // Some single charges run at the same time.
        const [answers, single] = await Promise.all([
          Promise.all(Array.from({ length: 24 }, (_, i) => trial.chargeTogether(both(i), trial.store(Math.floor(i / 2))))),
          Promise.all(Array.from({ length: 6 }, async (_, i) => callsOf(trial.store(i)).consume(policy, a, 1))),
        ]);
        const pairs = answers.filter((decisions) => decisions.every(({ allowed }) => allowed)).length;
        const alone = single.filter(({ allowed }) => allowed).length;
        const got = `${pairs} and ${alone}`;
        assert(pairs + alone === 9, `Expected 9 of 24 pairs and 6 single charges to be allowed together, got ${got}`);
        for (let i = 0; i < 9; i++) trial.oracle.assume(consumeCall(policy, a, 1), trial.now);
        for (let i = 0; i < pairs; i++) trial.oracle.assume(consumeCall(policy, b, 1), trial.now);
        trial.move(2_000);
        for (const key of keys) await trial.consume(policy, key, 3);
      }
    },
  },
  {
    name: `L10 · ${EDGES.charges} charges are taken all or none, whichever of them is refused`,
    cause:
      "The store drops charges of a long list, takes them in several steps, or keeps one although another is refused.",
    needs: ["together"],
    async run(trial) {
      await trial.openStores("mixed");
      const plain = trial.policy("plain", { capacity: 100, refill: { tokens: 1, everyMs: 60_000 } });
      const several = trial.policy("several", ...edgeLimits());
      const wanted = Array.from({ length: EDGES.charges }, (_, i): NamedBucket => ({
        policy: i % 8 === 0 ? several : plain, key: `caller ${i}`,
      }));
      const taken = await takenTogether(trial, wanted);
      if (taken.length < 2) return;
      const charges = taken.map(({ policy, key }, i): Charge => ({
        policy, key, cost: policy === plain ? 1 + (i % 5) : differentCosts(policy),
      }));
      await chargeAndCompare(trial, charges);
      for (const refused of [charges.length - 1, 17, 0].filter((i) => i < charges.length)) {
        const { policy, key } = charges[refused] as Charge;
        await trial.callAll(consumeCall(policy, key, trial.oracle.foresee(consumeCall(policy, key, 0), trial.now).remaining));
        const all = await chargeAndCompare(trial, charges);
        const what = `${charges.length} charges to be refused while the bucket of number ${refused + 1} is empty`;
        assert(!all, `Expected ${what}, got allowed`);
        charges.splice(refused, 1);
        await chargeAndCompare(trial, charges);
      }
    },
  },
  {
    name: "together · as a function says truly and at once which charges can be taken together (checked if it is one)",
    cause: FALSE_YES,
    async run(trial) {
      await trial.openStores("mixed");
      if (!(await trial.prepareTogether())) return;
      const refill = { tokens: 1, everyMs: 60_000 };
      const one = trial.policy("one", { capacity: 5, refill });
      const two = trial.policy("two", { name: "a", capacity: 5, refill }, { name: "b", capacity: 9, refill });
      const groups = groupsTaken(trial, one, two);
      if (groups.length === 0) {
        const message = "Expected `together` to answer true for some charges, got false for all";
        throw new AssertionError(message, { likelyCause: NEVER_TRUE });
      }
      const look = (): Promise<unknown> =>
        trial.callAll(...groups.flat().map(({ policy, key }) => consumeCall(policy, key, 0)));
      const chargeAll = async (cost: number): Promise<void> => {
        await Promise.all(groups.map((group) => chargeAsTold(trial, group.map((charge) => ({ ...charge, cost })))));
        await because(FALSE_YES, look);
      };
      for (const group of groups) for (let i = 0; i < 3; i++) trial.takesTogether(group);
      await because(ASKING_TAKES, look);
      for (const cost of [2, 2, 2]) await chargeAll(cost); // the third is refused
      // The last charge of each group is refused alone, and stops the others.
      const lasts = groups.map((group) => group.at(-1) as Charge);
      await trial.callAll(...lasts.map(({ policy, key }) => consumeCall(policy, key, 1)));
      await chargeAll(1);
    },
  },
];

/** A history of charges on a user, a device and a tenant. Most are made together, some separately. */
async function playTogether(trial: Trial, rounds: number, moves: readonly number[], changing: boolean): Promise<void> {
  const { random } = trial;
  const refills = [{ tokens: 1, everyMs: 1_000 }, { tokens: 3, everyMs: 700 }, { tokens: 2, everyMs: 900 }] as const;
  const name = changing ? "changing" : "clocked";
  const user = [
    trial.policy(`user-${name}`, { name: "only", capacity: 6, refill: refills[0] }),
    trial.policy(`user-${name}`, { name: "only", capacity: 8, refill: refills[1] }),
  ] as const;
  const tenant = [
    trial.policy(`of-${name}`, { name: "a", capacity: 15, refill: refills[2] }, { name: "b", capacity: 40, refill: refills[0] }),
    trial.policy(`of-${name}`, { name: "b", capacity: 30, refill: refills[1] }, { name: "c", capacity: 20, refill: refills[2] }),
  ] as const;
  const one = (versions: readonly [Policy, Policy]): Policy => (changing ? random.pick(versions) : versions[0]);
  const wanted = (group: string): NamedBucket[] => ["user 0", "user 1", "device", "tenant"].map((each, i) => ({
    policy: i < 3 ? user[0] : tenant[0], key: `${each} of ${group}`,
  }));
  const found = await Promise.all(["one", "two", "three"].map((group) => keysTogether(trial, wanted(group))));
  const keys = found.filter((list): list is [string, string, string, string] => list !== null);
  for (let round = 0; round < rounds; round++) {
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
  }
  await trial.callAll(...keys.flatMap(([first, second, , tenantKey]) =>
    [consumeCall(one(user), first, 1), consumeCall(one(user), second, 1), consumeCall(one(tenant), tenantKey, 1)]));
}

async function convertRefused(trial: Trial): Promise<void> {
  const [slow, fast] = [1, 7].map((tokens) =>
    trial.policy("tier", { capacity: 20, refill: { tokens, everyMs: 1_000 } })) as [Policy, Policy];
  const never = trial.policy("full", { capacity: 1, refill: { tokens: 1, everyMs: 60_000 } });
  const keys = await keysTogether(trial, [
    { policy: never, key: "full" }, ...["refused", "allowed"].map((key) => ({ policy: slow, key })),
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
    await callsOn(trial, fast, key).take(1);
  }
}

/** Charges that the stores say they can take together: of one policy, of several, with parts of the key in common. */
function groupsTaken(trial: Trial, one: Policy, two: Policy): Charge[][] {
  const group = (...buckets: ReadonlyArray<readonly [Policy, string]>): Charge[] =>
    buckets.map(([policy, key]) => ({ policy, key, cost: 2 }));
  const groups: Charge[][] = [];
  for (let i = 0; i < 100; i++) {
    groups.push(group([one, `a ${i}`], [one, `b ${i}`]), group([one, `c ${i}`], [two, `d ${i}`], [one, `e ${i}`]));
    groups.push(group([one, `same ${i}`], [two, `same ${i}`]), group([one, `{tag ${i}}a`], [two, `{tag ${i}}b`]));
  }
  const taken = groups.filter((charges) => trial.takesTogether(charges));
  if (taken.length > 0) return taken.slice(0, MOST_GROUPS);
  for (let i = 0; i < PAIRED_KEYS; i++) {
    for (let j = 0; j < i; j++) {
      const pair = group([one, `pair ${i}`], [one, `pair ${j}`]);
      if (trial.takesTogether(pair)) return [pair];
    }
  }
  return [];
}

/** Makes charges that `together` has said yes to. */
async function chargeAsTold(trial: Trial, charges: readonly Charge[]): Promise<void> {
  try {
    await because(FALSE_YES, () => chargeAndCompare(trial, charges));
  } catch (error) {
    if (error instanceof AssertionError) throw error;
    throw new AssertionError(
      `Expected the store to take ${charges.length} charges after \`together\` said true, got ${String(error)}`,
      { cause: error },
    );
  }
}
