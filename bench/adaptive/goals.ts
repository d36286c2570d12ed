// What a limit serves in each span after a start or a step, beside the best fixed number.
import { play, SERVICES, type Limit, type Run, type Seen, type Span } from "./queue.js";

export type ServiceName = keyof typeof SERVICES;
export const SERVICE_NAMES = Object.keys(SERVICES) as ServiceName[];

/** One service, offered a multiple of what it can do at first. */
export interface Scene {
  readonly service: ServiceName;
  readonly workers: number;
  readonly load: number;
}

/** Useful answers a second, and the 99th percentile of all answers, as a multiple of that of the service alone. */
export interface Outcome {
  readonly good: number;
  readonly p99: number;
}

/** What changes while a scene is played. */
export type Change = Pick<Run, "steps" | "crews" | "tides" | "attack">;

/** A stretch of time. Work takes `times` of what it takes at first, and so may an answer. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly times?: number;
}

/** The seeds that judge. Those that chose the settings are others. */
export const SEEDS: readonly number[] = Array.from({ length: 10 }, (_, i) => 1_001 + i);

/** The service becomes three times slower, as before, and three times faster. */
export const STEPS = [{ at: 20_000, times: 3 }, { at: 40_000, times: 1 }, { at: 60_000, times: 1 / 3 }] as const;
/** From 10 s after the start and after each step on. */
export const SPANS = ["start", "three times slower", "as before", "three times faster"] as const;
export const STEP_STRETCHES: readonly Stretch[] =
  [1, ...STEPS.map(({ times }) => times)].map((times, i) => ({ from: i * 20_000 + 10_000, to: i * 20_000 + 20_000, times }));

/** An answer is useful within three times the 99th percentile of the service alone. */
export const deadlineOf = (service: ServiceName, times = 1): number => 3 * SERVICES[service].p99Ms * times * (1 + 1e-9);

/** Plays a scene once, with what changes meanwhile, and returns what each stretch saw. */
export type Player = (seed: number, limit: Limit) => Seen[];

/** Returns what plays a scene. The steps of the service are what changes by default. */
export function playerOf(scene: Scene, stretches = STEP_STRETCHES, change: Change = { steps: STEPS }): Player {
  const { workers, load, service } = scene;
  const { work, meanMs } = SERVICES[service];
  const spans: Span[] = stretches.map(({ from, to, times }) => ({ from, to, deadlineMs: deadlineOf(service, times) }));
  return (seed, limit) => play({ workers, work, offered: (load * workers) / meanMs, spans, seed, ...change }, limit);
}

/** Plays a scene for each seed, and returns an outcome for each stretch. */
export function outcomesOf(
  scene: Scene, seeds: readonly number[], makeLimit: (seed: number) => Limit,
  stretches: readonly Stretch[] = STEP_STRETCHES, change?: Change,
): Outcome[] {
  const playOne = playerOf(scene, stretches, change);
  const runs = seeds.map((seed) => playOne(seed, makeLimit(seed)));
  return stretches.map(({ times = 1 }, i) => {
    const all = runs.flatMap((run) => (run[i] as Seen).times);
    return { good: goodOf(runs, i), p99: percentileOf(all, 0.99) / SERVICES[scene.service].p99Ms / times };
  });
}

function goodOf(runs: readonly Seen[][], i: number): number {
  return runs.reduce((sum, run) => sum + (run[i] as Seen).good, 0) / runs.length;
}

function percentileOf(times: readonly number[], share: number): number {
  return Float64Array.from(times).sort()[Math.floor(times.length * share)] ?? 0;
}

export const fixedLimit = (places: number): Limit => ({ number: () => places, sample: () => undefined });

/** The fixed number that is best in a stretch, and what it serves. */
export interface Best {
  readonly places: number;
  readonly good: number;
}

/** What a fixed number may be, beside the workers. */
const PARTS = [0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 6, 8, 12, 16];
/** A number that is best in no stretch by this many seeds is left out. */
const SEARCHING = 3;

/** Returns for each of {@link SPANS} the fixed number with the most useful answers a second. */
export function bestFixed(scene: Scene, seeds: readonly number[]): Best[] {
  return searchFixed(playerOf(scene), PARTS.map((part) => Math.round(part * scene.workers)), seeds);
}

/** Plays each of `numbers`, and returns for each stretch the one with the most useful answers a second. */
export function searchFixed(playOne: Player, numbers: readonly number[], seeds: readonly number[]): Best[] {
  const few = bestOf(playOne, numbers, seeds.slice(0, SEARCHING));
  return seeds.length <= SEARCHING ? few : bestOf(playOne, [...new Set(few.map(({ places }) => places))], seeds);
}

function bestOf(playOne: Player, numbers: readonly number[], seeds: readonly number[]): Best[] {
  const tried = numbers.map((places) => ({ places, runs: seeds.map((seed) => playOne(seed, fixedLimit(places))) }));
  return (tried[0]?.runs[0] ?? []).map((_, i) =>
    tried.map(({ places, runs }) => ({ places, good: goodOf(runs, i) }))
      .reduce((best, each) => (each.good > best.good ? each : best)));
}
