// Stores that are right in the middle and wrong at an edge of the port: long lists, long names, instants, debts. Each has one
// mistake, and the cause that the failing case names.
import { fullBucket, spentAt, type Bucket } from "../../../src/core/bucket.js";
import { costAt } from "../../../src/core/limit.js";
import { adjust, consume } from "../../../src/core/decide.js";
import type { Charge, Costs, Decision, Policy } from "../../../src/index.js";
import { right, wrongStore, type RightStore } from "./wrong-stores-base.js";
import type { WrongStore } from "./wrong-stores.js";

const limitAt = (policy: Policy, place: number): Policy["limits"][number] => policy.limits[place] as Policy["limits"][number];

/** Zeros in place of what is after the first numbers of a list. */
const cutTo = (most: number, costs: Costs): Costs => (typeof costs === "number" ? costs : costs.map((cost, i) => (i < most ? cost : 0)));

const cuttingCosts = (most: number): typeof RightStore =>
  wrongStore({ decide: (buckets, policy, costs, now) => consume(buckets, policy, cutTo(most, costs), now) });

const cuttingChanges = (most: number): typeof RightStore =>
  wrongStore({ change: (buckets, policy, changes, now) => adjust(buckets, policy, cutTo(most, changes), now) });

const keepingLimits = (most: number): typeof RightStore =>
  wrongStore({
    save(policy, key, buckets, now) {
      right.save.call(this, policy, key, policy.limits.map((limit, i) => (i < most ? (buckets[i] as Bucket) : fullBucket(limit))), now);
    },
  });

const peekAll = (store: RightStore, charges: readonly Charge[]): Promise<Decision[]> =>
  Promise.all(charges.map(({ policy, key, cost }) => right.peek.call(store, policy, key, cost)));

/** Answers for all charges and takes the first ones. */
const takingTheFirst = (most: number): typeof RightStore =>
  wrongStore({
    async consumeTogether(charges) {
      const foreseen = await peekAll(this, charges);
      if (foreseen.some(({ allowed }) => !allowed)) return right.consumeTogether.call(this, charges);
      return [...(await right.consumeTogether.call(this, charges.slice(0, most))), ...foreseen.slice(most)];
    },
  });

/** Takes a long list in several steps. */
const steppingBy = (most: number): typeof RightStore =>
  wrongStore({
    async consumeTogether(charges) {
      const decisions: Decision[] = [];
      for (let i = 0; i < charges.length; i += most) decisions.push(...(await right.consumeTogether.call(this, charges.slice(i, i + most))));
      return decisions;
    },
  });

const cuttingLimitNames = (most: number): typeof RightStore => {
  const short = (policy: Policy, buckets: readonly Bucket[]): Map<string, Bucket> =>
    new Map(policy.limits.map(({ name }, i) => [name.slice(0, most), { ...(buckets[i] as Bucket) }]));
  return wrongStore({
    load(policy, key, now) {
      const row = this.row(policy, key);
      return policy.limits.map((limit) => {
        const bucket = row?.get(limit.name.slice(0, most));
        return bucket === undefined || bucket.at + this.lifetimeMs(bucket) <= now ? fullBucket(limit) : { ...bucket };
      });
    },
    save(policy, key, buckets, now) { this.put(policy, key, short(policy, buckets), now); },
  });
};

/** Cuts limits' names when it writes them, so that no record is found again. */
const writingShortNames = (most: number): typeof RightStore =>
  wrongStore({
    put(policy, key, records, now) { right.put.call(this, policy, key, new Map([...records].map(([name, bucket]) => [name.slice(0, most), bucket])), now); },
  });

const cuttingPolicyNames = (most: number): typeof RightStore =>
  wrongStore({ name(policy, key) { return right.name.call(this, { ...policy, name: policy.name.slice(0, most) }, key); } });

const ALL_128 = "L10 · 128 charges";
const OF_129 = "L19 · of 129 limits";
const LONG_NAMES = "keys · policies and limits";
const LIST_IS_CUT = /Likely cause: (A long list of costs is cut, or only the first limits are stored|This is the answer of a bucket with a full limit `129`)\./;
const CHARGES_ARE_CUT = /Likely cause: The store drops charges of a long list, takes them in several steps, or keeps one although another is refused\./;
const NAMES_ARE_CUT = /Likely cause: The name of a policy or a limit is cut\./;
const ONE_BY_ONE = /Likely cause: The store charges one bucket before it has checked all of them/;

