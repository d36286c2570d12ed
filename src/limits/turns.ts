import { monotonicClock } from "../core/clock.js";
import { sharesWork, unref } from "../platform.js";
import { callsAtOnce } from "./held-work.js";

/** A call that the library makes by itself: a renewal, or a give-back that comes late. */
export interface Turn {
  /** When its tokens come back by themselves, by the monotonic clock. The earliest goes first. */
  readonly until: number;
  /** Makes the call. Returns undefined when nothing is left to do, or when it is done at once. */
  run(): Promise<unknown> | undefined;
}

const callLines = new WeakMap<object, CallLine>();

/** Makes the calls, each when it is its turn at the store. Requests that share no work (law L15) wait for no turn. */
export function takeTurns(store: object, turns: readonly Turn[]): void {
  if (turns.length === 0) return;
  if (!sharesWork()) return turns.forEach((turn) => void turn.run());
  const line = callLines.get(store) ?? new CallLine();
  callLines.set(store, line);
  line.join(turns);
}

/** The calls that wait for their turn at one store. */
class CallLine {
  /** The most urgent one is the first. Those before `#made` were made. */
  #waiting: Turn[] = [];
  #made = 0;
  #open = 0;
  /** What an answered call took on average. */
  #callMs = 0;

  join(turns: readonly Turn[]): void {
    this.#waiting = [...this.#waiting.slice(this.#made), ...turns].sort((a, b) => a.until - b.until);
    this.#made = 0;
    this.#goOn();
  }

  #goOn(): void {
    for (let next = this.#waiting[this.#made]; next !== undefined; next = this.#waiting[this.#made]) {
      const now = monotonicClock();
      const left = this.#waiting.length - this.#made;
      if (this.#open >= callsAtOnce(left, this.#callMs, next.until - now)) return;
      this.#made += 1;
      const call = next.run();
      if (call === undefined) continue;
      this.#open += 1;
      call.then(
        () => this.#ended(monotonicClock() - now),
        // It says nothing about the time of an answer.
        () => this.#ended(this.#callMs),
      );
    }
    this.#waiting = [];
    this.#made = 0;
  }

  #ended(ms: number): void {
    this.#callMs += (ms - this.#callMs) / 8;
    this.#open -= 1;
    this.#goOn();
  }
}

interface Timers {
  setInterval(run: () => void, ms: number): unknown;
  clearInterval(timer: unknown): void;
}

const timers = globalThis as unknown as Timers;

/** Calls `run` every `ms` milliseconds. Does not keep the process alive. */
export function startBeat(run: () => void, ms: number): unknown {
  return unref(timers.setInterval(run, ms));
}

/** Ends what {@link startBeat} began. */
export function stopBeat(timer: unknown): void {
  timers.clearInterval(timer);
}
