import { monotonicClock } from "../../core/clock.js";
import { lineOf } from "../../warnings/line-of.js";
import { warnOnce } from "../../warnings/warnings.js";
import { createSetupCheck } from "./store-failure.js";

// One late answer, or the answers of one pause of the server, say nothing about the timeout.
const MANY_LATE = 5;

/** What looks like an outage of a store and is a mistake in a program, or in the numbers of its guard. */
export interface StoreHints {
  /**
   * A call failed with `error`. Warns of an error that only a bug or a wrong setting can cause, and returns whether it
   * is one.
   */
  failed(error: unknown): boolean;
  /**
   * The answer to a call that was sent at `since` came after the timeout. `stalledAt` is when the event loop was last
   * blocked. `successes` counts on when an answer comes in time. Warns of a timeout that is too short.
   */
  late(since: number, stalledAt: number, successes: number): void;
}

/** Makes the hints about one store. `nameOf` returns its name in a warning. */
export function createStoreHints(timeoutMs: number, nameOf: () => string): StoreHints {
  /** The times that the last answers took which came late, in a row. */
  let lateMs: number[] = [];
  let lastLate = -Infinity;
  let lastSuccesses = 0;
  const isSetupFailure = createSetupCheck(nameOf);

  return {
    failed(error) {
      if (isSetupFailure(error)) return true;
      if (!isBug(error)) return false;
      const { name, stack } = error as Error;
      warnOnce(
        "SLUICE_STORE_BUG",
        `${nameOf()} failed with a ${name}: ${lineOf(error)}. This is a bug of the store or its client, not an ` +
        `outage. Meanwhile \`onStoreError\` decides.`,
        stack,
      );
      return true;
    },
    late(since, stalledAt, successes) {
      const now = monotonicClock();
      if (successes !== lastSuccesses) lateMs = [];
      lastSuccesses = successes;
      // Of calls that were under way together one counts. After a blocked event loop the time is not the store's.
      if (since < lastLate || since <= stalledAt || now - since < timeoutMs) return;
      lastLate = now;
      if (lateMs.push(Math.round(now - since)) < MANY_LATE) return;
      const [least, most] = [Math.min(...lateMs), Math.max(...lateMs)];
      lateMs = [];
      warnOnce(
        "SLUICE_STORE_SLOW",
        `${nameOf()} answers after the timeout: ${MANY_LATE} answers in a row took ${least} to ${most} ms, ` +
          `and \`timeoutMs\` is ${timeoutMs}. Raise \`timeoutMs\` of the store, or move the store closer.`,
      );
    },
  };
}

/** Warns of a cluster whose calls carry the keys of one slot each, and says why. */
export function hintOneSlot(reason: string): void {
  warnOnce(
    "SLUICE_REDIS_SLOTS",
    `This Redis Cluster cannot take several slots in one call: ${reason}. Each slot now gets a separate call, ` +
    `which costs up to six times the CPU time with many callers. Use Redis 7 or Valkey, or set \`spread\``,
  );
}

/**
 * Whether `error` comes from a mistake in a program and not from the network. A SyntaxError does not count:
 * `JSON.parse` throws it for the error page of a proxy. Some TypeErrors do not count either: `fetch` throws one when it
 * gets no response.
 */
function isBug(error: unknown): boolean {
  const { name, message, cause } = Object(error) as Partial<Error>;
  if (name === "TypeError") return cause === undefined && !/fetch|network|sending request|load failed/i.test(String(message));
  return name === "RangeError" || name === "ReferenceError";
}
