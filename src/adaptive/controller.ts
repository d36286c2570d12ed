import { blend, type Times } from "./times.js";

/** The numbers between which the limit moves: whole, at least 1. */
export interface Bounds {
  readonly least: number;
  readonly most: number;
}

/** What the samples of one window say. Times are in milliseconds. */
export interface LoadWindow {
  /** The instant of its last sample. */
  readonly at: number;
  readonly durationMs: number;
  /** The answers, of which `failed` had a status of 500 or more. */
  readonly count: number;
  readonly failed: number;
  /** Those requests among them whose clients left before an answer. Their times are too short. */
  readonly left: number;
  /** The times of answers that did not fail. In a probe: of requests that took one of its places. Null for none. */
  readonly times: Times | null;
  /** Those of requests that took one of the last tenth of the places, or null for fewer than six. */
  readonly nearFull: Times | null;
  /** The share of such requests. */
  readonly nearShare: number;
  /** Those of requests that found few others in flight, since the last window that had 50 of them. Null otherwise. */
  readonly calm: Times | null;
}

/** What the controller knows. It is plain data, and never changes. */
export interface LoadState {
  /** The requests in flight that the service takes, with a fraction. */
  readonly number: number;
  /** Where the number was before it began to move, and for how many windows it has been above (or, negative, below). */
  readonly place: number;
  readonly away: number;
  /** The times of the service without a line before it, and when they were measured. Null before the first window. */
  readonly base: Times | null;
  readonly basedAt: number;
  /** Answers a millisecond, when the service had all that it could do. */
  readonly rate: number;
  /** The number of the last window without an outage. */
  readonly good: number;
  /** A look at the base latency: few places, for a short time. */
  readonly probe: Probe | null;
}

export interface Probe {
  readonly places: number;
  readonly since: number;
  /** When it ends at the latest. */
  readonly until: number;
  /** The milliseconds after which it may end with 50 samples. */
  readonly leastMs: number;
  /** Whether it looks because the number has moved. */
  readonly moved: boolean;
  /** The times of the window before it. */
  readonly before: Times;
}

// Chosen by simulation: see "A limit that finds its own number" in docs/decisions.md.
const FIRST_NUMBER = 20;
const FALL = 0.8;
const [RISE, RISE_WITHOUT_LINE, WITHOUT_LINE] = [1.2, 1.4, 1.3];
const NEAR_SHARE = 0.3;
/** The slowest tenth is few samples, so it may take this many times what one wait in line explains. */
const MOST_UPPER = 1.5;
/** A number that is a fifth below its place, or a quarter above, is away. */
const AWAY = 0.8;
const AWAY_WINDOWS = 6;
const DEEPEST = 4;
/** A probe takes this part of the places. */
const PROBE_PART = 5;
const PROBE_MEDIANS = 10;
/** A probe lasts at most this long, or this many medians if they are longer: first the line has to end. */
const [PROBE_MS, MOST_MEDIANS] = [1_000, 3];
/** The samples that make a window, or a base. */
export const ENOUGH = 50;
/** In calm a look comes after this time, or this many times what it may last. */
const [CALM_EVERY_MS, CALM_LOOKS] = [60_000, 40];
const MOVED_EVERY_MS = 5_000;
/** A probe with this part of the usual rate has a line before the service still. */
const STILL_BUSY = 0.75;
const FEWEST_IN_PROBE = 5;
const CONFIRMED = 0.6;

/** Returns the state before the first sample. */
export function firstState(bounds: Bounds): LoadState {
  const number = within(bounds, FIRST_NUMBER);
  return { number, place: number, away: 0, base: null, basedAt: -Infinity, rate: 0, good: number, probe: null };
}

/** Returns how many requests may be in flight: a whole number within the bounds. */
export function placesAt(state: LoadState, now: number): number {
  const { probe } = state;
  return probe !== null && now < probe.until ? probe.places : Math.floor(state.number);
}

/** Returns the most requests in flight, itself included, at which the time of a request says what the service takes alone. */
export function calmPlaces({ number, place }: LoadState): number {
  return Math.max(1, Math.min(place, Math.max(number, place / DEEPEST)) / PROBE_PART);
}

