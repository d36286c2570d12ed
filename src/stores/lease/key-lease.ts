import type { Bucket } from "../../core/bucket.js";
import type { Decision } from "../../core/decision.js";
import { consume, peek } from "../../core/decide.js";
import { countRequest, firstDemand, type Demand } from "./demand.js";
import { afterGrant, afterTake, grantable, keepableNow, keptBy, mostSpent, NOTHING_HELD, type HeldTokens } from "./held.js";
import { plan } from "./plan.js";
import { adjusted, isDry, learn, refusal, unknownSupply, type Supply } from "./supply.js";
import { isWithin, type LeaseInstant, type LeaseTerms, type Take } from "./terms.js";

/** The lease of one key in one process. Never changes: each event makes another one. */
export interface LeaseState {
  readonly terms: LeaseTerms;
  readonly demand: Demand;
  readonly held: HeldTokens;
  readonly supply: Supply;
  /** The store's bucket by its last answer, as if the unused tokens were still in it. */
  readonly bucket: Readonly<Bucket>;
  /** When the call that is under way was sent. */
  readonly flight: LeaseInstant | null;
  /** Late answers in a row, and the instant until which the store decides each request. */
  readonly late: number;
  readonly pausedUntil: number;
  readonly isEnded: boolean;
}

/** What a lease is told. Time comes with the event. */
export type LeaseEvent =
  /** A request, which is counted. */
  | { readonly what: "request"; readonly cost: number; readonly now: LeaseInstant }
  /** A request that came at `since` again, after a call that it waited for or one of the `calls` that it made. */
  | { readonly what: "again"; readonly cost: number; readonly now: LeaseInstant; readonly since: number; readonly calls: number }
  /** The store's answer to a call, which the request of `cost` made. */
  | AnsweredEvent
  /** The call failed: nothing is known of it. */
  | { readonly what: "failed"; readonly take: Take }
  /** Tokens go back to the store in another way. */
  | { readonly what: "refunding"; readonly tokens: number }
  /** The store took so many tokens in another way, or got them back if below 0. */
  | { readonly what: "adjusted"; readonly tokens: number }
  | { readonly what: "ended" };

/** What a lease wants done. */
export type LeaseEffect =
  | { readonly what: "decide"; readonly decision: Decision }
  /** Take tokens from the store, and report its answer. */
  | { readonly what: "call"; readonly take: Take }
  /** Wait for the call that is under way, then ask again. */
  | { readonly what: "wait" }
  /** Ask the same once more. */
  | { readonly what: "again" }
  /** Let the store decide this request alone. `forget`: the key is cold, and no token is held for it. */
  | { readonly what: "pass" | "forget" }
  | { readonly what: "nothing" };

interface AnsweredEvent {
  readonly what: "answered";
  readonly take: Take;
  readonly answer: Decision;
  readonly cost: number;
  readonly now: LeaseInstant;
}

export interface LeaseStep {
  readonly state: LeaseState;
  readonly effect: LeaseEffect;
}

// After the second late answer in a row a key is not leased for `leaseMs` times 2, then 4, 8 and so on. One alone says
// little: it may be this process that was blocked.
const MOST_LATE = 7;
/** A key is not leased for so many `leaseMs` after a change of its numbers. */
const AFTER_CHANGE = 10;
// The first may ask for more than is there.
const MOST_CALLS = 2;
const PASS: LeaseEffect = { what: "pass" };
const FORGET: LeaseEffect = { what: "forget" };
const WAIT: LeaseEffect = { what: "wait" };
const ASK_AGAIN: LeaseEffect = { what: "again" };
const NOTHING: LeaseEffect = { what: "nothing" };

/**
 * Begins without tokens. The requests that made the key hot are counted, except the one under way. A lease that follows
 * one under other numbers waits: numbers that alternate would lose the tokens of each.
 */
export function beginLease(terms: LeaseTerms, cost: number, { steady }: LeaseInstant, isOther: boolean): LeaseState {
  const { unitsPerMs, unitsPerToken } = terms.limit;
  return {
    terms, demand: firstDemand(cost, steady), held: NOTHING_HELD, supply: unknownSupply(steady),
    bucket: { spent: 0, at: 0, unitsPerMs, unitsPerToken }, flight: null, late: 0, isEnded: false,
    pausedUntil: isOther ? steady + AFTER_CHANGE * terms.leaseMs : -Infinity,
  };
}

/** The next state after an event, and what to do. Reads no clock and changes nothing. */
export function step(state: LeaseState, event: LeaseEvent): LeaseStep {
  switch (event.what) {
    case "request": {
      const demand = countRequest(state.demand, event.cost, event.now.steady, state.terms.leaseMs);
      const counted = stateWith(state, demand, state.held, state.bucket);
      return isCold(counted, event.now) ? { state: counted, effect: FORGET } : ask(counted, event, event.now.steady, 0);
    }
    case "again":
      return ask(state, event, event.since, event.calls);
    case "answered":
      return answered(state, event);
    case "failed":
      return { state: landed(state, event.take), effect: NOTHING };
    case "adjusted": {
      const { bucket, supply, terms } = state;
      const spent = Math.max(0, bucket.spent + event.tokens * bucket.unitsPerToken);
      const after = { ...state, bucket: { ...bucket, spent }, supply: adjusted(supply, terms, event.tokens) };
      return { state: after, effect: NOTHING };
    }
    case "refunding":
      return { state: { ...state, held: { ...state.held, taken: state.held.taken - event.tokens } }, effect: NOTHING };
    case "ended":
      return { state: { ...state, held: NOTHING_HELD, isEnded: true }, effect: NOTHING };
  }
}

