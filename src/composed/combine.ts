import { checkNames, expected, ownMembers } from "../core/check.js";
import { bindsMore, type Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import { bucketId } from "../core/policy.js";
import type { Store } from "../port/store.js";
import { chargeGroup, chargeOf, isAllowed, thenAll, thenOne, type LimiterCharge } from "../limiter/charge.js";
import { requireMethod, type ConsumeOptions } from "../limiter/arguments.js";
import { internalsOf } from "../limiter/internals.js";
import type { Limiter } from "../limiter/limiter.js";
import { tookNothing } from "../limiter/refund.js";
import { groupsOf, peekCharge, splitGroups, undoCharge } from "./combine-charge.js";
import type { Combined, CombinedDecision } from "./combined.js";
import { attachSubject } from "./subject.js";

// The most charges that a store takes in one step.
const MOST_LIMITERS = 128;

/**
 * Makes several limiters into one, such as those of a user, their tenant and the whole service. A call charges all of
 * them or none.
 *
 * Limiters over one store with `consumeTogether` are charged in one atomic step, if the store can take their keys
 * together. Other limiters are charged in order. When one refuses, the earlier ones are refunded. Until then those
 * tokens are missing, and another caller may be refused. So put the limiter that refuses most first. If the refund
 * fails, the tokens stay taken.
 *
 * A limiter with `shadow: true` counts and never refuses. When a store fails, each limiter decides by its
 * `onStoreError`. An allowed decision is degraded if one of its parts is. Throws a TypeError for an object that is not
 * a limiter. Also throws one for a store that needs `adjust` for refunds and lacks it.
 * @example
 * const user = createLimiter({ policy: { name: "user", capacity: 10, refill: perSecond(2) } });
 * const tenant = createLimiter({ policy: { name: "tenant", capacity: 100, refill: perSecond(20) }, store: user.store });
 * const both = combine([user, tenant]);
 * const decision = both.consume([["user", "42"], ["tenant", "acme"]]);
 * if (!decision.allowed) console.log(`${decision.policy}: try again in ${decision.retryAfterMs} ms`);
 */
export function combine<const L extends readonly Limiter[]>(limiters: L): Combined<L> {
  if (!Array.isArray(limiters) || limiters.length === 0 || limiters.length > MOST_LIMITERS) {
    throw new TypeError(expected("limiters", `a list of 1 to ${MOST_LIMITERS} limiters`, limiters));
  }
  const groups = groupsOf(limiters);
  for (const group of groups.slice(0, -1)) for (const i of group) requireMethod((limiters[i] as Limiter).store, "adjust");
  const sync = limiters.every(({ store }: Limiter) => store.sync);
  const charged = new WeakMap<object, readonly LimiterCharge[]>(); // the charges of each decision; empty for a refusal

  const combined = {
    consume: (keys: readonly Key[], costs?: Asked) => nowOrLater(() => consume(chargesFor(limiters, keys, costs))),
    refund: (keys: readonly Key[], decision: CombinedDecision) =>
      nowOrLater(() => {
        checkEach("keys", keys, limiters);
        return refund(keys, decision);
      }),
    peek: (keys: readonly Key[], costs?: Asked) =>
      nowOrLater(() => {
        const peeked = chargesFor(limiters, keys, costs).map(({ limiter, key, asked }) => limiter.peek(key, asked));
        return thenAll<Decision, CombinedDecision>(peeked, (decisions) => tookNothing(decisionOfAll(limiters, decisions)) as CombinedDecision);
      }),
    reset: (keys: readonly Key[]) =>
      nowOrLater(() => {
        checkEach("keys", keys, limiters);
        return thenAll<void, void>(limiters.map((limiter, i) => limiter.reset(keys[i] as Key)), () => undefined);
      }),
  };
  attachSubject(combined, {
    limiters,
    parse(keys, asked) {
      const { costs, ...others } = ownMembers(typeof asked === "number" ? { costs: asked } : (asked as { readonly costs?: Asked }));
      checkNames(others, ["costs"]);
      return chargesFor(limiters, keys as readonly Key[], costs);
    },
    consume,
    partsOf: (decision) => (decision as CombinedDecision).decisions,
    refund: (charges, decision) => refund(charges.map(({ key }) => key), decision as CombinedDecision),
  });
  return combined as unknown as Combined<L>;

  function consume(charges: readonly LimiterCharge[]): CombinedDecision | Promise<CombinedDecision> {
    return thenOne(chargeAll(charges, splitGroups(groups, charges)), (decisions) => {
      const decision = decisionOfAll(limiters, decisions);
      charged.set(decision, decision.allowed ? charges : []);
      // The decision has the name of one limiter's policy, so mark it: that limiter must not refund it.
      return tookNothing(decision) as CombinedDecision;
    });
  }

  function refund(keys: readonly Key[], decision: CombinedDecision): void | Promise<void> {
    const charges = charged.get(Object(decision));
    if (charges === undefined) throw new TypeError(expected("decision", "one of this `consume`", decision));
    const done = charges.map(({ limiter, policy }, i) => limiter.refund(keys[i] as Key, decision.decisions[i] as Decision, { policy }));
    return thenAll<void, void>(done, () => undefined);
  }

  function nowOrLater<T>(make: () => T | Promise<T>): T | Promise<T> {
    return sync ? make() : new Promise((resolve) => resolve(make()));
  }
}

type Asked = number | readonly (number | ConsumeOptions)[];

function chargesFor(limiters: readonly Limiter[], keys: readonly Key[], costs?: Asked): LimiterCharge[] {
  checkEach("keys", keys, limiters);
  if (typeof costs === "object") checkEach("costs", costs, limiters);
  const names = new Map<Store, Set<string>>();
  return limiters.map((limiter, i) => {
    const charge = chargeOf(limiter, keys[i] as Key, typeof costs === "object" ? costs[i] : costs);
    const known = names.get(limiter.store) ?? new Set();
    const name = bucketId(charge.policy, charge.encoded);
    if (known.has(name)) throw new TypeError("Expected `keys` to name each bucket once, got one twice");
    names.set(limiter.store, known.add(name));
    return charge;
  });
}

function checkEach(name: string, list: readonly unknown[], limiters: readonly Limiter[]): void {
  if (!Array.isArray(list) || list.length !== limiters.length) throw new TypeError(expected(name, `a list of ${limiters.length}, one for each limiter`, list));
}

type Decisions = ReadonlyArray<Decision | null>;

/** Charges group by group until one refuses. */
function chargeAll(charges: readonly LimiterCharge[], groups: readonly number[][], made: Decisions = []): Decisions | Promise<Decisions> {
  const [group, ...rest] = groups;
  if (group === undefined) return made;
  return thenOne(chargeGroup(group.map((i) => charges[i] as LimiterCharge)), (decisions) => {
    const next = [...made];
    group.forEach((position, i) => (next[position] = decisions[i] as Decision));
    return isAllowed(decisions) ? chargeAll(charges, rest, next) : undoAll(charges, made, next);
  });
}

/**
 * Refunds the groups before the one that refused. Then peeks at the limiters that were refunded or not yet charged, for
 * their numbers.
 */
function undoAll(charges: readonly LimiterCharge[], taken: Decisions, made: Decisions): Decisions | Promise<Decisions> {
  const undone = taken.map((decision, i) => (decision ? undoCharge(charges[i] as LimiterCharge, decision) : undefined));
  // After a store has failed, no wait is exact. The stores that were not called may take as long to fail.
  const failed = made.some((decision) => decision?.degraded);
  const after = (charge: LimiterCharge, i: number): Decision | null | Promise<Decision | null> => {
    const decision = made[i] ?? null;
    const mustPeek = decision === null ? !failed : taken[i] && !decision.degraded;
    return mustPeek ? peekCharge(charge) : decision;
  };
  return thenAll<void, Decisions>(undone, () => thenAll(charges.map(after), (decisions) => decisions));
}

function decisionOfAll(limiters: readonly Limiter[], decisions: Decisions): CombinedDecision {
  const asked = [...limiters.keys()].filter((i) => decisions[i] !== null);
  const decisionAt = (i: number): Decision => decisions[i] as Decision;
  const strict = asked.filter((i) => !internalsOf(limiters[i] as Limiter).shadow);
  const position = (strict.length > 0 ? strict : asked).reduce((a, b) => (bindsMore(decisionAt(b), decisionAt(a)) ? b : a));
  const binding = decisionAt(position);
  // One refusal is enough, so only its store matters. An allowed decision needs all stores.
  const failed = binding.allowed ? asked.map(decisionAt).find(({ degraded }) => degraded) : undefined;
  const failure = failed === undefined ? {} : { degraded: true, error: failed.error };
  return { ...binding, ...failure, refusedBy: binding.allowed ? null : position, decisions } as CombinedDecision;
}
