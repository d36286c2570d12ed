import { limiterChecks } from "#diagnostics";
import { expected, isPlain, memberOf, ownMembers } from "../../core/check.js";
import { monotonicClock } from "../../core/clock.js";
import { readings, type Decision } from "../../core/decision.js";
import { chargedBy, markCharged } from "../../port/charged.js";
import { MOST_PARTS } from "../../port/store.js";
import { isUnlimited } from "../unlimited.js";
import { checkNotCosts, requireVerb, throwOrReject } from "../arguments.js";
import { attachInternals, plainInternalsOf, type LimiterInternals } from "../internals.js";
import type { Charges, CombinedCharge, LimiterCharge } from "../charge.js";
import type { Limiter, PlainLimiter } from "../limiter.js";
import { startAll, thenOne } from "../now-or-later.js";
import type { Observer } from "../observer.js";
import { giveBack, partsOf } from "../parts.js";
import { bindingPart, byBucket, chargeAll, decisionsOfParts } from "./charge-all.js";
import { createRequests } from "./requests.js";
import { verbsOf } from "../verbs/verbs.js";
import { combinedVerbs, type CombinedParts } from "./combined-verbs.js";
import type { AnyLimiter, CombinedDecision, KeysOf, Members, SyncOf } from "./combination.js";
import { readMembers, type CombinationMember } from "./members.js";

/**
 * Makes several limiters into one, such as those of a user, their tenant and the whole service. A call charges all of
 * them or none.
 *
 * Keys, costs, policies and decisions go by the names of the members. `unlimited` as a member's key or policy leaves
 * that member out. A member may be a combination itself. Two members on one bucket are charged the sum of their costs.
 *
 * Limiters over one store are charged in one atomic step, if the store can take their keys together. Other limiters are
 * charged in order. When one refuses, the earlier ones get their tokens back. Until then those tokens are missing, and
 * another caller may be refused. So put the limiter that refuses most first. If the store fails in between, the tokens
 * stay taken.
 *
 * A member in shadow mode counts and never refuses. When a store fails, each member decides by its `onStoreError`. An
 * allowed decision is degraded if one of its parts is. Each observer is told once, of the decision that binds, and of
 * members in shadow mode.
 *
 * Throws a TypeError for an object that is not a limiter, for a waiter, and for a store that needs the verb `adjust` to
 * return tokens and lacks it.
 * @example
 * const store = new MemoryStore();
 * const user = createLimiter({ policy: { name: "user", capacity: 10, refill: perSecond(2) }, store });
 * const tenant = createLimiter({ policy: { name: "tenant", capacity: 100, refill: perSecond(20) }, store });
 * const both = combine({ user, tenant });
 * const decision = both.consume({ user: ["user", "42"], tenant: ["tenant", "acme"] });
 * if (!decision.allowed) console.log(`${decision.policy}: try again in ${decision.retryAfterMs} ms`);
 */
export function combine<const M extends Members>(members: M): Limiter<KeysOf<M>, CombinedDecision<M>, SyncOf<M>> {
  const all = checkMembers(members);
  const parts = all.flatMap(({ limiter }) => limiter.parts);
  checkReturns(parts);
  const sync = all.every(({ internals }) => internals.sync);
  const read = readMembers(all);
  const log = limiterChecks ? limiterChecks.createDecisionLog() : null;
  // What the verbs need. A decision remembers it as the combination that made it.
  const parted: CombinedParts = {
    charges(keys, asked, isForAll = false) {
      const keyOf = read.keys(keys);
      const askedOf = read.asked(asked);
      return all.flatMap(({ name, internals: member, size }) => {
        const { cost, policy, isForAll: isOne } = askedOf(name);
        if (isUnlimited(keyOf(name)) || isUnlimited(policy)) return Array<null>(size).fill(null);
        return member.charges(keyOf(name), { cost, policy }, isForAll || isOne);
      });
    },
    costsOfParts(cost, isForAll = false) {
      const costOf = read.costs(cost);
      const isNumber = isForAll || typeof cost === "number";
      return all.flatMap(({ name, internals: member }) => member.costsOfParts(costOf(name), isNumber));
    },
    decisionOf: (decisions, charges) => decisionOfParts(all, decisions, charges),
  };
  const own: LimiterInternals = {
    sync,
    members: all,
    ...parted,
    ...combinedVerbs(all, read, parted),
    mapKey(keys, change) {
      // A key of a wrong form stays as it is: `charges` throws for it.
      if (keys !== undefined && keys !== null && (typeof keys !== "object" || !isPlain(keys))) return keys;
      const given = ownMembers(keys) as Record<string, unknown>;
      const mapped = all.map(({ name, internals: member }) => [
        name, isUnlimited(given[name]) ? given[name] : member.mapKey(given[name], change),
      ]);
      return { ...given, ...Object.fromEntries(mapped) };
    },
    partsOf: (decision) => all.flatMap(({ name, internals: member, size }) => {
      const part = (decision as CombinedDecision).decisions[name] as CombinedDecision | null;
      return part === null ? Array<null>(size).fill(null) : member.partsOf(part);
    }),
    ask(charges) {
      const buckets = byBucket(charges);
      return thenOne(chargeAll(buckets), (decisions) => {
        const decision = parted.decisionOf(decisionsOfParts(charges.length, buckets, decisions), charges);
        const made: CombinedCharge = { by: parted, charges: buckets, decisions };
        return decision.allowed ? markCharged(decision, made) : decision;
      });
    },
    tell(charges, decision, durationMs) {
      const decisions = own.partsOf(decision);
      if (log !== null) charges.forEach((charge, i) => charge && decisions[i] && log(charge.key, decisions[i]));
      tellObservers(charges, decisions, durationMs);
    },
    giveBack(_charges, decision) {
      const { charges, decisions } = chargedBy(decision) as CombinedCharge;
      markCharged(decision, null);
      const returns = charges.map((charge, i) => () => giveBack(charge, decisions[i] as Decision));
      return startAll<void, void>(returns, () => undefined);
    },
  };
  const take = (charges: Charges): Decision | Promise<Decision> => {
    const sentAt = monotonicClock();
    return thenOne(own.ask(charges), (decision) => {
      own.tell(charges, decision, sync ? undefined : monotonicClock() - sentAt);
      return decision;
    });
  };
  const combined = {
    parts: Object.freeze(parts),
    waits: false,
    shadow(keys: unknown): boolean {
      const keyOf = read.keys(keys);
      return all.every(({ name, limiter }) => isUnlimited(keyOf(name)) || (limiter as Limiter<unknown>).shadow(keyOf(name)));
    },
    consume: (keys: unknown, asked?: unknown) => throwOrReject({ sync }, () => {
      checkNotCosts(asked, all);
      return take(own.charges(keys, asked));
    }),
    ...verbsOf(own),
  };
  attachInternals(combined, { ...own, ...createRequests(own, take, false) });
  return combined as unknown as Limiter<KeysOf<M>, CombinedDecision<M>, SyncOf<M>>;
}

