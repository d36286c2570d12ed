import { monotonicClock } from "../core/clock.js";
import type { FailureSettings } from "../core/failure-options.js";
import type { GuardSetup } from "../core/store.js";
import { StoreUnavailableError } from "./errors.js";

/**
 * Counts failures in a row, and says whether the store is asked.
 *
 * Closed: every call asks the store. Open, after `failures` in a row: one call each `probeEveryMs` asks, so that a
 * store that comes back is not flooded. The first answer in time closes it. With `false` every call asks; only the
 * events remain.
 */
export class CircuitBreaker {
  readonly #failures: number;
  readonly #probeEveryMs: number;
  readonly #onChange: GuardSetup["onChange"];
  #inARow = 0;
  /**
   * The error of every call while the breaker is open: one for the whole outage, since thousands of calls a second may
   * fail with it.
   */
  #open: StoreUnavailableError | null = null;
  #nextProbe = 0;

  constructor(settings: FailureSettings["breaker"], onChange: GuardSetup["onChange"]) {
    this.#failures = settings === false ? 5 : settings.failures;
    this.#probeEveryMs = settings === false ? 0 : settings.probeEveryMs;
    this.#onChange = onChange;
  }

  /** The error to fail with at once; null when the store is asked. */
  refusal(): StoreUnavailableError | null {
    if (this.#open === null) return null;
    const now = monotonicClock();
    if (now < this.#nextProbe) return this.#open;
    this.#nextProbe = now + this.#probeEveryMs;
    return null;
  }

  /** The store answered in time. */
  succeeded(): void {
    if (this.#inARow === 0) return;
    const before = this.#open;
    this.#inARow = 0;
    this.#open = null;
    if (before !== null) this.#onChange("available", before.cause);
  }

  /** The store failed with `error`, or did not answer in time. */
  failed(error: unknown): void {
    if (isAboutOneRecord(error)) return this.succeeded();
    this.#inARow += 1;
    if (this.#open !== null || this.#inARow < this.#failures) return;
    const message = `The store failed ${this.#inARow} times in a row and is not asked for now: see \`cause\``;
    this.#open = new StoreUnavailableError("ERR_STORE_OPEN", message, { cause: error });
    this.#nextProbe = monotonicClock() + this.#probeEveryMs;
    this.#onChange("unavailable", error);
  }
}

// The store works: it found another program's value under this key, or too many writers at it.
function isAboutOneRecord(error: unknown): boolean {
  const code = (Object(error) as { code?: unknown }).code;
  return code === "ERR_STORE_FOREIGN_VALUE" || code === "ERR_STORE_CONTENTION";
}
