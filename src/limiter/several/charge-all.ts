import { checkAnswer, limiterChecks } from "#diagnostics";
import { expected } from "../../core/check.js";
import { monotonicClock } from "../../core/clock.js";
import type { Decision } from "../../core/decision.js";
import { bucketId, samePolicy, type Policy } from "../../core/policy.js";
import { markCharged } from "../../port/charged.js";
import type { Charge, Store } from "../../port/store.js";
import { holdingOf } from "../../port/dated.js";
import { sumOfCharges, type Claim, type LimiterCharge } from "../charge.js";
import { orElse, startAll, thenOne } from "../now-or-later.js";
import { askFor, giveBack, plainInternalsOf } from "../parts.js";

type Decisions = ReadonlyArray<Decision | null>;

/**
 * Returns one claim for each bucket. Parts on one bucket are charged the sum of their costs. Throws a TypeError for two
 * tiers of one name on one bucket.
 */
export function claimsOf(charges: ReadonlyArray<LimiterCharge | null>): readonly Claim[] {
  const claims: Claim[] = [];
  charges.forEach((charge, part) => {
    if (charge === null) return;
    const i = claims.findIndex((claim) => claim.charge.shadow === charge.shadow && isSameBucket(claim.charge, charge));
    if (i < 0) return void claims.push({ charge, parts: [part], own: [charge] });
    const same = claims[i] as Claim;
    checkSameNumbers(same.charge.policy, charge.policy);
    claims[i] = { charge: sumOfCharges(same.charge, charge), parts: [...same.parts, part], own: [...same.own, charge] };
  });
  return claims;
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

/** The decision of each part, from those of the claims. */
export function partsOfClaims(size: number, claims: readonly Claim[], decisions: Decisions): Decisions {
  const parts = Array<Decision | null>(size).fill(null);
  claims.forEach((claim, i) => {
    for (const part of claim.parts) parts[part] = decisions[i] ?? null;
  });
  return parts;
}

/** Charges all claims or none of them. Returns the decision on each, or null for one that was not asked. */
export function chargeAll(claims: readonly Claim[]): Decisions | Promise<Decisions> {
  return chargeGroups(claims, groupsOf(claims), []);
}

/**
 * The positions of claims that are charged in one step. Claims on a store with `consumeTogether` are one group, if the
 * store can take them together. Any other claim is a group of its own. So is one in shadow mode, because its refusal
 * must not refuse the others.
 */
function groupsOf(claims: readonly Claim[]): readonly number[][] {
  const groups: number[][] = [];
  const byStore = new Map<Store, number[]>();
  claims.forEach(({ charge: { limiter: { store }, shadow } }, i) => {
    const known = shadow ? undefined : byStore.get(store);
    if (known !== undefined) return void known.push(i);
    const group = [i];
    groups.push(group);
    if (!shadow && store.consumeTogether !== undefined) byStore.set(store, group);
  });
  return groups.flatMap((group) => {
    const isApart = group.length > 1 && storeOf(claims, group).takesTogether?.(storeCharges(claims, group)) === false;
    return isApart ? group.map((i) => [i]) : [group];
  });
}

function storeOf(claims: readonly Claim[], group: readonly number[]): Store {
  return (claims[group[0] as number] as Claim).charge.limiter.store;
}

function storeCharges(claims: readonly Claim[], group: readonly number[]): readonly Charge[] {
  return group.map((i) => {
    const { policy, encoded, cost } = (claims[i] as Claim).charge;
    return { policy, key: encoded, cost };
  });
}

/** Charges group by group until one refuses. */
function chargeGroups(claims: readonly Claim[], groups: readonly number[][], made: Decisions): Decisions | Promise<Decisions> {
  const [group, ...rest] = groups;
  if (group === undefined) return claims.map((_, i) => made[i] ?? null);
  // A store without a guard throws, and so does a clock that is not finite. The earlier groups must not stay charged.
  const charged = orElse(() => chargeGroup(claims, group), (error) => giveBackAll(claims, made, () => {
    throw error;
  }));
  return thenOne(charged, (decisions) => {
    const next = [...made];
    group.forEach((position, i) => (next[position] = decisions[i] as Decision));
    return isAllowed(decisions) ? chargeGroups(claims, rest, next) : undoAll(claims, made, next);
  });
}

/** Makes the charges of one group, or none. When the store fails, each limiter decides by its `onStoreError`. */
function chargeGroup(claims: readonly Claim[], group: readonly number[]): readonly Decision[] | Promise<readonly Decision[]> {
  const charges = group.map((i) => (claims[i] as Claim).charge);
  const [first] = charges as [LimiterCharge];
  if (group.length === 1) return thenOne(askFor(first), (decision) => [decision]);
  const store = storeOf(claims, group);
  const { guarded } = plainInternalsOf(first.limiter);
  const buckets = charges.map(({ policy, encoded }) => bucketId(policy, encoded));
  const sentAt = monotonicClock();
  const learn = (decisions: readonly Decision[]): readonly Decision[] => {
    if (!store.sync)
      decisions.forEach((decision, i) =>
        plainInternalsOf((charges[i] as LimiterCharge).limiter).guarded.learnTime(decision, sentAt),
      );
    // When one limit refuses, nothing was taken, so the other decisions must not be settled.
    if (!isAllowed(decisions)) return decisions;
    return charges.map(({ policy, encoded }, i) => {
      const decision = markCharged(decisions[i] as Decision, store, encoded);
      if (limiterChecks) limiterChecks.watchHeld(store, policy, decision);
      return decision;
    });
  };
  let isOver = false;
  const send = (): readonly Decision[] | Promise<readonly Decision[]> =>
    thenOne(chargeTogether(store, storeCharges(claims, group)), (decisions) => {
      if (isOver && isAllowed(decisions)) releaseAllLate(charges, decisions);
      return decisions;
    });
  return orElse(() => thenOne(guarded.call(buckets, send), learn), (error) => {
    isOver = true;
    return decideWithout(charges, error);
  });
}

// An answer that came after its timeout: what it took in flight must not be held until its date.
function releaseAllLate(charges: readonly LimiterCharge[], decisions: readonly Decision[]): void {
  charges.forEach(({ limiter: { store }, policy, encoded: key }, i) =>
    holdingOf(policy)?.giveBackLate({ store, policy, key, decision: decisions[i] as Decision }));
}

function chargeTogether(store: Store, charges: readonly Charge[]): readonly Decision[] | Promise<readonly Decision[]> {
  return thenOne(store.consumeTogether?.(charges) as readonly Decision[] | Promise<readonly Decision[]>, (decisions) => {
    const isComplete = Array.isArray(decisions) && decisions.length === charges.length;
    if (!isComplete) throw new TypeError(expected("store.consumeTogether()", `a list of ${charges.length} decisions`, decisions));
    return decisions.map((decision) => checkAnswer(decision, "consumeTogether"));
  });
}

/**
 * Each limiter decides without the store. When one refuses, the tokens that the others took in this process are
 * returned.
 */
function decideWithout(charges: readonly LimiterCharge[], error: unknown): readonly Decision[] {
  const decisions = charges.map(({ limiter, policy, encoded, cost }) => {
    return plainInternalsOf(limiter).guarded.decideWithout(policy, encoded, cost, error);
  });
  if (!isAllowed(decisions)) decisions.forEach((decision, i) => void undo(charges[i] as LimiterCharge, decision));
  return decisions;
}

/**
 * Returns the tokens of the groups before the one that refused. Then peeks at the limiters that were charged or not yet
 * asked, for their numbers.
 */
function undoAll(claims: readonly Claim[], taken: Decisions, made: Decisions): Decisions | Promise<Decisions> {
  // After a store has failed, no wait is exact. The stores that were not called may take as long to fail.
  const failed = made.some((decision) => decision?.degraded);
  const after = claims.map(({ charge }, i) => (): Decision | null | Promise<Decision | null> => {
    const decision = made[i] ?? null;
    const mustPeek = decision === null ? !failed : taken[i] && !decision.degraded;
    return mustPeek ? peekAt(charge) : decision;
  });
  return giveBackAll(claims, taken, () => startAll(after, (decisions) => decisions));
}

/** Returns the tokens of all claims that were charged, then calls `next`. */
function giveBackAll<R>(claims: readonly Claim[], taken: Decisions, next: () => R | Promise<R>): R | Promise<R> {
  return startAll<void, R>(
    taken.map((decision, i) => () => (decision ? undo((claims[i] as Claim).charge, decision) : undefined)), next,
  );
}

/** Returns the tokens of a charge. If that fails, the tokens stay taken: too few are granted, never too many. */
function undo(charge: LimiterCharge, decision: Decision): void | Promise<void> {
  return orElse<void>(() => giveBack(charge, decision), () => undefined);
}

/** Returns the limiter's decision without taking tokens, or null when its store has no `peek` or fails. */
function peekAt({ limiter, key, asked }: LimiterCharge): Decision | null | Promise<Decision | null> {
  return limiter.store.peek === undefined
    ? null
    : orElse<Decision | null>(
        () => plainInternalsOf(limiter).acts.peek(key, asked)(),
        () => null,
      );
}

function isAllowed(decisions: readonly Decision[]): boolean {
  return decisions.every(({ allowed }) => allowed);
}
