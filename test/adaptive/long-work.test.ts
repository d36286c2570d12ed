// Work that lasts longer than a place does without a renewal.
import { expect, onTestFinished, test, vi } from "vitest";

// A copy of its own: renewals of another file may still wait, and then no timer begins here.
vi.resetModules();
const [{ run }, { adaptive }] = await Promise.all([import("sluice"), import("sluice/adaptive")]);

test("work that is longer than a place lasts keeps its place under any key", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const load = adaptive({ most: 2, clock: Date.now });
  const ends: (() => void)[] = [];
  const works = ["service", "ann"].map((key) => run(load.limiter, key, () => new Promise<void>((resolve) => ends.push(resolve))));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(load.inFlight).toBe(2);
  for (const end of ends) end();
  await Promise.all(works);
  expect(load.inFlight).toBe(0);
});
