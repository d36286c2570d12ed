// The laws of the design, on a state and on a step of a world. Written from their words, and not from the code.
import type { Bucket, Limit, Policy } from "../../src/core/model.js";
import type { Decision, Reading } from "../../src/core/decision.js";
import { beyond, counted, inStretch, isWindow, spentTokens } from "./accounts.js";
import { at, type Account, type StoreState, type WorldFacts } from "./state.js";

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
    const broken = limit.kind.isInFlight ? inFlight(facts, state, place, now)
      : isWindow(limit) ? window(facts, state, place)
      : limit.renews !== undefined ? quota(facts, state, place) : rate(facts, state, place);
    if (broken !== undefined) return broken;
  }
  return undefined;
}

// L1: in every window that ends now, charges minus what was given back of them are at most the capacity, what refills in it,
// what works from before it gave back since it began, and what was filled from outside within it.
function rate(facts: WorldFacts, { ledger }: StoreState, place: number): string | undefined {
  const versions = facts.policies.map(({ limits }) => limits[place] as Limit);
  const capacity = Math.max(...versions.map((limit) => limit.capacity));
  const { moments, charged, filled, returned } = ledger;
  const tokens = beyond(facts, place, moments, moments.at(-1) as number, charged[place] as Account, filled[place] as Account, returned[place] as Account);
  return tokens > capacity + 1e-9 ? `L1: ${tokens} tokens of "${versions[0]?.name}" beyond what came back, and at most ${capacity} may be` : undefined;
}

// L20: in each period, at most the capacity, once more for each reset, loss of data or credit within it, and once more for
// each step of the clock.
function quota({ policies }: WorldFacts, { ledger, stepsBack }: StoreState, place: number): string | undefined {
  const { capacity, name } = (policies[0] as Policy).limits[place] as Limit;
  for (const [period, tokens] of ledger.charged[place] as Account) {
    const allowed = capacity * (1 + stepsBack) + (ledger.filled[place]?.get(period) ?? 0);
    if (tokens > allowed) return `L20: ${tokens} tokens of "${name}" in the period until ${period}`;
  }
  return undefined;
}

// L22: in the stretch that ends now, at most the capacity, and what credits, resets and losses of data put in within it. A step
// of the clock gives at most one cost of a neighbor back.
function window({ policies, cost }: WorldFacts, { ledger, stepsBack }: StoreState, place: number): string | undefined {
  const limit = (policies[0] as Policy).limits[place] as Limit;
  const sumOf = (account: Account | undefined): number => [...inStretch(account as Account, ledger.moments, limit).values()].reduce((a, b) => a + b, 0);
  const tokens = sumOf(ledger.charged[place]);
  const most = limit.capacity + sumOf(ledger.filled[place]) + stepsBack * at(cost, place);
  return tokens > most ? `L22: ${tokens} tokens of "${limit.name}" in a stretch, and at most ${most} may be` : undefined;
}

// L21: at most the capacity of tokens that were taken or renewed within `staleAfterMs` and not given back.
function inFlight({ policies, cost }: WorldFacts, { ledger }: StoreState, place: number, now: number): string | undefined {
  const limit = policies[0]?.limits[place] as Limit;
  const held = ledger.held.filter(({ until }) => until > now).length * at(cost, place);
  return held > limit.capacity * (1 + ledger.forgotten) ? `L21: ${held} of ${limit.capacity} tokens of "${limit.name}" in flight` : undefined;
}

/** L14: other numbers give no token, and take less than one unit. */
export function changeLaw({ real }: WorldFacts, before: ReadonlyMap<string, Bucket>, next: Policy, now: number): string | undefined {
  const after = new Map([...before].map(([name, bucket]) => [name, { ...bucket }]));
  real.adjustRecords(after, next, next.limits.length === 1 ? 0 : next.limits.map(() => 0), now);
  for (const [, limit] of counted(next)) {
    const taken = spentTokens(after, limit, now) - spentTokens(before, limit, now);
    if (taken < -1e-9 || taken > 1 / limit.unitsPerToken) return `L14: new numbers took ${taken} tokens of "${limit.name}"`;
  }
  return undefined;
}

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
  return new Map([...records].filter(([name]) => !full.some((limit) => name === limit || name.startsWith(`~${limit}.`) || name.startsWith(`^${limit}.`))));
}

const readingsOf = (decision: Decision): readonly Reading[] => decision.limits ?? [decision];
const same = (a: Decision, b: Decision): boolean => JSON.stringify(a) === JSON.stringify(b);
