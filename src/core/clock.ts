import { checkClock, expected } from "./check.js";

/**
 * A function that returns the time in milliseconds since any fixed instant, or two clocks. Fractions are floored.
 * Prefer a monotonic clock: each step back grants at most one extra `capacity` (law L6).
 *
 * Of two clocks, `now` may stand still while the machine is suspended, and `wallNow` goes on. Before a refusal that
 * follows from time, both are compared, and what `now` lost counts. A function is the only clock.
 */
export type Clock = (() => number) | TwoClocks;

/** A clock that may stand still while the machine is suspended, and one that goes on. A ManualClock is both. */
export interface TwoClocks {
  /** Returns the milliseconds of the clock that may stand still. */
  readonly now: () => number;
  /** Returns the milliseconds of the wall clock. */
  readonly wallNow: () => number;
}

/**
 * The default clock: the platform's monotonic `performance.now`, in milliseconds. Setting the date does not move it.
 * While the machine is suspended it may stand still, so stores and buckets look at `Date.now`, too (law L6).
 *
 * Reads `performance` at each call, not at import, so that the core compiles and loads without a platform.
 * @example
 * const bucket = new TokenBucket({ capacity: 5, refill: perSecond(1), clock: monotonicClock });
 */
export function monotonicClock(): number {
  const { performance } = globals;
  if (performance === undefined) throw new TypeError(NO_PERFORMANCE);
  return performance.now();
}

const globals = globalThis as unknown as { readonly performance?: { now: () => number }; readonly Date: { now: () => number } };

const NO_PERFORMANCE = "Expected `performance` to be there, got undefined. Pass `clock: Date.now`, or define it.";

/**
 * Reads a clock in whole milliseconds: of two clocks, `now`. Throws a RangeError for a reading that is not finite or
 * passes 2^53.
 */
export function readClock(clock: Clock): number {
  const now = Math.floor(typeof clock === "function" ? clock() : clock.now());
  if (!Number.isSafeInteger(now)) throw new RangeError(expected("clock()", "a finite number of milliseconds below 2^53", now));
  return now;
}

/** The clock of a store that several processes share: of two clocks, `wallNow`. Throws a TypeError for a wrong one. */
export function sharedClock(clock: Clock | "server" = "server"): (() => number) | "server" {
  if (clock === "server") return clock;
  return wallClock(clock);
}

/** Reads the date: of two clocks, `wallNow`. Throws a TypeError for a wrong one. */
export function wallClock(clock: Clock): () => number {
  checkClock(clock);
  return typeof clock === "function" ? clock : () => clock.wallNow();
}

// A clock that is kept right moves by less at a time.
const LEAST_GROWTH_MS = 1_000;

/**
 * What a clock lost while it stood still, because the machine was suspended: the one rule of two clocks (law L6).
 *
 * It keeps the greatest lead of the wall clock over the other one. What the lead grows by more than a second is lost
 * time, and counts once. So a wall clock that steps back and ahead again and again adds nothing.
 */
export class LostTime {
  /** Milliseconds, of all suspensions together. Add them to what the clock shows. */
  lostMs = 0;
  #leadMs = NaN;
  readonly #wallNow: (() => number) | null;

  /** Null: nothing is ever lost. */
  constructor(wallNow: (() => number) | null) {
    this.#wallNow = wallNow;
  }

  /** Looks for the first time, and again if other clocks took the place of the platform's. */
  begin(now: number): void {
    if (this === byDefault && isOtherPlatform()) this.#leadMs = NaN;
    this.look(now);
  }

  /**
   * Compares the clocks, and returns whether time was lost since the last look. Call it before a refusal that follows
   * from time, and decide anew if it returns true. `now` is what the clock shows.
   */
  look(now: number, wallNow?: number): boolean {
    if (this.#wallNow === null) return false;
    const leadMs = (wallNow ?? readClock(this.#wallNow)) - Math.floor(now);
    const growthMs = leadMs - this.#leadMs;
    if (growthMs <= LEAST_GROWTH_MS) return false;
    this.#leadMs = leadMs;
    // NaN at the first look. Other clocks have another lead.
    if (!(growthMs > 0) || (this === byDefault && isOtherPlatform())) return false;
    this.lostMs += growthMs;
    return true;
  }
}

let sources: readonly unknown[] = [];

/** Whether fake timers have replaced the platform's clocks since the last call, or given them back. */
function isOtherPlatform(): boolean {
  const before = sources;
  sources = [globals.performance?.now, globals.Date.now];
  return sources.some((clock, i) => clock !== before[i]);
}

const NOTHING_LOST = /* @__PURE__ */ new LostTime(null);
const byDefault = /* @__PURE__ */ new LostTime(() => globals.Date.now());
const byClock = /* @__PURE__ */ new WeakMap<object, LostTime>();

/** What `clock` lost, for the whole process. A function is the only clock and loses nothing, but for the default. */
export function lostTimeOf(clock: Clock): LostTime {
  if (typeof clock === "function" && clock !== monotonicClock) return NOTHING_LOST;
  const lost = typeof clock === "function" ? byDefault : (byClock.get(clock) ?? new LostTime(() => clock.wallNow()));
  byClock.set(clock, lost);
  // At once, because the first refusal may come after a suspension.
  if (lost !== byDefault || globals.performance !== undefined) lost.begin(readClock(clock));
  return lost;
}
