/**
 * A wrapper that lets a process decide hot keys of a shared store by itself, within a stated bound.
 * @module sluice/lease
 */
import { checkClock, checkOptions, expected, positiveInteger } from "../../core/check.js";
import { monotonicClock, readClock, type Clock } from "../../core/clock.js";
import type { Decision } from "../../core/decision.js";
import type { Costs } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";
import { ServerClock } from "../../guard/server-clock.js";
import { sharesWork } from "../../platform.js";
import { checkDecision, type AsyncStore } from "../../port/store.js";
import type { KeyLease, LeaseInstant, Take } from "./key-lease.js";
import { Leases } from "./leases.js";

/** The options of {@link leased}. */
export interface LeaseOptions {
  /**
   * Milliseconds for which tokens taken ahead may be granted, from when their call was sent. A whole number of at least
   * 1, well above the time that the store takes to answer. 100 is a good start.
   *
   * All processes together grant at most `capacity + rate * (T + leaseMs)` in any time `T`. Blocks, resets and debits
   * of other processes act within `leaseMs`.
   */
  readonly leaseMs: number;
  /** Returns milliseconds and never steps, for tests. Default: {@link monotonicClock}. */
  readonly clock?: Clock | undefined;
  /** Returns milliseconds and goes on while the machine is suspended, for tests. Default `Date.now`. */
  readonly wallClock?: Clock | undefined;
}

/**
 * Wraps a shared store. Takes tokens of hot keys ahead and grants them in this process, with at most one call for a hot
 * key in `leaseMs` while its lease lasts.
 *
 * A key is hot from 4 requests within `leaseMs`. A lease has the tokens that the key needed lately, and at most half of
 * the tokens that the store has left. When the lease is empty, or when few tokens are left, the store decides. The next
 * call keeps tokens that are unused after `leaseMs`, unless they have refilled by themselves. The tokens of a process
 * lapse when it crashes, or when its callers are gone.
 *
 * A lease covers `consume` under a policy of one limit, for keys of up to 126 characters together with the policy's
 * name. All other calls go to the store. The readings of a decision are those of its `at`: when the lease was taken.
 * They include grants of this process since then, but no refills and no grants of other processes.
 *
 * Where requests share no work, such as on Cloudflare Workers, it returns `store` itself. Throws a TypeError for a
 * synchronous store, and a TypeError or RangeError that names the wrong option.
 * @example
 * const store = leased(new RedisStore(redis), { leaseMs: 100 });
 * const limiter = createLimiter({ policy: { capacity: 3_000, refill: perSecond(500) }, store });
 * const decision = await limiter.consume(["tenant", "acme"]);
 * process.once("SIGTERM", () => void store.close?.()); // gives back the unused tokens
 */
export function leased(store: AsyncStore, options: LeaseOptions): AsyncStore {
  const { leaseMs, clock = monotonicClock, wallClock = Date.now } = checkOptions(options, ["leaseMs", "clock", "wallClock"], "an object with `leaseMs`");
  positiveInteger("leaseMs", leaseMs);
  for (const each of [clock, wallClock]) checkClock(each);
  if (typeof store?.consume !== "function" || store.sync !== false) {
    throw new TypeError(`${expected("store", "a shared store", store)}. A store that answers at once needs no leases: use it as it is.`);
  }
  if (typeof store.guard !== "function") {
    throw new TypeError(`${expected("store.guard", "a function", store.guard)}. Import \`guard\` from "sluice/store" and add \`guard\` to the store.`);
  }
  if (!sharesWork()) return store;
  const now = (): LeaseInstant => ({ steady: readClock(clock), wall: readClock(wallClock) });
  return overLeases(store, leaseMs, now);
}

