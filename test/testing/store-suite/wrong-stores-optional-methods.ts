// Stores that consume right with a given clock, and make a mistake in another verb or with their own clock.
import { fullBucket, isStale, type Bucket } from "../../../src/core/bucket.js";
import { costAt } from "../../../src/core/limit.js";
import { readClock } from "../../../src/core/clock.js";
import type { Decision } from "../../../src/core/decision.js";
import { consume, peek } from "../../../src/core/decide.js";
import type { Charge, Costs, Policy } from "../../../src/index.js";
import { nextTurn, wrongStore, right, RightStore } from "./wrong-stores-base.js";
import type { WrongStore } from "./wrong-stores.js";

type Load = (store: RightStore, charge: Charge, now: number) => Bucket[];

/** A store with a `consumeTogether` that reads records with `load`, and is right otherwise. */
const chargingTogether = (load: Load): typeof RightStore =>
  wrongStore({
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

function fullIfStale(buckets: readonly Bucket[], policy: Policy, now: number): Bucket[] {
  return buckets.map((bucket, i) => {
    const limit = policy.limits[i] as Policy["limits"][number];
    return isStale(bucket, limit, now) ? fullBucket(limit) : bucket;
  });
}

const withOwnClock = (clock: () => number): typeof RightStore => wrongStore({ now() { return readClock(this.setup.clock ?? clock); } });

/** A store that remembers the `most` keys used last. */
const rememberingThe = (most: number): typeof RightStore =>
  wrongStore({
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

/** Runs `run` while the store's own clock is `ms` ahead for its next reading. */
function ahead<T>(store: RightStore, ms: number, run: () => Promise<T>): Promise<T> {
  if (store.setup.clock !== undefined) return run();
  store.now = () => {
    Reflect.deleteProperty(store, "now");
    return store.now() + ms;
  };
  return run();
}

class RecallsRefusals extends RightStore {
  recall(policy: Policy, _key: string, cost: Costs): Decision | null {
    const spent = policy.limits.map((limit) => ({ ...fullBucket(limit), spent: limit.size }));
    const decision = peek(spent, policy, cost, 0);
    return decision.allowed ? null : decision;
  }
}

class RecallsAllowances extends RightStore {
  recall(policy: Policy, _key: string, cost: Costs): Decision {
    return peek(full(policy), policy, cost, this.now());
  }
}

class ThrowsFromRecall extends RightStore {
  recall(): never {
    throw new Error("the memory is gone");
  }
}

class AnswersPeeksAtOnce extends RightStore {
  override peek(policy: Policy, key: string, cost: Costs): Promise<Decision> {
    const now = this.now();
    return peek(this.load(policy, key, now), policy, cost, now) as never;
  }
}

/** A store that changes the origin of what is given back. */
const givingBackSince = (since: (since: Costs, now: number) => Costs | undefined): typeof RightStore =>
  wrongStore({
    change(buckets, policy, changes, now, from) {
      const origin = typeof from !== "object" || from.since === undefined ? from : { ...from, since: since(from.since, now) };
      return right.change.call(this, buckets, policy, changes, now, origin);
    },
  });
const LATE = "adjust · converts every limit";

export const wrongOptionalMethods: readonly WrongStore[] = [
  ["gives back in full what comes late", givingBackSince(() => undefined), LATE, undefined, /`since` of its origin/],
  ["takes off what has refilled by one limit's instant", givingBackSince((since) => costAt(since, 0)), LATE],
  ["takes off what has refilled a millisecond too late", givingBackSince((since, now) => (typeof since === "number" ? Math.min(now, since) + 1 : since)), LATE],
  ["recalls refusals that `consume` would not make", RecallsRefusals, "L6, L8 · the same history"],
  ["recalls allowed decisions", RecallsAllowances, "L6, L8 · the same history"],
  ["throws from `recall`", ThrowsFromRecall, "L6, L8 · the same history"],
  ["returns a value from `peek` although `sync` is false", AnswersPeeksAtOnce, "port · the store has"],
  ["reads the process's `Date` as its server's clock", withOwnClock(() => new Date().getTime()), "clock · a store with the server's clock"],
  ["reads the process's `hrtime` as its server's clock", withOwnClock(() => Number(process.hrtime.bigint() / 1_000_000n)), "clock · a store with the server's clock"],
  ["reads whole seconds from its own clock", withOwnClock(() => Math.floor(Date.now() / 1_000) * 1_000), "L4 · own clock: nothing"],
  [
    "makes a bucket full under new numbers on its own clock",
    wrongStore({
      load(policy, key, now) {
        const buckets = right.load.call(this, policy, key, now);
        return this.setup.clock === undefined ? fullIfStale(buckets, policy, now) : buckets;
      },
    }),
    "L8 · own clock",
  ],
  [
    "peeks at a full bucket on its own clock",
    wrongStore({
      async peek(policy, key, cost) {
        return this.setup.clock === undefined ? peek(full(policy), policy, cost, 0) : right.peek.call(this, policy, key, cost);
      },
    }),
    "L8 · own clock",
  ],
  [
    "charges nothing with consumeTogether on its own clock",
    wrongStore({
      async consumeTogether(charges) {
        if (this.setup.clock !== undefined) return right.consumeTogether.call(this, charges);
        return Promise.all(charges.map(({ policy, key, cost }) => right.peek.call(this, policy, key, cost)));
      },
    }),
    "L8 · own clock",
  ],
  [
    "invents a peek without the server",
    wrongStore({
      async peek(policy, key, cost) {
        return right.peek.call(this, policy, key, cost).catch(() => peek(full(policy), policy, cost, 0));
      },
    }),
    "L11 · a store that cannot reach",
  ],
  [
    "invents consumeTogether decisions without the server",
    wrongStore({
      async consumeTogether(charges) {
        return right.consumeTogether.call(this, charges).catch(() => charges.map(({ policy, cost }) => peek(full(policy), policy, cost, 0)));
      },
    }),
    "L11 · a store that cannot reach",
  ],
  ["reports an adjustment without the server", wrongStore({ async adjust(policy, key, changes) { return right.adjust.call(this, policy, key, changes).catch(() => true); } }), "L11 · a store that cannot reach"],
  ["reports a reset without the server", wrongStore({ async reset(policy, key) { await right.reset.call(this, policy, key).catch(() => undefined); } }), "L11 · a store that cannot reach"],
  ["reports a block without the server", wrongStore({ async block(policy, key, forMs) { await right.block.call(this, policy, key, forMs).catch(() => undefined); } }), "L11 · a store that cannot reach"],
  ["makes a bucket full under new numbers in consumeTogether", chargingTogether((store, { policy, key }, now) => fullIfStale(store.load(policy, key, now), policy, now)), "L6, L10, L14 · a consume of several parts takes all"],
  [
    "moves a record back in consumeTogether when the clock steps back",
    chargingTogether((store, { policy, key }, now) => store.load(policy, key, now).map((bucket) => ({ ...bucket, at: Math.min(bucket.at, now) }))),
    "L6, L10, L14 · a consume of several parts takes all",
  ],
  ["remembers 100 keys without declaring a bound", rememberingThe(100), "L13, keys · 2,000 keys", { bound: "the store declares none" }],
  ["remembers 500 keys without declaring a bound", rememberingThe(500), "L13, keys · 2,000 keys", { bound: "the store declares none" }],
  [
    "resets without waiting for a consume under way",
    wrongStore({
      consume(policy, key, cost) {
        // Reads, waits and writes under a lock that `reset` does not take.
        return this.atomically(async () => {
          const now = this.now();
          const buckets = this.load(policy, key, now);
          await nextTurn();
          const stale = this.isStale(buckets, policy, now);
          const decision = this.decide(buckets, policy, cost, now);
          if (decision.allowed || stale) this.save(policy, key, buckets, now);
          return decision;
        }) as Promise<Decision>;
      },
      async reset(policy, key) {
        await this.reach();
        this.server.rows.delete(this.name(policy, key));
      },
    }),
    "adjust, block, reset · during a consume",
  ],
  [
    "resets without waiting for a consume that takes 3 ms",
    wrongStore({
      consume(policy, key, cost) {
        return this.atomically(async () => {
          const now = this.now();
          const buckets = this.load(policy, key, now);
          if (this.setup.clock !== undefined) await new Promise((resolve) => setTimeout(resolve, 3));
          const decision = this.decide(buckets, policy, cost, now);
          if (decision.allowed) this.save(policy, key, buckets, now);
          return decision;
        }) as Promise<Decision>;
      },
      async reset(policy, key) {
        await this.reach();
        await new Promise((resolve) => setTimeout(resolve, 1));
        this.server.rows.delete(this.name(policy, key));
      },
    }),
    "adjust, block, reset · during a consume",
  ],
  [
    "resets only the limits that the policy has now",
    wrongStore({
      reset(policy, key) {
        return this.atomically(() => {
          for (const { name } of policy.limits) this.server.rows.get(this.name(policy, key))?.delete(name);
        });
      },
    }),
    "reset · makes all limits full",
  ],
  [
    "keeps the times of records that it resets",
    wrongStore({
      reset(policy, key) {
        return this.atomically(() => {
          const row = this.server.rows.get(this.name(policy, key));
          for (const [name, bucket] of row ?? []) row?.set(name, { ...bucket, spent: policy.limits.some((limit) => limit.name === name) ? 0 : bucket.spent });
        });
      },
    }),
    "reset · makes all limits full",
  ],
  [
    "adjusts by another clock than it consumes, on its own clock",
    wrongStore({ adjust(policy, key, changes) { return ahead(this, 2_000, () => right.adjust.call(this, policy, key, changes)); } }),
    "L8 · own clock",
  ],
  [
    "blocks by another clock than it consumes, on its own clock",
    wrongStore({ block(policy, key, forMs) { return ahead(this, -2_000, () => right.block.call(this, policy, key, forMs)); } }),
    "L8 · own clock",
  ],
  [
    "peeks by another clock than it consumes, on its own clock",
    wrongStore({ peek(policy, key, cost) { return ahead(this, -2_000, () => right.peek.call(this, policy, key, cost)); } }),
    "L8 · own clock",
  ],
  [
    "rewrites the same record with every refusal",
    wrongStore({
      consume(policy, key, cost) {
        return this.atomically(() => {
          const now = this.now();
          const buckets = this.load(policy, key, now);
          const decision = this.decide(buckets, policy, cost, now);
          this.save(policy, key, buckets, now);
          return decision;
        });
      },
    }),
    "L3 · a refusal writes nothing",
  ],
  [
    "writes with every peek",
    wrongStore({
      peek(policy, key, cost) {
        this.server.writes += 1;
        return right.peek.call(this, policy, key, cost);
      },
    }),
    "L3 · a refusal writes nothing",
  ],
  [
    "rewrites the records of charges that are refused together",
    wrongStore({
      async consumeTogether(charges) {
        this.server.writes += 1;
        return right.consumeTogether.call(this, charges);
      },
    }),
    "L3 · a refusal writes nothing",
  ],
  ["keeps every key whole", wrongStore({ name: (policy, key) => JSON.stringify([policy.name, key]) }), "L16 · "],
  ["keeps every key whole up to 4 KiB", wrongStore({ name: (policy, key) => (key.length > 4_096 ? right.name.call(right, policy, key) : JSON.stringify([policy.name, key])) }), "L16 · "],
  ["keeps a second copy of keys with braces", wrongStore({ name: (policy, key) => (key.includes("{") ? JSON.stringify([policy.name, key, "", key]) : right.name.call(right, policy, key)) }), "L16 · "],
  ["cuts keys at 1100 characters", wrongStore({ name: (policy, key) => JSON.stringify([policy.name, key.slice(0, 1_100)]) }), "keys · similar texts"],
];
