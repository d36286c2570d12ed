import { monotonicClock } from "../core/clock.js";
import { costAt } from "../core/limit.js";
import { mapCosts } from "../core/cost.js";
import type { Costs, InFlight, Move, Origin, Policy, Returns } from "../core/model.js";
import type { Decision } from "../core/decision.js";
import type { StoreAnswer } from "../core/records.js";
import type { HeldWork } from "../port/kind-rules.js";
import { sharesWork } from "../platform.js";
import { createHiddenField, type HiddenField } from "../port/hidden.js";
import { callOf, hasVerb } from "../port/store.js";
import { warnOnce } from "../warnings/warnings.js";
import { heldCosts, moveAfter, msAfter, RENEWALS, renewalState } from "./held-work.js";
import { startBeat, stopBeat, takeTurns, type Turn } from "./turns.js";

/** Work whose tokens are renewed. */
interface Renewing {
  readonly held: HeldWork;
  readonly limit: InFlight;
  /** The works with the same timer. This one is among them until it is done. */
  readonly works: Set<Renewing>;
  /** When it began, by the monotonic clock. */
  readonly since: number;
  /** How many renewals are known to be made. */
  renewals: number;
  /** Resolves when the present renewal is over. Null between renewals. */
  pending: Promise<void> | null;
  /** Whether its renewal waits for its turn. */
  isWaiting: boolean;
}

// How often due renewals are looked for between two of them.
const BEATS = 2;

/** How many works lost their tokens since the last beat. */
let missed = 0;

let heldField: HiddenField<Renewing> | undefined;

/** The work of a decision. A hidden field, because a WeakMap with an entry for each request costs 6 us of each. */
const heldWorkOf = (): HiddenField<Renewing> => (heldField ??= createHiddenField<Renewing>());

/**
 * The work of this process, by `staleAfterMs`. All work with the same `staleAfterMs` shares one timer, which lets the
 * process end. Where requests share no timers (law L15), each work has its own timer and is not listed here.
 */
const beats = new Map<number, Set<Renewing>>();

/** Renews the tokens of work until {@link stopRenewing}, at most for `maxWorkMs`. */
export function keepRenewing(held: HeldWork): void {
  const { decision, policy, store, life } = held;
  const limit = policy.inFlight;
  if (!decision.allowed || Object.hasOwn(decision, "shadow") || limit === undefined) return;
  // Without renewals, only what watches its life needs the beat.
  if (!hasVerb(store, "renew") && life === undefined) return;
  const works = worksOf(limit.returns, sharesWork() ? beats : new Map<number, Set<Renewing>>());
  const renewing: Renewing = { held, limit, works, since: monotonicClock(), renewals: 0, pending: null, isWaiting: false };
  heldWorkOf().write(decision, renewing);
  works.add(renewing);
}

/**
 * Ends the renewal of a decision's tokens, and returns when they were taken. Waits for a renewal that is under way,
 * because the order of two calls is not certain. The guard of the store bounds this wait.
 */
export function stopRenewing(decision: Decision): Origin | Promise<Origin> | undefined {
  const work = heldWorkOf().read(decision);
  if (work === null) return undefined;
  const { works, pending } = work;
  works.delete(work);
  return pending === null ? lastOrigin(work) : pending.then(() => lastOrigin(work));
}

function lastOrigin(work: Renewing): Origin {
  const { at } = work.held.decision;
  return { at, heldAt: at + heldAfter(work) };
}

function worksOf({ staleAfterMs }: Returns, among: Map<number, Set<Renewing>>): Set<Renewing> {
  const known = among.get(staleAfterMs);
  if (known !== undefined) return known;
  const works = new Set<Renewing>();
  among.set(staleAfterMs, works);
  const timer = startBeat(() => {
    renewDue(works);
    if (missed > 0) tellMissed();
    if (works.size > 0) return;
    among.delete(staleAfterMs);
    stopBeat(timer);
  }, staleAfterMs / RENEWALS / BEATS);
  return works;
}

// Milliseconds from the decision to the instant whose date the tokens have.
const heldAfter = ({ limit, renewals }: Renewing): number => msAfter(renewals, limit.returns);

