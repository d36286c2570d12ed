/**
 * `npm run bench adaptive`: a limit on requests in flight that finds its own number, on a queue in virtual time. Each run
 * gives the same figures on every machine.
 *
 * A cell is a span of 10 s, which begins 10 s after the start or after a step of the service: useful answers beside those
 * of the best fixed number, which is searched, and the 99th percentile of all answers beside that of the service alone.
 * Ten seeds judge, which chose no setting. `--quick` takes two. `--only=cells`, `others`, `looks` or `trials` runs a part.
 */
import { finish, goal, plot, quick, show, type Series } from "../results.js";
import {
  bestFixed, deadlineOf, END_MS, fixedLimit, outcomesOf, playScene, SEEDS, SERVICE_NAMES, SPANS,
  type Best, type Outcome, type Scene,
} from "./goals.js";
import { LoadLimit } from "./load.js";
import { aimd, envoy, gradient2, noLimit, vegas } from "./others.js";
import type { Limit } from "./queue.js";
import {
  AFTER_NIGHT, BOUNDS, costOfLooks, LASTING, MORNING, NIGHT, numberAtNight, served, shortestPause, underAttack, watched,
} from "./trials.js";

const WORKERS = [8, 64];
const LOADS = [0.5, 0.9, 1, 1.5, 2, 5];
const seeds = quick ? SEEDS.slice(0, 2) : SEEDS;
const only = process.argv.find((word) => word.startsWith("--only="))?.slice("--only=".length);

type Rows = Record<string, Record<string, string | number>>;
const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
const times = (value: number): string => `${value.toFixed(1)}x`;
const adaptive = (): Limit => new LoadLimit(BOUNDS);

/** A value and the cell that has it. */
interface Extreme {
  readonly median: number;
  readonly spread: string;
}

const lowest = (all: readonly Extreme[]): Extreme => all.reduce((one, other) => (other.median < one.median ? other : one));
const highest = (all: readonly Extreme[]): Extreme => all.reduce((one, other) => (other.median > one.median ? other : one));

const found = new Map<string, Best[]>();
function bestOf(scene: Scene): Best[] {
  const name = `${scene.service} ${scene.workers} ${scene.load}`;
  const best = found.get(name) ?? bestFixed(scene, seeds);
  found.set(name, best);
  return best;
}

/** The useful answers of each span beside those of the best fixed number. */
const sharesOf = (scene: Scene, outcomes: readonly Outcome[]): number[] => bestOf(scene).map((best, span) => (outcomes[span] as Outcome).good / best.good);

function cells(): void {
  for (const workers of WORKERS) {
    const table: Rows = {};
    const goods: Extreme[] = [];
    const p99s: Record<string, Extreme[]> = { constant: [], "exponential and mixed": [] };
    for (const service of SERVICE_NAMES) {
      for (const load of LOADS) {
        process.stderr.write(`\r${workers} workers, ${service}, load ${load}      `);
        const scene = { service, workers, load };
        const outcomes = outcomesOf(scene, seeds, adaptive);
        const shares = sharesOf(scene, outcomes);
        const row: Record<string, string> = {};
        SPANS.forEach((span, i) => {
          const [share, { p99 }] = [shares[i] as number, outcomes[i] as Outcome];
          const where = `${service}, load ${load}, ${span}`;
          row[span] = `${percent(share)}, ${times(p99)}`;
          goods.push({ median: 100 * share, spread: where });
          p99s[service === "constant" ? service : "exponential and mixed"]?.push({ median: p99, spread: where });
        });
        table[`${service}, load ${load}`] = { ...row, "best fixed": bestOf(scene).map(({ places }) => places).join(", ") };
      }
    }
    process.stderr.write("\r".padEnd(50) + "\r");
    show(`${workers} workers: useful answers beside the best fixed number, and the 99th percentile beside the service alone`, table);
    goal(`${workers} workers: useful answers, % of the best fixed number's, the lowest cell`, lowest(goods), { atLeast: 90 });
    for (const [name, all] of Object.entries(p99s)) goal(`${workers} workers: 99th percentile, ${name} times, the highest cell`, highest(all), { atMost: 3 });
  }
}

