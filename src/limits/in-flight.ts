import { checkOptions, expected, hasOwn, positiveInteger } from "../core/check.js";
import { takenAt } from "../core/decide.js";
import type { Policy } from "../core/policy.js";
import type { KindCode, InFlightTimes, Returns } from "../core/model.js";
import { HeldRecords } from "./tables/held-records.js";
import { datedAmounts } from "./dates.js";
import { dateRules } from "./date-rules.js";
import { keepTaken, RequestHold } from "./hold.js";
import { stopRenewing } from "./renewals.js";
import { releaseLate, settleLater } from "./settlements.js";

/** The options of {@link whenDone}. */
export interface WhenDoneOptions {
  /**
   * Milliseconds after which tokens come back by themselves, at most a sixteenth later, if the process that took them
   * ended or lost its store. 1,000 to 3,600,000, default 15,000. Work that takes longer renews its tokens three times
   * in this time.
   */
  readonly staleAfterMs?: number | undefined;
  /** Milliseconds after which a refused caller is told to ask again. At least 1, default 1,000. */
  readonly retryAfterMs?: number | undefined;
  /**
   * Milliseconds for which one work may keep its tokens. Then they are no longer renewed. At least `staleAfterMs`,
   * default 3,600,000.
   */
  readonly maxWorkMs?: number | undefined;
}

/**
 * Returns the `returns` of a limit in flight: tokens come back when the work that took them is done.
 *
 * A gate gives them back when the response is over, and `run` when the work is. By hand, `settle` does. A process that
 * dies gives nothing back: its tokens come back after `staleAfterMs`. Throws a TypeError or RangeError that names the
 * wrong option.
 * @example
 * const parallel = { name: "parallel", capacity: 4, returns: whenDone() };
 */
export function whenDone(options: WhenDoneOptions = {}): Returns {
  const own = checkOptions(options, ["staleAfterMs", "retryAfterMs", "maxWorkMs"]);
  const staleAfterMs = timeIn("staleAfterMs", own.staleAfterMs ?? 15_000, 1_000, ONE_HOUR_MS);
  const retryAfterMs = timeIn("retryAfterMs", own.retryAfterMs ?? 1_000, 1, LONGEST_MS);
  const maxWorkMs = timeIn("maxWorkMs", own.maxWorkMs ?? ONE_HOUR_MS, staleAfterMs, LONGEST_MS);
  const written = { staleAfterMs, retryAfterMs, maxWorkMs };
  return Object.freeze(Object.defineProperty(written, "kindCode", { value: inFlightCode(written) })) as Returns;
}

const ONE_HOUR_MS = 3_600_000;
// The longest delay of a timer.
const LONGEST_MS = 2 ** 31 - 1;

function timeIn(name: string, ms: unknown, least: number, most: number): number {
  if (positiveInteger(name, ms) < least || (ms as number) > most) {
    throw new RangeError(expected(name, `from ${least} to ${most} ms`, ms));
  }
  return ms as number;
}

// The dates of one record. More would cost a store more, and fewer would keep the tokens of a dead process for longer.
const DATES = 16;

/**
 * Makes the arithmetic of limits in flight. Dates are rounded up to a sixteenth, so a record has at most 18 of them.
 */
export function inFlightCode({ staleAfterMs, retryAfterMs }: InFlightTimes): KindCode {
  const step = Math.ceil(staleAfterMs / DATES);
  const dateOf = (now: number): number => Math.ceil((now + staleAfterMs) / step) * step - 1;
  return {
    field: "returns",
    of: "in-flight",
    kind: {
      dateOf,
      backTo(from) {
        const taken = takenAt(from, "heldAt");
        // A debit and a credit leave tokens in flight alone, and state no instant.
        return taken === undefined ? null : dateOf(taken);
      },
      retryAfterMs,
      isInFlight: true,
      amounts: datedAmounts,
    },
    numbers: { calendar: `${staleAfterMs} ${retryAfterMs} ms`, fullMs: staleAfterMs + step - 1, windowSeconds: 0 },
    dateRules,
    holdRules: {
      keep: keepTaken, newHold: () => new RequestHold(), stop: stopRenewing, later: settleLater, giveBackLate: releaseLate,
    },
    table: HeldRecords,
  };
}

/** Returns a copy of a policy, such as one from JSON, with the arithmetic that its limits in flight had. */
export function withReturns(policy: Policy): Policy {
  const limits = policy.limits.map((limit) =>
    limit.returns !== undefined && hasOwn(limit.returns, "staleAfterMs")
      ? { ...limit, returns: whenDone(limit.returns) }
      : limit);
  return { ...policy, limits } as unknown as Policy;
}
