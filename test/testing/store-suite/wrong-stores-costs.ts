// Stores that are wrong about costs of several limits, about adjustments or about blocks, each with one mistake.
import { BLOCK, BLOCK_LIMIT, blockLeft } from "../../../src/core/records.js";
import { changeUnits, fullBucket, spentAt, type Bucket } from "../../../src/core/bucket.js";
import { mapCosts } from "../../../src/core/cost.js";
import { costAt } from "../../../src/core/limit.js";
import type { Decision } from "../../../src/core/decision.js";
import { adjust, consume, peek, whileBlocked } from "../../../src/core/decide.js";
import type { Costs, Policy } from "../../../src/index.js";
import { nextTurn, onlyLimit, right, wrongStore, type RightStore } from "./wrong-stores-base.js";
import type { WrongStore } from "./wrong-stores.js";

const limitAt = (policy: Policy, place: number): Policy["limits"][number] => policy.limits[place] as Policy["limits"][number];
const listOf = (policy: Policy, costs: Costs): number[] => policy.limits.map((_, i) => costAt(costs, i));

/** Decides with other costs. */
const costing = (change: (costs: readonly number[], policy: Policy) => Costs): typeof RightStore =>
  wrongStore({ decide: (buckets, policy, costs, now) => consume(buckets, policy, change(listOf(policy, costs), policy), now) });

/** Adjusts by other changes. */
const changing = (change: (changes: readonly number[], policy: Policy) => Costs): typeof RightStore =>
  wrongStore({ change: (buckets, policy, changes, now) => adjust(buckets, policy, change(listOf(policy, changes), policy), now) });

/** Adjusts each limit by a rule of its own: the new spent units. */
const spending = (after: (spent: number, units: number, size: number) => number): typeof RightStore =>
  wrongStore({
    change(buckets, policy, changes, now) {
      policy.limits.forEach((limit, i) => {
        const bucket = buckets[i] as Bucket;
        changeUnits(bucket, limit, now, 0);
        bucket.spent = Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, after(bucket.spent, costAt(changes, i) * limit.unitsPerToken, limit.size)));
      });
      return true;
    },
  });

/** The costs in the order of the limits' names. */
function byName(costs: readonly number[], { limits }: Policy): Costs {
  const names = limits.map(({ name }) => name).sort();
  return limits.map(({ name }) => costs[names.indexOf(name)] as number);
}

export const wrongCosts: readonly WrongStore[] = [
  ["charges the first cost to all limits", costing(([first]) => first as number), "L10, L19 · the limits"],
  ["charges the largest cost to all limits", costing((costs) => Math.max(...costs)), "L10, L19 · the limits"],
  ["charges the costs in the order of the limits' names", costing(byName), "L10, L19 · the limits"],
  ["charges the costs of several limits to the first one", costing((costs) => costs.map((_, i) => (i === 0 ? costs.reduce((a, b) => Math.min(Number.MAX_SAFE_INTEGER, a + b)) : 0))), "L10, L19 · the limits"],
  ["refuses a cost above the smallest capacity, whichever limit it is for", wrongStore({
      decide(buckets, policy, costs, now) {
        return Math.max(...listOf(policy, costs)) > policy.maxCost ? peek(buckets, policy, Number.MAX_SAFE_INTEGER, now) : consume(buckets, policy, costs, now);
      },
    }), "L10, L19 · the limits"],
  ["charges the limits whose own cost fits although another refuses", wrongStore({
      decide(buckets, policy, costs, now) {
        const decision = consume(buckets, policy, costs, now);
        if (!decision.allowed) for (const i of policy.limits.keys()) consume([buckets[i] as Bucket], onlyLimit(policy, i), costAt(costs, i), now);
        return decision;
      },
      isStale: () => true,
    }), "L10, L19 · the limits"],
  ["peeks with the first cost for all limits", wrongStore({ peek(policy, key, costs) { return right.peek.call(this, policy, key, costAt(costs, 0)); } }), "L14 · spent tokens still count"],
  ["charges together with the first cost for all limits", wrongStore({
      consumeTogether(charges) { return right.consumeTogether.call(this, charges.map((charge) => ({ ...charge, cost: costAt(charge.cost, 0) }))); },
    }), "L6, L10, L14 · a consume of several parts takes all"],
];