/** Whether a probe that has these samples says enough. */
export function isProbeOver(state: LoadState, probe: Probe, seen: Pick<LoadWindow, "at" | "count" | "durationMs">): boolean {
  const { at, count, durationMs } = seen;
  if (at >= probe.until) return true;
  if (count >= ENOUGH) return at - probe.since >= probe.leastMs || isBusy(state, seen);
  // A slow service shows with fewer answers that its line has not ended.
  return probe.moved && count >= 2 * FEWEST_IN_PROBE && durationMs >= PROBE_MS && isBusy(state, seen);
}

/** Returns the state after a window of samples, or after those of a probe. */
export function afterWindow(state: LoadState, window: LoadWindow, bounds: Bounds): LoadState {
  if (state.probe !== null) return leaveProbe(state, state.probe, window, bounds);
  if (window.count >= ENOUGH && window.failed * 2 > window.count) return inOutage(state, bounds);
  const { times } = window;
  if (times === null) return state;
  if (isLeft(window)) return withPlace(fall(state, bounds), window);
  const seen = withBase(withRate(state, window), window, times);
  if (seen.base === null) return window.nearFull === null ? seen : startProbe(seen, window, bounds, true);
  const moved = withPlace(moveNumber(seen, seen.base, window, bounds), window);
  return look({ ...moved, good: moved.number }, window, bounds);
}

/** Whether most clients left before an answer: then the service has too many requests, whatever it takes alone. */
function isLeft({ left, count }: LoadWindow): boolean {
  return left * 2 > count;
}

function fall(state: LoadState, bounds: Bounds): LoadState {
  return { ...state, number: within(bounds, state.number * FALL) };
}

function within({ least, most }: Bounds, number: number): number {
  return Math.max(least, Math.min(most, number));
}

function inOutage(state: LoadState, bounds: Bounds): LoadState {
  // A number that is lower already stays.
  const floor = Math.min(state.number, state.good / 2);
  return { ...state, number: within(bounds, Math.max(floor, state.number * FALL)) };
}

function withRate(state: LoadState, { count, durationMs, nearFull }: LoadWindow): LoadState {
  const { rate, away } = state;
  const seen = count / Math.max(1, durationMs);
  // While the number falls, the service may do less because it is allowed less.
  if (nearFull === null || away <= -2) return { ...state, rate: Math.max(rate, seen) };
  return { ...state, rate: away === -1 || rate === 0 ? seen : rate + 0.3 * (seen - rate) };
}

function withBase(state: LoadState, { at, calm }: LoadWindow, times: Times): LoadState {
  const { base, basedAt } = calm === null ? state : { base: blend(state.base, calm, 0.5), basedAt: at };
  if (base === null || times.median >= base.median) return { ...state, base, basedAt };
  // No service is slower alone than under load.
  const share = (1 + times.median / base.median) / 2;
  const { median, upper, mean, wait } = base;
  return { ...state, basedAt, base: { median: median * share, upper: upper * share, mean: mean * share, wait: wait * share } };
}

function moveNumber(state: LoadState, base: Times, window: LoadWindow, bounds: Bounds): LoadState {
  const { number, place } = state;
  const { nearFull, nearShare } = window;
  const times = window.times as Times;
  const seen = nearFull !== null && nearShare >= NEAR_SHARE ? nearFull : times;
  const room = Math.min((base.median + base.wait) / seen.median, (MOST_UPPER * (base.upper + base.wait)) / seen.upper);
  if (room < 1) {
    // Below a quarter of its place the number waits for a look at the base.
    const floor = Math.min(number, place / DEEPEST);
    return { ...state, number: within(bounds, Math.max(floor, number * Math.max(FALL, room))) };
  }
  // A number that nobody meets does not rise.
  if (nearFull === null) return state;
  const fastest = times.median < WITHOUT_LINE * base.median ? RISE_WITHOUT_LINE : RISE;
  return { ...state, number: within(bounds, number * Math.min(fastest, room)) };
}

function withPlace(state: LoadState, { nearFull }: LoadWindow): LoadState {
  const { number, place, away } = state;
  const side = number < place * AWAY ? -1 : number > place / AWAY ? 1 : 0;
  if (side === 0) return { ...state, away: 0, place: place + (number - place) / 10 };
  if (side > 0 && nearFull === null) return state;
  return { ...state, away: side === Math.sign(away) ? away + side : side };
}

