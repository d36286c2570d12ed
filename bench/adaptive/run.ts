/**
 * A limit on requests in flight that finds its own number, tried on a queue in virtual time: `npx tsx bench/adaptive/run.ts`.
 * Nothing of this folder is in the package.
 *
 * Each row is a service and a load, with seeds that chose no setting. Each cell is a span of 10 s, which begins 10 s after
 * the start or after a step: useful answers beside those of the best fixed number, and the 99th percentile of all answers
 * as a multiple of that of the service alone. `-- 64` takes 64 workers in place of 8.
 *
 * Not done: the gate, attacks over HTTP, other controllers in the same queue, and what a probe costs.
 */
import { bestFixed, outcomesOf, SPANS, type ServiceName } from "./goals.js";
import { LoadLimit } from "../../src/adaptive/load.js";
import { SERVICES } from "./queue.js";

const SEEDS = Array.from({ length: 10 }, (_, i) => 1_001 + i);
const PARTS = [0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 6, 8];
const workers = Number(process.argv.at(-1)) || 8;

for (const service of Object.keys(SERVICES) as ServiceName[]) {
  for (const load of [0.5, 0.9, 1, 1.5, 2, 5]) {
    const scene = { service, workers, load };
    const best = bestFixed(scene, SEEDS, PARTS);
    const found = outcomesOf(scene, SEEDS, () => new LoadLimit({ least: 1, most: 500 }));
    const cells = found.map(({ good, p99 }, i) => `${SPANS[i]}: ${((100 * good) / (best[i] as number)).toFixed(0)} %, ${p99.toFixed(1)}x`);
    console.log(`${service}, load ${load} | ${cells.join(" | ")}`);
  }
}
