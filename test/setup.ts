import { configureGlobal } from "fast-check";
import { afterAll, beforeEach, vi } from "vitest";
import { silenceWarnings } from "../src/warnings/warnings.js";

configureGlobal({ seed: Number(process.env["FC_SEED"]) });

// Tests make a limiter each, pass one request to several gates, and send heads early, all on purpose. Tests of warnings load
// the library anew.
silenceWarnings("SLUICE_LIMITER_PER_REQUEST", "SLUICE_COUNTED_TWICE", "SLUICE_HEADERS_SENT");

// The Node adapter warns of errors that tests cause on purpose. Other warnings are printed.
const { emitWarning } = process;
process.emitWarning = (warning: unknown, ...rest: unknown[]): void => {
  if (!(warning instanceof Error)) Reflect.apply(emitWarning, process, [warning, ...rest]);
};

// Files of the unit project share a worker's globals, so each file leaves them as it found them. Hono's server replaces
// Request and Response. A spy on a fake timer puts that fake back when it is restored, so the timers come last.
const { Date, Request, Response, clearImmediate, clearTimeout, setImmediate, setTimeout } = globalThis;
const { now } = performance;
afterAll(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.useRealTimers();
  process.emitWarning = emitWarning;
  if (performance.now !== now) performance.now = now;
  Object.assign(globalThis, { Date, Request, Response, clearImmediate, clearTimeout, setImmediate, setTimeout });
});

// Titles are read in failures and in reports. Rows of a table need a name where they hold objects.
beforeEach(({ task: { name } }) => {
  if (name.length <= 160 && !name.includes("[Function")) return;
  throw new Error(`Expected a title of at most 160 characters without functions, got ${name.length}: ${name.slice(0, 200)}`);
});
