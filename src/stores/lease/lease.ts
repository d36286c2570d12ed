/**
 * A wrapper that lets a process decide hot keys of a shared store by itself, within a stated bound.
 *
 * Experimental: names, defaults and bounds may change in a minor version.
 * @module sluice/lease
 * @experimental
 */
import { checkOptions, expected, memberOf, positiveInteger } from "../../core/check.js";
import { monotonicClock } from "../../core/clock.js";
import type { Decision } from "../../core/decision.js";
import type { Costs } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";
import { ServerClock } from "../../guard/server-clock.js";
import { sharesWork } from "../../platform.js";
import { markNew } from "../../port/charged.js";
import { openGuard, type OpenGuard } from "../../port/guarded-store.js";
import type { StoreAnswer, StoreCall } from "../../core/records.js";
import { checkAnswerList } from "../../port/answers.js";
import { callOf, hasVerb, type AsyncStore } from "../../port/store.js";
import { checkTime, timeCure, type Time } from "../../port/time.js";
import { isInUse, peekLease, returnable, type LeaseEffect } from "./key-lease.js";
import { Leases, type KeyLease } from "./leases.js";
import { readBoth, type LeaseInstant, type Take } from "./terms.js";

/** The options of {@link leased}. */
export interface LeaseOptions {
  /**
   * Milliseconds for which tokens taken ahead may be granted, from when their call was sent. A whole number of at least
   * 1, well above the time that the store takes to answer. 100 is a good start.
   *
   * All processes together grant at most `capacity + rate * (T + leaseMs)` in any time `T`. Blocks, debits and resets
   * of other processes act within `leaseMs`. In a flood a reset may act a tenth later.
   *
   * Unused tokens may be granted until two `leaseMs` after the call that took them, also across a reset or a loss of
   * data. A `T` that begins earlier than that counts as one that contains it, and may hold one capacity more.
   */
  readonly leaseMs: number;
  /**
   * Time for tests, such as a `ManualClock`: `now` never steps, and `wallNow` goes on while the machine is suspended. A
   * `now` alone is the only clock. Default: the platform's.
   */
  readonly time?: Time | undefined;
}

/**
 * Wraps a shared store. Takes tokens of hot keys ahead and grants them in this process, with at most one call for a hot
 * key in `leaseMs`.
 *
 * A key is hot from 4 requests within `leaseMs`. A lease has the tokens that the key needed lately, and a few more for
 * chance. The next call keeps unused tokens as far as they are still spent in the store's answer. A token lapses two
 * `leaseMs` after the call that took it, or when the process crashes.
 *
 * In a flood each call takes what is there. The process refuses the rest itself until its next call, in `leaseMs` or up
 * to a tenth more: `retryAfterMs` says when. When demand jumps, a lease that runs dry while the store has tokens is
 * renewed early.
 *
 * Other numbers for one key (a changed tier) end its lease, and its unused tokens are lost. The key is then not leased
 * for ten `leaseMs`. This is an exception to law L14: tiers that alternate at 1,000 requests a second lose up to 122 of
 * 1,100 tokens.
 *
 * A lease covers `consume` under a policy of one limit that holds at least what refills in `leaseMs`, for keys of up to
 * 126 characters together with the policy's name. All other calls go to the store. The readings of a grant are those of
 * its `at`: when the lease was taken. They include grants of this process since then, but no refills and no grants of
 * other processes.
 *
 * It keeps no windows: a limiter with `afterMs` takes the store that is wrapped. Where requests share no work, such as
 * on Cloudflare Workers, it returns `store` itself. Throws a TypeError for a synchronous store, and a TypeError or
 * RangeError that names the wrong option.
 * @experimental
 * @example
 * const store = leased(new RedisStore(redis), { leaseMs: 100 });
 * const limiter = createLimiter({ policy: { capacity: 3_000, refill: perSecond(500) }, store });
 * const decision = await limiter.consume(["tenant", "acme"]);
 * process.once("SIGTERM", () => void store.close?.()); // gives back the unused tokens
 */
