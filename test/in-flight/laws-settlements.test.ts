// Settlements that wait for two stores, in random histories of simulated time. One store is healthy. The other one fails now and
// then, at once or after a while.
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { histories } from "../helpers/histories.js";

// A copy of its own: settlements of another file may still wait, and then no timer begins here.
vi.resetModules();
const { settleLater } = await import("../../src/limits/settlements.js");

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

const BEAT_MS = 1_000;

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ what: fc.constant("settle" as const), isHealthy: fc.boolean(), count: fc.integer({ min: 1, max: 40 }) }) },
    { weight: 3, arbitrary: fc.record({ what: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 1_500 }) }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant("fail" as const), refusalMs: fc.constantFrom(0, 0, 100, 2_500) }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant("return" as const) }) },
  ),
  { minLength: 5, maxLength: 40, size: "max" },
);

/** One settlement, and how often it was made. */
interface Waiting {
  readonly isHealthy: boolean;
  readonly since: number;
  made: number;
}

test("L12 · settlements wait for their own store alone, and each is made once", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (list) => {
      const [healthy, other] = [{}, {}];
      const all: Waiting[] = [];
      let refusalMs: number | null = null;
      const settle = (isHealthy: boolean): void => {
        const own: Waiting = { isHealthy, since: performance.now(), made: 0 };
        all.push(own);
        const run = async (): Promise<void> => {
          if (isHealthy || refusalMs === null) return void (own.made += 1);
          if (refusalMs > 0) await new Promise((resolve) => setTimeout(resolve, refusalMs as number));
          settleLater(run, other);
        };
        settleLater(run, isHealthy ? healthy : other);
      };
      for (const step of list) {
        if (step.what === "settle") for (let i = 0; i < step.count; i++) settle(step.isHealthy);
        if (step.what === "fail") refusalMs = step.refusalMs;
        if (step.what === "return") refusalMs = null;
        if (step.what !== "wait") continue;
        await vi.advanceTimersByTimeAsync(step.ms);
        const late = all.filter(({ isHealthy, since, made }) => isHealthy && made === 0 && performance.now() - since > BEAT_MS);
        expect(late).toEqual([]);
      }
      refusalMs = null;
      await vi.advanceTimersByTimeAsync(60_000);
      expect(all.filter(({ made }) => made !== 1)).toEqual([]);
      expect(vi.getTimerCount()).toBe(0);
    }),
    { numRuns: histories(200) },
  );
});
