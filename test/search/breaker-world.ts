// A world of one store with two buckets and one circuit breaker: calls about a bucket, or about both, are sent, answered,
// and fail. A store that is down, or that fails for one bucket, is a history in which these calls fail. A late answer is a
// failure after some time. Time is named by ages, so the world is exhausted for histories of any length.
import type { BreakerEvent, BreakerState } from "../../src/guard/circuit-breaker.js";
import type { Step, World } from "./explore.js";
import type { Real } from "./real.js";

/** A small world. */
export interface BreakerWorld {
  readonly name: string;
  /** The most calls that are under way at once. */
  readonly callers: number;
  /** The buckets of each call that can be made. */
  readonly asks: readonly (readonly string[])[];
  readonly failures: number;
  /** In steps of the clock. */
  readonly probeEveryMs: number;
  /** When a call fails that is not answered. */
  readonly timeoutMs: number;
}

interface SentCall {
  readonly at: number;
  readonly buckets: readonly string[];
  readonly isProbe: boolean;
}

/** A circuit that must be open: when it opened, or sent its last call. */
interface Opened {
  readonly at: number;
  /** Whether the store has answered no call since it opened. */
  readonly isSilent: boolean;
}

/** What the laws know of the history. */
interface Ledger {
  /** Failures since the last answer, at most `failures`, and the buckets that all of them have in common. */
  readonly row: Row;
  /** Those of them that are no failures of a circuit that was open. */
  readonly counted: Row;
  /** Buckets whose circuit may be open. */
  readonly may: readonly string[];
  /** Buckets whose circuit must be open. */
  readonly must: ReadonlyMap<string, Opened>;
  /** When the circuit of all calls opened, if it must be open, and the calls sent since. */
  readonly all: { readonly at: number; readonly sent: readonly number[] } | null;
  /** Of each bucket: when a call about it was sent, or failed, the last time. */
  readonly touched: ReadonlyMap<string, number>;
  readonly told: "unavailable" | "available";
}

interface Row {
  readonly count: number;
  readonly common: readonly string[];
  /** The failures about bucket a, and about b. */
  readonly own: readonly number[];
}

export interface BreakerWorldState {
  readonly now: number;
  readonly breaker: BreakerState;
  readonly sent: readonly SentCall[];
  readonly ledger: Ledger;
}

const BUCKETS = ["a", "b"];
const NO_ROW: Row = { count: 0, common: [], own: BUCKETS.map(() => 0) };
const OUTAGE = new Error("connection lost");
// One for all calls, and one for the buckets of the last probe that failed.
const MOST_PROBES = 2;

