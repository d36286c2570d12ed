import { monotonicClock } from "../core/clock.js";
import { costAt, type Costs } from "../core/limit.js";
import { mapCosts } from "../core/cost.js";
import type { Policy } from "../core/policy.js";
import type { HeldDecision, HeldWork, InFlightRule, Move, Origin } from "../core/rules.js";
import { sharesWork } from "../platform.js";
import { heldCosts } from "./held-costs.js";
import { startBeat, stopBeat } from "./timer.js";

/** Work whose tokens are renewed. */
interface Renewing extends HeldWork {
  readonly rule: InFlightRule;
  /** The works with the same timer. This one is among them until it is done. */
  readonly works: Set<Renewing>;
  /** When it began, by the monotonic clock. */
  readonly since: number;
  /** How many renewals are known to be made. */
  renewals: number;
  /** Resolves when the present renewal is over. Null between renewals. */
  pending: Promise<void> | null;
}

// A renewal is due after each third of `staleAfterMs`. Two may fail before the tokens come back.
const RENEWALS = 3;
// How often due renewals are looked for in that time: all of them go to the store together.
const BEATS = 2;

const byDecision = new WeakMap<HeldDecision, Renewing>();

/**
 * The work of this process, by `staleAfterMs`. All work with the same `staleAfterMs` shares one timer, which lets the
 * process end. Where requests share no timers (law L15), each work has its own timer and is not listed here.
 */
const beats = new Map<number, Set<Renewing>>();

/** Renews the tokens of work until {@link stopRenewing}, at most for `longestMs`. */
export function keepRenewing(work: HeldWork): void {
  const { decision, policy, store } = work;
  const rule = policy.inFlight;
  if (!decision.allowed || decision.shadow !== undefined || rule === undefined) return;
  // Without renewals, only what watches its life needs the beat.
  if (store.renew === undefined && work.life === undefined) return;
  const works = worksOf(rule, sharesWork() ? beats : new Map<number, Set<Renewing>>());
  const renewing: Renewing = { ...work, rule, works, since: monotonicClock(), renewals: 0, pending: null };
  byDecision.set(decision, renewing);
  works.add(renewing);
}

/**
 * Ends the renewal of a decision's tokens, and returns when they were taken. Waits for a renewal that is under way,
 * because the order of two calls is not certain. The guard of the store bounds this wait.
 */
export function stopRenewing(decision: HeldDecision): Origin | Promise<Origin> | undefined {
  const work = byDecision.get(decision);
  if (work === undefined) return undefined;
  const { works, pending } = work;
  works.delete(work);
  const origin = (): Origin => ({ at: decision.at, heldAt: decision.at + msAfter(work, work.renewals) });
  return pending === null ? origin() : pending.then(origin);
}

function worksOf({ times: { staleAfterMs } }: InFlightRule, among: Map<number, Set<Renewing>>): Set<Renewing> {
  const known = among.get(staleAfterMs);
  if (known !== undefined) return known;
  const works = new Set<Renewing>();
  among.set(staleAfterMs, works);
  const timer = startBeat(() => {
    renewDue(works);
    if (works.size > 0) return;
    among.delete(staleAfterMs);
    stopBeat(timer);
  }, staleAfterMs / RENEWALS / BEATS);
  return works;
}

/** Milliseconds from the decision to the instant whose date the tokens have after so many renewals. */
function msAfter({ rule }: Renewing, renewals: number): number {
  return Math.floor((renewals * rule.times.staleAfterMs) / RENEWALS);
}

/** Renews the tokens of those works that are due. */
function renewDue(works: Iterable<Renewing>): void {
  const now = monotonicClock();
  const due: Renewing[] = [];
  for (const work of works) {
    const ageMs = now - work.since;
    const dueMs = msAfter(work, work.renewals + 1);
    const isWanted = mayRenew(work);
    // Its tokens have come back if the store was unavailable for so long: then nothing is left to renew.
    const backMs = (isWanted ? dueMs : msAfter(work, work.renewals)) + work.rule.facts.fullMs;
    if (ageMs > work.rule.times.longestMs || ageMs > backMs) {
      work.works.delete(work);
      work.life?.lapsed();
    } else if (isWanted && work.pending === null && ageMs >= dueMs) due.push(work);
  }
  for (const group of movesOf(due)) renew(group);
}

/** Whether the tokens may be renewed now: not for a body that no reader has begun, or long after its client left. */
function mayRenew({ store, life, rule }: Renewing): boolean {
  return store.renew !== undefined && life?.isWanted(rule.times.staleAfterMs) !== false;
}

/** Groups the works whose tokens make the same move: in one bucket, from one date to one date. */
function movesOf(works: readonly Renewing[]): Renewing[][] {
  const groups: Renewing[][] = [];
  const byMove = new Map<string, Renewing[][]>();
  for (const work of works) {
    const { policy, store, key, rule } = work;
    const { from, to } = nextMove(work);
    const id = `${rule.dateOf(from)} ${rule.dateOf(to)} ${key}`;
    const alike = byMove.get(id) ?? [];
    const group = alike.find(([first]) => first?.store === store && first.policy === policy);
    if (group !== undefined) {
      group.push(work);
      continue;
    }
    const own = [work];
    groups.push(own);
    byMove.set(id, [...alike, own]);
  }
  return groups;
}

/**
 * The next renewal of work. Until the store has answered, each attempt makes the same move. So an attempt after a lost
 * answer finds nothing at the old date and frees no token.
 */
function nextMove(work: Renewing): Move {
  const { decision: { at }, renewals } = work;
  return { from: at + msAfter(work, renewals), to: at + msAfter(work, renewals + 1) };
}

/** Renews the tokens of works that make the same move. */
function renew(group: readonly Renewing[]): void {
  const [first] = group as [Renewing];
  const { store, policy, key } = first;
  const tokens = group.map(({ decision }) => heldCosts(decision, policy)).reduce((a, b) => sumOf(policy as Policy, a, b));
  const next = group.map(({ renewals }) => renewals + 1);
  // Also when the answer is late: the tokens have moved.
  const done = (): void => group.forEach((work, i) => (work.renewals = Math.max(work.renewals, next[i] as number)));
  // After a pause of the process several renewals may be due.
  const goOn = (): void => renewDue(group.filter((work) => work.works.has(work)));
  const ended = (): void => group.forEach((work) => (work.pending = null));
  try {
    const answer = first.call(() => {
      const moved = store.renew?.(policy, key, tokens, nextMove(first));
      return moved instanceof Promise ? moved.then(done) : done();
    });
    if (!(answer instanceof Promise)) return goOn();
    // After a failure the next beat tries again.
    const pending = answer.then(() => (ended(), goOn()), ended);
    for (const work of group) work.pending = pending;
  } catch {
    return;
  }
}

function sumOf(policy: Policy, a: Costs, b: Costs): Costs {
  return mapCosts(policy, a, (cost, i) => cost + costAt(b, i));
}
