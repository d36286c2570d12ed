// What one caller with a tenth of the requests costs the others, on a queue in virtual time.
import { describe, expect, test } from "vitest";
import { play, SERVICES, type Attack } from "../../bench/adaptive/queue.js";
import { LoadLimit } from "../../src/adaptive/load.js";

const SEEDS = [2_001, 2_002, 2_003];
const { work, meanMs, p99Ms } = SERVICES.exponential;
const WORKERS = 8;

/** Useful answers a second to the others, from 10 s to 30 s. */
function goodputOf(load: number, attack?: Attack): number {
  const spans = [{ from: 10_000, to: 30_000, deadlineMs: 3 * p99Ms }];
  const seen = SEEDS.map((seed) =>
    play({ workers: WORKERS, work, offered: (load * WORKERS) / meanMs, spans, seed, ...(attack && { attack }) }, new LoadLimit({ least: 1, most: 500 }))[0]?.good ?? 0);
  return seen.reduce((sum, good) => sum + good, 0) / SEEDS.length;
}

describe.each([0.9, 2])("at %s times what the service can do", (load) => {
  test.each(["slow-readers", "failures"] as const)("%s of one caller cost the others at most a tenth", (attack) => {
    expect(goodputOf(load, attack)).toBeGreaterThanOrEqual(0.9 * goodputOf(load, "none"));
  });
});

test("places that were held to the end of the reading would cost nearly all: why they come back with the first byte", () => {
  expect(goodputOf(2, "slow-readers-held")).toBeLessThan(0.2 * goodputOf(2, "none"));
});
