// Everything beside the steps of the service: looks at the base latency, workers that leave and come, a cold start, a quiet
// night, and one caller who attacks.
import { goal, plot, show } from "../results.js";
import {
  fixedLimit, outcomesOf, playerOf, searchFixed, SERVICE_NAMES, SEEDS, type Best, type Outcome, type Scene,
} from "./goals.js";
import type { Limit } from "./queue.js";
import {
  bestOf, cellOf, fewSeeds, highest, LOADS, lowest, nameOf, percent, seeds, tell, WORKERS, type Cells, type Extreme,
} from "./show.js";
import {
  adaptive, AFTER_NIGHT, costOfLooks, CREW_SPANS, CREWS, MORNING, NIGHT, numberAtNight, shortestPause, slowly, underAttack, watched,
  type Look,
} from "./trials.js";

const scenesOf = (loads: readonly number[]): Scene[] =>
  WORKERS.flatMap((workers) => SERVICE_NAMES.flatMap((service) => loads.map((load) => ({ service, workers, load }))));

/** What looks cost in ten minutes of the same load, and how often they come. */
export function looksAtBase(): void {
  const table: Cells = {};
  const [costs, old, moved]: [Extreme[], Extreme[], Extreme[]] = [[], [], []];
  const note = (spread: string, looks: readonly Look[]): void => {
    old.push({ median: shortestPause(looks, false) / 1_000, spread });
    moved.push({ median: shortestPause(looks, true) / 1_000, spread });
  };
  for (const scene of scenesOf([0.9, 2, 5])) {
    tell(`looks, ${nameOf(scene)}`);
    const { share, looks } = costOfLooks(scene, fewSeeds);
    const all = looks.flat();
    const countOf = (kind: boolean): string => (all.filter((look) => look.moved === kind).length / looks.length).toFixed(1);
    for (const each of looks) note(nameOf(scene), each);
    const cost = 100 * (1 - share);
    costs.push({ median: cost, spread: nameOf(scene) });
    table[nameOf(scene)] = {
      "cost": `${cost.toFixed(1)} %`, "looks at an old base": countOf(false), "after a move": countOf(true),
    };
  }
  for (const scene of scenesOf(LOADS)) {
    tell(`looks with steps, ${nameOf(scene)}`);
    for (const seed of fewSeeds) {
      const limit = watched();
      playerOf(scene)(seed, limit);
      note(`${nameOf(scene)}, with the steps`, limit.looks);
    }
  }
  tell("");
  show("Looks at the base latency in ten minutes of the same load", table);
  goal("Looks at the base latency: % of useful answers in calm, highest", highest(costs), { atMost: 2 });
  goal("Seconds before a look at an old base, fewest", lowest(old), { atLeast: 60 });
  goal("Seconds before a look because the number moved, fewest", lowest(moved), { atLeast: 5 });
}

const CREW_NAMES = ["9 workers", "3 workers", "9 workers again", "27 workers"];
const CREW_NUMBERS = [4, 5, 6, 8, 10, 14, 18, 22, 30, 40, 54, 70];
const bestOfCrews = (scene: Scene): Best[] => searchFixed(playerOf(scene, CREW_SPANS, { crews: CREWS }), CREW_NUMBERS, seeds);

/** Workers leave and come. The best number of the first span is what an operator would have set. */
export function changingCrews(): void {
  const table: Cells = {};
  const [goods, p99s]: [Extreme[], Extreme[]] = [[], []];
  for (const scene of SERVICE_NAMES.flatMap((service) => [1, 2, 5].map((load) => ({ service, workers: 9, load })))) {
    tell(`workers leave and come, ${nameOf(scene)}`);
    const best = bestOfCrews(scene);
    const name = `${scene.service}, load ${scene.load}`;
    const [{ places }] = best as [Best];
    for (const [way, makeLimit] of [["sluice", adaptive], [`${places} places`, () => fixedLimit(places)]] as const) {
      const outcomes = outcomesOf(scene, seeds, makeLimit, CREW_SPANS, { crews: CREWS });
      const cells = outcomes.map((each, i) => [CREW_NAMES[i], cellOf(each, (best[i] as Best).good)]);
      table[`${name}, ${way}`] = Object.fromEntries(cells) as Record<string, string>;
      if (way !== "sluice") continue;
      outcomes.forEach(({ good, p99 }, i) => {
        goods.push({ median: (100 * good) / (best[i] as Best).good, spread: `${name}, ${CREW_NAMES[i]}` });
        p99s.push({ median: p99, spread: `${name}, ${CREW_NAMES[i]}` });
      });
    }
  }
  tell("");
  show("Workers leave and come: useful answers beside the best fixed number of each span, and the 99th percentile", table);
  goal("Workers leave and come: useful answers, % of the best fixed number's, lowest cell", lowest(goods), { atLeast: 90 });
  goal("Workers leave and come: 99th percentile, beside alone, highest cell", highest(p99s), { atMost: 3 });
  drawNumber();
}

