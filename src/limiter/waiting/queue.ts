import type { Decision } from "../../core/decision.js";
import { sameCosts } from "../../core/limit.js";
import type { Charges } from "../charge.js";
import { allFull, areThere, expectedAt, forecastAfter, mayReturn, NO_TOKENS, plus, sumOfTokens } from "./forecast.js";
import { dueOf, EARLY_MS, isLate, isUnsure, refuse, refuseLate, type Due } from "./lateness.js";
import { appended, findIn, firstOf, itemsOf, listOf, shifted, withoutItems } from "./list.js";
import type { Answer, NextQueue, QueuedCaller, QueueEvent, QueueRules, QueueState, Round, QueueStep } from "./queue-state.js";

/** How long a queue sleeps before it asks the store again, in case another process returned tokens. */
const POLL_MS = 1_000;

/** A queue without callers. */
export function emptyQueue(): QueueState {
  const unknown = { forecast: null, degraded: null, notBefore: -Infinity, isNews: false, isUnjudged: false, tripMs: 0 };
  return { line: listOf(), wanted: NO_TOKENS, soonest: Infinity, ...unknown, round: null };
}

/**
 * The next state of a queue at `now`, by the monotonic clock, and what to do. The callers of a queue wait for one key,
 * or for the same keys of several limiters.
 *
 * The queue calls the store in rounds. A round sends one call for each of the first callers, as many as the expected
 * tokens can serve. Granted tokens go to the first caller if it wants the same under the same policy. A round ends when
 * all its calls are answered and unused tokens are refunded. Then the queue sleeps until the next tokens are expected.
 */
export function nextQueue(before: QueueState, event: QueueEvent, now: number, rules: QueueRules): NextQueue {
  const step: QueueStep = { state: { ...before }, effects: [], now, rules };
  applyEvent(step, event);
  if (step.state.round?.open === 0) endRound(step, step.state.round);
  // A queue that has callers and no round sleeps already. One caller more changes when it wakes only by its own end.
  const isAsleep = before.round === null && firstOf(before.line) !== undefined;
  const sleepsOn = event.type === "joined" && isAsleep && step.state.soonest === before.soonest;
  if (step.state.round === null && !sleepsOn) goOn(step);
  return step;
}

function applyEvent(step: QueueStep, event: QueueEvent): void {
  const { state, now } = step;
  if (event.type === "joined") join(step, event.caller);
  else if (event.type === "left") leave(step, ({ id }) => event.ids.has(id));
  else if (event.type === "gathered") send(step);
  else if (event.type === "answered") handOut(step, { ...event, receivedAt: now });
  else if (event.type === "failed") failCall(step, event.caller, event.error);
  else if (event.type === "refunded") state.round = null;
  else if (event.type === "news") {
    state.isNews = true;
    if (state.round !== null) state.round = { ...state.round, isNews: true };
  }
}

/** Adds a caller. Refuses it at once when its tokens will come too late. */
function join(step: QueueStep, caller: QueuedCaller): void {
  const { state } = step;
  const wanted = plus(state.wanted, caller.wants);
  const due = dueOf(step, caller, wanted);
  if (isLate(step, caller, due, 0)) return refuse(step, caller, due.at, state.wanted);
  state.line = appended(state.line, caller);
  state.wanted = wanted;
  state.soonest = Math.min(state.soonest, caller.until);
  if (state.forecast === null || state.isNews) state.isUnjudged = true;
}

/** Removes callers from any place in the queue, and returns them. */
function leave({ state }: QueueStep, isGone: (caller: QueuedCaller) => boolean): readonly QueuedCaller[] {
  const gone = itemsOf(state.line).filter(isGone);
  if (gone[0] !== undefined && gone[0] === firstOf(state.line)) state.notBefore = -Infinity;
  state.line = withoutItems(state.line, isGone);
  state.wanted = plus(state.wanted, gone.flatMap(({ wants }) => wants), -1);
  return gone;
}

