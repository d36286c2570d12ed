// A limit that finds its number, played in virtual time. `npm run bench adaptive` plays all cells, with ten seeds each.
import { describe, expect, test } from "vitest";
import {
  bestFixed, outcomesOf, playerOf, SERVICE_NAMES, SPANS, type Outcome, type Scene, type Stretch,
} from "../../bench/adaptive/goals.js";
import { aimd, envoy, gradient2, noLimit, vegas } from "../../bench/adaptive/others.js";
import { play, SERVICES, type Limit, type Run, type Seen } from "../../bench/adaptive/queue.js";
import {
  adaptive, AFTER_NIGHT, costOfLooks, CREW_SPANS, CREWS, MORNING, NIGHT, numberAtNight, shortestPause, slowly, watched,
} from "../../bench/adaptive/trials.js";

const SEEDS = [2_001, 2_002, 2_003];
const scene = (service: Scene["service"], load: number): Scene => ({ service, load, workers: 8 });

describe("from 10 s after each step on", () => {
  const cells = [["constant", 2], ["exponential", 1], ["exponential", 5], ["mixed", 2]] as const;
  test.each(cells)("%s, load %d: useful answers, and the 99th percentile", (service, load) => {
    const best = bestFixed(scene(service, load), SEEDS);
    outcomesOf(scene(service, load), SEEDS, adaptive).forEach(({ good, p99 }, span) => {
      expect(good / (best[span]?.good ?? NaN), SPANS[span]).toBeGreaterThan(0.9);
      expect(p99, SPANS[span]).toBeLessThan(3);
    });
  });

  test("workers leave and come: the number follows, where a fixed one does not", () => {
    const shared = { service: "exponential", load: 5, workers: 9 } as const;
    const cells = (makeLimit: () => Limit): Outcome[] => outcomesOf(shared, SEEDS, makeLimit, CREW_SPANS, { crews: CREWS });
    const most = [450, 150, 450, 1_350];
    for (const [i, { good, p99 }] of cells(adaptive).entries()) {
      expect(good / (most[i] ?? NaN)).toBeGreaterThan(0.9);
      expect(p99).toBeLessThan(3);
    }
    expect(cells(() => ({ number: () => 18, sample: () => undefined }))[3]?.good).toBeLessThan(0.7 * 1_350);
  });

  test("after a cold start, and after a quiet night", () => {
    for (const [spans, change] of [[MORNING, {}], [AFTER_NIGHT, { tides: NIGHT }]] as const) {
      expect(outcomesOf(scene("exponential", 5), SEEDS, adaptive, spans, change).at(-1)?.good).toBeGreaterThan(0.9 * 400);
    }
  });
});

test("a look lasts until the line has ended: one worker with work of 100 ms gets its number from a cold start", () => {
  const { stretches, change } = slowly(5);
  const [, later] = outcomesOf({ service: "constant", load: 2, workers: 1 }, SEEDS, adaptive, stretches, change);
  expect(later?.good).toBeGreaterThan(0.9 * 10);
  expect(later?.p99).toBeLessThan(3.5);
});

test.each([[1, 100], [64, 500], [64, 1_000], [64, 2_000]])("%d × %d ms: the number is found a minute after the start", (workers, ms) => {
  const { change } = slowly(ms / 20);
  const minute = [{ from: 60_000, to: 120_000, times: ms / 20 }];
  const [{ good, p99 }] = outcomesOf({ service: "exponential", load: 2, workers }, SEEDS, adaptive, minute, change) as [Outcome];
  expect(good / ((workers * 1_000) / ms)).toBeGreaterThan(0.85);
  expect(p99).toBeLessThan(3);
});

test.each([0.5, 0.6, 0.8])("quick answers, a share of %d of all, do not hide the line of the others", (attacking) => {
  const spans = [{ from: 20_000, to: 60_000, deadlineMs: 60 }];
  const run = { workers: 8, work: () => 20, offered: 0.8 / (1 - attacking), spans, attack: "quick", attacking } as const;
  for (const seed of SEEDS) expect((play({ ...run, seed }, adaptive()) as [Seen])[0].good).toBeGreaterThan(0.85 * 400);
});