export const wrongAtEdges: readonly WrongStore[] = [
  ...[4, 8].map((most): WrongStore => [`reads the first ${most} costs of a list`, cuttingCosts(most), "L10, L19 · the limits", {}, /Likely cause: .* a list of costs is cut/]),
  ...[4, 8, 16, 64, 127, 128].flatMap((most): WrongStore[] => [
    [`reads the first ${most} costs of a long list`, cuttingCosts(most), OF_129, {}, LIST_IS_CUT],
    [`keeps the first ${most} limits of a policy`, keepingLimits(most), OF_129, {}, LIST_IS_CUT],
    [`makes the first ${most} changes of a long adjustment`, cuttingChanges(most), OF_129, {}, LIST_IS_CUT],
  ]),
  ["makes the first 4 changes of an adjustment", cuttingChanges(4), "adjust · refunds up to full", {}, /Likely cause: .* a list of changes is cut/],
  ...[1, 4, 16, 64, 100, 127].map((most): WrongStore => [`takes the first ${most} charges of one call`, takingTheFirst(most), ALL_128, {}, CHARGES_ARE_CUT]),
  ...[4, 16, 64, 100, 127].map((most): WrongStore => [`takes charges in steps of ${most}`, steppingBy(most), ALL_128, {}, CHARGES_ARE_CUT]),
  ...([["L6, L10, L14 · a consume of several parts takes all", ONE_BY_ONE], [ALL_128, CHARGES_ARE_CUT]] as const).map(([failing, cause]): WrongStore => [
    `keeps a refused first charge of several limits (${failing})`,
    wrongStore({
      async consumeTogether(charges) {
        const decisions = await right.consumeTogether.call(this, charges);
        const [{ policy, key, cost }] = charges as [Charge];
        if (policy.limits.length > 1 && decisions.some(({ allowed }) => !allowed)) await right.consume.call(this, policy, key, cost);
        return decisions;
      },
    }),
    failing, {}, cause,
  ]),
  ...[32, 63].flatMap((most): WrongStore[] => [
    [`keeps limits under the first ${most} characters of their names`, cuttingLimitNames(most), LONG_NAMES, {}, NAMES_ARE_CUT],
    [`writes ${most} characters of a limit's name and reads all`, writingShortNames(most), LONG_NAMES, {}, NAMES_ARE_CUT],
    [`keeps policies under the first ${most} characters of their names`, cuttingPolicyNames(most), LONG_NAMES, {}, NAMES_ARE_CUT],
  ]),
  ["gives back at most one capacity", wrongStore({
      change: (buckets, policy, changes, now) => adjust(buckets, policy, policy.limits.map((limit, i) => Math.max(costAt(changes, i), -limit.capacity)), now),
    }), "adjust · converts every limit", {}, /Likely cause: `adjust` gives back at most the capacity\./],
  ["refuses a peek at the instant when a block ends", wrongStore({
      async peek(policy, key, costs) {
        const block = this.row(policy, key)?.get("!");
        const decision = await right.peek.call(this, policy, key, costs);
        const isEnding = block !== undefined && block.spent > 0 && block.at + block.spent === this.now();
        return isEnding ? { ...decision, allowed: false, reason: "limited", retryAfterMs: 1 } : decision;
      },
    }), "block · of two blocks", {}, /`peek` still refuses at the instant when the block ends/],
  ["refuses a peek at the instant when a wait ends", wrongStore({
      async peek(policy, key, costs) {
        const now = this.now();
        const limit = limitAt(policy, 0);
        const spent = spentAt(this.load(policy, key, now)[0] as Bucket, limit, now);
        const decision = await right.peek.call(this, policy, key, costs);
        const isEnding = spent + costAt(costs, 0) * limit.unitsPerToken === limit.size;
        return isEnding && decision.allowed ? { ...decision, allowed: false, reason: "limited", retryAfterMs: 1 } : decision;
      },
    }), "L2 · the wait of a refusal is exact", {}, /Likely cause: `peek` still refuses at the instant when the wait ends\./],
];
