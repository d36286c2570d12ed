// Stores that are wrong about blocks, resets and several charges of quotas and limits in flight, each with one mistake.
import { consume } from "../../../src/core/decide.js";
import type { Policy } from "../../../src/index.js";
import { right, wrongStore, type RightStore } from "./wrong-stores-base.js";
import { costsBut, eachQuota, quotaAt } from "./wrong-stores-dates.js";
import type { WrongStore } from "./wrong-stores.js";

const BLOCKS = "L20, L21 · renewed work";
const RESETS = "L20, L21 · renewed work";
const CONCURRENT = "L6, L14, L21 · limits in flight";
const HELD_TOGETHER = "L10, L20, L21 · several charges";
const TOGETHER = "L10, L20, L21 · several charges";

const forgetQuotas = (store: RightStore, policy: Policy, key: string): void =>
  policy.limits.forEach(({ name, renews }) => renews && store.row(policy, key)?.delete(name));

const forgetHeld = (store: RightStore, policy: Policy, key: string): void => {
  const row = store.row(policy, key);
  for (const name of row?.keys() ?? []) if (name.startsWith("~")) row?.delete(name);
};

export const wrongBesideDates: readonly WrongStore[] = [
  ["does nothing at a settlement while a block lasts", wrongStore({
      async adjust(policy, key, changes, from) {
        return this.blockMs(policy, key, this.now()) > 0 && from !== undefined ? true : right.adjust.call(this, policy, key, changes, from);
      },
    }), BLOCKS],
  ["forgets tokens in flight at a block", wrongStore({
      async block(policy, key, forMs) {
        await right.block.call(this, policy, key, forMs);
        if (forMs > 0) forgetHeld(this, policy, key);
      },
    }), BLOCKS],
  ["forgets tokens in flight when a block is ended", wrongStore({
      async block(policy, key, forMs) {
        await right.block.call(this, policy, key, forMs);
        if (forMs === 0) forgetHeld(this, policy, key);
      },
    }), BLOCKS],
  ["takes tokens in flight of a call that a block refuses", wrongStore({
      refuse(buckets, policy, costs, now, blockMs) {
        const decision = right.refuse.call(this, buckets, policy, costs, now, blockMs);
        consume(buckets, policy, costsBut(policy, costs, (cost, { returns }) => (returns ? cost : 0)), now);
        return decision;
      },
      isStale: () => true,
    }), CONCURRENT],
  ["keeps tokens in flight at a reset", wrongStore({
      async reset(policy, key) {
        return this.atomically(() => {
          const row = this.row(policy, key);
          for (const name of row?.keys() ?? []) if (!name.startsWith("~")) row?.delete(name);
        });
      },
    }), RESETS],
  ["resets only the limits in flight of this version", wrongStore({
      async reset(policy, key) {
        return this.atomically(() => {
          const row = this.row(policy, key);
          const names = policy.limits.map(({ name }) => `~${name}`);
          for (const name of row?.keys() ?? []) if (!name.startsWith("~") || names.includes(name)) row?.delete(name);
        });
      },
    }), RESETS],
  ["takes no tokens in flight together", wrongStore({
      consumeTogether(charges) {
        return right.consumeTogether.call(this, charges.map((charge) => ({ ...charge, cost: costsBut(charge.policy, charge.cost, (cost, { returns }) => (returns ? 0 : cost)) })));
      },
    }), HELD_TOGETHER],
  ["takes tokens in flight of charges that are refused together", wrongStore({
      async consumeTogether(charges) {
        const decisions = await right.consumeTogether.call(this, charges);
        if (decisions.some(({ allowed }) => !allowed)) {
          for (const { policy, key, cost } of charges) await right.consume.call(this, policy, key, costsBut(policy, cost, (each, { returns }) => (returns ? each : 0)));
        }
        return decisions;
      },
    }), HELD_TOGETHER],
  ["forgets quotas at a block", wrongStore({
      async block(policy, key, forMs) {
        await right.block.call(this, policy, key, forMs);
        if (forMs > 0) forgetQuotas(this, policy, key);
      },
    }), BLOCKS],
  ["keeps quotas at a reset", wrongStore({
      async reset(policy, key) {
        return this.atomically(() => {
          const row = this.row(policy, key);
          for (const [name, { unitsPerMs }] of row ?? []) if (unitsPerMs !== Number.MAX_SAFE_INTEGER || name.startsWith("~")) row?.delete(name);
        });
      },
    }), RESETS],
  ["does nothing at a settlement of a quota while a block lasts", wrongStore({
      async adjust(policy, key, changes, from) {
        return this.blockMs(policy, key, this.now()) > 0 && from !== undefined ? true : right.adjust.call(this, policy, key, changes, from);
      },
    }), BLOCKS],
  ["dates all charges by the calendar of the first", wrongStore({
      async consumeTogether(charges) {
        const decisions = await right.consumeTogether.call(this, charges);
        const [kind] = charges.flatMap(({ policy }) => policy.limits.flatMap((_limit, i) => quotaAt(policy, i) ?? []));
        if (kind !== undefined && decisions.every(({ allowed }) => allowed)) for (const { policy, key } of charges) {
          const now = this.now();
          const buckets = this.load(policy, key, now);
          eachQuota(buckets, policy, now, (bucket) => { if (bucket.spent > 0) bucket.at = kind.dateOf(now); });
          this.save(policy, key, buckets, now);
        }
        return decisions;
      },
    }), TOGETHER],
];