function checkMembers(members: Members): readonly CombinationMember[] {
  if (typeof members !== "object" || members === null || !isPlain(members)) {
    throw new TypeError(
      `${expected("members", "an object of limiters", members)}. Write combine({ user: perUser, tenant: perTenant })`,
    );
  }
  const all = Object.entries(members).map(([name, limiter]) => readMember(name, limiter));
  const count = all.reduce((sum, { size }) => sum + size, 0);
  if (count === 0 || count > MOST_PARTS) {
    throw new TypeError(`Expected \`members\` to have 1 to ${MOST_PARTS} limiters, got ${count}`);
  }
  return all;
}

function readMember(name: string, limiter: AnyLimiter): CombinationMember {
  const internals = partsOf(limiter);
  if (limiter.waits) throw new TypeError(
    `Expected \`${name}\` to be a limiter that does not wait, got a waiter. Write createWaiter(combine({ ... }))`,
  );
  return { name, limiter, internals, size: limiter.parts.length };
}

/** Throws when a store that is charged before another cannot return tokens. */
function checkReturns(parts: readonly PlainLimiter[]): void {
  const [{ store: first }] = parts as readonly [PlainLimiter];
  const isOneStep = parts.every(({ store }) => store === first) && memberOf(first, "together") === true;
  if (!isOneStep) for (const { store } of parts.slice(0, -1)) requireVerb(store, "adjust");
}

/** The decision of a combination from those of its parts. Null stands for a part that was not asked. */
function decisionOfParts(
  members: readonly CombinationMember[], parts: ReadonlyArray<Decision | null>, charges: Charges,
): Decision {
  const position = bindingPart(parts, charges);
  const binding = parts[position] ?? withoutCharge(members[0] as CombinationMember);
  const asked = parts.filter((part) => part !== null);
  // One refusal is enough, so only its store matters. An allowed decision needs all stores.
  const failed = binding.allowed ? asked.find(({ degraded }) => degraded) : undefined;
  const failure = failed === undefined ? {} : { degraded: true, error: failed.error };
  let start = 0;
  const decisions = members.map(({ name, internals, size }) => {
    const own = parts.slice(start, start + size);
    const ownCharges = charges.slice(start, start + size);
    start += size;
    return [name, own.every((part) => part === null) ? null : internals.decisionOf(own, ownCharges)] as const;
  });
  const combined = { ...binding, ...failure, limits: asked.flatMap(readings), decisions: Object.fromEntries(decisions) };
  return combined as CombinedDecision;
}

/** The decision of a member that has no limit in this call. */
function withoutCharge({ internals, size }: CombinationMember): Decision {
  const none = Array<null>(size).fill(null);
  return internals.decisionOf(none, none);
}

/**
 * Tells each observer once, of the decision that binds. Members in shadow mode are counted apart, so each of them tells
 * its own.
 */
function tellObservers(charges: Charges, parts: ReadonlyArray<Decision | null>, durationMs: number | undefined): void {
  const binding = bindingPart(parts, charges);
  const told = new Map<Observer, Set<Decision>>();
  charges.forEach((charge, i) => {
    const observer = charge && plainInternalsOf(charge.limiter).observer;
    if (!charge || !observer?.listens()) return;
    const part = charge.shadow && parts[i] ? i : binding;
    const decision = parts[part] as Decision;
    const known = told.get(observer) ?? new Set();
    // Members on one bucket share a decision.
    const { limiter, key } = charges[part] as LimiterCharge;
    if (!known.has(decision)) observer.decided(limiter, decision, key, durationMs);
    told.set(observer, known.add(decision));
  });
}
