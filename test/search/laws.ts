// The laws of the design, on a state and on a step of a world. Written from their words, and not from the code.
import type { Bucket, Decision, Limit, Policy, Reading } from "../../src/core/model.js";
import { at, type StoreState, type WorldFacts } from "./state.js";

/** One decision, and the records before and after it. */
export interface DecisionStep {
  readonly before: ReadonlyMap<string, Bucket>;
  readonly after: ReadonlyMap<string, Bucket>;
  readonly policy: Policy;
  readonly decision: Decision;
  readonly now: number;
}

/** The law that a state breaks, and how. */
export function stateLaw(facts: WorldFacts, state: StoreState, now: number): string | undefined {
  for (const [place, limit] of (facts.policies[0] as Policy).limits.entries()) {
    const broken = limit.returns !== undefined ? inFlight(facts, state, place, now) : limit.renews !== undefined ? quota(facts, state, place) : rate(facts, state, place);
    if (broken !== undefined) return broken;
  }
  return undefined;
}

// L1: in every window, at most the capacity and what refills in it. What was filled from outside within it comes on top,
// as do one token for another version of the numbers, and what was credited.
function rate({ policies, instants }: WorldFacts, { ledger, time }: StoreState, place: number): string | undefined {
  const versions = policies.map(({ limits }) => limits[place] as Limit);
  const capacity = Math.max(...versions.map((limit) => limit.capacity)) + (versions.length - 1) + ledger.credited;
  const perMs = Math.max(...versions.map(({ unitsPerMs, unitsPerToken }) => unitsPerMs / unitsPerToken));
  for (let from = 0; from <= time; from++) {
    let [sum, filled] = [0, 0];
    for (let to = from; to <= time; to++) {
      sum += ledger.charged[to]?.[place] as number;
      filled += ledger.filled[to]?.[place] as number;
      const windowMs = (instants[to] as number) - (instants[from] as number);
      if (sum > capacity + filled + perMs * windowMs + 1e-9) return `L1: ${sum} tokens of "${versions[0]?.name}" within ${windowMs} ms, from ${instants[from]}`;
    }
  }
  return undefined;
}

// L20: in each period, at most the capacity, and one capacity more for each reset, loss of data or step of the clock.
function quota({ policies, instants }: WorldFacts, { ledger, behindMs }: StoreState, place: number): string | undefined {
  const limit = policies[0]?.limits[place] as Limit;
  const periods = new Map<number, number>();
  for (const [time, charged] of ledger.charged.entries()) {
    const period = limit.kind.dateOf((instants[time] as number) - behindMs);
    periods.set(period, (periods.get(period) ?? 0) + (charged[place] as number));
  }
  const filled = ledger.filled.reduce((sum, tokens) => sum + (tokens[place] as number), 0);
  const [period, most] = [...periods].reduce((a, b) => (b[1] > a[1] ? b : a));
  return most > limit.capacity + filled ? `L20: ${most} tokens of "${limit.name}" in the period until ${period}` : undefined;
}

// L21: at most the capacity of tokens that were taken or renewed within `staleAfterMs` and not given back.
function inFlight({ policies, cost }: WorldFacts, { ledger }: StoreState, place: number, now: number): string | undefined {
  const limit = policies[0]?.limits[place] as Limit;
  const held = ledger.held.filter(({ until }) => until > now).length * at(cost, place);
  return held > limit.capacity * (1 + ledger.forgotten) ? `L21: ${held} of ${limit.capacity} tokens of "${limit.name}" in flight` : undefined;
}

/** L14: other numbers lose or gain less than one unit of either. */
export function changeLaw({ real }: WorldFacts, records: ReadonlyMap<string, Bucket>, [old, next]: readonly [Policy, Policy], now: number): string | undefined {
  const [before, after] = [old, next].map((policy) => spentTokens(policy, readingsOf(real.peekRecords(new Map(records), policy, 0, now))));
  for (const [place, limit] of old.limits.entries()) {
    const unit = 2 / limit.unitsPerToken + 2 / (next.limits[place] as Limit).unitsPerToken;
    const difference = (after?.[place] as number) - (before?.[place] as number);
    if (Math.abs(difference) > unit * Math.max(limit.unitsPerMs, (next.limits[place] as Limit).unitsPerMs)) return `L14: new numbers changed what is spent of "${limit.name}" by ${difference}`;
  }
  return undefined;
}

