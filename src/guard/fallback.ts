import { mapCosts, neverFits } from "../core/cost.js";
import { costAt, greatestCommonDivisor, type Costs, type Limit, type LimitOptions } from "../core/limit.js";
import { readClock, type Clock } from "../core/clock.js";
import { readings, type Decision, type DecisionFacts } from "../core/decision.js";
import { definePolicy, type Policy } from "../core/policy.js";
import type { OnStoreError } from "../port/guard-options.js";
import { STORE_VERBS, type StoreAnswer, type StoreCall } from "../core/records.js";
import { callOf, type SyncStore } from "../port/store.js";
import type { GuardSetup, LocalCharge } from "../port/guarded-store.js";
import { isClockError } from "./errors.js";
import { dateRulesOf, type DateRules } from "../port/kind-rules.js";

// Long enough that callers do not make an outage worse, short enough that they return soon after it.
const RETRY_AFTER_MS = 1_000;

/** Decides in the place of a store that failed. All limiters over the store share the local buckets. */
export class Fallback {
  readonly #sharedBy: number;
  readonly #clock: Clock;
  readonly #makeLocal: GuardSetup["makeLocal"];
  /** The local buckets. Null before the first local decision, and when all of them are full again: at `#fullAt`. */
  #local: SyncStore | null = null;
  #fullAt = 0;
  readonly #shares = new WeakMap<Policy, Policy>();
  /** What local decisions took, and what {@link granted} took for decisions of the store. */
  readonly #charges = new WeakMap<Decision, Omit<LocalCharge, "store">>();

  /** `clock` is the clock of local decisions. `makeLocal` runs at the first of them. */
  constructor(sharedBy: number, clock: Clock, makeLocal: GuardSetup["makeLocal"]) {
    this.#sharedBy = sharedBy;
    this.#clock = clock;
    this.#makeLocal = makeLocal;
  }

