import { expected, show } from "../core/check.js";
import { platform, processWide, sharesWork, withProcess } from "../platform.js";
import { RUN_TIME_CODES } from "./run-time-codes.js";
import { SETUP_CODES } from "./setup-codes.js";

/** The address of the documentation. Messages that name a page, and the README's links, start with it. */
export const DOCS = "https://github.com/sluice-js/sluice/blob/main/docs";

/** The codes of warnings. `docs/guides/warnings.md` says for each what to do. */
export type WarningCode =
  | "SLUICE_COUNTED_TWICE" | "SLUICE_FUNCTION_FAILED" | "SLUICE_HEADERS_SENT" | "SLUICE_KEY_HAS_NO_VALUE"
  | "SLUICE_KEY_IS_ADDRESS" | "SLUICE_KEY_IS_HEADER" | "SLUICE_KEY_IS_LIST" | "SLUICE_LIMITER_PER_REQUEST"
  | "SLUICE_MEMORY_IN_CLUSTER" | "SLUICE_MEMORY_NOT_SHARED" | "SLUICE_NOT_SETTLED" | "SLUICE_POLICY_NAMES"
  | "SLUICE_POSTGRES_MIGRATE" | "SLUICE_POSTGRES_PREPARE" | "SLUICE_PREFLIGHTS" | "SLUICE_QUOTA_IN_MEMORY"
  | "SLUICE_REDIS_CONNECT" | "SLUICE_REDIS_EVICTS" | "SLUICE_REDIS_SLOTS" | "SLUICE_RENEWALS_MISSED"
  | "SLUICE_SETTLEMENT_FAILED" | "SLUICE_SHARED_BY" | "SLUICE_SHORT_CLIENT_TIMEOUT"
  | "SLUICE_STORE_BUG" | "SLUICE_STORE_SETUP" | "SLUICE_STORE_SLOW" | "SLUICE_STORE_UNAVAILABLE"
  | "SLUICE_TRUSTS_EVERY_PROXY" | "SLUICE_UNIDENTIFIED" | "SLUICE_UNNAMED_POLICIES";

/** The codes that were warned of, and those that were silenced. */
const quiet = (): Set<string> => processWide("quiet", () => new Set<string>());
const silenced = (): Set<string> => processWide("silenced", () => new Set<string>());

/**
 * Silences warnings with these codes in this process, from now on. Each is given at most once anyway, but for
 * `SLUICE_STORE_UNAVAILABLE`, which is given once for each store.
 *
 * Throws a RangeError for an unknown code.
 * @example
 * silenceWarnings("SLUICE_MEMORY_IN_CLUSTER"); // the balancer sends each caller to one worker
 */
export function silenceWarnings(...codes: readonly WarningCode[]): void {
  const known: readonly WarningCode[] = [...SETUP_CODES, ...RUN_TIME_CODES].sort();
  for (const code of codes) {
    if (!known.includes(code)) throw new RangeError(expected("code", `one of ${known.join(", ")}`, code));
    silenced().add(code);
  }
}

/** Whether a warning with this code would not be given. */
export function isQuiet(code: WarningCode): boolean {
  return quiet().has(code) || silenced().has(code);
}

/** An error as the detail of a warning: its stack, or what was thrown in its place. */
export function textOf(error: unknown): string {
  try {
    return error instanceof Error ? (error.stack ?? error.message) : show(error);
  } catch {
    return "An error that cannot be read";
  }
}

/**
 * Gives a warning, once for each code in the process, unless it was silenced. `message` is one line and names no key.
 */
export function warnOnce(code: WarningCode, message: string, cause = ""): void {
  if (isQuiet(code)) return;
  quiet().add(code);
  tell(code, message, cause);
}

/** Gives a warning, unless its code was silenced. The caller makes sure that it is not given often. */
export function warn(code: WarningCode, message: string): void {
  if (!silenced().has(code)) tell(code, message, "");
}

function tell(code: WarningCode, message: string, cause: string): void {
  const detail = `${cause && `${cause}\n`}See ${DOCS}/guides/warnings.md#${code.toLowerCase()}`;
  const isTold = withProcess((process) => {
    // Workers with `nodejs_compat` have it, and print nothing.
    if (process.emitWarning === undefined || !sharesWork()) return false;
    process.emitWarning(message, { type: "Warning", code, detail });
    return true;
  });
  if (!isTold) platform.console?.warn(`[${code}] ${message}\n${detail}`);
}
