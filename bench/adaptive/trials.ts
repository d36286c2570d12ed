// What the goals ask beside the steps: what a look at the base latency costs, workers that leave and come, a cold start, a
// quiet night, and one caller who attacks.
import { outcomesOf, playerOf, type Change, type Outcome, type Scene, type Stretch } from "./goals.js";
import { LoadLimit } from "../../src/adaptive/load.js";
import type { Attack, Limit, Seen, Step } from "./queue.js";

export const adaptive = (): LoadLimit => new LoadLimit({ least: 1, most: 500 });

/** A look at the base latency. */
export interface Look {
  readonly at: number;
  /** Whether the number had moved. The first look of a limit is one of these. */
  readonly moved: boolean;
}

export interface Watched extends Limit {
  readonly looks: readonly Look[];
}

/** A limit that notes its looks. Those from `freeFrom` on hold nobody back: they cost nothing, and teach it little. */
export function watched(freeFrom = Infinity): Watched {
  const limit = adaptive();
  const looks: Look[] = [];
  let since = -1;
  return {
    looks,
    number: (now) => (now >= freeFrom && limit.state.probe !== null ? Math.floor(limit.state.number) : limit.number(now)),
    enter: (inFlight) => limit.enter(inFlight),
    sample(now, ...sample) {
      limit.sample(now, ...sample);
      const { probe } = limit.state;
      if (probe !== null && probe.since !== since) looks.push({ at: now, moved: probe.moved });
      since = probe?.since ?? -1;
    },
  };
}

/** The shortest time since the look before: of those that `moved`, or of the others. Infinity for none. */
export function shortestPause(looks: readonly Look[], moved: boolean): number {
  const pauses = looks.map((look, i) => (i > 0 && look.moved === moved ? look.at - (looks[i - 1] as Look).at : Infinity));
  return Math.min(...pauses, Infinity);
}

/** Ten minutes of the same load, without the first. */
const CALM = [{ from: 60_000, to: 600_000 }] as const;
/** The tenth of these minutes. */
export const LASTING: readonly Stretch[] = [{ from: 540_000, to: 600_000 }];

export interface CostOfLooks {
  /** The useful answers with looks, of those without. */
  readonly share: number;
  /** Those of each seed. */
  readonly looks: readonly (readonly Look[])[];
}

export function costOfLooks(scene: Scene, seeds: readonly number[]): CostOfLooks {
  const playOne = playerOf(scene, CALM, {});
  const goodOf = (limits: readonly Limit[]): number =>
    seeds.reduce((sum, seed, i) => sum + (playOne(seed, limits[i] as Limit)[0] as Seen).good, 0);
  const looking = seeds.map(() => watched());
  return { share: goodOf(looking) / goodOf(seeds.map(() => watched(CALM[0].from))), looks: looking.map(({ looks }) => looks) };
}

/** Two of three workers leave and come back, and later twice as many more come. No fixed number is right in all spans. */
export const CREWS: readonly Step[] = [{ at: 20_000, times: 1 / 3 }, { at: 40_000, times: 1 }, { at: 60_000, times: 3 }];
export const CREW_SPANS: readonly Stretch[] = [10_000, 30_000, 50_000, 70_000].map((from) => ({ from, to: from + 10_000 }));

/** Work takes `times` as long, for a scene whose load is measured by that. */
export function slowly(times: number): { readonly stretches: readonly Stretch[]; readonly change: Change } {
  const from = (at: number): Stretch => ({ from: at, to: at + 30_000, times });
  return {
    stretches: [from(30_000), from(60_000)],
    change: { steps: [{ at: 0, times }], tides: [{ at: 0, times: 1 / times }] },
  };
}

const stretchesFrom = (start: number): Stretch[] =>
  [[0, 1], [1, 2], [2, 5], [5, 10], [10, 20]]
    .map(([from = 0, to = 0]) => ({ from: start + 1_000 * from, to: start + 1_000 * to }));
export const MORNING: readonly Stretch[] = stretchesFrom(0);

const [EVENING_MS, MORNING_MS] = [60_000, 8 * 3_600_000];
/** A minute of the full load, eight hours of a thousandth of it, and the full load again. */
export const NIGHT: readonly Step[] = [{ at: EVENING_MS, times: 0.001 }, { at: MORNING_MS, times: 1 }];
export const AFTER_NIGHT: readonly Stretch[] = stretchesFrom(MORNING_MS);

/**
 * The largest number from ten seconds before a quiet night until ten seconds into it, when the last window of the evening
 * has ended, and the largest of the rest of the night.
 */
export function numberAtNight(scene: Scene, seed: number): { readonly before: number; readonly most: number } {
  const limit = adaptive();
  let [before, most] = [0, 0];
  const noting: Limit = {
    number(now) {
      const number = Math.floor(limit.state.number);
      if (now >= EVENING_MS + 10_000 && now < MORNING_MS) most = Math.max(most, number);
      else if (now >= EVENING_MS - 10_000 && now < MORNING_MS) before = Math.max(before, number);
      return limit.number(now);
    },
    enter: (inFlight) => limit.enter(inFlight),
    sample: (...sample) => limit.sample(...sample),
  };
  playerOf(scene, AFTER_NIGHT.slice(0, 1), { tides: NIGHT })(seed, noting);
  return { before, most };
}

const UNDER_ATTACK: readonly Stretch[] = [{ from: 10_000, to: 60_000 }];

/** The others' useful answers, beside those when the caller does as they do. */
export function underAttack(scene: Scene, attack: Attack, seeds: readonly number[]): number {
  const goodOf = (kind: Attack): number =>
    (outcomesOf(scene, seeds, adaptive, UNDER_ATTACK, { attack: kind })[0] as Outcome).good;
  return goodOf(attack) / goodOf("none");
}
