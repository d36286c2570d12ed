import { configureGlobal } from "fast-check";
import { beforeEach } from "vitest";
import { silenceWarnings } from "../src/warnings/warnings.js";
import { leapClock } from "./setup/leaping-clock.js";
import { leaveNothingBehind } from "./setup/left-behind.js";
import { watchWarnings } from "./setup/warnings.js";

configureGlobal({ seed: Number(process.env["FC_SEED"]) });

// Of the hooks after a file, the first one that is registered here runs last.
const project = process.env["SLUICE_TEST_PROJECT"];
if (project === "unit") leaveNothingBehind();
if (project === "unit" && process.env["SLUICE_LEAPING_CLOCK"] === "1") leapClock();
watchWarnings(project !== undefined);

// Tests make a limiter each, pass one request to several gates, and send heads early, all on purpose. Tests of warnings load
// the library anew.
silenceWarnings("SLUICE_LIMITER_PER_REQUEST", "SLUICE_COUNTED_TWICE", "SLUICE_HEADERS_SENT");

// Titles are read in failures and in reports. Rows of a table need a name where they hold objects.
beforeEach(({ task: { name } }) => {
  if (name.length <= 160 && !name.includes("[Function")) return;
  throw new Error(`Expected a title of at most 160 characters without functions, got ${name.length}: ${name.slice(0, 200)}`);
});
