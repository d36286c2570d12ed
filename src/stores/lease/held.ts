import type { Allowed, Decision } from "../../core/decision.js";
import type { Limit } from "../../core/limit.js";
import { isWithin, type LeaseInstant, type LeaseTerms, type Take } from "./terms.js";

/**
 * The tokens that a process has taken ahead. The store has charged all of them.
 *
 * They are granted until `leaseMs` after the last call was sent. That call kept the unused tokens of the call before,
 * as if it gave them back and took them again. A token lapses two `leaseMs` after the call that took it.
 */
export interface HeldTokens {
  /** Unused tokens that the last call took, and unused ones that it kept. */
  readonly fresh: number;
  readonly kept: number;
  /** When the last call was sent, and the one that took the oldest of the kept tokens. */
  readonly sent: LeaseInstant;
  readonly keptSent: LeaseInstant;
  /** The tokens that the last call took and kept, used ones included. */
  readonly taken: number;
  /** The instant of the store's answer, and the units that were spent then: readings are rounded. */
  readonly at: number;
  readonly spentLeast: number;
  readonly spentMost: number;
}

const BEFORE_ALL: LeaseInstant = { steady: -Infinity, wall: -Infinity };
export const NOTHING_HELD: HeldTokens = {
  fresh: 0, kept: 0, sent: BEFORE_ALL, keptSent: BEFORE_ALL, taken: 0, at: 0, spentLeast: 0, spentMost: 0,
};

/** Tokens that may be granted at `now`. */
export function grantable(held: HeldTokens, { leaseMs }: LeaseTerms, now: LeaseInstant): number {
  return isWithin(leaseMs, held.sent, now) ? held.fresh + keptAt(held, leaseMs, now) : 0;
}

/** What is held after a grant of `cost` tokens. The oldest go first. */
export function afterGrant(held: HeldTokens, { leaseMs }: LeaseTerms, cost: number, now: LeaseInstant): HeldTokens {
  const kept = keptAt(held, leaseMs, now);
  const oldest = Math.min(kept, cost);
  const { sent, keptSent, taken, at, spentLeast, spentMost } = held;
  return { fresh: held.fresh - (cost - oldest), kept: kept - oldest, sent, keptSent, taken, at, spentLeast, spentMost };
}

/**
 * Unused tokens that a call may keep if the store answers it `ageMs` after its last answer, with at least `spent` units
 * spent by then.
 *
 * What refills counts against all charged tokens in proportion. So the leases of all processes together never keep more
 * than is spent, and none needs to know the others. If less is spent than can be left, some was given back, or the
 * bucket was reset or lost: the part that may be kept shrinks as much.
 */
function keepable(held: HeldTokens, { limit, leaseMs }: LeaseTerms, now: LeaseInstant, ageMs: number, spent = Infinity): number {
  if (held.spentMost === 0 || !isWithin(2 * leaseMs, held.sent, now)) return 0;
  const left = Math.min(held.spentLeast - Math.max(0, ageMs) * limit.unitsPerMs, spent);
  const part = Math.floor(held.taken * (left / held.spentMost));
  return Math.max(0, Math.min(held.fresh + keptAt(held, leaseMs, now), part));
}

/** What a process holds of a key, and under which terms. */
export interface Holding {
  readonly held: HeldTokens;
  readonly terms: LeaseTerms;
}

/** Unused tokens that a call at `now` may keep if the store carries it out `longerMs` later. */
export function keepableNow({ held, terms }: Holding, now: LeaseInstant, longerMs = 0): number {
  return keepable(held, terms, now, now.steady - held.sent.steady + longerMs);
}

/** A call that the store allowed, and when the answer came. */
export interface Answered {
  readonly take: Take;
  readonly answer: Allowed;
  readonly now: LeaseInstant;
}

/** Unused tokens that a call keeps. */
export function keptBy(held: HeldTokens, terms: LeaseTerms, { take: { ask }, answer, now }: Answered): number {
  const { size, unitsPerToken } = terms.limit;
  const spent = leastSpent(answer, terms.limit);
  // After a debit, more may be spent than the bucket holds. Unused tokens pay for that first, so they lapse.
  const debt = Math.max(0, Math.ceil((spent - size) / unitsPerToken));
  // The longer of two measures of one time: each may be short where a clock stepped back.
  const ageMs = Math.max(answer.at - held.at, now.steady - held.sent.steady);
  return Math.max(0, keepable(held, terms, now, ageMs, spent - ask * unitsPerToken) - debt);
}

/** What is held after a call that keeps `kept` tokens. */
export function afterTake(
  held: HeldTokens, { limit, leaseMs }: LeaseTerms, { take, answer, now }: Answered, kept: number,
): HeldTokens {
  const { ask, sent } = take;
  const keptSent = keptAt(held, leaseMs, now) > 0 ? held.keptSent : held.sent;
  const [spentLeast, spentMost] = [leastSpent(answer, limit), mostSpent(answer, limit)];
  return { fresh: ask, kept, sent, keptSent, taken: ask + kept, at: answer.at, spentLeast, spentMost };
}

/** The least units that may be spent after `answer`. */
function leastSpent({ remaining, resetMs }: Decision, { size, unitsPerMs, unitsPerToken }: Limit): number {
  return Math.max(0, size - (remaining + 1) * unitsPerToken + 1, (resetMs - 1) * unitsPerMs + 1);
}

/** The most units that may be spent after `answer`, which is no debt. */
export function mostSpent({ remaining, resetMs }: Decision, { size, unitsPerMs, unitsPerToken }: Limit): number {
  return Math.min(size - remaining * unitsPerToken, resetMs * unitsPerMs);
}

function keptAt({ kept, keptSent }: HeldTokens, leaseMs: number, now: LeaseInstant): number {
  return kept > 0 && isWithin(2 * leaseMs, keptSent, now) ? kept : 0;
}
