// The service becomes slower and faster: all cells, and other methods in the same queue.
import { goal, show } from "../results.js";
import { deadlineOf, fixedLimit, outcomesOf, SERVICE_NAMES, SPANS, type Best, type Outcome, type Scene } from "./goals.js";
import { aimd, envoy, gradient2, noLimit, vegas } from "./others.js";
import type { Limit } from "./queue.js";
import { bestOf, cellOf, highest, LOADS, lowest, percent, seeds, tell, WORKERS, type Cells, type Extreme } from "./show.js";
import { adaptive, LASTING } from "./trials.js";

/** Each service, load and span, beside the best fixed number of the span. */
export function allCells(): void {
  for (const workers of WORKERS) {
    const table: Cells = {};
    const goods: Extreme[] = [];
    const p99s = { "constant": [] as Extreme[], "exponential and mixed": [] as Extreme[] };
    for (const service of SERVICE_NAMES) {
      for (const load of LOADS) {
        tell(`${workers} workers, ${service}, load ${load}`);
        const scene = { service, workers, load };
        const best = bestOf(scene);
        const row: Record<string, string> = {};
        outcomesOf(scene, seeds, adaptive).forEach((outcome, i) => {
          const [{ good }, spread] = [best[i] as Best, `${service}, load ${load}, ${SPANS[i]}`];
          row[SPANS[i] as string] = cellOf(outcome, good);
          goods.push({ median: (100 * outcome.good) / good, spread });
          p99s[service === "constant" ? "constant" : "exponential and mixed"].push({ median: outcome.p99, spread });
        });
        table[`${service}, load ${load}`] = { ...row, "best fixed numbers": best.map(({ places }) => places).join(", ") };
      }
    }
    tell("");
    show(`${workers} workers: useful answers beside the best fixed number, and the 99th percentile beside alone`, table);
    goal(`${workers} workers: useful answers, % of the best fixed number's, lowest cell`, lowest(goods), { atLeast: 90 });
    for (const [name, all] of Object.entries(p99s)) {
      goal(`${workers} workers: 99th percentile of ${name} times, beside alone, highest cell`, highest(all), { atMost: 3 });
    }
  }
}

const WAYS: Readonly<Record<string, (seed: number, scene: Scene) => Limit>> = {
  "sluice": adaptive,
  "no limit": noLimit,
  "AIMD, told the deadline": (_, { service }) => aimd(deadlineOf(service)),
  "Vegas": vegas,
  "Gradient2": gradient2,
  "Envoy": envoy,
};

/** Other methods: the worst of the four spans, and the tenth minute of the same load. */
export function otherMethods(): void {
  const table: Cells = {};
  for (const load of [2, 5]) {
    const scenes = SERVICE_NAMES.map((service) => ({ service, workers: 8, load }));
    for (const [name, make] of Object.entries(WAYS)) {
      tell(`${name}, load ${load}`);
      table[`${name}, load ${load}`] = Object.fromEntries(scenes.flatMap((scene) => {
        const makeOne = (seed: number): Limit => make(seed, scene);
        const [best, outcomes] = [bestOf(scene), outcomesOf(scene, seeds, makeOne)];
        const [lasting] = outcomesOf(scene, seeds.slice(0, 4), makeOne, LASTING, {}) as [Outcome];
        const least = Math.min(...outcomes.map(({ good }, i) => good / (best[i] as Best).good));
        return [
          [scene.service, `${percent(least)}, ${Math.max(...outcomes.map(({ p99 }) => p99)).toFixed(1)}x`],
          [`${scene.service}, tenth minute`, cellOf(lasting, (best[0] as Best).good)],
        ];
      }));
    }
    table[`best fixed, load ${load}`] = Object.fromEntries(scenes.map((scene) => {
      const p99s = bestOf(scene).map(({ places }, i) => (outcomesOf(scene, seeds, () => fixedLimit(places))[i] as Outcome).p99);
      return [scene.service, `100 %, ${Math.max(...p99s).toFixed(1)}x`];
    }));
  }
  tell("");
  show("Other methods, 8 workers: the worst of the four spans, and the tenth minute of the same load", table);
}
