import { configureGlobal } from "fast-check";
import { silenceWarnings } from "../src/diagnostics/warnings.js";

configureGlobal({ seed: Number(process.env["FC_SEED"]) });

// Tests make a limiter each, hand one request in again and again, and send heads too early, all on purpose. Those that are
// about warnings load the library anew.
silenceWarnings("SLUICE_LIMITER_PER_REQUEST", "SLUICE_COUNTED_TWICE", "SLUICE_HEADERS_SENT");

// The Node adapter warns of what the tests make fail on purpose; other warnings are news.
const emitWarning = process.emitWarning.bind(process) as (...args: unknown[]) => void;
process.emitWarning = (warning: unknown, ...rest: unknown[]): void => {
  if (!(warning instanceof Error)) emitWarning(warning, ...rest);
};
