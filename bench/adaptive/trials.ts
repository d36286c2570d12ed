// What the goals ask beside the steps: what a look at the base latency costs, a cold start, a quiet night, and one caller
// who attacks.
import { deadlineOf, percentileOf, type Scene } from "./goals.js";
import { LoadLimit } from "./load.js";
import { play, SERVICES, type Attack, type Limit, type Run, type Seen, type Span, type Step } from "./queue.js";

export const BOUNDS = { least: 1, most: 500 } as const;

/** A limit as the package has it, and when it looked at the base latency. */
export interface Watched extends Limit {
  readonly looks: readonly Look[];
}

export interface Look {
  readonly at: number;
  /** Whether the number had moved. The first look of a limit is one of these. */
  readonly moved: boolean;
}

/** Notes each look. `freely` is a limit whose looks hold nobody back: it learns nothing from them, and they cost nothing. */
export function watched(freely = false): Watched {
  const limit = new LoadLimit(BOUNDS);
  const looks: Look[] = [];
  let since = -1;
  return {
    looks,
    number: (now) => (freely && limit.state.probe !== null ? Math.floor(limit.state.number) : limit.number(now)),
    sample(now, ms, inFlight, failed) {
      limit.sample(now, ms, inFlight, failed);
      const { probe } = limit.state;
      if (probe !== null && probe.since !== since) looks.push({ at: now, moved: probe.moved });
      since = probe?.since ?? -1;
    },
  };
}

/** The shortest time between two looks, or Infinity for fewer than two. */
export const shortestPause = (looks: readonly Look[]): number =>
  looks.slice(1).reduce((shortest, { at }, i) => Math.min(shortest, at - (looks[i] as Look).at), Infinity);

type More = Partial<Pick<Run, "tides" | "steps" | "attack">>;

/** Plays a scene of its own spans. */
export function playSpans({ service, workers, load }: Scene, spans: readonly Pick<Span, "from" | "to">[], seed: number, limit: Limit, more: More = {}): Seen[] {
  const { work, meanMs } = SERVICES[service];
  const withDeadline = spans.map((span) => ({ ...span, deadlineMs: deadlineOf(service) }));
  return play({ workers, work, offered: (load * workers) / meanMs, spans: withDeadline, seed, ...more }, limit);
}

/** Ten minutes of the same load. The first minute is left out. */
const CALM: readonly Pick<Span, "from" | "to">[] = [{ from: 60_000, to: 600_000 }];

/** The tenth minute of the same load. */
export const LASTING: readonly Pick<Span, "from" | "to">[] = [{ from: 540_000, to: 600_000 }];

/** The useful answers a second in calm, with looks and without. */
export function costOfLooks(scene: Scene, seeds: readonly number[]): { readonly share: number; readonly looks: readonly (readonly Look[])[] } {
  const goodOf = (limits: readonly Watched[]): number => seeds.reduce((sum, seed, i) => sum + (playSpans(scene, CALM, seed, limits[i] as Watched)[0] as Seen).good, 0);
  const [with_, without] = [seeds.map(() => watched()), seeds.map(() => watched(true))];
  return { share: goodOf(with_) / goodOf(without), looks: with_.map(({ looks }) => looks) };
}

export const MORNING: readonly Pick<Span, "from" | "to">[] = [[0, 1_000], [1_000, 2_000], [2_000, 5_000], [5_000, 10_000], [10_000, 20_000]].map(([from, to]) => ({ from: from as number, to: to as number }));

/** What a limit serves in each span, on average over the seeds, and the 99th percentile beside that of the service alone. */
export function served(scene: Scene, spans: readonly Pick<Span, "from" | "to">[], seeds: readonly number[], makeLimit: () => Limit, more: More = {}): { good: number; p99: number }[] {
  const runs = seeds.map((seed) => playSpans(scene, spans, seed, makeLimit(), more));
  return spans.map((_, span) => ({
    good: runs.reduce((sum, run) => sum + (run[span] as Seen).good, 0) / runs.length,
    p99: percentileOf(runs.flatMap((run) => (run[span] as Seen).times), 0.99) / SERVICES[scene.service].p99Ms,
  }));
}

const HOUR_MS = 3_600_000;
/** A minute of the full load, eight hours of a thousandth of it, and the full load again. */
export const NIGHT: readonly Step[] = [{ at: 60_000, times: 0.001 }, { at: 8 * HOUR_MS, times: 1 }];
export const AFTER_NIGHT: readonly Pick<Span, "from" | "to">[] = MORNING.map(({ from, to }) => ({ from: 8 * HOUR_MS + from, to: 8 * HOUR_MS + to }));

/** The number before a quiet night, and the largest of the night. */
export function numberAtNight(scene: Scene, seed: number): { readonly before: number; readonly most: number } {
  const limit = new LoadLimit(BOUNDS);
  let [before, most] = [0, 0];
  playSpans(scene, AFTER_NIGHT.slice(0, 1), seed, {
    number(now) {
      const number = limit.number(now);
      if (now < 60_000) before = Math.floor(limit.state.number);
      else if (now < 8 * HOUR_MS) most = Math.max(most, number);
      return number;
    },
    sample: (now, ms, inFlight, failed) => limit.sample(now, ms, inFlight, failed),
  }, { tides: NIGHT });
  return { before, most };
}

const UNDER_ATTACK = [{ from: 10_000, to: 60_000 }];

/** Useful answers to the others, beside those when the caller does as they do. */
export function underAttack(scene: Scene, attack: Attack, seeds: readonly number[]): number {
  const goodOf = (kind: Attack): number => (served(scene, UNDER_ATTACK, seeds, () => new LoadLimit(BOUNDS), { attack: kind })[0] as { good: number }).good;
  return goodOf(attack) / goodOf("none");
}