export function leased(store: AsyncStore, options: LeaseOptions): AsyncStore {
  const { leaseMs, time } = checkOptions(options, ["leaseMs", "time"], "an object with `leaseMs`", timeCure);
  positiveInteger("leaseMs", leaseMs);
  const clocks = checkTime(time);
  if (typeof store?.ask !== "function" || store.sync !== false) {
    throw new TypeError(
      `${expected("store", "a shared store", store)}. A store that answers at once needs no leases: use it as it is.`,
    );
  }
  const inside = openGuard(store.guard);
  if (inside === undefined) {
    throw new TypeError(
      `${expected("store.guard", "made by `guard` of sluice/store", store.guard)}. Write \`readonly guard = ` +
      `guard()\` in the store.`,
    );
  }
  if (!sharesWork()) return store;
  return overLeases(store, inside, leaseMs, readBoth(clocks));
}

/** Makes the wrapper, for a platform where requests share work. */
function overLeases(store: AsyncStore, inside: OpenGuard, leaseMs: number, now: () => LeaseInstant): AsyncStore {
  const leases = new Leases(leaseMs);
  const serverClock = new ServerClock(store.clock);
  let isClosed = false;

  /** The decision of the lease, in the store's place. Null when there is none, or it needs a call. */
  function decideHere(policy: Policy, key: string, costs: Costs): Decision | null {
    const lease = leases.find(policy, key);
    return lease !== undefined && isLeasable(policy, costs) ? lease.decide(costs, now()) : null;
  }

  async function consume(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    if (isClosed || !isLeasable(policy, costs)) return take(policy, key, costs);
    const at = now();
    const lease = leases.ask(policy, key, costs, at);
    return lease === undefined ? take(policy, key, costs) : decide(lease, policy, costs, at);
  }

  /** The store's own `consume`. */
  async function take(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    return checkAnswerList("consume", 1, await store.ask(callOf("consume", policy, key, costs)))[0] as Decision;
  }

  /** Does what the lease wants until the request is decided. */
  async function decide(lease: KeyLease, policy: Policy, cost: number, at: LeaseInstant): Promise<Decision> {
    const { key } = lease;
    let effect = lease.tell({ what: "request", cost, now: at });
    let calls = 0;
    while (effect.what !== "decide") {
      if (effect.what === "forget") leases.drop(policy, key);
      if (effect.what === "forget" || effect.what === "pass") return take(policy, key, cost);
      if (effect.what === "call") {
        calls += 1;
        effect = await takeAhead(lease, effect.take, cost);
      } else {
        if (effect.what === "wait") await lease.flight;
        effect = lease.tell({ what: "again", cost, now: now(), since: at.steady, calls });
      }
    }
    return effect.decision;
  }

  function takeAhead(lease: KeyLease, taken: Take, cost: number): Promise<LeaseEffect> {
    const { policy, key } = lease;
    const sentAt = monotonicClock();
    const ask = async (): Promise<LeaseEffect> => {
      try {
        const answer = await take(policy, key, taken.ask);
        serverClock.learn(answer, sentAt);
        return lease.tell({ what: "answered", take: taken, answer, cost, now: now() });
      } catch (error) {
        lease.tell({ what: "failed", take: taken });
        throw error;
      }
    };
    leases.touch(lease);
    return (lease.flight = ask());
  }

  function isHeld(policy: Policy, key: string): boolean {
    const lease = leases.find(policy, key);
    return lease !== undefined && isInUse(lease.state);
  }

  // Dropped twice: a call for more may reach the store before the change does, and its answer may come after it.
  async function changeAll(call: StoreCall): Promise<readonly StoreAnswer[]> {
    const [{ policy, key }] = call.parts;
    leases.drop(policy, key);
    try {
      return await store.ask(call);
    } finally {
      leases.drop(policy, key);
    }
  }

  async function peek(call: StoreCall): Promise<readonly StoreAnswer[]> {
    const [{ policy, key, cost }] = call.parts;
    const lease = isLeasable(policy, cost) ? leases.find(policy, key) : undefined;
    const known = lease && peekLease(lease.state, cost as number, now());
    return known ? [known] : store.ask(call);
  }

  async function adjust(call: StoreCall): Promise<readonly StoreAnswer[]> {
    const [{ policy, key, cost }] = call.parts;
    const tokens = typeof cost === "number" ? cost : 0;
    // Tokens of a lease that are given back here must not go back again with its next call.
    if (tokens < 0) leases.find(policy, key)?.tell({ what: "refunding", tokens: 0 - tokens });
    const answers = checkAnswerList("adjust", 1, await store.ask(call));
    if (answers[0] === true) leases.find(policy, key)?.tell({ what: "adjusted", tokens });
    return answers;
  }

  // The end of a block leaves the limits as they are, and so the tokens of a lease.
  async function endBlock(call: StoreCall): Promise<readonly StoreAnswer[]> {
    const answers = await store.ask(call);
    const [{ policy, key }] = call.parts;
    // A lease without tokens remembers the wait of the block.
    const lease = leases.find(policy, key);
    if (lease !== undefined && returnable(lease.state, now()) === 0) lease.tell({ what: "ended" });
    return answers;
  }

  async function ask(call: StoreCall): Promise<readonly StoreAnswer[]> {
    const { verb, parts: [{ policy, key, cost }, ...others] } = call;
    if (verb === "consume" && others.length === 0) return [await consume(policy, key, cost)];
    if (verb === "peek") return peek(call);
    if (verb === "adjust") return adjust(call);
    if (verb === "block" && cost === 0) return endBlock(call);
    return verb === "block" || verb === "reset" ? changeAll(call) : store.ask(call);
  }

  const [kinds, recall, together] = [memberOf(store, "kinds"), memberOf(store, "recall"), memberOf(store, "together")];
  return {
    sync: false,
    clock: store.clock,
    // Tokens that are taken ahead would belong to the window of the call that took them, not to that of their use.
    kinds: kinds?.filter((kind) => kind !== "window"),
    verbs: memberOf(store, "verbs"),
    together: typeof together === "function" ? (parts) => together.call(store, parts) : together,
    ask,
    guard: {
      // The guard of the store: it and its leased form have one timeout, one circuit breaker and one local share.
      protect(given, setup) {
        const guarded = inside.protect(given, setup);
        return {
          ...guarded,
          // A lease needs no promise and no circuit breaker. A spy or proxy that replaces `ask` is still called.
          consume(policy, key, costs) {
            const here = given.ask === ask ? decideHere(policy, key, costs) : null;
            if (here === null) return guarded.consume(policy, key, costs);
            const decision = markNew(here, given, key);
            guarded.granted(policy, key, costs, decision);
            return decision;
          },
          // The time that the guard learns from a decision of a lease is behind the server's.
          now() {
            const [known, learned] = [guarded.now(), serverClock.now()];
            return known > learned || Number.isNaN(learned) ? known : learned;
          },
        };
      },
    } as OpenGuard,
    ...(recall && {
      recall: (policy, key, costs) => (isHeld(policy, key) ? null : recall.call(store, policy, key, costs)),
    }),
    async close() {
      isClosed = true;
      const giveBack = async (lease: KeyLease): Promise<void> => {
        const tokens = returnable(lease.state, now());
        lease.tell({ what: "ended" });
        const until = Math.floor(serverClock.seenAt) + leaseMs; // until then, these tokens are still there
        const from = Number.isNaN(until) ? undefined : { since: until };
        if (tokens === 0 || !hasVerb(store, "adjust")) return;
        await store.ask(callOf("adjust", lease.policy, lease.key, 0 - tokens, { from }));
      };
      await Promise.allSettled([...leases.all()].map(giveBack)); // what a store does not take back lapses
      await memberOf(store, "close")?.call(store);
    },
  };
}

/** Whether a lease may decide: a cost that fits, of a policy of one limit. */
function isLeasable({ limits, maxCost }: Policy, costs: Costs): costs is number {
  if (limits.length > 1 || limits[0].kind.amounts !== undefined || !Number.isSafeInteger(costs)) return false;
  return (costs as number) >= 1 && (costs as number) <= maxCost;
}
