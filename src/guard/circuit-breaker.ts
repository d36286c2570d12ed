import { lostTimeOf, monotonicClock } from "../core/clock.js";
import type { GuardSettings } from "../port/guard-options.js";
import { StoreUnavailableError } from "./errors.js";

/** A call to the store, as the circuit breaker sees it. */
export interface BreakerCall {
  /** The names of the buckets that the call is about; empty when they are unknown. */
  bucketIds(): readonly string[];
  /** Whether the call asks if an open circuit may close. The circuit breaker sets it. */
  isProbe: boolean;
}

/** Why calls are not sent now: all calls, or those about one bucket. */
interface OpenCircuit {
  /** The error of every call meanwhile. One error, since thousands of calls a second may fail with it. */
  readonly error: StoreUnavailableError;
  /** When the next call may ask. */
  readonly probeAt: number;
  /** The count of successes when the circuit opened, or at its last probe. */
  readonly successes: number;
}

/** What a circuit breaker knows. Plain data that never changes: {@link nextBreaker} makes the next one. */
export interface BreakerState {
  /** True while nothing fails. */
  readonly isSteady: boolean;
  /** Failures in a row. */
  readonly inARow: number;
  /** The buckets that all failures in the row have in common. */
  readonly common: readonly string[];
  /** Successes, counted only while something fails. */
  readonly successes: number;
  /** By the name of the bucket, or {@link ALL}. The oldest first. */
  readonly circuits: ReadonlyMap<string, OpenCircuit>;
  /** The buckets of the last probe that failed while the circuit of all calls was open. */
  readonly lastProbed: readonly string[];
  /** The error that made the store unavailable; null while it is available. */
  readonly reported: { readonly error: unknown } | null;
}

/** What happened to a call about `buckets`. */
export type BreakerEvent =
  | { readonly type: "asked"; readonly buckets: readonly string[] }
  | { readonly type: "succeeded"; readonly buckets: readonly string[] }
  | { readonly type: "failed"; readonly buckets: readonly string[]; readonly isProbe: boolean; readonly error: unknown };

/** What to do: fail the call at once, send it as a probe, or report a change of the store. */
export type BreakerEffect =
  | { readonly type: "refuse"; readonly error: StoreUnavailableError }
  | { readonly type: "probe" }
  | { readonly type: "report"; readonly state: "unavailable" | "available"; readonly error: unknown };

/** The next state, and what to do. */
export interface BreakerStep {
  readonly state: BreakerState;
  /** Null: send the call, or nothing. */
  readonly effect: BreakerEffect | null;
}

/** The numbers of a circuit breaker. */
export interface BreakerSettings {
  readonly failures: number;
  readonly probeEveryMs: number;
  /** Every call is sent, and only the reports remain. */
  readonly asksAlways: boolean;
}

/** Called once when the store becomes unavailable, and once when it is available again. */
type OnChange = (state: "unavailable" | "available", error: unknown) => void;

const ASK_ALWAYS: BreakerSettings = { failures: 5, probeEveryMs: 1_000, asksAlways: true };

// `ALL` names the circuit of all calls. `AGAIN` names its copy for calls about the buckets of the last failed probe, so
// that these do not take the next probe from the others. No bucket has one of these names.
const ALL = "";
const AGAIN = " ";

// Circuits that are open at once. Beyond these the oldest is forgotten.
const MOST_CIRCUITS = 100;

/** The state of a circuit breaker that has seen no failure. */
export const STEADY: BreakerState = {
  isSteady: true, inARow: 0, common: [], successes: 0, circuits: new Map(), lastProbed: [], reported: null,
};

// Not steady, so that the first answer counts: a store without one has never worked.
const UNTRIED: BreakerState = { ...STEADY, isSteady: false };