export const wrongAdjustments: readonly WrongStore[] = [
  ["adjusts one limit after another, with other calls in between", wrongStore({
      async adjust(policy, key, changes) {
        for (const i of policy.limits.keys()) {
          if (!(await right.adjust.call(this, onlyLimit(policy, i), key, costAt(changes, i)))) return false;
          await nextTurn();
        }
        return true;
      },
    }), "adjust · refunds up to full"],
  ["refuses debits that do not fit", wrongStore({ change: (buckets, policy, changes, now) => consume(buckets, policy, mapCosts(policy, changes, (each) => Math.max(0, each)), now).allowed }), "adjust · refunds up to full"],
  ["limits debts to the capacity", spending((spent, units, size) => Math.max(spent, Math.min(spent + units, size))), "adjust · refunds up to full"],
  ["limits debts to twice the capacity", spending((spent, units, size) => Math.max(spent, Math.min(spent + units, 2 * size))), "adjust · refunds up to full"],
  ["cuts a debt beyond twice a smaller capacity", spending((spent, units, size) => Math.min(spent + units, 2 * size)), "adjust · refunds up to full"],
  ["cuts a debt that passes 2^53 - 1 units", spending((spent, units) => spent + units), "adjust · refunds up to full"],
  ["takes at most one capacity with one debit", changing((changes, policy) => changes.map((each, i) => Math.min(each, limitAt(policy, i).capacity - 1))), "adjust · refunds up to full"],
  ["keeps debts with 6 digits", spending((spent, units) => Number((spent + units).toPrecision(6))), "adjust · refunds up to full"],
  ["charges debts to the first limit only", changing((changes) => changes.map((each, i) => (i === 0 ? each : Math.min(0, each)))), "adjust · refunds up to full"],
  ["refunds one token for any number", changing((changes) => changes.map((each) => (each < 0 ? -1 : each))), "adjust · refunds up to full"],
  ["makes a limit full with any refund", changing((changes) => changes.map((each) => (each < 0 ? -Number.MAX_SAFE_INTEGER : each))), "adjust · refunds up to full"],
  ["gives the first change to all limits", changing(([first]) => first as number), "adjust · refunds up to full"],
  ["gives the sign of the first change to all", changing((changes) => changes.map((each) => Math.sign(changes[0] as number) * Math.abs(each))), "adjust · refunds up to full"],
  ["adds the changes up", changing((changes) => Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, changes.reduce((a, b) => a + b)))), "adjust · refunds up to full"],
  ["only takes when some limits give back and others take", changing((changes) => (changes.some((each) => each > 0) ? changes.map((each) => Math.max(0, each)) : changes)), "adjust · refunds up to full"],
  ["changes the limits that can be changed although another cannot", wrongStore({
      adjust(policy, key, changes) {
        return this.atomically(() => {
          const now = this.now();
          const buckets = this.load(policy, key, now);
          const done = policy.limits.map((_, i) => adjust([buckets[i] as Bucket], onlyLimit(policy, i), costAt(changes, i), now));
          this.save(policy, key, buckets, now);
          return done.every((each) => each);
        });
      },
    }), "adjust · refunds up to full"],
  ["answers true although nothing was changed", wrongStore({ async adjust(policy, key, changes) {
      await right.adjust.call(this, policy, key, changes);
      return true;
    } }), "adjust · refunds up to full"],
  ["does not answer whether it was done", wrongStore({ async adjust(policy, key, changes) { await right.adjust.call(this, policy, key, changes).then(() => undefined as never); return undefined as never; } }), "adjust · refunds up to full"],
  ["does not convert the limits that an adjustment leaves alone", wrongStore({
      change(buckets, policy, changes, now) {
        const before = buckets.map((bucket) => ({ ...bucket }));
        const done = adjust(buckets, policy, changes, now);
        if (done) for (const i of policy.limits.keys()) if (costAt(changes, i) === 0) buckets[i] = before[i] as Bucket;
        return done;
      },
    }), "adjust · converts every limit"],
  ["counts a record far ahead of the clock as absent", wrongStore({
      load(policy, key, now) {
        return right.load.call(this, policy, key, now).map((bucket, i) => (bucket.at - now > limitAt(policy, i).fullMs ? fullBucket(limitAt(policy, i)) : bucket));
      },
    }), "L6, L8 · the same history"],
];

