import {
  afterWindow, calmPlaces, ENOUGH, firstState, isProbeOver, placesAt, type Bounds, type LoadState, type Probe,
} from "./controller.js";
import { Peaks, type Entry } from "./peaks.js";
import { timesOf, type Times } from "./times.js";

const SHORTEST_WINDOW_MS = 200;
/** A window of few samples ends after two seconds, with 20 of them. */
const [SLOW_MS, FEW] = [2_000, 20];
const MOST_SAMPLES = 1_000;
const NEAR = 0.9;
const LEAST_NEAR = 6;
/** A clock may be too coarse to see the time of an answer. */
const SHORTEST_MS = 0.001;

/** How a request ended. `left`: its client did not wait for the answer. */
type End = "answered" | "failed" | "left";

/** Collects samples into windows, and asks the controller after each. It keeps at most 3,000 times. */
export class LoadLimit {
  readonly #bounds: Bounds;
  #state: LoadState;
  // Answers to requests of the time before a change say nothing of the time after.
  #from = -Infinity;
  #latest = -Infinity;
  #startedAt = 0;
  #failed = 0;
  #left = 0;
  #median = 0;
  #times: number[] = [];
  #near: number[] = [];
  #calm: number[] = [];
  readonly #peaks = new Peaks();

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
    this.#state = firstState(bounds);
  }

  /** What the controller knows now. */
  get state(): LoadState {
    return this.#state;
  }

  /** Returns how many requests may be in flight. */
  number(now: number): number {
    return placesAt(this.#state, now);
  }

  /** A request has entered: `inFlight` counts it and those before it. Returns what {@link sample} takes. */
  enter(inFlight: number): Entry {
    return this.#peaks.enter(inFlight);
  }

  /**
   * Takes the time of the answer to a request. `share` is the part of the places that it might use. A time that is no
   * number is left out.
   */
  sample(now: number, tookMs: number, entry: Entry, failed: boolean, share = 1): void {
    this.#take(now, tookMs, entry, failed ? "failed" : "answered", share);
  }

  /** How long answers take: the last median, or that of the service alone with its wait if it is longer. */
  get typicalMs(): number {
    const { base } = this.#state;
    return Math.max(this.#median, base === null ? 0 : base.median + base.wait);
  }

  /**
   * Takes the time of a request whose client left before an answer: the answer would have taken longer. A time below that of
   * the service alone, or below the last median, says nothing.
   */
  left(now: number, ms: number, entry: Entry, share = 1): void {
    if (ms < (this.#state.base?.median ?? this.#median)) return;
    this.#take(now, ms, entry, "left", share);
  }

  #take(now: number, tookMs: number, entry: Entry, end: End, share: number): void {
    if (!Number.isFinite(tookMs) || !Number.isFinite(now)) return;
    if (now < this.#latest - SLOW_MS) this.#setBack(now);
    this.#latest = now;
    if (tookMs < 0) return;
    const ms = Math.max(SHORTEST_MS, tookMs);
    const { probe } = this.#state;
    if (probe !== null) return this.#takeInProbe(probe, now, ms, entry, end);
    if (now < this.#from) return;
    if (this.#count === 0) this.#startedAt = Math.max(this.#from, now - SLOW_MS);
    if (end === "failed") this.#failed += 1;
    else this.#add(ms, entry, share * placesAt(this.#state, now));
    if (end === "left") this.#left += 1;
    if (this.#isWhole(now - this.#startedAt)) this.#end(now);
  }

  /** The clock was set back: its earlier instants are of no use. */
  #setBack(now: number): void {
    this.#state = { ...this.#state, basedAt: Math.min(this.#state.basedAt, now), probe: null };
    this.#from = -Infinity;
    this.#clear();
    this.#calm = [];
  }

  #clear(): void {
    this.#times = [];
    this.#near = [];
    this.#failed = 0;
    this.#left = 0;
  }

  get #count(): number {
    return this.#times.length + this.#failed;
  }

  #add(ms: number, entry: Entry, places: number): void {
    this.#times.push(ms);
    if (entry.inFlight >= NEAR * places) this.#near.push(ms);
    // An event loop that computes lets many requests enter in one turn, and the first of them are not alone.
    if (this.#peaks.since(entry) <= calmPlaces(this.#state)) this.#calm.push(ms);
  }

  #isWhole(ms: number): boolean {
    if (this.#count >= MOST_SAMPLES) return true;
    return this.#count >= ENOUGH ? ms >= SHORTEST_WINDOW_MS : this.#count >= FEW && ms >= SLOW_MS;
  }

  #takeInProbe(probe: Probe, now: number, ms: number, entry: Entry, end: End): void {
    if (end !== "failed" && this.#peaks.since(entry) <= probe.places && this.#times.length < MOST_SAMPLES) {
      if (this.#times.length === 0) this.#startedAt = now;
      this.#times.push(ms);
      if (end === "left") this.#left += 1;
    }
    const seen = { at: now, count: this.#count, durationMs: now - this.#startedAt };
    if (isProbeOver(this.#state, probe, seen)) this.#end(now);
  }

  #end(now: number): void {
    const before = this.#state;
    const calm = before.probe === null && this.#calm.length >= ENOUGH ? timesOf(this.#calm) : null;
    const times = this.#times.length > 0 ? timesOf(this.#times) : null;
    if (times !== null) this.#median = times.median;
    this.#state = afterWindow(before, {
      at: now,
      durationMs: now - this.#startedAt,
      count: this.#count,
      failed: this.#failed,
      left: this.#left,
      times,
      nearFull: this.#near.length >= LEAST_NEAR ? timesOf(this.#near) : null,
      nearShare: this.#near.length / Math.max(1, this.#times.length),
      calm,
    }, this.#bounds);
    if (calm !== null || this.#state.probe !== before.probe) this.#calm = [];
    this.#clear();
    this.#from = this.#state.probe === null ? now + settleMs(times) : now;
  }
}

function settleMs(times: Times | null): number {
  return Math.min(SLOW_MS, times?.median ?? 0);
}
