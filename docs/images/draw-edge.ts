// Draws edge.svg, the edge of a window, with the real TokenBucket: `npx tsx docs/images/draw-edge.ts`. edge-small.svg is the same for a narrow
// column: its text is as large as that of the page. test/docs.test.ts compares them.
import { realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CHART_STYLE, countMarks, drawChart, FixedWindow, refillFrom, type ChartCounts, type ChartLevel, type ChartMark, type ChartScene } from "../../src/command/chart/index.js";
import { TokenBucket } from "../../src/index.js";
import { ManualClock } from "../../src/testing/manual-clock.js";

const LIMIT = { capacity: 5, refill: { tokens: 5, everyMs: 2_000 } };
const END_MS = 4_500;
/** One request opens the window. Nine more come around its end, within 0.25 s. */
const CALLS = [400, 2_300, 2_325, 2_350, 2_375, 2_400, 2_425, 2_450, 2_475, 2_500];
const CLOSE_MS = 250;

/** The sizes of a picture, in pixels. */
interface EdgeSize {
  readonly width: number;
  /** The height of each chart. */
  readonly height: number;
  readonly laneRows: number;
  /** The size of the titles. */
  readonly font: number;
}

export const EDGE_SIZES = {
  "edge.svg": { width: 760, height: 200, laneRows: 4, font: 16 },
  "edge-small.svg": { width: 400, height: 158, laneRows: 5, font: 14 },
} as const satisfies Readonly<Record<string, EdgeSize>>;

interface Played {
  readonly scene: ChartScene;
  /** What became of the requests within 0.25 s around the edge. */
  readonly atEdge: ChartCounts;
}

const framed = ({ width, height, laneRows }: EdgeSize, unit: string, levels: ChartLevel[], marks: ChartMark[], edges: readonly number[]): Played => ({
  scene: { width, height, from: 0, to: END_MS, now: END_MS, axis: "elapsed", unit, capacity: LIMIT.capacity, lanes: ["requests"], laneRows, levels, marks, edges },
  atEdge: countMarks(marks.filter(({ at }) => at >= 2_300 && at <= 2_300 + CLOSE_MS)),
});

function playBucket(size: EdgeSize): Played {
  const clock = new ManualClock();
  const bucket = new TokenBucket({ ...LIMIT, clock: clock.now });
  const perMs = LIMIT.refill.tokens / LIMIT.refill.everyMs;
  let last = { at: 0, tokens: LIMIT.capacity };
  const levels: ChartLevel[] = [last];
  const marks = CALLS.map((at): ChartMark => {
    clock.set(at);
    levels.push(...refillFrom(last, perMs, LIMIT.capacity, at));
    const { allowed, resetMs } = bucket.consume();
    last = { at, tokens: LIMIT.capacity - resetMs * perMs };
    levels.push(last);
    return { at, lane: 0, outcome: allowed ? "served" : "refused" };
  });
  levels.push(...refillFrom(last, perMs, LIMIT.capacity, END_MS));
  return framed(size, "tokens", levels, marks, []);
}

function playWindow(size: EdgeSize): Played {
  const window = new FixedWindow(LIMIT.capacity, LIMIT.refill.everyMs);
  const levels: ChartLevel[] = [window.levelAt(0)];
  const marks = CALLS.map((at): ChartMark => {
    const end = window.endAt(levels.at(-1)?.at ?? 0);
    if (end !== null && end <= at) levels.push({ at: end, tokens: levels.at(-1)?.tokens ?? 0 }, { at: end, tokens: LIMIT.capacity });
    levels.push({ at, tokens: levels.at(-1)?.tokens ?? 0 });
    const outcome = window.consume(at) ? "served" : "refused";
    levels.push(window.levelAt(at));
    return { at, lane: 0, outcome };
  });
  const end = window.endAt(CALLS.at(-1) as number) as number;
  levels.push({ at: end, tokens: levels.at(-1)?.tokens ?? 0 }, { at: end, tokens: LIMIT.capacity }, { at: END_MS, tokens: LIMIT.capacity });
  return framed(size, "requests", levels, marks, window.edges);
}

/** The picture, as SVG text. */
export function drawEdge(size: EdgeSize): string {
  const [bucket, window] = [playBucket(size), playWindow(size)];
  const { width, height, font } = size;
  const half = height + font * 3.25; // a title and a chart
  const part = (top: number, title: string, { scene, atEdge }: Played): string => `<text class="title" x="${font}" y="${top + font * 1.6}">${title}</text>
<text class="count" x="${width - font}" y="${top + font * 1.65}" text-anchor="end"><tspan class="chart-served">●</tspan> <tspan class="number">${atEdge.served}</tspan> served <tspan class="chart-refused" dx="6">×</tspan> ${atEdge.refused} refused${width < 500 ? "" : " in 0.25 s"}</text>
<svg class="chart" x="0" y="${top + font * 2.5}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${drawChart(scene)}</svg>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${half * 2 + 6}" role="img" aria-labelledby="title about">
<title id="title">Limit 5 in 2 s, ten requests, two ways to count</title>
<desc id="about">One request comes at 0.4 s, and nine within 0.25 s around 2.4 s. sluice serves ${bucket.atEdge.served} of the nine. A fixed window of 2 s, which ends at 2.4 s, serves ${window.atEdge.served}.</desc>
<style>
:root { color-scheme: light dark }
${CHART_STYLE.trim()}
.page { fill: light-dark(#ffffff, #0d1117) }
.title, .count { font: 600 ${font}px system-ui, sans-serif; fill: light-dark(#1f2328, #e6edf3) }
.count { font-weight: 400; font-size: ${font - 2}px }
.chart-served, .chart-refused { fill: currentColor }
.number { font-weight: 700; font-size: ${font + 6}px }
</style>
<rect class="page" width="${width}" height="${half * 2 + 6}" rx="8"/>
${part(3, width < 500 ? "sluice: 5 in 2 s" : "sluice: 5 tokens, 5 come back in 2 s", bucket)}
${part(half + 3, "a fixed window: 5 in 2 s", window)}
</svg>
`;
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  for (const [file, size] of Object.entries(EDGE_SIZES)) writeFileSync(new URL(file, import.meta.url), drawEdge(size));
}