/** Removes the first caller, in constant time. */
function shift({ state }: QueueStep, { wants }: QueuedCaller): void {
  state.line = shifted(state.line);
  state.wanted = plus(state.wanted, wants, -1);
  state.notBefore = -Infinity;
}

/** Begins a round if tokens should be there. Otherwise sleeps until then. */
function goOn(step: QueueStep): void {
  const { state, effects, now, rules } = step;
  // The forecast may be early, and that must not refuse a caller. Hence the grace.
  if (now - state.soonest > rules.timeoutMs) refuseLate(step, rules.timeoutMs);
  const first = firstOf(state.line);
  if (first === undefined) return void effects.push({ type: "end" });
  const due = dueOf(step, first, plus(NO_TOKENS, first.wants));
  const waitsForWork = isUnsure(step, due);
  // At the end of a caller's time the store is asked once more for tokens in flight.
  const until = waitsForWork ? Math.min(due.latest, state.soonest) : Math.max(due.at, due.latest);
  const pollMs = waitsForWork ? retryMsOf(first) : POLL_MS;
  if (until - now >= EARLY_MS) return void effects.push({ type: "sleep", until, pollMs });
  state.round = { sentAt: now, open: null, last: null, refusals: listOf(), grants: listOf(), served: NO_TOKENS, isNews: false };
  effects.push({ type: "gather" });
}

/** How often a caller asks for tokens in flight that another process returns. */
function retryMsOf({ wants }: QueuedCaller): number {
  return Math.min(...wants.map(({ limit }) => limit.kind.retryMs));
}

/** Asks for the first callers that the expected tokens can serve, and for at least one. */
function send({ state, effects, now }: QueueStep): void {
  // A call that is sent n ms later is decided n ms later. So the tokens that refill on its way will be there as well.
  const decidedAt = now + state.tripMs / 2;
  const forecast = state.forecast ?? allFull(decidedAt);
  let [open, wanted] = [0, NO_TOKENS];
  for (const { items, from, to } = state.line; from + open < to; open += 1) {
    const caller = items[from + open] as QueuedCaller;
    wanted = plus(wanted, caller.wants);
    if (open > 0 && (state.degraded !== null || !areThere(forecast, caller.wants, wanted, decidedAt))) break;
    effects.push({ type: "ask", caller });
  }
  state.round = open === 0 ? null : { ...(state.round as Round), sentAt: now, open, isNews: false };
}

/** Takes an answer. Serves callers in order of arrival, up to the first caller that gets no tokens. */
function handOut(step: QueueStep, answer: Answer): void {
  const { state, effects } = step;
  const { open, last, refusals, grants, served, ...others } = state.round as Round;
  let [left, given] = [answer.decision.allowed ? appended(grants, answer) : grants, served];
  for (let first = firstOf(state.line); first !== undefined; first = firstOf(state.line)) {
    const { charges, wants } = first;
    const grant = findIn(left, (each) => isSameCall(each.caller.charges, charges));
    if (grant === undefined) break;
    left = withoutItems(left, (each) => each === grant);
    given = plus(given, wants);
    shift(step, first);
    effects.push({ type: "serve", caller: first, grant });
  }
  state.round = {
    ...others,
    open: (open as number) - 1,
    last: last === null || isLater(answer, last) ? answer : last,
    refusals: answer.decision.allowed ? refusals : appended(refusals, answer),
    grants: left,
    served: given,
  };
}

// Answers of one millisecond were given in the order in which the calls were sent.
function isLater(a: Answer, b: Answer): boolean {
  return a.decision.at === b.decision.at ? a.caller.id > b.caller.id : a.decision.at > b.decision.at;
}

// Tokens belong to the key that they were taken from. All callers of a queue have one key; their costs and tiers
// differ.
function isSameCall(a: Charges, b: Charges): boolean {
  return a.every((charge, i) => {
    const other = b[i] ?? null;
    if (charge === null || other === null) return charge === other;
    return charge.encoded === other.encoded && charge.policy === other.policy && sameCosts(charge.cost, other.cost);
  });
}

