// Stores that consume well by a clock that they are told, and go wrong elsewhere: in their other powers, or by their own clock.
import { fullBucket, isStale, type Bucket } from "../../../src/core/bucket.js";
import { readClock } from "../../../src/core/clock.js";
import { consume, peek, type Decision } from "../../../src/core/decision.js";
import type { Charge, Policy } from "../../../src/index.js";
import { but, right, RightStore } from "./wrong-stores-base.js";
import type { Wrong } from "./wrong-stores.js";

type Load = (store: RightStore, charge: Charge, now: number) => Bucket[];

/** A store that charges several together as it should, from records that it reads in its own way. */
const loadingTogether = (load: Load): typeof RightStore =>
  but({
    async consumeTogether(charges) {
      return this.atomically(() => {
        const now = this.now();
        const found = charges.map((charge) => load(this, charge, now));
        const asked = charges.map(({ policy, cost }, i) => peek(found[i] as Bucket[], policy, cost, now));
        if (!asked.every(({ allowed }) => allowed)) return asked;
        return charges.map(({ policy, key, cost }, i) => {
          const buckets = found[i] as Bucket[];
          const decision = consume(buckets, policy, cost, now);
          this.save(policy, key, buckets, now);
          return decision;
        });
      });
    },
  });

const full = (policy: Policy): Bucket[] => policy.limits.map(fullBucket);

function afresh(buckets: readonly Bucket[], policy: Policy): Bucket[] {
  return buckets.map((bucket, i) => {
    const limit = policy.limits[i] as Policy["limits"][number];
    return isStale(bucket, limit) ? fullBucket(limit) : bucket;
  });
}

const byItsOwn = (clock: () => number): typeof RightStore => but({ now() { return readClock(this.setup.clock ?? clock); } });

/** Forgets whoever was there first when more than `most` callers are. */
const keepingThe = (most: number): typeof RightStore =>
  but({
    save(policy, key, buckets, now) {
      const { rows } = this.server;
      right.save.call(this, policy, key, buckets, now);
      const name = this.name(policy, key);
      const row = rows.get(name);
      rows.delete(name);
      if (row !== undefined) rows.set(name, row);
      if (rows.size > most) rows.delete([...rows.keys()][0] as string);
    },
  });

class RecallsRefusals extends RightStore {
  recall(policy: Policy, _key: string, cost: number): Decision | null {
    const spent = policy.limits.map((limit) => ({ ...fullBucket(limit), spent: limit.size }));
    const decision = peek(spent, policy, cost, 0);
    return decision.allowed ? null : decision;
  }
}

class RecallsAllowances extends RightStore {
  recall(policy: Policy, _key: string, cost: number): Decision {
    return peek(full(policy), policy, cost, this.now());
  }
}

class ThrowsFromRecall extends RightStore {
  recall(): never {
    throw new Error("the memory is gone");
  }
}

class AnswersPeeksAtOnce extends RightStore {
  override peek(policy: Policy, key: string, cost: number): Promise<Decision> {
    const now = this.now();
    return peek(this.load(policy, key, now), policy, cost, now) as never;
  }
}

export const wrongPowers: readonly Wrong[] = [
  ["recalls refusals that nobody was given", RecallsRefusals, "L8 · the same history"],
  ["recalls allowances", RecallsAllowances, "L8 · the same history"],
  ["throws from recall", ThrowsFromRecall, "L8 · the same history"],
  ["answers a peek at once although it says later", AnswersPeeksAtOnce, "port · answers at once"],
  ["reads its server's clock off this process's dates", byItsOwn(() => new Date().getTime()), "clock · a server's"],
  ["reads its server's clock off this process's ticks", byItsOwn(() => Number(process.hrtime.bigint() / 1_000_000n)), "clock · a server's"],
  ["counts whole seconds by its own clock", byItsOwn(() => Math.floor(Date.now() / 1_000) * 1_000), "L4 · by its own clock nothing"],
  [
    "starts afresh under new numbers, by its own clock",
    but({
      load(policy, key, now) {
        const buckets = right.load.call(this, policy, key, now);
        return this.setup.clock === undefined ? afresh(buckets, policy) : buckets;
      },
    }),
    "L8 · by its own clock",
  ],
  [
    "peeks at a full bucket, by its own clock",
    but({
      async peek(policy, key, cost) {
        return this.setup.clock === undefined ? peek(full(policy), policy, cost, 0) : right.peek.call(this, policy, key, cost);
      },
    }),
    "L8 · by its own clock",
  ],
  [
    "charges nothing together, by its own clock",
    but({
      async consumeTogether(charges) {
        if (this.setup.clock !== undefined) return right.consumeTogether.call(this, charges);
        return Promise.all(charges.map(({ policy, key, cost }) => right.peek.call(this, policy, key, cost)));
      },
    }),
    "L8 · by its own clock",
  ],
  [
    "makes up a peek when the server is away",
    but({
      async peek(policy, key, cost) {
        return right.peek.call(this, policy, key, cost).catch(() => peek(full(policy), policy, cost, 0));
      },
    }),
    "L11 · a store that cannot reach",
  ],
  [
    "makes up what it charges together when the server is away",
    but({
      async consumeTogether(charges) {
        return right.consumeTogether.call(this, charges).catch(() => charges.map(({ policy, cost }) => peek(full(policy), policy, cost, 0)));
      },
    }),
    "L11 · a store that cannot reach",
  ],
  ["says that it refunded when the server is away", but({ async refund(policy, key, tokens) { await right.refund.call(this, policy, key, tokens).catch(() => undefined); } }), "L11 · a store that cannot reach"],
  ["says that it reset when the server is away", but({ async reset(policy, key) { await right.reset.call(this, policy, key).catch(() => undefined); } }), "L11 · a store that cannot reach"],
  ["says that it debited when the server is away", but({ async debit(policy, key, tokens) { await right.debit.call(this, policy, key, tokens).catch(() => undefined); } }), "L11 · a store that cannot reach"],
  ["starts afresh under new numbers, together", loadingTogether((store, { policy, key }, now) => afresh(store.load(policy, key, now), policy)), "L14 · so they are while numbers"],
  [
    "rewinds when the clock steps back, together",
    loadingTogether((store, { policy, key }, now) => store.load(policy, key, now).map((bucket) => ({ ...bucket, at: Math.min(bucket.at, now) }))),
    "L6 · so they are",
  ],
  ["forgets the eldest of a hundred callers", keepingThe(100), "L13 · without a bound", { bound: "it says that it has none" }],
  ["forgets the eldest of five hundred callers", keepingThe(500), "L13 · without a bound", { bound: "it says that it has none" }],
  ["cuts keys at 1100 characters", but({ name: (policy, key) => JSON.stringify([policy.name, key.slice(0, 1_100)]) }), "keys · 4 KiB"],
];
