// Stores that count wrongly, each in one way, and the test that must notice.
import { fullBucket, isStale, spentAt, type Bucket } from "../../../src/core/bucket.js";
import { consume, peek, type Decision } from "../../../src/core/decision.js";
import { definePolicy, type Policy } from "../../../src/index.js";
import type { StoreSuiteOptions } from "../../../src/testing/index.js";
import { but, later, right, type RightStore } from "./wrong-stores-base.js";

/** A mistake, the store that makes it, the beginning of the name of the test that must fail, and what the store says it lacks. */
export type Wrong = readonly [mistake: string, store: typeof RightStore, failing: string, lacks?: StoreSuiteOptions["lacks"]];

/** Reads and writes without holding others off in between. */
async function loosely(store: RightStore, policy: Policy, key: string, cost: number): Promise<Decision> {
  const now = store.now();
  const buckets = store.load(policy, key, now);
  await later();
  const decision = store.decide(buckets, policy, cost, now);
  if (decision.allowed) store.save(policy, key, buckets, now);
  return decision;
}

const expiries = new Map<string, number>();
const turns = new WeakMap<RightStore, Promise<unknown>>();

export const wrongCounts: readonly Wrong[] = [
  ["reads, waits and writes", but({ async consume(policy, key, cost) { return loosely(this, policy, key, cost); } }), "L1 · over every window"],
  [
    "holds others off in its own process only",
    but({
      consume(policy, key, cost) {
        const turn = (turns.get(this) ?? Promise.resolve()).then(() => loosely(this, policy, key, cost));
        turns.set(this, turn.catch(() => undefined));
        return turn;
      },
    }),
    "L5 · a first burst",
  ],
  [
    "races when a caller is new",
    but({
      async consume(policy, key, cost) {
        return this.server.rows.has(this.name(policy, key)) ? right.consume.call(this, policy, key, cost) : loosely(this, policy, key, cost);
      },
    }),
    "L5 · first bursts of many",
  ],
  [
    "lets the last write win",
    but({
      async consume(policy, key, cost) {
        const now = this.now();
        const buckets = await this.atomically(() => this.load(policy, key, now));
        const decision = this.decide(buckets, policy, cost, now);
        if (decision.allowed) await this.atomically(() => this.save(policy, key, buckets, now));
        return decision;
      },
    }),
    "L1 · bursts of mixed costs",
  ],
  [
    "sweeps away what was full a moment ago, without looking again",
    but({
      load(policy, key, now) {
        const row = this.server.rows.get(this.name(policy, key));
        const full = row !== undefined && [...row.values()].every((bucket) => bucket.at + this.livesFor(bucket) <= now);
        if (full) setImmediate(() => this.server.rows.delete(this.name(policy, key)));
        return right.load.call(this, policy, key, now);
      },
    }),
    "L4 · a burst at the instant of being full",
  ],
  [
    "never puts expiry off",
    but({
      save(policy, key, buckets, now) {
        const name = this.name(policy, key);
        const [first] = buckets as [Bucket];
        if (now >= (expiries.get(name) ?? -Infinity)) expiries.set(name, now + this.livesFor(first));
        right.save.call(this, policy, key, buckets, now);
      },
      load(policy, key, now) {
        const name = this.name(policy, key);
        return now >= (expiries.get(name) ?? Infinity) ? policy.limits.map(fullBucket) : right.load.call(this, policy, key, now);
      },
    }),
    "L8 · the same history",
  ],
  ["rounds expiry down", but({ livesFor: ({ spent, unitsPerMs }) => Math.floor(spent / unitsPerMs) }), "L4 · nothing is forgotten"],
  ["forgets a tenth too early", but({ livesFor: ({ spent, unitsPerMs }) => Math.ceil((0.9 * spent) / unitsPerMs) }), "L4 · nothing is forgotten"],
  [
    "expires by whole seconds, rounded down",
    but({
      livesFor(bucket) {
        const ms = right.livesFor(bucket);
        return this.setup.clock === undefined ? Math.floor(ms / 1_000) * 1_000 : ms;
      },
    }),
    "L4 · by its own clock nothing",
  ],
  [
    "never moves the expiry of the first write, by its own clock",
    but({
      save(policy, key, buckets, now) {
        const name = this.name(policy, key);
        const row = this.server.rows.get(name);
        const first = row?.get(policy.limits[0].name);
        right.save.call(this, policy, key, buckets, now);
        if (this.setup.clock !== undefined) return;
        const expiries = (this.server as { expiries?: Map<string, number> }).expiries ??= new Map<string, number>();
        const bucket = buckets[0] as (typeof buckets)[number];
        if (first === undefined || (expiries.get(name) ?? 0) <= now) expiries.set(name, bucket.at + this.livesFor(bucket));
      },
      load(policy, key, now) {
        const expiry = (this.server as { expiries?: Map<string, number> }).expiries?.get(this.name(policy, key));
        return expiry !== undefined && expiry <= now ? policy.limits.map(fullBucket) : right.load.call(this, policy, key, now);
      },
    }),
    "L4 · by its own clock what is taken later",
  ],
  [
    "takes one token for any cost, by its own clock",
    but({
      decide(buckets, policy, cost, now) {
        return right.decide.call(this, buckets, policy, this.setup.clock === undefined ? Math.min(1, cost) : cost, now);
      },
    }),
    "L8 · by its own clock",
  ],
  [
    "keeps a bucket until its first limit is full",
    but({
      load(policy, key, now) {
        const buckets = right.load.call(this, policy, key, now);
        return buckets[0]?.spent === 0 ? policy.limits.map(fullBucket) : buckets;
      },
    }),
    "L4 · a bucket of several limits",
  ],
  ["forgets what lives longer than a timer can wait", but({ livesFor: (bucket) => (right.livesFor(bucket) > 2 ** 31 - 1 ? 1 : right.livesFor(bucket)) }), "L9 · windows of months"],
  [
    "charges refusals",
    but({
      decide(buckets, policy, cost, now) {
        const decision = consume(buckets, policy, cost, now);
        if (!decision.allowed) drain(buckets, policy, now);
        return { ...decision };
      },
      isStale: () => true,
    }),
    "L3 · a denial spends nothing",
  ],
  ["charges refusals that can never succeed", but({
      decide(buckets, policy, cost, now) {
        const decision = consume(buckets, policy, cost, now);
        if (decision.reason === "cost_above_capacity") drain(buckets, policy, now);
        return decision;
      },
      isStale: () => true,
    }), "L3 · a denial spends nothing"],
  ["starts the wait anew with every refusal", but({
      decide(buckets, policy, cost, now) {
        const decision = consume(buckets, policy, cost, now);
        if (!decision.allowed) for (const bucket of buckets) bucket.at = now;
        return decision;
      },
      isStale: () => true,
    }), "L2 · a refusal's wait is exact"],
  ["ignores the cost", but({ decide: (buckets, policy, cost, now) => ({ ...consume(buckets, policy, Math.min(cost, 1), now), cost }) }), "L8 · the same history"],
  ["prints numbers with 14 digits", keeping((units) => Number(units.toPrecision(14))), "L8 · the same history"],
  ["keeps numbers in 32 bits", keeping((units) => units % 2 ** 32), "L8 · the same history"],
  ["is off by one", but({ decide: (buckets, policy, cost, now) => consume(buckets, roomier(policy), cost, now) }), "L5 · a first burst"],
  ["refuses a cost of 0 when the bucket is empty", but({
      decide(buckets, policy, cost, now) {
        const one = cost === 0 ? peek(buckets, policy, 1, now) : null;
        return one?.reason === "limited" ? { ...one, cost } : consume(buckets, policy, cost, now);
      },
    }), "L9 · a cost of 0"],
  [
    "counts in fractions of tokens",
    but({
      decide(buckets, policy, cost, now) {
        policy.limits.forEach((limit, i) => {
          const bucket = buckets[i] as Bucket;
          const tokens = bucket.spent / limit.unitsPerToken - Math.max(0, now - bucket.at) * (limit.refill.tokens / limit.refill.everyMs);
          Object.assign(bucket, { spent: Math.max(0, tokens * limit.unitsPerToken), at: Math.max(now, bucket.at) });
        });
        return consume(buckets, policy, cost, now);
      },
    }),
    "L2 · a refusal's wait is exact",
  ],
  ["rewinds when the clock steps back", but({
      save(policy, key, buckets, now) {
        right.save.call(this, policy, key, buckets.map((bucket) => ({ ...bucket, at: now })), now);
      },
    }), "L6 · so it does"],
  ["charges the limits that have room", but({
      decide(buckets, policy, cost, now) {
        const decision = consume(buckets, policy, cost, now);
        if (!decision.allowed) for (const i of policy.limits.keys()) consume([buckets[i] as Bucket], alone(policy, i), cost, now);
        return decision;
      },
      isStale: () => true,
    }), "L10 · limits of one policy"],
  ["keeps the first limit only", but({
      save(policy, key, buckets, now) {
        right.save.call(this, policy, key, policy.limits.map((limit, i) => (i === 0 ? (buckets[0] as Bucket) : fullBucket(limit))), now);
      },
    }), "L10 · limits of one policy"],
  ["starts afresh under new numbers", but({
      load(policy, key, now) {
        return right.load.call(this, policy, key, now).map((bucket, i) => {
          const limit = policy.limits[i] as Policy["limits"][number];
          return isStale(bucket, limit) ? fullBucket(limit) : bucket;
        });
      },
    }), "L14 · what was spent"],
  ["prices what was spent anew", but({
      load(policy, key, now) {
        return right.load.call(this, policy, key, now).map((bucket, i) => {
          const { unitsPerMs, unitsPerToken } = policy.limits[i] as Policy["limits"][number];
          return { ...bucket, unitsPerMs, unitsPerToken };
        });
      },
    }), "L14 · what was spent"],
  ["does not settle when it refuses under new numbers", but({ isStale: () => false }), "L14 · what was spent"],
  ["forgets the limits that a newer version has not", but({
      save(policy, key, buckets, now) {
        this.server.rows.delete(this.name(policy, key));
        right.save.call(this, policy, key, buckets, now);
      },
    }), "L14 · what was spent"],
];

function keeping(spent: (units: number) => number): typeof RightStore {
  return but({
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

function alone(policy: Policy, place: number): Policy {
  return definePolicy({ name: policy.name, limits: [policy.limits[place] as Policy["limits"][number]] });
}
