import { expected, hasOwn, positiveInteger } from "../core/check.js";
import { takenAt } from "../core/decide.js";
import type { Policy } from "../core/policy.js";
import type { Kind, ReturnsAfter } from "../core/model.js";
import { WindowTable } from "./tables/window-table.js";
import { dateRules } from "./date-rules.js";
import { windowAmounts } from "./window-amounts.js";

/** A year of 366 days. */
const LONGEST_WINDOW_MS = 31_622_400_000;

/**
 * Returns the `returns` of a sliding window: never more than `capacity` tokens in any stretch of `ms` milliseconds.
 *
 * All of them may be taken at once. Each token comes back `ms` after it was taken, at most an eighth later, and a
 * refusal's wait is exact. Use it for what somebody else counts, such as the tokens per minute of a provider, and for
 * contracts and guesses. For your own callers a rate, such as `perMinute(100)`, is kinder and costs less. It refuses no
 * caller who comes in step with the minute.
 *
 * From 1 ms to 366 days. Also takes a copy of what it returned, such as one from JSON. Throws a TypeError or
 * RangeError.
 * @example
 * const provider = { name: "provider", capacity: 40_000, returns: afterMs(60_000), unit: "tokens" };
 */
export function afterMs(ms: number | Pick<ReturnsAfter, "afterMs">): ReturnsAfter {
  const given: unknown = typeof ms === "object" && ms !== null ? ms.afterMs : ms;
  if (positiveInteger("afterMs", given) > LONGEST_WINDOW_MS) {
    throw new RangeError(expected("afterMs", `at most ${LONGEST_WINDOW_MS} ms`, given));
  }
  const length = given as number;
  const dateOf = (now: number): number => now + length - 1;
  const kind: Kind = {
    dateOf,
    backTo(from) {
      const taken = takenAt(from, "at");
      return taken === undefined ? undefined : dateOf(taken);
    },
    retryAfterMs: Infinity,
    isInFlight: false,
    amounts: windowAmounts,
  };
  const kindCode: ReturnsAfter["kindCode"] = {
    field: "returns",
    of: "window",
    kind,
    numbers: { calendar: `after ${length} ms`, fullMs: length - 1, windowSeconds: Math.ceil(length / 1_000) },
    dateRules,
    table: WindowTable,
  };
  return Object.freeze(Object.defineProperty({ afterMs: length }, "kindCode", { value: kindCode })) as ReturnsAfter;
}

/** Returns a copy of a policy, such as one from JSON, with the arithmetic that its windows had. */
export function withWindows(policy: Policy): Policy {
  const limits = policy.limits.map((limit) =>
    limit.returns !== undefined && hasOwn(limit.returns, "afterMs") ? { ...limit, returns: afterMs(limit.returns) } : limit);
  return { ...policy, limits } as unknown as Policy;
}