// What is spent, by the time until all of it is back. Exact to what refills in one millisecond.
const spentTokens = ({ limits }: Policy, readings: readonly Reading[]): number[] =>
  readings.map(({ resetMs }, place) => (resetMs * (limits[place] as Limit).unitsPerMs) / (limits[place] as Limit).unitsPerToken);

/** The law that a decision breaks, and how. */
export function stepLaw(facts: WorldFacts, step: DecisionStep): string | undefined {
  const { decision } = step;
  if (![null, "limited", "cost_above_capacity"].includes(decision.reason) || decision.allowed !== (decision.reason === null)) {
    return `L11: allowed ${decision.allowed} with the reason ${decision.reason}`;
  }
  return decision.allowed ? afterGrant(facts, step) : afterRefusal(facts, step);
}

// L10, L19: each limit gave its own cost. L4: a record with nothing spent changes no answer. L5: when `resetMs` is over, the
// whole capacity is there at once.
function afterGrant({ real, cost }: WorldFacts, { before, after, policy, now, decision }: DecisionStep): string | undefined {
  const [had, has] = [before, after].map((records) => readingsOf(real.peekRecords(new Map(records), policy, 0, now)));
  for (const [place, { limit, remaining }] of (has as Reading[]).entries()) {
    const expected = (had?.[place]?.remaining as number) - at(cost, place);
    if (remaining !== expected) return `L10, L19: ${remaining} tokens of "${limit}" are left, not ${expected}`;
  }
  const again = real.consumeRecords(withoutFull(real, before, policy, now), policy, cost, now).decision;
  if (!same(again, decision)) return "L4: a record with nothing spent changed the answer";
  const resetMs = Math.max(...readingsOf(decision).map((reading) => reading.resetMs));
  const all = policy.limits.length === 1 ? (policy.limits[0] as Limit).capacity : policy.limits.map(({ capacity }) => capacity);
  const full = real.peekRecords(new Map(after), policy, all, now + resetMs);
  return full.allowed ? undefined : `L5: the bucket is not full after its ${resetMs} ms`;
}

// L3: a refusal spends nothing. L2: it holds until its wait is over, and not longer.
function afterRefusal({ real, cost }: WorldFacts, { before, after, policy, decision, now }: DecisionStep): string | undefined {
  const [had, has] = [before, after].map((records) => real.peekRecords(new Map(records), policy, 0, now));
  if (!same(had as Decision, has as Decision)) return "L3: a refusal changed what is left";
  if (decision.reason !== "limited") return undefined;
  // A refusal by a limit in flight says when to ask again.
  const isAsk = readingsOf(decision).some(({ inFlight: flies, retryAfterMs }) => flies === true && retryAfterMs > 0);
  if (isAsk) return undefined;
  const { retryAfterMs } = decision;
  // A step of the clock adds at most one full refill, and no wait is longer than one.
  const fullMs = Math.max(...policy.limits.map((limit) => limit.fullMs));
  if (retryAfterMs > 2 * fullMs && decision.blocked !== true) return `L6: a wait of ${retryAfterMs} ms, and all is full after ${fullMs} ms`;
  const early = real.peekRecords(new Map(after), policy, cost, now + retryAfterMs - 1);
  if (early.allowed) return `L2: allowed 1 ms before the wait of ${retryAfterMs} ms is over`;
  const there = real.peekRecords(new Map(after), policy, cost, now + retryAfterMs);
  return there.allowed ? undefined : `L2: refused after the wait of ${retryAfterMs} ms`;
}

function withoutFull(real: WorldFacts["real"], records: ReadonlyMap<string, Bucket>, policy: Policy, now: number): Map<string, Bucket> {
  const full = readingsOf(real.peekRecords(new Map(records), policy, 0, now)).filter(({ resetMs }) => resetMs === 0).map(({ limit }) => limit);
  return new Map([...records].filter(([name]) => !full.some((limit) => name === limit || name.startsWith(`~${limit}.`))));
}

const readingsOf = (decision: Decision): readonly Reading[] => decision.limits ?? [decision];
const same = (a: Decision, b: Decision): boolean => JSON.stringify(a) === JSON.stringify(b);
