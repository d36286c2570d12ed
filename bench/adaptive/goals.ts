// What a limit serves in each span after a start or a step, beside the best fixed number.
import { play, SERVICES, type Limit, type Seen, type Span } from "./queue.js";

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

/** The seeds that judge. Those that chose the settings are others. */
export const SEEDS: readonly number[] = Array.from({ length: 10 }, (_, i) => 1_001 + i);

/** The service becomes three times slower, as before, and three times faster. */
export const STEPS = [{ at: 20_000, times: 3 }, { at: 40_000, times: 1 }, { at: 60_000, times: 1 / 3 }] as const;
/** From 10 s after the start and after each step on. */
export const SPANS = ["start", "three times slower", "as before", "three times faster"] as const;
export const END_MS = 80_000;

/** An answer is useful within three times the 99th percentile of the service alone. */
export const deadlineOf = (service: ServiceName, times = 1): number => 3 * SERVICES[service].p99Ms * times * (1 + 1e-9);

const spansOf = (service: ServiceName): Span[] =>
  [1, ...STEPS.map(({ times }) => times)].map((times, i) =>
    ({ from: i * 20_000 + 10_000, to: i * 20_000 + 20_000, deadlineMs: deadlineOf(service, times) }));

/** Plays a scene with its steps once. */
export function playScene({ service, workers, load }: Scene, seed: number, limit: Limit): Seen[] {
  const { work, meanMs } = SERVICES[service];
  return play({ workers, work, offered: (load * workers) / meanMs, steps: STEPS, spans: spansOf(service), seed }, limit);
}

/** Plays a scene with its steps for each seed, and returns an outcome for each of {@link SPANS}. */
export function outcomesOf(scene: Scene, seeds: readonly number[], makeLimit: () => Limit): Outcome[] {
  const runs = seeds.map((seed) => playScene(scene, seed, makeLimit()));
  return spansOf(scene.service).map(({ deadlineMs }, span) =>
    ({ good: goodOf(runs, span), p99: percentileOf(runs.flatMap((run) => (run[span] as Seen).times), 0.99) / (deadlineMs / 3) }));
}

const goodOf = (runs: readonly Seen[][], span: number): number => runs.reduce((sum, run) => sum + (run[span] as Seen).good, 0) / runs.length;

/** Returns the value below which `share` of the times lie, or 0 for none. */
export function percentileOf(times: readonly number[], share: number): number {
  return Float64Array.from(times).sort()[Math.floor(times.length * share)] ?? 0;
}

export const fixedLimit = (places: number): Limit => ({ number: () => places, sample: () => undefined });

/** What a fixed number may be, beside the workers. The searched best is 1 to 3 of them for most. */
const PARTS = [0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 6, 8];
/** A number that is best in no span by this many seeds is left out. */
const SEARCHING = 3;

/** The fixed number that is best in a span, and what it serves. */
export interface Best {
  readonly places: number;
  readonly good: number;
}

/** Returns for each span the fixed number with the most useful answers a second. */
export function bestFixed(scene: Scene, seeds: readonly number[]): Best[] {
  const goodOfPlaces = (places: number, tried: readonly number[]): number[] => {
    const runs = tried.map((seed) => playScene(scene, seed, fixedLimit(places)));
    return SPANS.map((_, span) => goodOf(runs, span));
  };
  const found = PARTS.map((part) => Math.round(part * scene.workers)).map((places) => ({ places, goods: goodOfPlaces(places, seeds.slice(0, SEARCHING)) }));
  const bestOf = (all: typeof found): Best[] =>
    SPANS.map((_, span) => all.map(({ places, goods }) => ({ places, good: goods[span] as number })).reduce((best, each) => (each.good > best.good ? each : best)));
  if (seeds.length <= SEARCHING) return bestOf(found);
  const kept = [...new Set(bestOf(found).map(({ places }) => places))];
  return bestOf(kept.map((places) => ({ places, goods: goodOfPlaces(places, seeds) })));
}