function others(): void {
  const table: Rows = {};
  const ways: Record<string, (seed: number, scene: Scene) => Limit> = {
    "sluice": adaptive,
    "no limit": noLimit,
    "AIMD, told the deadline": (_, { service }) => aimd(deadlineOf(service)),
    "Vegas": vegas,
    "Gradient2": gradient2,
    "Envoy": envoy,
  };
  for (const load of [2, 5]) {
    const scenes = SERVICE_NAMES.map((service) => ({ service, workers: 8, load }));
    for (const [name, make] of Object.entries(ways)) {
      table[`${name}, load ${load}`] = Object.fromEntries(scenes.flatMap((scene) => {
        const makeEach = (): (() => Limit) => {
          const left = seeds.values();
          return () => make(left.next().value as number, scene);
        };
        const outcomes = outcomesOf(scene, seeds, makeEach());
        const [lasting] = served(scene, LASTING, seeds, makeEach()) as [Outcome];
        const [best] = bestOf(scene) as [Best];
        return [
          [scene.service, `${percent(Math.min(...sharesOf(scene, outcomes)))}, ${times(Math.max(...outcomes.map(({ p99 }) => p99)))}`],
          [`${scene.service}, tenth minute`, `${percent(lasting.good / best.good)}, ${times(lasting.p99)}`],
        ];
      }));
    }
    table[`best fixed, load ${load}`] = Object.fromEntries(scenes.map((scene) => {
      const p99s = bestOf(scene).map(({ places }, span) => (outcomesOf(scene, seeds, () => fixedLimit(places))[span] as Outcome).p99);
      return [scene.service, `100 %, ${times(Math.max(...p99s))}`];
    }));
  }
  show("Other methods, 8 workers: the lowest and the highest cell of the four spans, and the tenth minute of the same load", table);
}

function looks(): void {
  const table: Rows = {};
  const shares: Extreme[] = [];
  const pauses: Extreme[] = [];
  for (const workers of WORKERS) {
    for (const service of SERVICE_NAMES) {
      for (const load of [0.9, 1, 2]) {
        const where = `${workers} workers, ${service}, load ${load}`;
        const cost = costOfLooks({ service, workers, load }, seeds.slice(0, 4));
        const shortest = Math.min(...cost.looks.map(shortestPause));
        shares.push({ median: 100 * (1 - cost.share), spread: where });
        if (Number.isFinite(shortest)) pauses.push({ median: shortest / 1_000, spread: where });
        table[where] = {
          "cost": `${(100 * (1 - cost.share)).toFixed(1)} %`,
          "looks in ten minutes": (cost.looks.reduce((sum, each) => sum + each.length, 0) / cost.looks.length).toFixed(1),
          "shortest pause, s": Number.isFinite(shortest) ? (shortest / 1_000).toFixed(0) : "",
        };
      }
    }
  }
  show("Looks at the base latency in calm: ten minutes of the same load", table);
  goal("A look at the base latency: % of useful answers in calm", highest(shares), { atMost: 2 });
  goal("Seconds between two looks in calm, the shortest", lowest(pauses), { atLeast: 60 });
  const restless = WORKERS.flatMap((workers) => SERVICE_NAMES.flatMap((service) => [1, 2, 5].flatMap((load) => seeds.map((seed) => {
    const limit = watched();
    playScene({ service, workers, load }, seed, limit);
    return { median: shortestPause(limit.looks) / 1_000, spread: `${workers} workers, ${service}, load ${load}, seed ${seed}` };
  }))));
  goal("Seconds between two looks while the number moves, the shortest", lowest(restless), { atLeast: 5 });
}

