import type { Decision } from "../core/decision.js";
import type { Store } from "../port/store.js";
import { storeCharges, type LimiterCharge } from "../limiter/charge.js";
import { internalsOf } from "../limiter/internals.js";
import type { Limiter } from "../limiter/limiter.js";

/**
 * The positions of limiters that are charged in one step. Groups are in the order of their first members. Limiters that
 * share a store with `consumeTogether` are one group. Any other limiter is a group with one member. So is a shadow
 * limiter, because its refusal must not refuse the others.
 */
export function groupsOf(limiters: readonly Limiter[]): number[][] {
  const groups: number[][] = [];
  const byStore = new Map<Store, number[]>();
  limiters.forEach((limiter, i) => {
    const { store, shadow } = internalsOf(limiter);
    const alone = shadow || store.consumeTogether === undefined;
    const known = alone ? undefined : byStore.get(store);
    if (known !== undefined) return void known.push(i);
    const group = [i];
    groups.push(group);
    if (!alone) byStore.set(store, group);
  });
  return groups;
}

/** The groups of one call. Charges that their store cannot make together become groups of one. */
export function splitGroups(groups: readonly number[][], charges: readonly LimiterCharge[]): readonly number[][] {
  return groups.flatMap((group) => {
    const inGroup = group.map((i) => charges[i] as LimiterCharge);
    const isApart = group.length > 1 && inGroup[0]?.limiter.store.takesTogether?.(storeCharges(inGroup)) === false;
    return isApart ? group.map((i) => [i]) : [group];
  });
}

/** Refunds a charge. If the refund fails, the tokens stay taken: too few are granted, never too many. */
export function undoCharge({ limiter, key, policy }: LimiterCharge, decision: Decision): void | Promise<void> {
  try {
    const done = limiter.refund(key, decision, { policy }) as void | Promise<void>;
    return done?.catch(() => undefined);
  } catch {
    return undefined;
  }
}

/** Returns the limiter's decision without taking tokens, or null when its store has no `peek` or fails. */
export function peekCharge({ limiter, key, asked }: LimiterCharge): Decision | null | Promise<Decision | null> {
  if (limiter.store.peek === undefined) return null;
  try {
    const decision = limiter.peek(key, asked);
    return decision instanceof Promise ? decision.catch(() => null) : decision;
  } catch {
    return null;
  }
}
