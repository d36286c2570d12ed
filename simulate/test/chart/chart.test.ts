// The geometry of the chart: where marks, ticks and lines are.
import { describe, expect, test } from "vitest";
import { countMarks, drawChart, drawCounts, FixedWindow, describeMark, markByKey, mostServedIn, refillFrom, spellWait, summarize, type ChartMark, type ChartScene } from "../../src/chart/index.js";
import { levelTicks, plotOf, timeScale, timeTicks } from "../../src/chart/geometry.js";
import { placeMarks, type MarkPlace } from "../../src/chart/marks.js";

const scene = (changes: Partial<ChartScene> = {}): ChartScene => ({
  width: 640, height: 300, from: 0, to: 10_000, now: 10_000, axis: "elapsed", unit: "tokens", capacity: 5, lanes: ["You"],
  levels: [{ at: 0, tokens: 5 }, { at: 4_000, tokens: 5 }, { at: 4_000, tokens: 0 }, { at: 10_000, tokens: 5 }],
  marks: [],
  ...changes,
});
const marks = (count: number, at = 4_000, lane = 0): ChartMark[] => Array.from({ length: count }, (_, i) => ({ at, lane, outcome: i < 5 ? "served" : "refused" }));
/** The box that each drawn mark covers, with its line. */
function boxesOf(svg: string): Array<{ readonly left: number; readonly right: number; readonly top: number; readonly bottom: number }> {
  const box = (x: number, y: number, half: number) => ({ left: x - half, right: x + half, top: y - half, bottom: y + half });
  const circles = [...svg.matchAll(/class="served" data-mark="\d+" cx="([\d.]+)" cy="([\d.]+)" r="([\d.]+)"/g)].map(([, x, y, r]) => box(Number(x), Number(y), Number(r)));
  const crosses = [...svg.matchAll(/class="refused" stroke-width="([\d.]+)" data-mark="\d+" d="M([\d.]+) ([\d.]+)l([\d.]+)/g)].map(([, line, x, y, d]) => box(Number(x) + Number(d) / 2, Number(y) + Number(d) / 2, (Number(d) + Number(line)) / 2));
  return [...circles, ...crosses];
}
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

  test.each([[350, 220, 20], [350, 160, 20], [330, 200, 30], [640, 300, 60]])("in %i x %i pixels, %i marks of one instant do not touch, with their lines", (width, height, count) => {
    const svg = drawChart(scene({ width, height, marks: marks(count) }));
    const boxes = boxesOf(svg);
    expect(boxes).toHaveLength(count);
    const touching = boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
    expect(touching).toEqual([]);
  });

  test("a column that is too high goes on beside itself, and all marks of a lane have one size", () => {
    const chart = scene({ width: 350, height: 220, marks: [{ at: 1_000, lane: 0, outcome: "served" }, ...marks(20)] });
    const places = placeMarks(chart, plotOf(chart));
    expect(new Set(places.map(({ radius }) => radius)).size).toBe(1);
    expect((places[0] as MarkPlace).radius).toBeGreaterThanOrEqual(3);
    expect(new Set(places.slice(1).map(({ x }) => x)).size).toBeGreaterThan(1);
  });

  test("columns that are near each other shrink rather than overlap", () => {
    const near = Array.from({ length: 12 }, (_, i) => marks(20, 3_000 + i * 100)).flat();
    const boxes = boxesOf(drawChart(scene({ marks: near })));
    expect(boxes.some((a, i) => boxes.slice(i + 1).some((b) => a.left < b.right - 0.3 && b.left < a.right - 0.3 && a.top < b.bottom - 0.3 && b.top < a.bottom - 0.3))).toBe(false);
  });

  test.each([3_000, 3_050, 3_100, 3_217])("each mark stands on its own side of a window's edge at %i ms", (edge) => {
    for (const count of [1, 12, 30]) {
      const chart = scene({ edges: [1_000, edge], marks: [...marks(count, edge - 1), ...marks(count, edge)] });
      const line = timeScale(chart, plotOf(chart))(edge);
      for (const { index, x, radius } of placeMarks(chart, plotOf(chart))) expect(index < count ? x + radius <= line : x - radius >= line).toBe(true);
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

  test.each([[1, [0, 1]], [3, [0, 1, 2, 3]], [5, [0, 1, 2, 3, 4, 5]], [7, [0, 7]], [9, [0, 3, 6, 9]], [10, [0, 2, 4, 6, 8, 10]], [30, [0, 10, 20, 30]], [50, [0, 10, 20, 30, 40, 50]], [60, [0, 20, 40, 60]], [30_000, [0, 10_000, 20_000, 30_000]]])("levels up to %i have even lines at %j", (capacity, expected) => {
    expect(levelTicks(capacity, 100)).toEqual(expected);
  });

  test("a low chart has fewer lines", () => {
    expect([levelTicks(5, 50), levelTicks(10, 50), levelTicks(4, 50)]).toEqual([[0, 5], [0, 5, 10], [0, 2, 4]]);
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

  test("the wait of a chosen refusal is drawn where it was, in place of the countdown", () => {
    const svg = drawChart(scene({ now: 10_000, againAt: 12_000, wait: { from: 4_000, to: 4_400 } }));
    expect(svg).toContain(">call again after 0.4 s<");
    expect(svg).not.toContain("call again in");
    expect([shapes("wait", svg), shapes("again", svg)]).toEqual([1, 1]);
    expect(shapes("again", drawChart(scene({ wait: { from: 9_000, to: 20_000 } })))).toBe(0);
    expect(shapes("wait", drawChart(scene({ wait: { from: 20_000, to: 30_000 } })))).toBe(0);
  });

  test("a wait is rounded up, and long ones are minutes or hours", () => {
    expect([20, 1_300, 120_000, 120_001, 1_188_000, 7_200_001, 86_400_000].map(spellWait)).toEqual(["0.1 s", "1.3 s", "120.0 s", "3 min", "20 min", "3 h", "24 h"]);
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

  test("an edge has a label only where no other edge and no text is near", () => {
    const labels = (changes: Partial<ChartScene>): number => drawChart(scene(changes)).split(">new window<").length - 1;
    expect(labels({ edges: [0, 5_000] })).toBe(2);
    expect(labels({ edges: [0, 2_000, 4_000, 6_000, 8_000] }), "at most the first and the last").toBe(2);
    expect(labels({ edges: [0, 1_000, 2_000, 3_000] })).toBe(1);
    expect(labels({ edges: [2_000, 2_500] })).toBe(1);
    expect(labels({ edges: [9_000, 9_900] }), "the first on its left").toBe(1);
    expect(labels({ edges: [7_500], now: 4_000, againAt: 9_000 }), "the countdown is there").toBe(0);
    expect(labels({ edges: [4_000], wait: { from: 4_500, to: 5_000 } })).toBe(0);
  });
});

describe("in words", () => {
  test("the summary tells the level and the requests", () => {
    expect(summarize(scene({ marks: marks(7) }))).toBe("5 of 5 tokens left. In 10 s: 5 served, 2 refused.");
    expect(summarize(scene({ levels: [], marks: [{ at: 1, lane: 0, outcome: "failed" }] }))).toBe("The level is unknown. In 10 s: 0 served, 0 refused, 1 failed.");
  });

  test("counts have the color and the shape of their marks", () => {
    const html = drawCounts(countMarks(marks(7)));
    expect(html.replace(/<[^>]+>/g, "")).toBe("● 5 served × 2 refused");
    expect(html).toContain('<span class="chart-refused"><span aria-hidden="true">×</span> 2 refused</span>');
    expect(drawCounts({ served: 0, refused: 0, failed: 3 })).toContain("3 failed");
  });

  test("the most that were served in a second is found wherever it begins, and both of its ends count", () => {
    const served = [0, 900, 950, 1_000, 1_899, 1_900].map((at): ChartMark => ({ at, lane: 0, outcome: "served" }));
    expect([mostServedIn(served, 1_000), mostServedIn(served, 100), mostServedIn([], 1_000)]).toEqual([5, 3, 0]);
    expect(mostServedIn(marks(20), 1_000), "refused ones do not count").toBe(5);
  });

  test("each request can be reached with the arrow keys, and is told", () => {
    expect([markByKey("ArrowRight", null, 3), markByKey("ArrowRight", 2, 3), markByKey("ArrowLeft", 1, 3), markByKey("Home", 2, 3), markByKey("End", 0, 3), markByKey("a", 0, 3), markByKey("End", null, 0)]).toEqual([0, 2, 0, 0, 2, null, null]);
    expect(describeMark(scene({ marks: marks(7) }), 6)).toBe("Request 7 of 7, at 4 s: refused.");
    expect(describeMark(scene({ axis: "ago", lanes: ["You", "Obeys"], marks: marks(1, 8_500, 1) }), 0)).toBe("Obeys: request 1 of 1, 1.5 s ago: served.");
  });
});
