// The geometry of the chart: where marks, ticks and lines are.
import { describe, expect, test } from "vitest";
import { drawChart, FixedWindow, describeMark, markByKey, refillFrom, summarize, type ChartMark, type ChartScene } from "../../../src/command/chart/index.js";
import { levelTicks, placeMarks, plotOf, timeScale, timeTicks, type MarkPlace } from "../../../src/command/chart/geometry.js";

const scene = (changes: Partial<ChartScene> = {}): ChartScene => ({
  width: 640, height: 300, from: 0, to: 10_000, now: 10_000, axis: "elapsed", unit: "tokens", capacity: 5, lanes: ["You"],
  levels: [{ at: 0, tokens: 5 }, { at: 4_000, tokens: 5 }, { at: 4_000, tokens: 0 }, { at: 10_000, tokens: 5 }],
  marks: [],
  ...changes,
});
const marks = (count: number, at = 4_000, lane = 0): ChartMark[] => Array.from({ length: count }, (_, i) => ({ at, lane, outcome: i < 5 ? "served" : "refused" }));
const shapes = (name: string, svg: string): number => svg.split(`class="${name}"`).length - 1;

describe("marks", () => {
  test.each([15, 200, 2_000])("%i requests of one instant have one place each, inside the lane", (count) => {
    const chart = scene({ marks: marks(count) });
    const plot = plotOf(chart);
    const places = placeMarks(chart, plot);
    expect(new Set(places.map(({ x, y }) => `${x} ${y}`)).size).toBe(count);
    for (const { y } of places) expect(y > plot.bottom && y < chart.height - 20).toBe(true);
  });

  test("a burst of 15 is a column of whole marks: neighbors do not overlap", () => {
    for (const width of [330, 640, 1_100]) {
      const chart = scene({ width, marks: marks(15) });
      const [first, second] = placeMarks(chart, plotOf(chart)) as [MarkPlace, MarkPlace];
      expect(first.y - second.y).toBeGreaterThanOrEqual(first.radius * 2);
    }
  });

  test("a mark stays in its column while the axis moves", () => {
    const all = Array.from({ length: 40 }, (_, i): ChartMark => ({ at: 3_000 + i * 37, lane: 0, outcome: "served" }));
    const columns = (from: number): string[] => {
      const chart = scene({ from, to: from + 10_000, marks: all });
      const x = timeScale(chart, plotOf(chart));
      return placeMarks(chart, plotOf(chart)).map((place) => `${place.index} ${place.y.toFixed(3)} ${(place.x - x(0)).toFixed(3)}`);
    };
    expect(columns(1_234)).toEqual(columns(0));
  });

  test("what lies outside the span is not drawn, and a lane without marks takes no room", () => {
    const chart = scene({ lanes: ["You", "Obeys", "Ignores"], marks: [...marks(3), ...marks(2, 20_000, 1), ...marks(2, 5_000, 2)] });
    expect(plotOf(chart).lanes.map(({ lane }) => lane)).toEqual([0, 2]);
    expect(placeMarks(chart, plotOf(chart))).toHaveLength(5);
  });

  test("served, refused and failed requests differ in shape", () => {
    const svg = drawChart(scene({ marks: [...marks(7), { at: 9_000, lane: 0, outcome: "failed" }], chosen: 1 }));
    expect([shapes("served", svg), shapes("refused", svg), shapes("failed", svg), shapes("chosen", svg)]).toEqual([5, 2, 1, 1]);
  });
});

describe("axes", () => {
  test.each([[330, 10_000, "0 s,5 s,10 s"], [640, 10_000, "0 s,2 s,4 s,6 s,8 s,10 s"], [640, 3_000, "0 s,0.5 s,1 s,1.5 s,2 s,2.5 s,3 s"]])("%i pixels for %i ms have the ticks %s", (width, to, expected) => {
    const chart = scene({ width, to });
    expect(timeTicks(chart, plotOf(chart)).map(({ text }) => text).join()).toBe(expected);
  });

  test("a live axis counts from now, and says what is to come", () => {
    const chart = scene({ axis: "ago", from: 0, now: 15_000, to: 20_000 });
    expect(timeTicks(chart, plotOf(chart)).map(({ text }) => text)).toEqual(["−15 s", "−10 s", "−5 s", "now", "+5 s"]);
  });

  test.each([[1, [0, 1]], [3, [0, 1, 2, 3]], [5, [0, 2, 5]], [10, [0, 5, 10]], [30, [0, 10, 20, 30]], [50, [0, 20, 50]]])("levels up to %i have lines at %j", (capacity, expected) => {
    expect(levelTicks(capacity)).toEqual(expected);
  });
});

