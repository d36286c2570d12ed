// The goals of the limit that finds its own number, measured: what a limit serves in each span after a start or a step,
// beside the best fixed number.
import { play, SERVICES, type Limit, type Span } from "./queue.js";

export type ServiceName = keyof typeof SERVICES;

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

/** The service becomes three times slower, as before, and three times faster. */
const STEPS = [{ at: 20_000, times: 3 }, { at: 40_000, times: 1 }, { at: 60_000, times: 1 / 3 }];
/** From 10 s after the start and after each step on. */
export const SPANS = ["start", "three times slower", "as before", "three times faster"] as const;

/** An answer is useful within three times the 99th percentile of the service alone. */
const deadlineOf = (service: ServiceName, times: number): number => 3 * SERVICES[service].p99Ms * times * (1 + 1e-9);

/** Plays a scene with its steps for each seed, and returns an outcome for each of {@link SPANS}. */
export function outcomesOf({ service, workers, load }: Scene, seeds: readonly number[], makeLimit: () => Limit): Outcome[] {
  const { work, meanMs } = SERVICES[service];
  const spans: Span[] = [1, ...STEPS.map(({ times }) => times)].map((times, index) =>
    ({ from: index * 20_000 + 10_000, to: index * 20_000 + 20_000, deadlineMs: deadlineOf(service, times) }));
  const runs = seeds.map((seed) => play({ workers, work, offered: (load * workers) / meanMs, steps: STEPS, spans, seed }, makeLimit()));
  return spans.map(({ deadlineMs }, span) => {
    const times = Float64Array.from(runs.flatMap((run) => run[span]?.times ?? [])).sort();
    const good = runs.reduce((sum, run) => sum + (run[span]?.good ?? 0), 0) / runs.length;
    return { good, p99: (times[Math.floor(times.length * 0.99)] ?? 0) / (deadlineMs / 3) };
  });
}

export const fixedLimit = (places: number): Limit => ({ number: () => places, sample: () => undefined });

/** Returns for each span the most useful answers a second with a fixed number, which is `workers` times one of `parts`. */
export function bestFixed(scene: Scene, seeds: readonly number[], parts: readonly number[]): number[] {
  const all = parts.map((part) => outcomesOf(scene, seeds, () => fixedLimit(Math.round(part * scene.workers))));
  return SPANS.map((_, span) => Math.max(...all.map((outcomes) => outcomes[span]?.good ?? 0)));
}