/** The mistake of blocks that end with something else. */
const forgettingBlock = (when: (store: RightStore, policy: Policy, key: string, now: number) => boolean): typeof RightStore =>
  wrongStore({
    save(policy, key, buckets, now) {
      if (when(this, policy, key, now)) this.row(policy, key)?.delete(BLOCK);
      right.save.call(this, policy, key, buckets, now);
    },
  });

const REFUSES = "block · refuses everything";

export const wrongBlocks: readonly WrongStore[] = [
  ["blocks by emptying the limits for as long", wrongStore({
      block(policy, key, forMs) {
        return this.atomically(() => {
          const now = this.now();
          const buckets = this.load(policy, key, now);
          policy.limits.forEach((limit, i) => {
            const bucket = buckets[i] as Bucket;
            changeUnits(bucket, limit, now, 0);
            bucket.spent = Math.min(Number.MAX_SAFE_INTEGER, Math.max(bucket.spent, limit.size + forMs * limit.unitsPerMs));
          });
          this.save(policy, key, buckets, now);
        });
      },
    }), REFUSES],
  ["keeps a block in the units of the first limit", wrongStore({ blockMs(policy, key, now) {
      const [limit] = policy.limits;
      const block = this.row(policy, key)?.get(BLOCK);
      return block === undefined ? 0 : Math.ceil(spentAt({ ...block, unitsPerMs: limit.unitsPerMs, unitsPerToken: limit.unitsPerToken }, limit, now) / limit.unitsPerMs);
    } }), REFUSES],
  ["counts the end of the latest of two blocks", wrongStore({ extend: (block, forMs, now) => void Object.assign(block, fullBucket(BLOCK_LIMIT), { spent: forMs, at: now }) }), "block · of two blocks"],
  ["adds a later block to an earlier one", wrongStore({ extend: (block, forMs, now) => void Object.assign(block, fullBucket(BLOCK_LIMIT), { spent: blockLeft(block, now) + forMs, at: now }) }), "block · of two blocks"],
  ["keeps the first of two blocks", wrongStore({ extend(block, forMs, now) { if (blockLeft(block, now) === 0) right.extend.call(this, block, forMs, now); } }), "block · of two blocks"],
  ["lets a cost of 0 through while a block lasts", wrongStore({
      refuse(buckets, policy, costs, now, blockMs) {
        return listOf(policy, costs).every((each) => each === 0) ? consume(buckets, policy, costs, now) : right.refuse.call(this, buckets, policy, costs, now, blockMs);
      },
    }), REFUSES],
  ["peeks past a block", wrongStore({ foresee(policy, key, costs, now) { return peek(this.load(policy, key, now), policy, costs, now); } }), REFUSES],
  ["tells the wait of the limits while a block lasts", wrongStore({
      refuse(buckets, policy, costs, now, blockMs) {
        const { retryAfterMs } = peek(buckets, policy, costs, now);
        const refused = right.refuse.call(this, buckets, policy, costs, now, blockMs);
        return { ...refused, retryAfterMs: retryAfterMs > 0 ? retryAfterMs : refused.retryAfterMs };
      },
    }), REFUSES],
  ["charges what a block refuses", wrongStore({
      refuse(buckets, policy, costs, now, blockMs) {
        const decision = whileBlocked(peek(buckets, policy, costs, now), blockMs);
        consume(buckets, policy, costs, now);
        return decision;
      },
      isStale: () => true,
    }), REFUSES],
  ["does not convert records that a block refuses", wrongStore({ refuse: (buckets, policy, costs, now, blockMs): Decision => whileBlocked(peek(buckets, policy, costs, now), blockMs) }), REFUSES],
  ["loses a block with any adjustment", wrongStore({
      adjust(policy, key, changes) {
        return this.atomically(() => {
          const now = this.now();
          const buckets = this.load(policy, key, now);
          const done = this.change(buckets, policy, changes, now);
          if (done) this.row(policy, key)?.delete(BLOCK);
          if (done) this.save(policy, key, buckets, now);
          return done;
        });
      },
    }), REFUSES],
  ["loses a block with any write of the limits", forgettingBlock(() => true), REFUSES],
  ["loses a block when it converts to new numbers", forgettingBlock((store, policy, key, now) => right.isStale.call(store, store.load(policy, key, now), policy, now)), REFUSES],
  ["ends a block when the limits are full", wrongStore({ blockMs(policy, key, now) {
      const lives = [...(this.row(policy, key) ?? [])].some(([name, bucket]) => name !== BLOCK && bucket.at + this.lifetimeMs(bucket) > now);
      return lives ? right.blockMs.call(this, policy, key, now) : 0;
    } }), REFUSES],
  ["rounds a block to whole seconds", wrongStore({ extend(block, forMs, now) { right.extend.call(this, block, Math.ceil(forMs / 1_000) * 1_000, now); } }), REFUSES],
  ["keeps a block in 32 bits", wrongStore({ extend(block, forMs, now) { right.extend.call(this, block, Math.min(forMs, 2 ** 31 - 1), now); } }), REFUSES],
  ["moves the end of a block when the clock steps back", wrongStore({ blockMs(policy, key, now) {
      const block = this.row(policy, key)?.get(BLOCK);
      return block === undefined ? 0 : Math.max(0, block.spent - Math.max(0, now - block.at));
    } }), "block · refuses everything"],
  ["keeps a block after a reset", wrongStore({
      reset(policy, key) {
        return this.atomically(() => {
          for (const name of this.row(policy, key)?.keys() ?? []) if (name !== BLOCK) this.row(policy, key)?.delete(name);
        });
      },
    }), "reset · makes all limits full"],
  ["charges a blocked key with others", wrongStore({
      consumeTogether(charges) {
        return this.atomically(() => {
          const now = this.now();
          const found = charges.map(({ policy, key }) => this.load(policy, key, now));
          const asked = charges.map(({ policy, cost }, i) => peek(found[i] as Bucket[], policy, cost, now));
          if (!asked.every(({ allowed }) => allowed)) return asked;
          return charges.map(({ policy, key, cost }, i) => {
            const decision = consume(found[i] as Bucket[], policy, cost, now);
            this.save(policy, key, found[i] as Bucket[], now);
            return decision;
          });
        });
      },
    }), "L10 · a consume of several parts is refused"],
  ["blocks by setting a value that a consume under way replaces", wrongStore({
      consume(policy, key, costs) {
        return this.atomically(async () => {
          const now = this.now();
          const row = new Map(this.row(policy, key));
          const buckets = this.load(policy, key, now);
          const blockMs = this.blockMs(policy, key, now);
          await nextTurn();
          const decision = blockMs > 0 ? this.refuse(buckets, policy, costs, now, blockMs) : this.decide(buckets, policy, costs, now);
          policy.limits.forEach(({ name }, i) => row.set(name, buckets[i] as Bucket));
          this.server.rows.set(this.name(policy, key), row);
          return decision;
        });
      },
      async block(policy, key, forMs) {
        await this.reach();
        const now = this.now();
        const block = { ...(this.row(policy, key)?.get(BLOCK) ?? fullBucket(BLOCK_LIMIT)) };
        this.extend(block, forMs, now);
        this.put(policy, key, new Map([[BLOCK, block]]), now);
      },
    }), "adjust, block, reset · during a consume"],
];