/** The decision that a request would get without a call. Null when the store must be asked. */
export function peekLease(state: LeaseState, cost: number, now: LeaseInstant): Decision | null {
  const { terms, held, bucket } = state;
  return cost > grantable(held, terms, now) ? null : peek([bucketForGrants(state, now)], terms.policy, cost, bucket.at);
}

/** Whether tokens are held or on their way. */
export function isInUse({ held, flight }: LeaseState): boolean {
  return held.fresh + held.kept > 0 || flight !== null;
}

/** Unused tokens that may go back to the store if the call takes less than `leaseMs`. */
export function returnable(state: LeaseState, now: LeaseInstant): number {
  return keepableNow(state, now, state.terms.leaseMs);
}

interface LeaseRequest {
  readonly cost: number;
  readonly now: LeaseInstant;
}

/** What becomes of a request that came at `since` and has made `calls` calls. */
function ask(state: LeaseState, { cost, now }: LeaseRequest, since: number, calls: number): LeaseStep {
  const { terms, supply, flight } = state;
  const { leaseMs } = terms;
  if (cost <= grantable(state.held, terms, now)) return grant(state, cost, now);
  if (flight !== null) {
    const isSoon = flight.steady > now.steady - leaseMs && now.steady - since < leaseMs / 2;
    return { state, effect: isSoon ? WAIT : PASS };
  }
  if (state.isEnded || now.steady < state.pausedUntil || calls >= MOST_CALLS) return { state, effect: PASS };
  if (isDry(supply, terms, cost, keepableNow(state, now), now.steady)) {
    return { state, effect: { what: "decide", decision: refusal(supply, terms, state.bucket, cost, now.steady) } };
  }
  return { state: { ...state, flight: now }, effect: { what: "call", take: plan(state, cost, now) } };
}

function isCold(state: LeaseState, now: LeaseInstant): boolean {
  return !state.demand.isHot && state.flight === null && keepableNow(state, now) === 0;
}

function grant(state: LeaseState, cost: number, now: LeaseInstant): LeaseStep {
  const { terms, bucket: { spent, at, unitsPerMs, unitsPerToken } } = state;
  const decision = consume([bucketForGrants(state, now)], terms.policy, cost, at);
  const bucket = { spent: spent + cost * unitsPerToken, at, unitsPerMs, unitsPerToken };
  const held = afterGrant(state.held, terms, cost, now);
  return { state: stateWith(state, state.demand, held, bucket), effect: { what: "decide", decision } };
}

/** The bucket that grants are read from. A debt or block of now does not reach the tokens that were taken before it. */
function bucketForGrants({ bucket, terms, held }: LeaseState, now: LeaseInstant): Bucket {
  const { size, unitsPerToken } = terms.limit;
  const { at, unitsPerMs } = bucket;
  const spent = Math.min(bucket.spent, size - grantable(held, terms, now) * unitsPerToken);
  return { spent, at, unitsPerMs, unitsPerToken: bucket.unitsPerToken };
}

function answered(before: LeaseState, event: AnsweredEvent): LeaseStep {
  const { take, answer, now, cost } = event;
  const state = { ...landed(before, take), supply: learn(before.supply, before.terms, take, answer, now.steady) };
  const { terms, held } = state;
  if (!answer.allowed) {
    const refused = { ...state, bucket: bucketBy(state, answer, grantable(held, terms, now)) };
    // The store's own refusal is exact, unless this process asks later than it says.
    const isExact = take.ask === cost && !refused.supply.isResting;
    return { state: refused, effect: isExact ? { what: "decide", decision: answer } : ASK_AGAIN };
  }
  const kept = state.isEnded ? 0 : keptBy(held, terms, { take, answer, now });
  const taken: LeaseState = {
    ...state,
    ...lateness(state, take.sent, now),
    held: afterTake(held, terms, { take, answer, now }, kept),
    bucket: bucketBy(state, answer, take.ask + kept),
  };
  // The store has decided on the cost itself, however late its answer is.
  const { state: after, effect } = take.ask + kept < cost ? { state: taken, effect: ASK_AGAIN } : grant(taken, cost, now);
  return { state: state.isEnded ? { ...after, held: NOTHING_HELD } : after, effect };
}

/** The store's bucket by `answer`, as if `unused` tokens were still in it. */
function bucketBy({ bucket, terms: { limit } }: LeaseState, answer: Decision, unused: number): Bucket {
  // A refusal without a token left may be a debt: more is spent than the bucket holds.
  const spent = answer.allowed || answer.remaining > 0 ? mostSpent(answer, limit) : answer.resetMs * limit.unitsPerMs;
  return { ...bucket, at: answer.at, spent: Math.max(0, spent - unused * limit.unitsPerToken) };
}

// Every request makes two states. With spreads in their place, and in `afterGrant`, it takes three times as long.
function stateWith(
  { terms, supply, flight, late, isEnded, pausedUntil }: LeaseState, demand: Demand, held: HeldTokens, bucket: Readonly<Bucket>,
): LeaseState {
  return { terms, demand, held, supply, bucket, flight, late, isEnded, pausedUntil };
}

function landed(state: LeaseState, { sent }: Take): LeaseState {
  return state.flight === sent ? { ...state, flight: null } : state;
}

// A store that answers late would make every request wait for a lease that cannot be used.
function lateness(state: LeaseState, sent: LeaseInstant, now: LeaseInstant): Pick<LeaseState, "late" | "pausedUntil"> {
  const { terms, late, pausedUntil } = state;
  if (isWithin(terms.leaseMs, sent, now)) return { late: 0, pausedUntil };
  const next = Math.min(late + 1, MOST_LATE);
  return { late: next, pausedUntil: next > 1 ? now.steady + terms.leaseMs * 2 ** (next - 1) : pausedUntil };
}