describe("levels", () => {
  test("the past is a line with an area, the forecast is dashed, an unknown level makes a gap", () => {
    const known = drawChart(scene({ now: 4_000 }));
    expect([shapes("level", known), shapes("area", known), shapes("forecast", known), shapes("head", known)]).toEqual([1, 1, 1, 1]);
    const gap = drawChart(scene({ levels: [{ at: 0, tokens: 5 }, { at: 1_000, tokens: 4 }, { at: 2_000, tokens: null }, { at: 3_000, tokens: 2 }, { at: 4_000, tokens: 3 }] }));
    expect(shapes("level", gap)).toBe(2);
  });

  test("a refill rises to the top and stays there", () => {
    expect(refillFrom({ at: 0, tokens: 0 }, 0.001, 5, 10_000)).toEqual([{ at: 5_000, tokens: 5 }, { at: 10_000, tokens: 5 }]);
    expect(refillFrom({ at: 0, tokens: 0 }, 0.001, 5, 2_000)).toEqual([{ at: 2_000, tokens: 2 }]);
    expect(refillFrom({ at: 0, tokens: 5 }, 0.001, 5, 2_000)).toEqual([{ at: 2_000, tokens: 5 }]);
  });

  test("the wait counts down, and is gone when it is over", () => {
    expect(drawChart(scene({ now: 4_000, againAt: 5_300 }))).toContain(">call again in 1.3 s<");
    expect(drawChart(scene({ now: 4_000, againAt: 99_000 }))).toContain(">call again in 95.0 s<");
    expect(drawChart(scene({ now: 5_300, againAt: 5_300 }))).not.toContain("call again");
  });

  test("names are text", () => {
    expect(drawChart(scene({ lanes: ['<a "b">'] }))).toContain("&lt;a &quot;b&quot;>");
  });
});

describe("the fixed window beside it", () => {
  test("limit 5 in 2 s: 9 are served within a quarter of a second around the edge", () => {
    const window = new FixedWindow(5, 2_000);
    const at = [0, 1_900, 1_920, 1_940, 1_960, 1_980, 2_020, 2_040, 2_060, 2_080, 2_100, 2_120];
    const served = at.filter((now) => window.consume(now));
    expect(served.filter((now) => now >= 1_900 && now <= 2_150)).toHaveLength(9);
    expect(window.edges).toEqual([0, 2_020]);
    expect([window.levelAt(2_130).tokens, window.endAt(2_130), window.levelAt(4_020).tokens, window.endAt(4_020)]).toEqual([0, 4_020, 5, null]);
    expect(shapes("edge", drawChart(scene({ edges: window.edges })))).toBe(2);
  });
});

describe("in words", () => {
  test("the summary tells the level and the requests", () => {
    expect(summarize(scene({ marks: marks(7) }))).toBe("5 of 5 tokens left. In 10 s: 5 served, 2 refused.");
    expect(summarize(scene({ levels: [], marks: [{ at: 1, lane: 0, outcome: "failed" }] }))).toBe("The level is unknown. In 10 s: 0 served, 0 refused, 1 failed.");
  });

  test("each request can be reached with the arrow keys, and is told", () => {
    expect([markByKey("ArrowRight", null, 3), markByKey("ArrowRight", 2, 3), markByKey("ArrowLeft", 1, 3), markByKey("Home", 2, 3), markByKey("End", 0, 3), markByKey("a", 0, 3), markByKey("End", null, 0)]).toEqual([0, 2, 0, 0, 2, null, null]);
    expect(describeMark(scene({ marks: marks(7) }), 6)).toBe("Request 7 of 7, at 4 s: refused.");
    expect(describeMark(scene({ axis: "ago", lanes: ["You", "Obeys"], marks: marks(1, 8_500, 1) }), 0)).toBe("Obeys: request 1 of 1, 1.5 s ago: served.");
  });
});