function trials(): void {
  const scenes = WORKERS.flatMap((workers) => SERVICE_NAMES.flatMap((service) => [2, 5].map((load) => ({ service, workers, load }))));
  const nameOf = ({ workers, service, load }: Scene): string => `${workers} workers, ${service}, load ${load}`;
  const heads = MORNING.map(({ from, to }) => `${from / 1_000} to ${to / 1_000} s`);
  for (const [title, spans, more] of [["A cold start", MORNING, {}], ["The morning after a quiet night", AFTER_NIGHT, { tides: NIGHT }]] as const) {
    const lasts: Extreme[] = [];
    show(`${title}: useful answers beside the best fixed number, and the 99th percentile`, Object.fromEntries(scenes.map((scene) => {
      const [best] = bestOf(scene) as [Best, ...Best[]];
      const fixed = served(scene, spans, seeds, () => fixedLimit(best.places), more);
      const own = served(scene, spans, seeds, adaptive, more).map(({ good, p99 }, i) => ({ p99, share: good / (fixed[i] as { good: number }).good }));
      lasts.push({ median: 100 * (own.at(-1) as { share: number }).share, spread: nameOf(scene) });
      return [nameOf(scene), Object.fromEntries(own.map(({ share, p99 }, i) => [heads[i], `${percent(share)}, ${times(p99)}`]))];
    })));
    goal(`${title}: useful answers after 10 s, % of the best fixed number's`, lowest(lasts), { atLeast: 90 });
  }
  const nights = scenes.flatMap((scene) => seeds.slice(0, 4).map((seed) => {
    const { before, most } = numberAtNight(scene, seed);
    return { median: most / before, spread: `${before} and ${most}: ${nameOf(scene)}` };
  }));
  goal("A quiet night: the largest number of the night beside the one before", highest(nights), { atMost: 1 });

  const attacks = ["slow-readers", "failures", "slow-readers-held", "slow-work"] as const;
  const costs = new Map(attacks.map((attack) => [attack, scenes.map((scene) => ({ median: 100 * (1 - underAttack(scene, attack, seeds.slice(0, 4))), spread: nameOf(scene) }))]));
  show("One caller attacks with a tenth of the requests: the useful answers that it costs the others", Object.fromEntries(scenes.map((scene, i) =>
    [nameOf(scene), Object.fromEntries(attacks.map((attack) => [attack, `${costs.get(attack)?.[i]?.median.toFixed(0)} %`]))])));
  goal("Slow readers with a tenth of the requests: % of the others' useful answers", highest(costs.get("slow-readers") ?? []), { atMost: 10 });
  goal("Provoked failures with a tenth of the requests: % of the others' useful answers", highest(costs.get("failures") ?? []), { atMost: 10 });
}

/** The number of one seed, twice a second, and the best fixed number of each span. */
function drawNumber(): void {
  const scene = { service: "exponential", workers: 8, load: 2 } as const;
  const limit = new LoadLimit(BOUNDS);
  const points: { x: number; y: number }[] = [];
  playScene(scene, 1_001, {
    number(now) {
      const number = limit.number(now);
      while (points.length * 500 <= Math.min(now, END_MS)) points.push({ x: points.length / 2, y: number });
      return number;
    },
    sample: (now, ms, inFlight, failed) => limit.sample(now, ms, inFlight, failed),
  });
  const best = bestOf(scene).flatMap(({ places }, i) => [{ x: i * 20, y: places }, { x: i * 20 + 20, y: places }]);
  plot("adaptive", [{ name: "adaptive", points }, { name: "best fixed number", points: best }] satisfies Series[]);
}

const parts = { cells, others, looks, trials };
if (only !== undefined && !(only in parts)) throw new Error(`Expected --only=${Object.keys(parts).join(", ")}, got ${only}`);
for (const [name, part] of Object.entries(parts)) if (only === undefined || only === name) part();
if (only === undefined) drawNumber();
finish("adaptive", []);