function failCall(step: QueueStep, caller: QueuedCaller, error: unknown): void {
  const { state, effects } = step;
  const round = state.round as Round;
  for (const gone of leave(step, ({ id }) => id === caller.id)) effects.push({ type: "fail", caller: gone, error });
  state.round = { ...round, open: (round.open as number) - 1 };
}

function endRound(step: QueueStep, round: Round): void {
  const grants = itemsOf(round.grants);
  if (round.last !== null) learnRound(step, round, round.last);
  step.state.round = grants.length > 0 ? { ...round, open: null, grants: listOf() } : null;
  // These tokens have no caller, or would serve a later caller before an earlier one.
  if (grants.length > 0) step.effects.push({ type: "refund", grants });
}

/** Makes the forecast of the answer that the store gave last. */
function learnRound(step: QueueStep, round: Round, last: Answer): void {
  const { state, effects, now, rules } = step;
  const { caller: { wants }, decision: { degraded, remaining, nextTokenMs } } = last;
  const unused = plus(NO_TOKENS, itemsOf(round.grants).flatMap(({ caller }) => caller.wants));
  const own = new Map(itemsOf(round.refusals).map((answer) => [answer.caller.id, answer]));
  const expected = state.forecast && expectedAt(state.forecast, wants, sumOfTokens(state.wanted, round.served));

  state.tripMs = last.receivedAt - round.sentAt;
  state.isNews = round.isNews;
  state.degraded = degraded ? last.decision : null;
  state.forecast = degraded ? null : forecastAfter(rules.partsOf(last.decision), wants, unused, decidedAt(round, last));
  const hopeless = new Map([...own].filter(([, { decision }]) => isHopeless(decision)));
  if (hopeless.size > 0) {
    const gone = leave(step, ({ id }) => hopeless.has(id));
    for (const caller of gone) effects.push({ type: "refuse", caller, decision: (hopeless.get(caller.id) as Answer).decision });
  }

  const first = firstOf(state.line);
  const refusal = first && own.get(first.id);
  // The refusal may count tokens that are refunded now. Then the forecast gives the wait.
  if (refusal && (degraded || !mayReturn(refusal.decision))) {
    state.notBefore = decidedAt(round, refusal) + (unused.size > 0 ? 1 : Math.max(1, refusal.decision.retryAfterMs));
  }
  // The forecast does not include a fallback's bucket, but its next token is known.
  if (first && degraded && remaining === 0) state.notBefore = Math.max(state.notBefore, last.receivedAt + nextTokenMs);

  const isWorse = state.forecast === null || expectedAt(state.forecast, wants, state.wanted) > (expected ?? -Infinity) + 1;
  const due = first && dueOf(step, first, plus(NO_TOKENS, first.wants));
  const isFirstLate = first !== undefined && isLate(step, first, due as Due, 0);
  const isAnyOver = due !== undefined && isUnsure(step, due) && state.soonest - now < EARLY_MS;
  if (isWorse || isFirstLate || isAnyOver || state.isUnjudged) refuseLate(step, 0, own);
  if (own.size > 0) state.notBefore = Math.max(state.notBefore, Math.min(state.notBefore + last.jitterMs, state.soonest));
}

/** Whether no wait brings the tokens of a refusal: the cost is too high, or no bucket refused. */
function isHopeless({ retryAfterMs, degraded, resetMs }: Decision): boolean {
  return retryAfterMs === Infinity || (degraded && resetMs === 0);
}

/** When the store decided: in the middle of the trip, as far as one can know. A fallback decides at its end. */
function decidedAt({ sentAt }: Round, { decision, receivedAt }: Answer): number {
  return decision.degraded ? receivedAt : (sentAt + receivedAt) / 2;
}
