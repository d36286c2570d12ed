import { monotonicClock } from "../core/clock.js";
import { StoreAwayError } from "./away-error.js";

/** When to stop asking a store that fails. */
export interface BreakerOptions {
  /** So many failures in a row, and it is not asked any more. At least 1, default 5. */
  readonly failures?: number;
  /** Then one request each so many milliseconds asks whether it is back. At least 1, default 1000. */
  readonly probeEveryMs?: number;
}

/** Told when the store goes away and when it is back. */
export type OnChange = (state: "away" | "back", error: unknown) => void;

/**
 * Counts failures in a row and says whether the store is to be asked. While it is away, one call each `probeEveryMs` may
 * ask, so a store that comes back is not met by a crowd; the first answer in time ends it.
 */
export class Breaker {
  readonly #failures: number;
  readonly #probeEveryMs: number;
  readonly #onChange: OnChange;
  #inARow = 0;
  #away: StoreAwayError | null = null;
  #nextProbe = 0;

  /** With `probeEveryMs` of 0 every call is a probe: it only tells of changes. */
  constructor(failures: number, probeEveryMs: number, onChange: OnChange) {
    this.#failures = failures;
    this.#probeEveryMs = probeEveryMs;
    this.#onChange = onChange;
  }

  /** The error to fail with at once; null when the store is to be asked. */
  refusal(): StoreAwayError | null {
    if (this.#away === null) return null;
    const now = monotonicClock();
    if (now < this.#nextProbe) return this.#away;
    this.#nextProbe = now + this.#probeEveryMs;
    return null;
  }

  /** The store answered in time, if only to say that something is wrong with one record. */
  answered(): void {
    if (this.#inARow === 0) return;
    const was = this.#away;
    this.#inARow = 0;
    this.#away = null;
    if (was !== null) this.#onChange("back", was.cause);
  }

  /** The store failed with `error`, or did not answer in time. */
  failed(error: unknown): void {
    if (isAboutOneRecord(error)) return this.answered();
    this.#inARow += 1;
    if (this.#away !== null || this.#inARow < this.#failures) return;
    // One for the whole outage: thousands of requests a second may fail with it.
    this.#away = new StoreAwayError("ERR_STORE_OPEN", "The store failed too often and is not asked for now", { cause: error });
    this.#nextProbe = monotonicClock() + this.#probeEveryMs;
    this.#onChange("away", error);
  }
}

// The store works, and says that it found something else under this caller's key, or too many writers at it.
function isAboutOneRecord(error: unknown): boolean {
  const code = (Object(error) as { code?: unknown }).code;
  return code === "ERR_STORE_FOREIGN_VALUE" || code === "ERR_STORE_CONTENTION";
}