/** Renews the tokens of those works that are due, each when it is its turn. */
function renewDue(works: Iterable<Renewing>): void {
  const now = monotonicClock();
  const due = new Map<object, Renewing[]>();
  for (const work of works) {
    const state = renewalState(work.renewals, now - work.since, work.limit.returns, work.limit.fullMs);
    const isWanted = mayRenew(work);
    if (state === "over" || state === "lost") dropWork(work, state === "lost" && isWanted);
    else if (state === "due" && isWanted && work.pending === null && !work.isWaiting) {
      work.isWaiting = true;
      const same = due.get(work.held.store);
      if (same === undefined) due.set(work.held.store, [work]);
      else same.push(work);
    }
  }
  for (const [store, ofStore] of due) takeTurns(store, movesOf(ofStore).map(turnOf));
}

function turnOf(group: readonly Renewing[]): Turn {
  const [first] = group as readonly [Renewing];
  return {
    until: first.since + heldAfter(first) + first.limit.returns.staleAfterMs,
    run() {
      for (const work of group) work.isWaiting = false;
      // Work that was settled since holds nothing.
      const left = group.filter((work) => work.works.has(work));
      return left.length === 0 ? undefined : renew(left);
    },
  };
}

/** Renews work no further. It `isMissed` if its tokens came back by themselves and should not have. */
function dropWork(work: Renewing, isMissed: boolean): void {
  if (!work.works.delete(work)) return;
  if (isMissed) missed += 1;
  work.held.life?.lapsed();
}

function tellMissed(): void {
  warnOnce(
    "SLUICE_RENEWALS_MISSED",
    `Expected the store to renew the tokens in flight of work before their date, got ${missed} works whose tokens came ` +
    "back too early, so that others may take their places. Raise `staleAfterMs` of `whenDone`, or make the store faster",
  );
  missed = 0;
}

/** Whether the tokens may be renewed now: not for a body that no reader has begun, or long after its client left. */
function mayRenew({ held: { store, life }, limit }: Renewing): boolean {
  return hasVerb(store, "renew") && life?.isWanted(limit.returns.staleAfterMs) !== false;
}

/** Groups the works whose tokens make the same move: in one bucket, from one date to one date. */
function movesOf(works: readonly Renewing[]): Renewing[][] {
  const groups: Renewing[][] = [];
  const byMove = new Map<string, Renewing[][]>();
  for (const work of works) {
    const { held: { policy, key }, limit: { kind } } = work;
    const { from, to } = nextMove(work);
    const id = `${kind.dateOf(from)} ${kind.dateOf(to)} ${key}`;
    const alike = byMove.get(id) ?? [];
    const group = alike.find(([first]) => first?.held.policy === policy);
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

/** The next move of the tokens of work. */
function nextMove(work: Renewing): Move {
  return moveAfter(work.held.decision.at, work.renewals, work.limit.returns);
}

/** Renews the tokens of works that make the same move. Returns undefined when that is done at once. */
function renew(group: readonly Renewing[]): Promise<void> | undefined {
  const [first] = group as readonly [Renewing];
  const { store, guarded, policy, key } = first.held;
  const tokens = group.map(({ held }) => heldCosts(held.decision, policy)).reduce((a, b) => sumOf(policy, a, b));
  const next = group.map(({ renewals }) => renewals + 1);
  // Also when the answer is late: the tokens have moved.
  const done = ([isHeld]: readonly StoreAnswer[]): void => group.forEach((work, i) => {
    // The tokens came back while this process was away. Tokens at later dates belong to other work.
    if (isHeld === false) dropWork(work, true);
    else work.renewals = Math.max(work.renewals, next[i] as number);
  });
  // After a pause of the process several renewals may be due.
  const goOn = (): void => renewDue(group.filter((work) => work.works.has(work)));
  const ended = (): void => group.forEach((work) => (work.pending = null));
  try {
    const call = callOf("renew", policy, key, tokens, { move: nextMove(first) });
    const answers = guarded === null ? store.ask(call) : guarded.ask(call, { inBackground: true, late: done });
    if (!(answers instanceof Promise)) {
      done(answers);
      goOn();
      return undefined;
    }
    const pending = answers.then(done).finally(ended);
    for (const work of group) work.pending = pending.catch(() => undefined);
    // After a failure the next beat tries again.
    return pending.then(goOn);
  } catch {
    return undefined;
  }
}

function sumOf(policy: Policy, a: Costs, b: Costs): Costs {
  return mapCosts(policy, a, (cost, i) => cost + costAt(b, i));
}
