import { guardChecks } from "#diagnostics";
import { expected, ownMembers, positiveInteger } from "../core/check.js";
import type { GuardOptions, GuardSettings } from "../port/guard-options.js";

/** The names of all {@link GuardOptions}, which are options of every store that can fail. */
export const GUARD_OPTIONS = ["timeoutMs", "breaker", "sharedBy"] as const satisfies readonly (keyof GuardOptions)[];

const MOST_PROCESSES = 1_000_000;

/** Returns the options with their defaults. Throws a TypeError or RangeError that names the wrong option. */
export function guardSettingsOf(options: GuardOptions): GuardSettings {
  if (guardChecks) guardChecks.checkGuardSetup(options, GUARD_OPTIONS);
  const { timeoutMs: givenTimeoutMs, breaker = {}, sharedBy: givenSharedBy } = ownMembers(options);
  const sharedBy = givenSharedBy === undefined ? 2 : givenSharedBy;
  const timeoutMs = givenTimeoutMs === undefined ? 100 : givenTimeoutMs;
  if (timeoutMs !== Infinity) positiveInteger("timeoutMs", timeoutMs);
  const { failures = 5, probeEveryMs = 1_000 } = ownMembers(breaker === false ? {} : breaker);
  positiveInteger("breaker.failures", failures);
  positiveInteger("breaker.probeEveryMs", probeEveryMs);
  if (positiveInteger("sharedBy", sharedBy) > MOST_PROCESSES) {
    throw new RangeError(expected("sharedBy", `at most ${MOST_PROCESSES}`, sharedBy));
  }
  return {
    timeoutMs, givenTimeoutMs, sharedBy, isDefaultShare: givenSharedBy === undefined,
    breaker: breaker && { failures, probeEveryMs },
  };
}

/** Returns the options of the guard among those of a store. */
export function guardOptionsOf({ timeoutMs, breaker, sharedBy }: GuardOptions): GuardOptions {
  return { timeoutMs, breaker, sharedBy };
}
