import { limiterChecks } from "#diagnostics";
import { memberOf } from "../../core/check.js";
import { mapCosts } from "../../core/cost.js";
import { bindsMore, type Decision } from "../../core/decision.js";
import { costAt } from "../../core/limit.js";
import { bucketId, samePolicy, type Policy } from "../../core/policy.js";
import { markCharged, markTier } from "../../port/charged.js";
import type { Charge, StoreAnswer } from "../../core/records.js";
import { takesTogether, type Store } from "../../port/store.js";
import { holdRulesOf } from "../../port/kind-rules.js";
import type { BucketCharge, Charges, LimiterCharge } from "../charge.js";
import { plainInternalsOf } from "../internals.js";
import { orElse, startAll, thenOne } from "../now-or-later.js";
import { askFor, giveBack, peekAt } from "../parts.js";

type Decisions = ReadonlyArray<Decision | null>;

/**
 * Returns the charge on each bucket. Parts on one bucket are charged the sum of their costs. Throws a TypeError for two
 * tiers of one name on one bucket.
 */
export function byBucket(charges: Charges): readonly BucketCharge[] {
  const buckets: BucketCharge[] = [];
  charges.forEach((charge, part) => {
    if (charge === null) return;
    const i = buckets.findIndex((each) => each.shadow === charge.shadow && isSameBucket(each, charge));
    const same = buckets[i];
    const { limiter, key, policy, encoded, shadow } = charge;
    // Written out, because a spread takes several times as long.
    if (same === undefined) {
      return void buckets.push({ limiter, key, policy, cost: charge.cost, encoded, shadow, parts: [part], own: [charge] });
    }
    checkSameNumbers(same.policy, policy);
    const cost = mapCosts(policy, same.cost, (each, k) => Math.min(Number.MAX_SAFE_INTEGER, each + costAt(charge.cost, k)));
    buckets[i] = { ...same, cost, parts: [...same.parts, part], own: [...same.own, charge] };
  });
  return buckets;
}

function isSameBucket(a: LimiterCharge, b: LimiterCharge): boolean {
  return a.limiter.store === b.limiter.store && bucketId(a.policy, a.encoded) === bucketId(b.policy, b.encoded);
}

function checkSameNumbers(policy: Policy, other: Policy): void {
  if (samePolicy(policy, other)) return;
  throw new TypeError(
    `Expected the members on one key under "${policy.name}" to have the same numbers, got two tiers. Give the ` +
    "policies different names",
  );
}

/** The decision of each part, from those on the buckets. */
export function decisionsOfParts(size: number, buckets: readonly BucketCharge[], decisions: Decisions): Decisions {
  const parts = Array<Decision | null>(size).fill(null);
  buckets.forEach((bucket, i) => {
    for (const part of bucket.parts) parts[part] = decisions[i] ?? null;
  });
  return parts;
}

/** The position of the decision that binds: of those that are enforced, or of all if none is. -1 for none. */
export function bindingPart(decisions: ReadonlyArray<Decision | null>, charges: Charges): number {
  const asked = [...decisions.keys()].filter((i) => decisions[i] !== null);
  const enforced = asked.filter((i) => charges[i]?.shadow !== true);
  const strictest = (a: number, b: number): number => (bindsMore(decisions[b] as Decision, decisions[a] as Decision) ? b : a);
  return (enforced.length > 0 ? enforced : asked).reduce((a, b) => (a < 0 ? b : strictest(a, b)), -1);
}

/** Makes all charges or none of them. Returns the decision on each, or null for one that was not asked. */
export function chargeAll(charges: readonly LimiterCharge[]): Decisions | Promise<Decisions> {
  return chargeGroups(charges, groupsOf(charges), []);
}

/**
 * The positions of charges that are made in one step: those on one store that takes them together. Any other charge is
 * a group of its own. So is one in shadow mode, because its refusal must not refuse the others.
 */
function groupsOf(charges: readonly LimiterCharge[]): readonly number[][] {
  const groups: number[][] = [];
  const byStore = new Map<Store, number[]>();
  charges.forEach(({ limiter: { store }, shadow }, i) => {
    const known = shadow ? undefined : byStore.get(store);
    if (known !== undefined) return void known.push(i);
    const group = [i];
    groups.push(group);
    if (!shadow && memberOf(store, "together")) byStore.set(store, group);
  });
  return groups.flatMap((group) => {
    if (group.length === 1) return [group];
    const own = group.map((i) => charges[i] as LimiterCharge);
    const { store } = (own[0] as LimiterCharge).limiter;
    return takesTogether(store, storeCharges(own)) ? [group] : group.map((i) => [i]);
  });
}

function storeCharges(charges: readonly LimiterCharge[]): readonly [Charge, ...Charge[]] {
  return charges.map(({ policy, encoded: key, cost }) => ({ policy, key, cost })) as [Charge, ...Charge[]];
}

