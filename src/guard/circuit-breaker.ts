import { monotonicClock } from "../core/clock.js";
import { checkNames, expected, positiveInteger } from "../core/check.js";
import { StoreUnavailableError } from "./errors.js";

/** When to stop asking a store that fails. */
export interface BreakerOptions {
  /** So many failures in a row, and it is not asked any more. At least 1, default 5. */
  readonly failures?: number;
  /** Then one request each so many milliseconds asks whether it is back. At least 1, default 1000. */
  readonly probeEveryMs?: number;
}

/** Told when the store goes away and when it is back. */
export type OnChange = (state: "unavailable" | "available", error: unknown) => void;

/** Counts failures in a row and says whether the store is to be asked. */
export interface Breaker {
  /** The error to fail with at once; null when the store is to be asked. */
  refusal(): StoreUnavailableError | null;
  /** The store answered in time, if only to say that something is wrong with one record. */
  answered(): void;
  /** The store failed with `error`, or did not answer in time. */
  failed(error: unknown): void;
}

/**
 * Makes a breaker. While the store is away, one call each `probeEveryMs` may ask, so a store that comes back is not met by a crowd;
 * the first answer in time ends it. With `false` every call may: it only tells of changes. Throws a RangeError or TypeError that names
 * the wrong option.
 */
export function makeBreaker(options: false | BreakerOptions = {}, onChange: OnChange): Breaker {
  if (options !== false && (typeof options !== "object" || options === null)) {
    throw new TypeError(expected("breaker", "false, or an object with `failures` or `probeEveryMs`", options));
  }
  checkNames(options || {}, ["failures", "probeEveryMs"]);
  const { failures = 5, probeEveryMs = 1_000 } = options || { probeEveryMs: 0 };
  positiveInteger("breaker.failures", failures);
  if (options) positiveInteger("breaker.probeEveryMs", probeEveryMs);
  let inARow = 0;
  let away: StoreUnavailableError | null = null;
  let nextProbe = 0;

  function answered(): void {
    if (inARow === 0) return;
    const was = away;
    inARow = 0;
    away = null;
    if (was !== null) onChange("available", was.cause);
  }

  return {
    answered,
    refusal() {
      if (away === null) return null;
      const now = monotonicClock();
      if (now < nextProbe) return away;
      nextProbe = now + probeEveryMs;
      return null;
    },
    failed(error) {
      if (isAboutOneRecord(error)) return answered();
      inARow += 1;
      if (away !== null || inARow < failures) return;
      // One for the whole outage: thousands of requests a second may fail with it.
      away = new StoreUnavailableError("ERR_STORE_OPEN", "The store failed too often and is not asked for now", { cause: error });
      nextProbe = monotonicClock() + probeEveryMs;
      onChange("unavailable", error);
    },
  };
}

// The store works, and says that it found something else under this caller's key, or too many writers at it.
function isAboutOneRecord(error: unknown): boolean {
  const code = (Object(error) as { code?: unknown }).code;
  return code === "ERR_STORE_FOREIGN_VALUE" || code === "ERR_STORE_CONTENTION";
}
