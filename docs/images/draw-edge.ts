// Draws edge.svg, the edge of a window, with the real TokenBucket: `npx tsx docs/images/draw-edge.ts`. edge-small.svg is the same for a narrow
// column: its text is as large as that of the page. test/docs.test.ts compares them.
import { realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CHART_STYLE, drawChart, FixedWindow, mostServedIn, refillFrom, type ChartLevel, type ChartMark, type ChartScene } from "../../simulate/src/chart/index.js";
import { TokenBucket } from "../../src/index.js";
import { ManualClock } from "../../src/testing/manual-clock.js";

const LIMIT = { capacity: 5, refill: { tokens: 5, everyMs: 2_000 } };
const END_MS = 4_600;
/** One request opens the window. Nine more come around its end, within 0.25 s. After them the caller sends one whenever a token is there. */
const CALLS = [400, 2_200, 2_250, 2_300, 2_350, 2_400, 2_400, 2_400, 2_400, 2_400, 2_600, 3_000, 3_400, 3_800, 4_200];
/** The periods whose most served requests are stated: at once, and as long as the window. */
const PERIODS = [250, LIMIT.refill.everyMs] as const;

/** The sizes of a picture, in pixels. */
export interface EdgeSize {
  readonly width: number;
  /** The height of each chart. */
  readonly height: number;
  readonly laneRows: number;
  /** The size of the titles. */
  readonly font: number;
}

export const EDGE_SIZES = {
  "edge.svg": { width: 760, height: 200, laneRows: 5, font: 16 },
  "edge-small.svg": { width: 400, height: 158, laneRows: 5, font: 14 },
} as const satisfies Readonly<Record<string, EdgeSize>>;

export interface Played {
  readonly scene: ChartScene;
  /** The most that were served in each of the periods. */
  readonly most: readonly number[];
}

export const framed = ({ width, height, laneRows }: EdgeSize, unit: string, levels: ChartLevel[], marks: ChartMark[], edges: readonly number[]): Played => ({
  scene: { width, height, from: 0, to: END_MS, now: END_MS, axis: "elapsed", unit, capacity: LIMIT.capacity, lanes: ["requests"], laneRows, levels, marks, edges },
  most: PERIODS.map((period) => mostServedIn(marks, period)),
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
  return drawPair(size, {
    title: "Limit 5 in 2 s, fifteen requests, two ways to count",
    about: `One request comes at 0.4 s, nine within 0.2 s around 2.4 s, and then one every 0.4 s. sluice serves at most ${bucket.most[0]} in 0.25 s and ${bucket.most[1]} in 2 s, evenly. A fixed window of 2 s, which ends at 2.4 s, serves ${window.most[0]} in 0.25 s, then none until it ends, and ${window.most[1]} in 2 s.`,
    parts: [[size.width < 500 ? "sluice: 5 in 2 s" : "sluice: 5 tokens, 5 come back in 2 s", bucket], ["a fixed window: 5 in 2 s", window]],
  });
}

/** Two charts, one above the other, with how many requests each served. */
export function drawPair(size: EdgeSize, { title, about, parts }: { title: string; about: string; parts: readonly (readonly [string, Played])[] }): string {
  const { width, height, font } = size;
  const half = height + font * 3.25; // a title and a chart
  const part = ([name, { scene, most: [atOnce, inAll] }]: readonly [string, Played], i: number): string => {
    const top = i * half + 3;
    return `<text class="title" x="${font}" y="${top + font * 1.6}">${name}</text>
<text class="count" x="${width - font}" y="${top + font * 1.65}" text-anchor="end"><tspan class="number">${atOnce}</tspan> ${width < 500 ? "" : "served "}in 0.25 s, <tspan class="number">${inAll}</tspan> in 2 s</text>
<svg class="chart" x="0" y="${top + font * 2.5}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${drawChart(scene)}</svg>`;
  };
  const legend = `<text class="legend" x="${width - 12}" y="${font * 2.5 + 16}" text-anchor="end"><tspan class="chart-served">●</tspan> served <tspan class="chart-refused" dx="6">×</tspan> refused</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${half * 2 + 6}" role="img" aria-labelledby="title about">
<title id="title">${title}</title>
<desc id="about">${about}</desc>
<style>
:root { color-scheme: light dark }
${CHART_STYLE.trim()}
.page { fill: light-dark(#ffffff, #0d1117) }
.title, .count, .legend { font: 600 ${font}px system-ui, sans-serif; fill: light-dark(#1f2328, #e6edf3) }
.count, .legend { font-weight: 400; font-size: ${font - 2}px }
.legend { font-size: 12px }
.chart-served, .chart-refused { fill: currentColor }
.number { font-weight: 700; font-size: ${font + 6}px }
</style>
<rect class="page" width="${width}" height="${half * 2 + 6}" rx="8"/>
${part(parts[0] as readonly [string, Played], 0)}
${legend}
${part(parts[1] as readonly [string, Played], 1)}
</svg>
`;
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  for (const [file, size] of Object.entries(EDGE_SIZES)) writeFileSync(new URL(file, import.meta.url), drawEdge(size));
}
