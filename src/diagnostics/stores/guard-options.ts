import { checkNames, checkOptions, expected } from "../../core/check.js";
import type { GuardOptions } from "../../port/guard-options.js";

/** Throws a TypeError for an unknown option of a guard. */
export function checkGuardSetup(options: GuardOptions, names: readonly string[]): void {
  const { breaker } = checkOptions(options, names);
  if (breaker !== undefined && breaker !== false) {
    const what = "false, or an object with `failures` or `probeEveryMs`";
    if (typeof breaker !== "object" || breaker === null) throw new TypeError(expected("breaker", what, breaker));
    checkNames(breaker, ["failures", "probeEveryMs"]);
  }
}

/** Throws a TypeError when a synchronous store got `timeoutMs`: a call that answers at once cannot be interrupted. */
export function checkNoTimeout(timeoutMs: unknown): void {
  if (timeoutMs === undefined) return;
  throw new TypeError(
    `${expected("timeoutMs", "left out for a synchronous store", timeoutMs)}. ` +
      "Nothing can interrupt its calls: set a timeout of the database, such as `busy_timeout` of SQLite",
  );
}