/** The number of one seed while workers leave and come, twice a second, and the best fixed number of each span. */
function drawNumber(): void {
  const scene = { service: "exponential", workers: 9, load: 5 } as const;
  const limit = adaptive();
  const points: { x: number; y: number }[] = [];
  const noting: Limit = {
    number(now) {
      while (points.length * 500 <= now) points.push({ x: points.length / 2, y: limit.number(now) });
      return limit.number(now);
    },
    enter: (inFlight) => limit.enter(inFlight),
    sample: (...sample) => limit.sample(...sample),
  };
  playerOf(scene, CREW_SPANS, { crews: CREWS })(SEEDS[0] as number, noting);
  const best = bestOfCrews(scene).flatMap(({ places }, i) => [{ x: i * 20, y: places }, { x: i * 20 + 20, y: places }]);
  plot("adaptive", [{ name: "adaptive", points }, { name: "best fixed number", points: best }]);
}

/** A cold start of few workers whose work is slow: a window of such a service takes seconds. */
export function slowServices(): void {
  const table: Cells = {};
  for (const service of SERVICE_NAMES) {
    for (const workers of [1, 2, 4]) {
      for (const times of [1, 5, 15]) {
        const name = `${service}, ${workers} worker${workers > 1 ? "s" : ""}, ${20 * times} ms`;
        tell(name);
        const [scene, { stretches, change }] = [{ service, workers, load: 2 }, slowly(times)];
        const numbers = [1, 2, 3, 4, 6, 8, 12, 16, 24].map((part) => part * workers);
        const best = searchFixed(playerOf(scene, stretches, change), numbers, seeds);
        const cells = outcomesOf(scene, seeds, adaptive, stretches, change).map((each, i) => cellOf(each, (best[i] as Best).good));
        table[name] = { "30 to 60 s": cells[0] as string, "60 to 90 s": cells[1] as string };
      }
    }
  }
  tell("");
  show("Few workers and slow work, load 2, from a cold start: useful answers and the 99th percentile", table);
}

/** A cold start, and the morning after a quiet night. */
export function startsAndNights(): void {
  const heads = MORNING.map(({ from, to }) => `${from / 1_000} to ${to / 1_000} s`);
  const starts = [["A cold start", MORNING, {}], ["The morning after a quiet night", AFTER_NIGHT, { tides: NIGHT }]] as const;
  for (const [title, spans, change] of starts) {
    const table: Cells = {};
    const lasts: Extreme[] = [];
    for (const scene of scenesOf([2, 5])) {
      tell(`${title}, ${nameOf(scene)}`);
      const [{ places }] = bestOf(scene) as [Best];
      const fixed = outcomesOf(scene, seeds, () => fixedLimit(places), spans, change);
      const own = outcomesOf(scene, seeds, adaptive, spans, change);
      table[nameOf(scene)] = Object.fromEntries(own.map((each, i) => [heads[i], cellOf(each, (fixed[i] as Outcome).good)]));
      lasts.push({ median: (100 * (own.at(-1) as Outcome).good) / (fixed.at(-1) as Outcome).good, spread: nameOf(scene) });
    }
    tell("");
    show(`${title}: useful answers beside the best fixed number, and the 99th percentile`, table);
    goal(`${title}: useful answers after 10 s, % of the best fixed number's, lowest`, lowest(lasts), { atLeast: 90 });
  }
  const nights = scenesOf([2, 5]).flatMap((scene) => fewSeeds.map((seed) => {
    const { before, most } = numberAtNight(scene, seed);
    return { median: most / before, spread: `${before} and ${most}: ${nameOf(scene)}` };
  }));
  goal("A quiet night: its largest number beside that of the evening, highest", highest(nights), { atMost: 1 });
}

/** One caller with a tenth of the requests. */
export function attacks(): void {
  const kinds = ["slow-readers", "failures", "slow-readers-held", "slow-work"] as const;
  const table: Cells = {};
  const costs = new Map<string, Extreme[]>(kinds.map((kind) => [kind, []]));
  for (const scene of scenesOf([2, 5])) {
    tell(`attacks, ${nameOf(scene)}`);
    table[nameOf(scene)] = Object.fromEntries(kinds.map((kind) => {
      const cost = 1 - underAttack(scene, kind, fewSeeds);
      costs.get(kind)?.push({ median: 100 * cost, spread: nameOf(scene) });
      return [kind, percent(cost)];
    }));
  }
  tell("");
  show("One caller attacks with a tenth of the requests: what it costs the others of their useful answers", table);
  goal("Slow readers: % of the others' useful answers, highest", highest(costs.get("slow-readers") ?? []), { atMost: 10 });
  goal("Provoked failures: % of the others' useful answers, highest", highest(costs.get("failures") ?? []), { atMost: 10 });
}
