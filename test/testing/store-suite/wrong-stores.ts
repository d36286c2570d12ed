// Stores that count wrongly, each with one mistake, and the case that must fail.
import { fullBucket, isStale, spentAt, type Bucket } from "../../../src/core/bucket.js";
import { mapCosts } from "../../../src/core/cost.js";
import { costAt } from "../../../src/core/limit.js";
import type { Decision } from "../../../src/core/decision.js";
import { consume, peek } from "../../../src/core/decide.js";
import { definePolicy, type Costs, type Policy } from "../../../src/index.js";
import type { StoreSuiteOptions } from "../../../src/testing/index.js";
import { wrongStore, nextTurn, onlyLimit, right, type RightStore } from "./wrong-stores-base.js";

/** The mistake, the store, how the name of the case that must fail begins, the traits that the store lacks, and what the message says. */
export type WrongStore = readonly [mistake: string, store: typeof RightStore, failing: string, lacks?: StoreSuiteOptions["lacks"], message?: RegExp];

/** Reads, waits one turn and writes, without a lock. */
async function consumeWithoutLock(store: RightStore, policy: Policy, key: string, cost: Costs): Promise<Decision> {
  const now = store.now();
  const buckets = store.load(policy, key, now);
  await nextTurn();
  const decision = store.decide(buckets, policy, cost, now);
  if (decision.allowed) store.save(policy, key, buckets, now);
  return decision;
}

/** Takes under a lock that each caller waits for until `patience` is over. It gets a function that waits for so many turns of others. */
function givingUp(patience: (turns: (count: number) => Promise<void>) => Promise<void>): typeof RightStore {
  const lines = new WeakMap<object, Map<string, { last: Promise<unknown>; over: number }>>();
  return wrongStore({
    async consume(policy, key, cost) {
      const ofServer = lines.get(this.server) ?? new Map<string, { last: Promise<unknown>; over: number }>();
      lines.set(this.server, ofServer);
      const name = this.name(policy, key);
      const line = ofServer.get(name) ?? { last: Promise.resolve(), over: 0 };
      ofServer.set(name, line);
      const begun = line.over;
      const passed = async (count: number): Promise<void> => {
        while (line.over < begun + count) await nextTurn();
      };
      const before = line.last;
      const made = Promise.race([before, patience(passed)]).then(async () => {
        await new Promise((resolve) => setTimeout(resolve, 2)); // a look over the network
        return consumeWithoutLock(this, policy, key, cost);
      });
      line.last = Promise.allSettled([before, made]).then(() => (line.over += 1));
      return made;
    },
  });
}

const WAIT = "L2 · the wait of a refusal is exact";
const expiries = new Map<string, number>();
const turns = new WeakMap<RightStore, Promise<unknown>>();