test.each([1, 0.9, 0.5])("batch work that is %d of all fills the service, and what matters finds a place", (part) => {
  const { work, meanMs, p99Ms } = SERVICES.exponential;
  const spans = [{ from: 10_000, to: 30_000, deadlineMs: 3 * p99Ms }];
  const run = { workers: 64, work, offered: (2 * 64) / meanMs, spans, seed: 2_001, batch: { part, share: 0.7 } };
  const [{ good, refused }] = play(run, adaptive()) as [Seen];
  expect(good).toBeGreaterThan(0.95 * 3_200);
  expect(refused).toBeLessThanOrEqual(0.05 * (1 - part) * 6_400 * 20);
});

describe("clients leave before their answer, and their work goes on", () => {
  const usefulOf = (run: Omit<Run, "seed" | "work">, limit: Limit): number[] =>
    play({ ...run, work: SERVICES.exponential.work, seed: 2_001 }, limit).map(({ good }) => good);

  test("few workers with slow work: a number of 20 serves nobody", () => {
    const slow = { workers: 2, offered: 0.03, steps: [{ at: 0, times: 10 }], patienceMs: 500, spans: [{ from: 60_000, to: 300_000, deadlineMs: 500 }] };
    expect(usefulOf(slow, { number: () => 20, sample: () => undefined })[0]).toBeLessThan(0.1);
    expect(usefulOf(slow, adaptive())[0]).toBeGreaterThan(4);
  });

  test("a service that becomes ten times slower serves some, and all when it is back", () => {
    const spans = [40_000, 70_000].map((from) => ({ from, to: from + 20_000, deadlineMs: 300 }));
    const steps = [{ at: 30_000, times: 10 }, { at: 60_000, times: 1 }];
    const [slow, back] = usefulOf({ workers: 8, offered: 1, steps, patienceMs: 300, spans }, adaptive());
    expect(slow).toBeGreaterThan(12);
    expect(back).toBeGreaterThan(0.9 * 400);
  });
});

describe("a look at the base latency", () => {
  test("comes once in 60 s of calm, and costs at most 2 % of the useful answers", () => {
    const { share, looks: [looks = []] } = costOfLooks(scene("exponential", 2), SEEDS);
    expect(share).toBeGreaterThan(0.98);
    expect(looks.filter(({ moved }) => !moved).length).toBeGreaterThan(6);
    expect(looks.filter(({ moved }) => moved).length).toBeLessThan(3);
    expect(shortestPause(looks, false)).toBeGreaterThanOrEqual(60_000);
  });

  test.each(SERVICE_NAMES)("%s: comes at most once in 5 s while the number moves", (service) => {
    const limit = watched();
    playerOf(scene(service, 2))(2_001, limit);
    expect(limit.looks.filter(({ moved }) => moved).length).toBeGreaterThan(1);
    expect(shortestPause(limit.looks, true)).toBeGreaterThanOrEqual(5_000);
  });
});

test.each(SERVICE_NAMES)("%s: a quiet night does not raise the number", (service) => {
  const { before, most } = numberAtNight(scene(service, 2), 2_001);
  expect(before).toBeGreaterThan(8);
  expect(most).toBeLessThanOrEqual(before);
});

describe("other methods", () => {
  const MINUTE: readonly Stretch[] = [{ from: 50_000, to: 60_000 }];
  const busy = scene("exponential", 5);
  const after = (makeLimit: (seed: number) => Limit): number => outcomesOf(busy, SEEDS, makeLimit, MINUTE, {})[0]?.good ?? NaN;

  test("lose the service after a minute of five times the load", () => {
    expect(after(adaptive)).toBeGreaterThan(0.9 * 400);
    for (const other of [noLimit, () => aimd(300), vegas]) expect(after(other)).toBeLessThan(0.8 * 400);
  });

  test("take a service that became slow for one with a line", () => {
    const slowerOf = (makeLimit: (seed: number) => Limit): number => outcomesOf(busy, SEEDS, makeLimit)[1]?.good ?? NaN;
    expect(slowerOf(envoy)).toBeLessThan(0.8 * slowerOf(adaptive));
  });

  test("let the line grow with the mean that they compare with", () => {
    expect(outcomesOf(scene("constant", 5), SEEDS, gradient2, [{ from: 230_000, to: 240_000 }], {})[0]?.p99).toBeGreaterThan(6);
  });
});