/** Makes the wrapper, for a platform where requests share work. */
function overLeases(store: AsyncStore, leaseMs: number, now: () => LeaseInstant): AsyncStore {
  const leases = new Leases(leaseMs);
  const serverClock = new ServerClock(store.clock);
  let isClosed = false;

  function grant(policy: Policy, key: string, costs: Costs): Decision | null {
    const lease = leases.find(policy, key);
    return lease !== undefined && isLeasable(policy, costs) ? lease.grant(costs, now()) : null;
  }

  async function consume(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    if (isClosed || !isLeasable(policy, costs)) return store.consume(policy, key, costs);
    const granted = grant(policy, key, costs);
    if (granted !== null) return granted;
    const lease = leases.ask(policy, key, costs, now());
    return lease === undefined ? store.consume(policy, key, costs) : decide(lease, policy, costs);
  }

  /** Waits for calls that are under way, while less than half of `leaseMs` has passed. Then calls the store. */
  async function decide(lease: KeyLease, policy: Policy, cost: number): Promise<Decision> {
    const { key } = lease;
    const until = now().steady + leaseMs / 2;
    while (lease.flight !== null && lease.flight.sent.steady > now().steady - leaseMs && now().steady < until) {
      await lease.flight.done;
      const granted = lease.grant(cost, now());
      if (granted !== null) return granted;
    }
    for (const each of lease.plan(cost, now())) {
      if (lease.flight !== null) break;
      const decision = await take(lease, each);
      if (decision !== null) return decision;
    }
    const decision = await store.consume(policy, key, cost);
    lease.observe(decision, now());
    return decision;
  }

  function take(lease: KeyLease, asked: Take): Promise<Decision | null> {
    const sent = now();
    const sentAt = monotonicClock();
    const ask = async (): Promise<Decision | null> => {
      try {
        const taken = checkDecision(await later(() => store.consume(lease.policy, lease.key, asked.ask)), "consume");
        serverClock.learn(taken, sentAt);
        if (taken.allowed) return lease.renew(taken, asked, sent, now());
        lease.observe(taken, now());
        return null;
      } finally {
        lease.flight = null;
      }
    };
    leases.touch(lease);
    const done = ask();
    lease.flight = { done, sent };
    return done;
  }

  // Dropped twice: a call for more may reach the store before the change does, and its answer may come after it.
  async function changeAll<T>(policy: Policy, key: string, change: () => Promise<T>): Promise<T> {
    leases.drop(policy, key, now());
    try {
      return await change();
    } finally {
      leases.drop(policy, key, now());
    }
  }

  return {
    sync: false,
    clock: store.clock,
    consume,
    guard(given, setup) {
      // The store's own, which may warn of more than the one of this package.
      const guarded = store.guard(given, setup);
      return {
        ...guarded,
        // A lease needs no promise and no circuit breaker. A spy or proxy that replaces `consume` is still called.
        consume: (policy, key, costs) => (given.consume === consume ? grant(policy, key, costs) : null) ?? guarded.consume(policy, key, costs),
        // The time that the guard learns from a decision of a lease is behind the server's.
        ageOf: (decision) => Math.max(...[guarded.ageOf(decision), serverClock.ageOf(decision)].filter((ms) => !Number.isNaN(ms)), 0),
      };
    },
    ...(store.recall && { recall: (policy, key, costs) => (leases.find(policy, key)?.isInUse === true ? null : (store.recall?.(policy, key, costs) ?? null)) }),
    ...(store.peek && {
      async peek(policy, key, costs) {
        const known = isLeasable(policy, costs) ? leases.find(policy, key)?.peek(costs, now()) : null;
        return known ?? (store.peek?.(policy, key, costs) as Promise<Decision>);
      },
    }),
    ...(store.adjust && {
      async adjust(policy, key, changes) {
        // Tokens of a lease that are given back here must not go back again with its next call.
        if (typeof changes === "number" && changes < 0) leases.find(policy, key)?.refunded(0 - changes);
        return store.adjust?.(policy, key, changes) as Promise<boolean>;
      },
    }),
    ...(store.consumeTogether && { consumeTogether: async (charges) => store.consumeTogether?.(charges) as Promise<readonly Decision[]> }),
    ...(store.takesTogether && { takesTogether: (charges) => store.takesTogether?.(charges) as boolean }),
    ...(store.block && { block: (policy, key, forMs) => changeAll(policy, key, async () => store.block?.(policy, key, forMs)) }),
    ...(store.reset && { reset: (policy, key) => changeAll(policy, key, async () => store.reset?.(policy, key)) }),
    async close() {
      isClosed = true;
      const giveBack = async (lease: KeyLease): Promise<unknown> => {
        const tokens = lease.end(now());
        return tokens > 0 && store.adjust?.(lease.policy, lease.key, 0 - tokens);
      };
      await Promise.allSettled([...leases.all()].map(giveBack)); // what a store does not take back lapses
      await store.close?.();
    },
  };
}

/** Whether a lease may decide: a cost that fits, of a policy of one limit. */
function isLeasable({ limits, maxCost }: Policy, costs: Costs): costs is number {
  return limits.length === 1 && Number.isSafeInteger(costs) && (costs as number) >= 1 && (costs as number) <= maxCost;
}

/** The result of `make` as a promise: an exception becomes a rejection. */
async function later<T>(make: () => Promise<T>): Promise<T> {
  return make();
}
