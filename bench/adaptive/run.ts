/**
 * `npm run bench adaptive`: a limit on requests in flight that finds its own number, on a queue in virtual time. The
 * figures are the same on every machine. `adaptive-http` is in front of Express, in real time.
 *
 * A cell is a span of 10 s, which begins 10 s after the start or after a change: useful answers beside those of the best
 * fixed number, which is searched, and the 99th percentile of all answers beside that of the service alone. Ten seeds
 * judge, and none of them chose a setting. `least` is 1 everywhere.
 *
 * `--quick` takes two seeds. `--only=steps`, `others`, `crews`, `looks`, `starts`, `slow` or `attacks` runs a part.
 */
import { finish } from "../results.js";
import { attacks, changingCrews, looksAtBase, slowServices, startsAndNights } from "./changes.js";
import { allCells, otherMethods } from "./steps.js";

const PARTS: Readonly<Record<string, () => void>> = {
  steps: allCells, others: otherMethods, crews: changingCrews, looks: looksAtBase, starts: startsAndNights,
  slow: slowServices, attacks,
};
const only = process.argv.find((word) => word.startsWith("--only="))?.slice("--only=".length);
const named = Object.keys(PARTS).filter((name) => only === undefined || only === name);
if (named.length === 0) throw new Error(`Expected --only=${Object.keys(PARTS).join(", ")}, got ${only}`);
for (const name of named) PARTS[name]?.();
finish("adaptive", []);
