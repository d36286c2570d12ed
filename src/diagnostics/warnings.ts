import { expected } from "../core/check.js";
import { platform } from "./platform.js";

/** What is warned of, each code once in a process. `docs/guides/warnings.md` says of each what to do. */
export type WarningCode =
  | "SLUICE_COUNTED_TWICE"
  | "SLUICE_HEADERS_SENT"
  | "SLUICE_KEY_IS_ADDRESS"
  | "SLUICE_LIMITER_PER_REQUEST"
  | "SLUICE_MEMORY_IN_CLUSTER"
  | "SLUICE_OBSERVER_FAILED";

const CODES = {
  SLUICE_COUNTED_TWICE: 1,
  SLUICE_HEADERS_SENT: 1,
  SLUICE_KEY_IS_ADDRESS: 1,
  SLUICE_LIMITER_PER_REQUEST: 1,
  SLUICE_MEMORY_IN_CLUSTER: 1,
  SLUICE_OBSERVER_FAILED: 1,
} satisfies Record<WarningCode, 1>;

const PAGE = "https://github.com/sluice-js/sluice/blob/main/docs/guides/warnings.md";

/** The codes that were warned of, or are not to be. */
const quiet = new Set<string>();

/**
 * Keeps warnings of these codes from being given, in this process, from now on. Each is given once at most anyway.
 *
 * Throws a RangeError for a code that there is not.
 * @example
 * silenceWarnings("SLUICE_MEMORY_IN_CLUSTER"); // the balancer sends each caller to one worker
 */
export function silenceWarnings(...codes: readonly WarningCode[]): void {
  const known = Object.keys(CODES);
  for (const code of codes) {
    if (!known.includes(code)) throw new RangeError(expected("code", `one of ${known.join(", ")}`, code));
    quiet.add(code);
  }
}

/** Whether it is of no use to look for what this code warns of. */
export function isQuiet(code: WarningCode): boolean {
  return quiet.has(code);
}

/** Warns, unless that was done or silenced. `message` is one line, and tells no key. */
export function warnOnce(code: WarningCode, message: string, cause = ""): void {
  if (isQuiet(code)) return;
  quiet.add(code);
  const detail = `${cause && `${cause}\n`}See ${PAGE}#${code.toLowerCase()}`;
  const { process, console } = platform;
  if (process?.emitWarning === undefined) console?.warn(`[${code}] ${message}\n${detail}`);
  else process.emitWarning(message, { type: "Warning", code, detail });
}