  /** The decision of a limiter with `onStoreError` for a call that the store failed with `error`. */
  decide(policy: Policy, key: string, costs: Costs, error: unknown, onStoreError: OnStoreError): Decision {
    if (isClockError(error)) throw error;
    // These need no store: no wait makes room for such a cost, and a cost of 0 takes nothing.
    if (neverFits(policy, costs)) return this.#without(policy, costs, "cost_above_capacity", Infinity, error);
    if (costs === 0 || onStoreError === "allow") return this.#without(policy, costs, null, 0, error);
    if (onStoreError === "unavailable") return this.#without(policy, costs, "store_unavailable", RETRY_AFTER_MS, error);
    const share = this.#shareOf(policy, costs);
    const decision = decideIn(this.#open(), "consume", share, key, costs);
    // The local store's own reason would be answered with 429.
    const degraded = { ...decision, reason: decision.allowed ? null : "store_unavailable", degraded: true, error } as Decision;
    if (decision.allowed) this.#charges.set(degraded, { policy: share, decision });
    return degraded;
  }

  /**
   * Takes what the store granted from the local share, too, as far as it is there: so outages in a row grant no share
   * each. Not from a share that is full, because most callers used none of theirs. Limits in flight take nothing.
   */
  granted(policy: Policy, key: string, costs: Costs, decision: Decision): void {
    const local = this.#local;
    if (local === null || !decision.allowed) return;
    // A clock that fails is misuse that the next local decision tells.
    const now = typeof this.#clock === "function" ? this.#clock() : this.#clock.now();
    if (!(now < this.#fullAt)) return void (this.#local = null);
    const share = this.#shareOf(policy, 0);
    const left = readings(decideIn(local, "peek", share, key, 0));
    if (!share.limits.some(({ refill }, i) => refill && left[i]?.resetMs)) return;
    const rates = mapCosts(share, costs, (cost, i) => (share.limits[i]?.refill ? cost : 0));
    local.ask(callOf("adjust", share, key, rates, { from: { withoutDebt: true } }));
    // Only whole tokens can be given back.
    const there = mapCosts(share, rates, (cost, i) => Math.min(cost, left[i]?.remaining ?? 0));
    this.#charges.set(decision, { policy: share, decision: decideIn(local, "peek", share, key, there) });
  }

  /** What was taken here for a decision; null if nothing was. */
  chargeOf(decision: Decision): LocalCharge | null {
    const charge = decision.degraded || this.#local !== null ? this.#charges.get(decision) : undefined;
    return charge === undefined ? null : { ...charge, store: this.#open() };
  }

  // Each change of a bucket notes when it is full again.
  #open(): SyncStore {
    if (this.#local !== null) return this.#local;
    const store = this.#makeLocal(this.#clock);
    const ask = (call: StoreCall): readonly StoreAnswer[] => {
      const answers = store.ask(call);
      if (call.verb === "peek") return answers;
      const [{ policy, key }] = call.parts;
      const left = decideIn(store, "peek", policy, key, 0);
      this.#fullAt = Math.max(this.#fullAt, ...readings(left).map(({ resetMs }) => left.at + resetMs));
      return answers;
    };
    return (this.#local = { sync: true, clock: store.clock, verbs: STORE_VERBS, ask });
  }

  #without(policy: Policy, costs: Costs, reason: Decision["reason"], retryAfterMs: number, error: unknown): Decision {
    const binding = Math.max(0, policy.limits.findIndex(({ capacity: most }, i) => costAt(costs, i) > most));
    const { name: limit, capacity } = policy.limits[binding] as Limit;
    const cost = costAt(costs, binding);
    const facts: DecisionFacts = {
      policy: policy.name, limit, cost, capacity, remaining: 0, retryAfterMs, nextTokenMs: 0, resetMs: 0,
      limits: null, at: readClock(this.#clock), degraded: true, error,
    };
    return { allowed: reason === null, reason, ...facts } as Decision;
  }

  // A cost above the share gets a policy of its own. Such calls are rare, but their costs can have any value, so these
  // policies are not cached.
  #shareOf(policy: Policy, costs: Costs): Policy {
    let share = this.#shares.get(policy);
    if (share === undefined) this.#shares.set(policy, (share = shareOf(policy, this.#sharedBy, 1)));
    return neverFits(share, costs) ? shareOf(policy, this.#sharedBy, costs) : share;
  }
}

function decideIn(store: SyncStore, verb: "consume" | "peek", policy: Policy, key: string, costs: Costs): Decision {
  return store.ask(callOf(verb, policy, key, costs))[0] as Decision;
}

const MOST = 9_007_199_254_740_991n;

/**
 * The policy of one of `sharedBy` processes by itself: 1 / `sharedBy` of every limit.
 *
 * A quota becomes a rate: a 32nd of its share at once, and the share within a period. So an outage of a minute grants
 * no second month. A capacity is rounded down, but is at least 1 and at least its cost. A cost above the share is
 * allowed when the bucket is full, and then all of it must refill. The rate is exact while whole units can express it.
 * Beyond that it is rounded down, but never to zero.
 */
export function shareOf(policy: Policy, sharedBy: number, costs: Costs): Policy {
  const work = dateRulesOf(policy);
  const limits = policy.limits.map((limit, i) => shareOfLimit(limit, sharedBy, costAt(costs, i), work));
  return definePolicy({ name: policy.name, limits });
}

function shareOfLimit(limit: Limit, sharedBy: number, cost: number, work: DateRules | undefined): LimitOptions {
  const { capacity, unitsPerMs, unitsPerToken } = work?.evenly(limit) ?? limit;
  const share = Math.max(1, Math.floor(capacity / sharedBy), cost);
  if (limit.returns) return { name: limit.name, capacity: share, returns: limit.returns };
  // `unitsPerMs` and `unitsPerToken` have no common divisor.
  const divisor = greatestCommonDivisor(unitsPerMs, sharedBy);
  const everyMs = BigInt(unitsPerToken) * BigInt(sharedBy / divisor);
  // Uses the limit's own capacity, not the cost's: all policies of one bucket must count in the same units.
  const over = ceilDiv(everyMs, MOST / BigInt(limit.capacity));
  const tokens = Number(BigInt(unitsPerMs / divisor) / over);
  return {
    name: limit.name, capacity: share,
    refill: { tokens: Math.max(1, tokens), everyMs: Number(ceilDiv(everyMs, over)) },
  };
}

function ceilDiv(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}