/** Makes the {@link World} of a description. */
export function breakerWorld({ name, callers, asks, failures, probeEveryMs, timeoutMs }: BreakerWorld, real: Real): World<BreakerWorldState> {
  const settings = { failures, probeEveryMs, asksAlways: false };
  const ledger: Ledger = { row: NO_ROW, counted: NO_ROW, may: [], must: new Map(), all: null, touched: new Map(), told: "available" };
  return { name, start: { now: 0, breaker: real.STEADY, sent: [], ledger }, next, nameOf, broken: () => undefined };

  function* next(state: BreakerWorldState): Generator<Step<BreakerWorldState>> {
    if (state.sent.every(({ at }) => state.now < at + timeoutMs)) yield { event: "1 ms passes", state: { ...state, now: state.now + 1 } };
    if (state.sent.length < callers) for (const buckets of asks) yield asked(state, buckets);
    for (const [place, call] of state.sent.entries()) {
      const rest = { ...state, sent: state.sent.filter((_, i) => i !== place) };
      yield answered(rest, call);
      yield failed(rest, call);
    }
  }

  function run(state: BreakerWorldState, event: BreakerEvent) {
    const { state: breaker, effect } = real.nextBreaker(settings, state.breaker, event, state.now);
    return { next: { ...state, breaker }, effect };
  }

  function asked(state: BreakerWorldState, buckets: readonly string[]): Step<BreakerWorldState> {
    const { next: after, effect } = run(state, { type: "asked", buckets });
    if (effect?.type === "refuse") return { event: `a call about ${buckets} is refused`, state: after, broken: refusalLaw(state, buckets) };
    const isProbe = effect?.type === "probe";
    return {
      event: `a call about ${buckets} is sent${isProbe ? " as a probe" : ""}`, broken: sendingLaw(state, buckets),
      state: { ...after, sent: [...after.sent, { at: state.now, buckets, isProbe }], ledger: afterSending(state, buckets) },
    };
  }

  // L12: failures of one bucket alone refuse no other; nothing is refused for a bucket that was answered in time, until new
  // failures in a row; and one call goes through in each `probeEveryMs`.
  function refusalLaw({ ledger: known, now }: BreakerWorldState, buckets: readonly string[]): string | undefined {
    const { may, touched } = known;
    const isAll = mayBeAll(known);
    if (!isAll && !buckets.some((each) => may.includes(each))) return `L12: a call about ${buckets} is refused, and its bucket did not fail ${failures} times in a row`;
    const latest = Math.max(...(isAll ? BUCKETS : buckets).map((each) => touched.get(each) ?? -Infinity));
    return now < latest + probeEveryMs ? undefined : `L12: an open circuit sent no call within ${probeEveryMs} ms`;
  }

  // L12: an open circuit refuses, but for one call in each `probeEveryMs`.
  function sendingLaw({ ledger: { must, all }, now }: BreakerWorldState, buckets: readonly string[]): string | undefined {
    const open = buckets.find((each) => now < (must.get(each)?.at ?? -Infinity) + probeEveryMs);
    if (open !== undefined) return `L12: the open circuit of ${open} sent two calls within ${probeEveryMs} ms`;
    if (all === null) return undefined;
    if (now < all.at + probeEveryMs) return "L12: the open circuit of all calls refused none";
    const recent = all.sent.filter((at) => now < at + probeEveryMs).length + 1;
    return recent > MOST_PROBES ? `L12: the open circuit of all calls sent ${recent} within ${probeEveryMs} ms` : undefined;
  }

  function afterSending({ ledger: before, now }: BreakerWorldState, buckets: readonly string[]): Ledger {
    const must = new Map([...before.must].map(([name, opened]) => [name, buckets.includes(name) ? { ...opened, at: now } : opened]));
    const all = before.all && { ...before.all, sent: [...before.all.sent, now].filter((at) => now < at + probeEveryMs) };
    return { ...before, must, all, touched: touchedAt(before, buckets, now) };
  }

  function answered(state: BreakerWorldState, { buckets }: SentCall): Step<BreakerWorldState> {
    // As in `CircuitBreaker.succeeded`.
    const { next: after, effect } = state.breaker.isSteady ? { next: state, effect: null } : run(state, { type: "succeeded", buckets });
    const { told, must, may } = state.ledger;
    const isTold = effect?.type === "report" && effect.state === "available";
    const broken = isTold === (told === "unavailable") ? undefined : "L12: a store that answers is not reported available once";
    // A bucket about which nobody asked for two probes is forgotten.
    const kept = [...must].filter(([name, { at }]) => !buckets.includes(name) && state.now < at + 2 * probeEveryMs);
    const next = {
      ...state.ledger, row: NO_ROW, counted: NO_ROW, all: null, told: "available" as const,
      may: may.filter((each) => !buckets.includes(each)), must: new Map(kept.map(([name, { at }]) => [name, { at, isSilent: false }])),
    };
    return { event: `the call about ${buckets} is answered`, state: { ...after, ledger: next }, broken };
  }

  function failed(state: BreakerWorldState, { buckets, isProbe }: SentCall): Step<BreakerWorldState> {
    const { next: after, effect } = run(state, { type: "failed", buckets, isProbe, error: OUTAGE });
    const before = state.ledger;
    const row = longer(before.row, buckets);
    const isTold = effect?.type === "report" && effect.state === "unavailable";
    const told = isTold ? "unavailable" : before.told;
    const next = { ...opened(before, row, buckets, state.now), row, told, touched: touchedAt(before, buckets, state.now) } as const;
    const ended = { event: `the ${isProbe ? "probe" : "call"} about ${buckets} fails`, state: { ...after, ledger: next } };
    if (effect !== null && !(isTold && before.told === "available")) return { ...ended, broken: "L12: an unavailable store is reported twice" };
    if (isTold && row.count < 2) return { ...ended, broken: "L12: a store that answered before its last failure is reported unavailable" };
    const isDead = isProbe && buckets.every((each) => before.must.get(each)?.isSilent);
    return isDead && told === "available" ? { ...ended, broken: "L12: a dead store is not reported after its first probe" } : ended;
  }

  // The circuits that open with a failure. What fails while one of its circuits is open says nothing new.
  function opened(before: Ledger, row: Row, buckets: readonly string[], now: number): Ledger {
    const may = BUCKETS.filter((each, i) => before.may.includes(each) || row.own[i] === failures);
    if (mayBeAll(before) || before.all !== null || buckets.some((each) => before.may.includes(each))) return { ...before, may };
    const counted = longer(before.counted, buckets);
    if (!isFull(counted) || isFull(before.counted)) return { ...before, may, counted };
    if (counted.common.length === 0) return { ...before, may, counted, all: { at: now, sent: [] } };
    const must = new Map([...before.must, ...counted.common.map((each) => [each, { at: now, isSilent: true }] as const)]);
    return { ...before, may, counted, must };
  }

  // Failures in a row that one bucket does not explain: they have none in common, or one beside a bucket that failed before.
  function mayBeAll({ row, may }: Ledger): boolean {
    return isFull(row) && (row.common.length === 0 || BUCKETS.every((each, i) => row.own[i] !== 0 && (row.common.includes(each) || may.includes(each))));
  }

  function longer({ count, common, own }: Row, buckets: readonly string[]): Row {
    return {
      count: Math.min(count + 1, failures), common: count === 0 ? buckets : common.filter((each) => buckets.includes(each)),
      own: own.map((each, i) => Math.min(failures, each + (buckets.includes(BUCKETS[i] as string) ? 1 : 0))),
    };
  }

  function isFull({ count }: Row): boolean {
    return count === failures;
  }

  // The buckets are alike, and so are the callers.
  function nameOf(state: BreakerWorldState): string {
    const [plain, turned] = [textOf(state, (name) => name), textOf(state, (name) => ({ a: "b", b: "a" })[name] ?? name)];
    return plain < turned ? plain : turned;
  }

  function textOf({ now, breaker, sent, ledger: known }: BreakerWorldState, named: (name: string) => string): string {
    const list = (names: readonly string[]): string => names.map(named).sort().join("");
    const age = (at: number): number => Math.min(now - at, 2 * probeEveryMs);
    const circuits = [...breaker.circuits].map(([name, { probeAt, successes }]) => `${named(name)}:${age(probeAt)}${successes === breaker.successes}`);
    return JSON.stringify([
      breaker.isSteady, breaker.inARow, list(breaker.common), circuits.sort(), list(breaker.lastProbed), breaker.reported !== null,
      sent.map(({ at, buckets, isProbe }) => `${list(buckets)}${isProbe}${now - at}`).sort(),
      ...[known.row, known.counted].map(({ count, common, own }) => `${count}${list(common)}${own.map((each, i) => `${named(BUCKETS[i] as string)}${each}`).sort()}`), list(known.may),
      [...known.must].map(([name, { at, isSilent }]) => `${named(name)}${age(at)}${isSilent}`).sort(),
      known.all && [Math.min(age(known.all.at), probeEveryMs), known.all.sent.map(age).filter((each) => each < probeEveryMs)],
      [...known.touched].map(([name, at]) => `${named(name)}${Math.min(age(at), probeEveryMs)}`).sort(), known.told,
    ]);
  }
}

function touchedAt({ touched }: Ledger, buckets: readonly string[], now: number): ReadonlyMap<string, number> {
  return new Map([...touched, ...buckets.map((each) => [each, now] as const)]);
}
