// Parts of the live page that need no browser: the words of the status, the most in one span, and turns.
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { FixedWindow } from "../../simulate/src/chart/index.js";
import { burstAtEdge } from "../../examples/server/demo/page/edge.js";
import { Levels } from "../../examples/server/demo/page/levels.js";
import { MostWithin, Peaks } from "../../examples/server/demo/page/most.js";
import { oneAtATime } from "../../examples/server/demo/page/one-at-a-time.js";
import { SlidingWindow } from "../../examples/server/demo/page/sliding.js";
import { statusAt } from "../../examples/server/demo/page/status.js";
import { WindowBeside } from "../../examples/server/demo/page/window.js";

/** Five tokens, of which one comes back in 2 s. */
const NUMBERS = { capacity: 5, tokens: 5, everyMs: 10_000 };

function levels(): Levels {
  const all = new Levels();
  all.restart(NUMBERS);
  return all;
}
const textAt = (now: number, all: Levels): string | undefined => statusAt(now, all, 5, "local")?.text;

describe("the status", () => {
  test("says nothing new before the first answer for a bucket", () => {
    const all = levels();
    expect(statusAt(0, all, 5, "local")).toBeNull();
    all.add(0, 5);
    all.restart(NUMBERS);
    expect(statusAt(1, all, 5, "local")).toBeNull();
  });

  test("counts the exact refill, and never ends early", () => {
    const all = levels();
    all.add(0, 0.3);
    expect(textAt(0, all)).toBe("Empty: next request in 1.4 s");
    expect(textAt(1_301, all)).toBe("Empty: next request in 0.1 s");
    expect(textAt(1_400, all)).toBe("Ready: 1 of 5 tokens left");
    expect(textAt(1_590, all)).toBe("Ready: 1 of 5 tokens left");
    expect(textAt(60_000, all)).toBe("Ready: 5 of 5 tokens left");
  });

  test("tells a store that is unavailable from a server that does not answer", () => {
    const all = levels();
    all.add(0, 5);
    all.lose(1, "silent");
    expect(statusAt(2, all, 5, "local")).toEqual({ state: "silent", text: "The server does not answer", said: "The server does not answer." });
    all.lose(3, "unavailable");
    const texts = (["local", "allow", "unavailable"] as const).map((choice) => statusAt(4, all, 5, choice)?.text);
    expect(texts).toEqual(["The store is unavailable: this process decides", "The store is unavailable: all requests are served", "The store is unavailable: requests get a 503"]);
  });
});

describe("the most in one span", () => {
  const most = (instants: readonly number[]): number => {
    const within = new MostWithin(10_000);
    for (const at of instants) within.add(at);
    return within.most;
  };

  test("is found wherever the span begins", () => {
    expect(most([])).toBe(0);
    expect(most([0, 9_700, 9_700, 9_800, 10_200, 10_300])).toBe(5);
    expect(most([0, 1, 2, 30_000, 30_001])).toBe(3);
  });

  test("is counted at once and over a whole window: two bursts around an edge, and a request for each token after them", () => {
    const peaks = new Peaks(5_000);
    for (const at of [0, 4_700, 4_700, 4_700, 4_700, 5_150, 5_150, 5_150, 5_150, 5_150]) peaks.add(at);
    expect([peaks.atOnceMs, peaks.atOnce, peaks.inAll]).toEqual([1_000, 9, 9]);
    const even = new Peaks(5_000);
    for (const at of [0, 4_700, 4_700, 4_700, 4_700, 4_700, 5_760, 6_760, 7_760, 8_760]) even.add(at);
    expect([even.atOnce, even.inAll]).toEqual([5, 9]);
    expect(new Peaks(2_000).atOnceMs).toBe(500);
  });

  test("does not count both of two requests that are a whole span apart", () => {
    expect(most([0, 10_000])).toBe(1);
    expect(most([0, 9_999])).toBe(2);
  });
});

test("a sliding window beside the bucket serves its limit in any span, and each request comes back so long after it", () => {
  const beside = new WindowBeside(SlidingWindow);
  beside.restart({ capacity: 2, tokens: 2, everyMs: 1_000 }, 0.5);
  for (const at of [0.9, 400.2, 999.9, 1_000.1, 1_399.9, 1_400.1]) beside.consume(at);
  expect([beside.served, beside.refused, beside.peaks.inAll]).toEqual([4, 2, 2]);
  const { levels, marks, againAt } = beside.scene(2_500);
  expect(marks.map(({ outcome }) => outcome)).toEqual(["served", "served", "refused", "served", "refused", "served"]);
  expect(levels.filter(({ at, tokens }, i) => at !== levels[i - 1]?.at || tokens !== levels[i - 1]?.tokens).map(({ at, tokens }) => [at, tokens])).toEqual([
    [0, 2], [0, 1], [400, 1], [400, 0], [999, 0], [1_000, 0], [1_000, 1], [1_000, 0], [1_399, 0], [1_400, 0], [1_400, 1], [1_400, 0],
    [2_000, 0], [2_000, 1], [2_400, 1], [2_400, 2], [2_500, 2],
  ]);
  expect(againAt).toBeNull();
});

test("one at a time: calls during a run share one more, which begins after it", async () => {
  const ends: (() => void)[] = [];
  const run = oneAtATime(() => new Promise((resolve) => ends.push(resolve)));
  const first = run();
  await Promise.resolve();
  const [second, third] = [run(), run()];
  expect(third).toBe(second);
  expect(ends.length).toBe(1);
  ends[0]?.();
  await first;
  await Promise.resolve();
  expect(ends.length).toBe(2);
  ends[1]?.();
  await second;
});

describe("two bursts at a window's edge", () => {
  /** Plays them with answers that take as long as `delays` say, the last of them from then on. */
  async function play(delays: readonly number[], isSame: () => boolean = () => true) {
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ["setTimeout", "performance", "Date"] }).setTimerTickMode("nextTimerAsync");
    const beside = new WindowBeside(FixedWindow);
    beside.restart(NUMBERS_OF_5_S, performance.now());
    const told: string[] = [];
    let bursts = 0;
    const send = async (count: number): Promise<void> => {
      const delayMs = count === 1 ? 1 : (delays[Math.min(bursts++, delays.length - 1)] as number);
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      for (let i = 0; i < count; i++) beside.consume(performance.now());
    };
    const outcome = await burstAtEdge({ beside, send, tokenMs: 1_000, atOnceMs: 1_000, tell: (text) => told.push(text), isSame });
    return { outcome, bursts, again: told.some((text) => text.startsWith("The bursts missed the edge: this computer is busy. Once more. ")), atOnce: beside.peaks.atOnce };
  }
  const NUMBERS_OF_5_S = { capacity: 5, tokens: 10, everyMs: 10_000 };

  test.each([
    ["answered in time", [20], { outcome: "shown", bursts: 2, again: false, atOnce: 9 }],
    ["the first answered after the window's end", [400, 20], { outcome: "shown", bursts: 4, again: true, atOnce: 9 }],
    ["the second answered over a second after the first began", [20, 700, 20], { outcome: "shown", bursts: 4, again: true, atOnce: 9 }],
    ["never in time", [900], { outcome: "missed", bursts: 8, again: true, atOnce: 5 }],
  ])("%s", async (_, delays, wanted) => {
    expect(await play(delays)).toEqual(wanted);
  });

  test("end when the numbers change", async () => {
    let looks = 0;
    expect((await play([20], () => ++looks < 5)).outcome).toBe("changed");
  });
});
