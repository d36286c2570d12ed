// Draws edge.svg, the edge of a window, with the real TokenBucket: `npx tsx docs/images/draw-edge.ts`. test/docs.test.ts compares the two.
import { realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CHART_STYLE, drawChart, FixedWindow, refillFrom, type ChartLevel, type ChartMark, type ChartScene } from "../../src/command/chart/index.js";
import { TokenBucket } from "../../src/index.js";
import { ManualClock } from "../../src/testing/manual-clock.js";

const LIMIT = { capacity: 5, refill: { tokens: 5, everyMs: 2_000 } };
const END_MS = 4_500;
/** One request opens the window. Nine more come around its end, within 0.25 s. */
const CALLS = [400, 2_300, 2_325, 2_350, 2_375, 2_400, 2_425, 2_450, 2_475, 2_500];
const CLOSE_MS = 250;
const [WIDTH, HEIGHT] = [760, 200];

interface Played {
  readonly scene: ChartScene;
  /** Requests that were served within 0.25 s around the edge. */
  readonly servedAtEdge: number;
}

const framed = (unit: string, levels: ChartLevel[], marks: ChartMark[], edges: readonly number[]): Played => ({
  scene: { width: WIDTH, height: HEIGHT, from: 0, to: END_MS, now: END_MS, axis: "elapsed", unit, capacity: LIMIT.capacity, lanes: ["requests"], laneRows: 4, levels, marks, edges },
  servedAtEdge: marks.filter(({ at, outcome }) => outcome === "served" && at >= 2_300 && at <= 2_300 + CLOSE_MS).length,
});

function playBucket(): Played {
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
  return framed("tokens", levels, marks, []);
}

function playWindow(): Played {
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
  return framed("requests", levels, marks, window.edges);
}

/** The picture, as SVG text. */
export function drawEdge(): string {
  const [bucket, window] = [playBucket(), playWindow()];
  const part = (top: number, title: string, { scene, servedAtEdge }: Played): string => `<text class="title" x="20" y="${top + 26}">${title}</text>
<text class="count" x="740" y="${top + 27}" text-anchor="end"><tspan class="number">${servedAtEdge}</tspan> served in 0.25 s</text>
<svg class="chart" x="0" y="${top + 40}" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}">${drawChart(scene)}</svg>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} 510" role="img" aria-labelledby="title about">
<title id="title">Limit 5 in 2 s, ten requests, two ways to count</title>
<desc id="about">One request comes at 0.4 s, and nine within 0.25 s around 2.4 s. sluice serves ${bucket.servedAtEdge} of the nine. A fixed window of 2 s, which ends at 2.4 s, serves ${window.servedAtEdge}.</desc>
<style>
:root { color-scheme: light dark }
${CHART_STYLE.trim()}
.page { fill: light-dark(#ffffff, #0d1117) }
.title, .count { font: 600 16px system-ui, sans-serif; fill: light-dark(#1f2328, #e6edf3) }
.count { font-weight: 400; font-size: 14px }
.number { font-weight: 700; font-size: 22px }
</style>
<rect class="page" width="${WIDTH}" height="510" rx="8"/>
${part(6, "sluice: 5 tokens, 5 come back in 2 s", bucket)}
${part(258, "a fixed window: 5 in 2 s", window)}
</svg>
`;
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL("edge.svg", import.meta.url), drawEdge());
}