export const wrongCounts: readonly WrongStore[] = [
  ["takes without the lock after 50 ms", givingUp(() => new Promise((resolve) => setTimeout(resolve, 50))), "L1, L5 · a burst"],
  ["takes without the lock after 12 turns of others", givingUp((turn) => turn(12)), "L1, L5 · a burst"],
  ["reads, waits and writes without a lock", wrongStore({ async consume(policy, key, cost) { return consumeWithoutLock(this, policy, key, cost); } }), "L1, L5 · a burst"],
  [
    "locks in its own process only",
    wrongStore({
      consume(policy, key, cost) {
        const turn = (turns.get(this) ?? Promise.resolve()).then(() => consumeWithoutLock(this, policy, key, cost));
        turns.set(this, turn.catch(() => undefined));
        return turn;
      },
    }),
    "L1, L5 · a burst",
  ],
  [
    "races while a key is new",
    wrongStore({
      async consume(policy, key, cost) {
        return this.server.rows.has(this.name(policy, key)) ? right.consume.call(this, policy, key, cost) : consumeWithoutLock(this, policy, key, cost);
      },
    }),
    "L1, L5 · a burst",
  ],
  [
    "lets the last write win",
    wrongStore({
      async consume(policy, key, cost) {
        const now = this.now();
        const buckets = await this.atomically(() => this.load(policy, key, now));
        const decision = this.decide(buckets, policy, cost, now);
        if (decision.allowed) await this.atomically(() => this.save(policy, key, buckets, now));
        return decision;
      },
    }),
    "L8 · concurrent calls of all methods",
  ],
  [
    "deletes a bucket that was full a moment ago, without checking again",
    wrongStore({
      load(policy, key, now) {
        const row = this.server.rows.get(this.name(policy, key));
        const full = row !== undefined && [...row.values()].every((bucket) => bucket.at + this.lifetimeMs(bucket) <= now);
        if (full) setImmediate(() => this.server.rows.delete(this.name(policy, key)));
        return right.load.call(this, policy, key, now);
      },
    }),
    "L1, L5 · a burst",
  ],
  [
    "never extends the expiry",
    wrongStore({
      save(policy, key, buckets, now) {
        const name = this.name(policy, key);
        const [first] = buckets as [Bucket];
        if (now >= (expiries.get(name) ?? -Infinity)) expiries.set(name, now + this.lifetimeMs(first));
        right.save.call(this, policy, key, buckets, now);
      },
      load(policy, key, now) {
        const name = this.name(policy, key);
        return now >= (expiries.get(name) ?? Infinity) ? policy.limits.map(fullBucket) : right.load.call(this, policy, key, now);
      },
    }),
    "L6, L8 · the same history",
  ],
  ["rounds expiry down", wrongStore({ lifetimeMs: ({ spent, unitsPerMs }) => Math.floor(spent / unitsPerMs) }), "L4 · no bucket is forgotten"],
  ["forgets buckets 10 % too early", wrongStore({ lifetimeMs: ({ spent, unitsPerMs }) => Math.ceil((0.9 * spent) / unitsPerMs) }), "L4 · no bucket is forgotten"],
  [
    "rounds expiry down to whole seconds",
    wrongStore({
      lifetimeMs(bucket) {
        const ms = right.lifetimeMs(bucket);
        return this.setup.clock === undefined ? Math.floor(ms / 1_000) * 1_000 : ms;
      },
    }),
    "L4 · own clock: nothing",
  ],
  [
    "never extends the expiry on its own clock",
    wrongStore({
      save(policy, key, buckets, now) {
        const name = this.name(policy, key);
        const row = this.server.rows.get(name);
        const first = row?.get(policy.limits[0].name);
        right.save.call(this, policy, key, buckets, now);
        if (this.setup.clock !== undefined) return;
        const expiries = (this.server as { expiries?: Map<string, number> }).expiries ??= new Map<string, number>();
        const bucket = buckets[0] as (typeof buckets)[number];
        if (first === undefined || (expiries.get(name) ?? 0) <= now) expiries.set(name, bucket.at + this.lifetimeMs(bucket));
      },
      load(policy, key, now) {
        const expiry = (this.server as { expiries?: Map<string, number> }).expiries?.get(this.name(policy, key));
        return expiry !== undefined && expiry <= now ? policy.limits.map(fullBucket) : right.load.call(this, policy, key, now);
      },
    }),
    "L4 · own clock: nothing",
  ],
  [
    "takes one token for any cost on its own clock",
    wrongStore({
      decide(buckets, policy, cost, now) {
        return right.decide.call(this, buckets, policy, this.setup.clock === undefined ? mapCosts(policy, cost, (each) => Math.min(1, each)) : cost, now);
      },
    }),
    "L8 · own clock",
  ],
  [
    "keeps a bucket until its first limit is full",
    wrongStore({
      load(policy, key, now) {
        const buckets = right.load.call(this, policy, key, now);
        return buckets[0]?.spent === 0 ? policy.limits.map(fullBucket) : buckets;
      },
    }),
    "L4 · no bucket is forgotten",
  ],
  ["forgets buckets that live longer than the longest timer", wrongStore({ lifetimeMs: (bucket) => (right.lifetimeMs(bucket) > 2 ** 31 - 1 ? 1 : right.lifetimeMs(bucket)) }), "L4 · no bucket is forgotten"],
  [
    "charges refusals",
    wrongStore({
      decide(buckets, policy, cost, now) {
        const decision = consume(buckets, policy, cost, now);
        if (!decision.allowed) drain(buckets, policy, now);
        return { ...decision };
      },
      isStale: () => true,
    }),
    "L3 · a refusal takes no token",
  ],
  ["charges refusals that can never succeed", wrongStore({
      decide(buckets, policy, cost, now) {
        const decision = consume(buckets, policy, cost, now);
        if (decision.reason === "cost_above_capacity") drain(buckets, policy, now);
        return decision;
      },
      isStale: () => true,
    }), "L3 · a refusal takes no token"],
  ["restarts the wait with every refusal", wrongStore({
      decide(buckets, policy, cost, now) {
        const decision = consume(buckets, policy, cost, now);
        if (!decision.allowed) for (const bucket of buckets) bucket.at = now;
        return decision;
      },
      isStale: () => true,
    }), WAIT],
  ["ignores the cost", wrongStore({ decide: (buckets, policy, cost, now) => ({ ...consume(buckets, policy, mapCosts(policy, cost, (each) => Math.min(each, 1)), now), cost: costAt(cost, 0) }) }), "L6, L8 · the same history"],
  ["stores numbers with 14 digits", keeping((units) => Number(units.toPrecision(14))), "L6, L8 · the same history"],
  ["stores numbers in 32 bits", keeping((units) => units % 2 ** 32), "L6, L8 · the same history"],
  ["grants one token too many", wrongStore({ decide: (buckets, policy, cost, now) => consume(buckets, roomier(policy), cost, now) }), "L1, L5 · a burst"],
  ["refuses a cost of 0 when the bucket is empty", wrongStore({
      decide(buckets, policy, cost, now) {
        const one = cost === 0 ? peek(buckets, policy, 1, now) : null;
        return one?.reason === "limited" ? { ...one, cost: 0 } : consume(buckets, policy, cost, now);
      },
    }), "L9 · a cost of 0"],
  [
    "counts in fractions of tokens",
    wrongStore({
      decide(buckets, policy, cost, now) {
        policy.limits.forEach((limit, i) => {
          const bucket = buckets[i] as Bucket;
          const tokens = bucket.spent / limit.unitsPerToken - Math.max(0, now - bucket.at) * (limit.unitsPerMs / limit.unitsPerToken);
          Object.assign(bucket, { spent: Math.max(0, tokens * limit.unitsPerToken), at: Math.max(now, bucket.at) });
        });
        return consume(buckets, policy, cost, now);
      },
    }),
    "L6, L8 · the same history",
  ],
  ["moves a record back when the clock steps back", wrongStore({
      save(policy, key, buckets, now) {
        right.save.call(this, policy, key, buckets.map((bucket) => ({ ...bucket, at: now })), now);
      },
    }), "L6, L8 · the same history"],
  ["charges the limits that have room although another refuses", wrongStore({
      decide(buckets, policy, cost, now) {
        const decision = consume(buckets, policy, cost, now);
        if (!decision.allowed) for (const i of policy.limits.keys()) consume([buckets[i] as Bucket], onlyLimit(policy, i), costAt(cost, i), now);
        return decision;
      },
      isStale: () => true,
    }), "L10, L19 · the limits"],
  ["stores the first limit only", wrongStore({
      save(policy, key, buckets, now) {
        right.save.call(this, policy, key, policy.limits.map((limit, i) => (i === 0 ? (buckets[0] as Bucket) : fullBucket(limit))), now);
      },
    }), "L10, L19 · the limits"],
  ["makes a bucket full under new numbers", wrongStore({
      load(policy, key, now) {
        return right.load.call(this, policy, key, now).map((bucket, i) => {
          const limit = policy.limits[i] as Policy["limits"][number];
          return isStale(bucket, limit, now) ? fullBucket(limit) : bucket;
        });
      },
    }), "L14 · spent tokens still count"],
  ["reinterprets spent units under new numbers", wrongStore({
      load(policy, key, now) {
        return right.load.call(this, policy, key, now).map((bucket, i) => {
          const { unitsPerMs, unitsPerToken } = policy.limits[i] as Policy["limits"][number];
          return { ...bucket, unitsPerMs, unitsPerToken };
        });
      },
    }), "L14 · spent tokens still count"],
  ["does not convert a record when it refuses under new numbers", wrongStore({ isStale: () => false }), "L14 · spent tokens still count"],
  ["forgets limits that the newer policy lacks", wrongStore({
      save(policy, key, buckets, now) {
        this.server.rows.delete(this.name(policy, key));
        right.save.call(this, policy, key, buckets, now);
      },
    }), "L14 · spent tokens still count"],
];

function keeping(spent: (units: number) => number): typeof RightStore {
  return wrongStore({
    save(policy, key, buckets, now) {
      right.save.call(this, policy, key, buckets.map((bucket) => ({ ...bucket, spent: spent(bucket.spent) })), now);
    },
  });
}

function drain(buckets: readonly Bucket[], policy: Policy, now: number): void {
  policy.limits.forEach((limit, i) => {
    const bucket = buckets[i] as Bucket;
    const spent = Math.min(limit.size, spentAt(bucket, limit, now) + limit.unitsPerToken);
    Object.assign(bucket, { spent, at: Math.max(now, bucket.at), unitsPerMs: limit.unitsPerMs, unitsPerToken: limit.unitsPerToken });
  });
}

function roomier(policy: Policy): Policy {
  return definePolicy({ name: policy.name, limits: policy.limits.map(({ name, capacity, refill }) => ({ name, capacity: capacity + 1, refill })) as never });
}
