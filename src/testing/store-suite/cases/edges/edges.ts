import type { Costs } from "../../../../core/limit.js";
import type { Policy } from "../../../../core/policy.js";
import type { Charge } from "../../../../port/store.js";
import { assert, AssertionError, because } from "../../../assert.js";
import { edgeLimits, EDGES } from "../../edges.js";
import type { StoreCall } from "../../states.js";
import { chargeAndCompare, consumeCall, takenTogether, type NamedBucket } from "../../together.js";
import type { StoreCase, Trial } from "../../trial.js";

// Pairs of so many keys: two of them are in one of 16,384 slots for certain, as good as.
const PAIRED_KEYS = 500;
const MOST_GROUPS = 24;
const FALSE_YES =
  "`takesTogether` answers true for charges that `consumeTogether` cannot take in one step. Answer false for them: " +
  "`combine` then takes them one by one.";
const NEVER_TRUE =
  "`takesTogether` is wrong about charges that can be taken together. " +
  "A store that can take none together has no `consumeTogether`.";
const ASKING_TAKES = "`takesTogether` takes tokens, or writes. It only answers.";

/** Cases at the edges of the port. */
export const edgeCases: readonly StoreCase[] = [
  {
    name: "takesTogether · says truly and at once which charges can be taken together (checked if the store has it)",
    cause: FALSE_YES,
    async run(trial) {
      await trial.openStores("mixed");
      if (!(await trial.prepareTogether()) || trial.store(0).consumeTogether === undefined) return;
      const refill = { tokens: 1, everyMs: 60_000 };
      const one = trial.policy("one", { capacity: 5, refill });
      const two = trial.policy("two", { name: "a", capacity: 5, refill }, { name: "b", capacity: 9, refill });
      const groups = groupsTaken(trial, one, two);
      if (groups.length === 0) {
        throw new AssertionError("Expected `takesTogether` to answer true for some charges, got false for all", {
          likelyCause: NEVER_TRUE,
        });
      }
      const buckets = groups.flat();
      for (const group of groups) for (let i = 0; i < 3; i++) trial.takesTogether(group);
      await because(ASKING_TAKES, () => trial.callAll(...buckets.map(({ policy, key }) => consumeCall(policy, key, 0))));
      for (const cost of [2, 2, 2]) { // the third is refused
        await Promise.all(groups.map((group) => chargeAsTold(trial, group.map((charge) => ({ ...charge, cost })))));
        await because(FALSE_YES, () => trial.callAll(...buckets.map(({ policy, key }) => consumeCall(policy, key, 0))));
      }
      // The last charge of each group is refused alone, and stops the others.
      await trial.callAll(
        ...groups.map((group) => consumeCall((group.at(-1) as Charge).policy, (group.at(-1) as Charge).key, 1)),
      );
      await Promise.all(groups.map((group) => chargeAsTold(trial, group.map((charge) => ({ ...charge, cost: 1 })))));
      await because(FALSE_YES, () => trial.callAll(...buckets.map(({ policy, key }) => consumeCall(policy, key, 0))));
    },
  },
  {
    name: `L10 · ${EDGES.charges} charges are taken all or none, whichever of them is refused`,
    cause:
      "`consumeTogether` drops charges of a long list, takes them in several steps, or keeps one although another is refused.",
    needs: ["consumeTogether"],
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
      for (const refused of [charges.length - 1, 17, 1, 0].filter((i) => i < charges.length)) {
        const { policy, key } = charges[refused] as Charge;
        await trial.callAll(consumeCall(policy, key, trial.oracle.foresee(consumeCall(policy, key, 0), trial.now).remaining));
        const all = await chargeAndCompare(trial, charges);
        assert(
          !all,
          `Expected ${charges.length} charges to be refused while the bucket of number ${refused + 1} is empty, got allowed`,
        );
        charges.splice(refused, 1);
        await chargeAndCompare(trial, charges);
      }
    },
  },
  {
    name: `L19 · of ${EDGES.costs} limits, each is charged and adjusted by its own number`,
    cause: "A long list of costs is cut, or only the first limits are stored.",
    async run(trial) {
      await trial.openStores("mixed");
      const limits = Array.from({ length: EDGES.costs }, (_, i) => ({
        capacity: 1_000 + i, refill: { tokens: 1, everyMs: 60_000 },
      }));
      const policy = trial.policy("p", ...limits);
      const call = (method: StoreCall["method"], tokens: Costs): Promise<unknown> =>
        trial.callAll({ method, policy, key: "caller", tokens });
      await call("consume", differentCosts(policy));
      await call("consume", differentCosts(policy).reverse());
      for (const place of [4, 16, EDGES.costs - 1]) {
        await call(
          "consume", limits.map(({ capacity }, i) => (i === place ? capacity : 0)),
        );
      }
      for (const sign of trial.store(0).adjust ? [1, -1] : []) {
        await call("adjust", differentCosts(policy).map((cost) => sign * cost));
        await call("consume", 1);
      }
      if (trial.store(0).peek) await call("peek", differentCosts(policy));
    },
  },
];

/** A different cost for each limit, as far as the costs stay small. */
function differentCosts({ limits }: Policy): number[] {
  return limits.map((_limit, i) => 1 + ((7 * i) % 100));
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

/** Makes charges that `takesTogether` has said yes to. */
async function chargeAsTold(trial: Trial, charges: readonly Charge[]): Promise<void> {
  try {
    await because(FALSE_YES, () => chargeAndCompare(trial, charges));
  } catch (error) {
    if (error instanceof AssertionError) throw error;
    throw new AssertionError(
      `Expected \`consumeTogether\` to take ${charges.length} charges after \`takesTogether\` said true, got ${String(error)}`,
      { cause: error },
    );
  }
}