/** Charges group by group until one refuses. */
function chargeGroups(
  charges: readonly LimiterCharge[], groups: readonly number[][], made: Decisions,
): Decisions | Promise<Decisions> {
  const [group, ...rest] = groups;
  if (group === undefined) return charges.map((_, i) => made[i] ?? null);
  // A store without a guard throws, and so does a clock that is not finite. The earlier groups must not stay charged.
  const own = group.map((i) => charges[i] as LimiterCharge);
  const charged = orElse(() => chargeGroup(own), (error) => giveBackAll(charges, made, () => {
    throw error;
  }));
  return thenOne(charged, (decisions) => {
    const next = [...made];
    group.forEach((position, i) => (next[position] = decisions[i] as Decision));
    return isAllowed(decisions) ? chargeGroups(charges, rest, next) : undoAll(charges, made, next);
  });
}

/** Makes the charges of one group, or none. When the store fails, each limiter decides by its `onStoreError`. */
function chargeGroup(charges: readonly LimiterCharge[]): readonly Decision[] | Promise<readonly Decision[]> {
  const [first] = charges as [LimiterCharge];
  if (charges.length === 1) return thenOne(askFor(first), (decision) => [decision]);
  const { store } = first.limiter;
  const { guarded } = plainInternalsOf(first.limiter);
  const taken = (answers: readonly StoreAnswer[]): readonly Decision[] => {
    const decisions = answers as readonly Decision[];
    // When one limit refuses, nothing was taken, so the other decisions must not be settled.
    if (!isAllowed(decisions)) return decisions;
    return charges.map((charge, i) => {
      const decision = asCharged(charge, markCharged(decisions[i] as Decision, store, charge.encoded));
      guarded.granted(charge.policy, charge.encoded, charge.cost, decision);
      if (limiterChecks) limiterChecks.watchHeld(store, charge.policy, decision);
      return decision;
    });
  };
  const late = (answers: readonly StoreAnswer[]): void => releaseAllLate(charges, answers as readonly Decision[]);
  const call = { verb: "consume", parts: storeCharges(charges), from: undefined, move: undefined } as const;
  return orElse(() => thenOne(guarded.ask(call, { late }), taken), (error) => decideWithout(charges, error));
}

// An answer that came after its timeout: what it took in flight must not be held until its date.
function releaseAllLate(charges: readonly LimiterCharge[], decisions: readonly Decision[]): void {
  if (!isAllowed(decisions)) return;
  charges.forEach(({ limiter: { store }, policy, encoded: key }, i) =>
    holdRulesOf(policy)?.giveBackLate({ store, policy, key, decision: decisions[i] as Decision }));
}

function asCharged({ limiter, policy }: LimiterCharge, decision: Decision): Decision {
  return policy === limiter.policy ? decision : markTier(decision, policy);
}

/**
 * Each limiter decides without the store. When one refuses, the tokens that the others took in this process are
 * returned.
 */
function decideWithout(charges: readonly LimiterCharge[], error: unknown): readonly Decision[] {
  const decisions = charges.map((charge) => {
    const { limiter, policy, encoded, cost } = charge;
    return asCharged(charge, plainInternalsOf(limiter).guarded.decideWithout(policy, encoded, cost, error));
  });
  if (!isAllowed(decisions)) decisions.forEach((decision, i) => void undo(charges[i] as LimiterCharge, decision));
  return decisions;
}

/**
 * Returns the tokens of the groups before the one that refused. Then peeks at the limiters that were charged or not yet
 * asked, for their numbers.
 */
function undoAll(charges: readonly LimiterCharge[], taken: Decisions, made: Decisions): Decisions | Promise<Decisions> {
  // After a store has failed, no wait is exact. The stores that were not called may take as long to fail.
  const failed = made.some((decision) => decision?.degraded);
  const after = charges.map((charge, i) => (): Decision | null | Promise<Decision | null> => {
    const decision = made[i] ?? null;
    const mustPeek = decision === null ? !failed : taken[i] && !decision.degraded;
    return mustPeek ? peekIfPossible(charge) : decision;
  });
  return giveBackAll(charges, taken, () => startAll(after, (decisions) => decisions));
}

/** Returns the tokens of all charges that were made, then calls `next`. */
function giveBackAll<R>(charges: readonly LimiterCharge[], taken: Decisions, next: () => R | Promise<R>): R | Promise<R> {
  return startAll<void, R>(
    taken.map((decision, i) => () => (decision ? undo(charges[i] as LimiterCharge, decision) : undefined)), next,
  );
}

/** Returns the tokens of a charge. If that fails, the tokens stay taken: too few are granted, never too many. */
function undo(charge: LimiterCharge, decision: Decision): void | Promise<void> {
  return orElse<void>(() => giveBack(charge, decision), () => undefined);
}

/** Null when the store fails, or cannot be asked for it. */
function peekIfPossible(charge: LimiterCharge): Decision | null | Promise<Decision | null> {
  return orElse<Decision | null>(() => peekAt(charge), () => null);
}

function isAllowed(decisions: readonly Decision[]): boolean {
  return decisions.every(({ allowed }) => allowed);
}