/** Looks at the base latency if it is old, or if the number has been away from its place for six windows. */
function look(state: LoadState, window: LoadWindow, bounds: Bounds): LoadState {
  const sinceMs = window.at - state.basedAt;
  const isFull = window.nearFull !== null;
  if (state.away <= -AWAY_WINDOWS && state.number < state.place / 2 && !isBusy(state, window)) {
    // The number is so low that this window was a look.
    return comeBack(state, window, blend(state.base, window.times as Times, 0.5), bounds);
  }
  const hasMoved = (isFull || state.away < 0) && Math.abs(state.away) >= AWAY_WINDOWS && sinceMs >= MOVED_EVERY_MS;
  const isOld = isFull && sinceMs >= Math.max(CALM_EVERY_MS, CALM_LOOKS * lookMs(window.times as Times));
  return hasMoved || isOld ? startProbe(state, window, bounds, hasMoved) : state;
}

/** Whether the service still does what it can: then its times contain a wait. */
function isBusy(state: LoadState, { count, durationMs }: Pick<LoadWindow, "count" | "durationMs">): boolean {
  return count / Math.max(1, durationMs) > STILL_BUSY * state.rate;
}

function startProbe(state: LoadState, window: LoadWindow, bounds: Bounds, moved: boolean): LoadState {
  const places = Math.floor(Math.min(state.number, Math.max(state.place, state.number) / PROBE_PART));
  const before = window.times as Times;
  const span = { since: window.at, until: window.at + lookMs(before), leastMs: PROBE_MEDIANS * before.median };
  return { ...state, probe: { ...span, places: within(bounds, places), moved, before } };
}

/** How long a look may last. */
function lookMs({ median }: Times): number {
  return Math.max(PROBE_MS, MOST_MEDIANS * median);
}

function leaveProbe(state: LoadState, probe: Probe, window: LoadWindow, bounds: Bounds): LoadState {
  const { at, count, times } = window;
  const ended = { ...state, probe: null };
  // Too few answers say nothing. The next look comes as if this one had been the last. A first base is what was seen before
  // it: if it contains a wait, the number rises, and the next look finds that out.
  if (times === null || count < FEWEST_IN_PROBE || isLeft(window)) {
    return { ...ended, base: state.base ?? (isLeft(window) ? null : probe.before), basedAt: Math.max(at, state.basedAt) };
  }
  if (count >= 2 * FEWEST_IN_PROBE && probe.places > bounds.least && isBusy(state, window) && at < probe.until) {
    // The times still contain a wait, so they are no base. They are nearer to it than the times that made the number move.
    const base = probe.moved ? times : state.base;
    const until = isSlow(probe) ? Math.max(probe.until, at + MOST_MEDIANS * times.median) : probe.until;
    return { ...state, base, probe: { ...probe, until, places: within(bounds, Math.floor(probe.places / PROBE_PART)) } };
  }
  if (!probe.moved) return { ...ended, basedAt: at, base: blend(state.base, times, weightOf(window)) };
  // A guess of a slow service would take a minute to fall.
  const { mean, wait } = times;
  const found = state.rate * (mean + wait);
  const isGuess = state.basedAt === -Infinity && isSlow(probe) && found < state.number / 2;
  // Short work ends first, so the few answers of a slow service are too quick. A number that rose would fall too far.
  const weight = state.away > 0 && isSlow(probe) ? weightOf(window) : 1;
  return comeBack(isGuess ? { ...ended, number: found } : ended, window, blend(state.base, times, weight), bounds);
}

/** What the answers of a look count for, beside the base of before. */
const weightOf = ({ count }: LoadWindow): number => Math.min(1, count / ENOUGH);

/** Whether a line of this service needs clearly more than the usual time to end. */
const isSlow = ({ since, until }: Probe): boolean => until - since > 1.1 * PROBE_MS;

/** Replaces the base, and goes where its times and the rate of the service lead. */
function comeBack(state: LoadState, { at }: LoadWindow, base: Times, bounds: Bounds): LoadState {
  const { number, place, away } = state;
  const found = state.rate * (base.mean + base.wait);
  const most = state.basedAt === -Infinity ? bounds.most : Math.max(place, number);
  const next = within(bounds, away > 0 ? afterRise(number, found) : Math.max(number, Math.min(most, found)));
  return { ...state, base, basedAt: at, probe: null, number: next, place: next, away: 0 };
}

/** A number that rose stays if a look nearly confirms it, and falls by no more than half at once. */
function afterRise(number: number, found: number): number {
  return found > CONFIRMED * number ? number : Math.max(number / 2, found);
}