/**
 * Counts failures in a row, and decides whether a call is sent to the store.
 *
 * After `failures` in a row it opens a circuit for all calls. If all of these failures were about one bucket, it opens
 * a circuit for that bucket alone. A failure of a second bucket, without a success in between, opens it for all. An
 * open circuit sends one call each `probeEveryMs`, so that a store that comes back is not flooded. An answer in time
 * closes it.
 *
 * The store is unavailable while the circuit of all calls is open. It is also unavailable when the probe of one bucket
 * fails and the store has answered no other call since the last probe, because only one bucket may be in use.
 *
 * With `false` every call is sent, and only the events remain.
 *
 * The rules are {@link nextBreaker}. This class keeps the state, reads the clock and carries out the effects.
 */
export class CircuitBreaker {
  readonly #settings: BreakerSettings;
  readonly #onChange: OnChange;
  readonly #lost = lostTimeOf(monotonicClock);
  #state = UNTRIED;

  constructor(settings: GuardSettings["breaker"], onChange: OnChange) {
    this.#settings = settings === false ? ASK_ALWAYS : { ...settings, asksAlways: false };
    this.#onChange = onChange;
  }

  /** The error to fail with at once; null when the store is asked. */
  refusal(call: BreakerCall): StoreUnavailableError | null {
    // One comparison while nothing fails.
    if (this.#state.isSteady || this.#state.circuits.size === 0) return null;
    const effect = this.#run({ type: "asked", buckets: call.bucketIds() });
    if (effect?.type === "refuse") return this.#lost.look(monotonicClock()) ? this.refusal(call) : effect.error;
    call.isProbe = effect !== null;
    return null;
  }

  /** 0 until the store has answered. Counts on when it answers in time after a failure. */
  get successes(): number {
    return this.#state.successes;
  }

  /** The store answered in time. */
  succeeded(call: BreakerCall): void {
    // One comparison while nothing fails.
    if (!this.#state.isSteady) this.#run({ type: "succeeded", buckets: call.bucketIds() });
  }

  /** The store failed with `error`, or did not answer in time. */
  failed(error: unknown, call: BreakerCall): void {
    const { code } = Object(error) as { readonly code?: unknown };
    if (ANSWERED.includes(code)) return this.succeeded(call);
    if (code !== ASKED_IN_VAIN) this.#run({ type: "failed", buckets: call.bucketIds(), isProbe: call.isProbe, error });
  }

  #run(event: BreakerEvent): BreakerEffect | null {
    const { state, effect } = nextBreaker(this.#settings, this.#state, event, monotonicClock() + this.#lost.lostMs);
    this.#state = state;
    if (effect?.type === "report") this.#onChange(effect.state, effect.error);
    return effect;
  }
}

/** Returns the state after `event` at `now`, and what to do. Changes nothing, and reads no clock. */
export function nextBreaker(settings: BreakerSettings, state: BreakerState, event: BreakerEvent, now: number): BreakerStep {
  if (event.type === "asked") return afterAsking(settings, state, event.buckets, now);
  if (event.type === "succeeded") return afterSuccess(settings, state, event.buckets, now);
  const open = namesOfOpen(state, event.buckets);
  const failing = { ...state, isSteady: false };
  if (open.length === 0) return afterFailure(settings, failing, event.error, event.buckets, now);
  // A call that was under way when its circuit opened says nothing new.
  return event.isProbe ? afterProbe(failing, open, event.error, event.buckets) : { state: failing, effect: null };
}

type Buckets = readonly string[];

function afterAsking(settings: BreakerSettings, state: BreakerState, buckets: Buckets, now: number): BreakerStep {
  const { asksAlways, probeEveryMs } = settings;
  const open = namesOfOpen(state, buckets);
  const early = open.map((name) => circuitOf(state, name)).find(({ probeAt }) => now < probeAt);
  if (early !== undefined) return { state, effect: asksAlways ? null : { type: "refuse", error: early.error } };
  if (open.length === 0) return { state, effect: null };
  return { state: { ...state, circuits: changeAll(state, open, { probeAt: now + probeEveryMs }) }, effect: { type: "probe" } };
}

function afterSuccess({ probeEveryMs }: BreakerSettings, state: BreakerState, buckets: Buckets, now: number): BreakerStep {
  const { successes, reported } = state;
  const answered = [ALL, AGAIN, ...buckets];
  // A bucket whose callers are gone must not cost every success a search.
  const circuits = new Map(
    [...state.circuits].filter(([name, { probeAt }]) => !answered.includes(name) && now < probeAt + probeEveryMs),
  );
  return {
    state: { ...STEADY, isSteady: circuits.size === 0, successes: successes + 1, circuits },
    effect: reported && { type: "report", state: "available", error: reported.error },
  };
}

function afterFailure(
  { failures, probeEveryMs }: BreakerSettings, state: BreakerState, cause: unknown, buckets: Buckets, now: number,
): BreakerStep {
  const common = state.inARow === 0 ? buckets : state.common.filter((name) => buckets.includes(name));
  const inARow = state.inARow + 1;
  if (inARow < failures) return { state: { ...state, common, inARow }, effect: null };
  const isOneOfSeveral = [...state.circuits.values()].some(({ successes }) => successes === state.successes);
  const isAll = common.length === 0 || isOneOfSeveral;
  const scope = isAll ? "" : " for one bucket";
  const message = `The store failed ${failures} times in a row${scope} and is not asked for now: see \`cause\``;
  const error = new StoreUnavailableError("ERR_STORE_OPEN", message, { cause });
  const circuit = { error, probeAt: now + probeEveryMs, successes: state.successes };
  const circuits = new Map(state.circuits);
  for (const name of isAll ? [ALL] : common) circuits.set(name, circuit);
  while (circuits.size > MOST_CIRCUITS) circuits.delete(circuits.keys().next().value as string);
  // The count starts again: further failures of these buckets say nothing about other buckets.
  const next = { ...state, common, inARow: 0, circuits };
  return isAll ? withReport(next, cause) : { state: next, effect: null };
}

function afterProbe(state: BreakerState, open: readonly string[], error: unknown, buckets: Buckets): BreakerStep {
  const isSilent = open.some((name) => circuitOf(state, name).successes === state.successes);
  const circuits = changeAll(state, open, { successes: state.successes });
  const all = circuits.get(ALL);
  // One bucket that still fails must not take every probe: the next probe is open to the others, too.
  const isOfAll = all !== undefined && open.includes(ALL);
  // The copy keeps its own last probe. Otherwise two buckets that fail in turn would need no pause.
  const probeAt = Math.max(all?.probeAt ?? 0, circuits.get(AGAIN)?.probeAt ?? 0);
  const again = isOfAll && { circuits: circuits.set(AGAIN, { ...all, probeAt }), lastProbed: buckets };
  const next = { ...state, circuits, ...again };
  return isSilent ? withReport(next, error) : { state: next, effect: null };
}

function withReport(state: BreakerState, error: unknown): BreakerStep {
  if (state.reported !== null) return { state, effect: null };
  return { state: { ...state, reported: { error } }, effect: { type: "report", state: "unavailable", error } };
}

/** The names of the open circuits that stop a call about `buckets`. */
function namesOfOpen({ circuits, lastProbed }: BreakerState, buckets: readonly string[]): string[] {
  const all = buckets.some((name) => lastProbed.includes(name)) ? AGAIN : ALL;
  return [all, ...buckets].filter((name) => circuits.has(name));
}

function circuitOf({ circuits }: BreakerState, name: string): OpenCircuit {
  return circuits.get(name) as OpenCircuit;
}

function changeAll(state: BreakerState, names: readonly string[], change: Partial<OpenCircuit>): Map<string, OpenCircuit> {
  const changed = new Map(state.circuits);
  for (const name of names) changed.set(name, { ...circuitOf(state, name), ...change });
  return changed;
}

// The server works: it found another program's value under this key, or too many writers at it. Or it refused a call
// that is too old, or keeps it for the end of a transaction of other code.
const ANSWERED: readonly unknown[] = [
  "ERR_STORE_FOREIGN_VALUE", "ERR_STORE_CONTENTION", "ERR_STORE_TOO_LATE", "ERR_STORE_QUEUED",
];
// The store cannot do what the caller asked, and may not have called its server. So this is no failure of the server.
const ASKED_IN_VAIN = "ERR_STORE_APART";
