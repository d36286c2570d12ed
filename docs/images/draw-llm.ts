// Draws llm-budget.svg from a real limiter: `npx tsx docs/images/draw-llm.ts`. test/docs.test.ts compares the two.
import { realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createLimiter, MemoryStore, perMinute, type Decision } from "../../src/index.js";
import { ManualClock } from "../../src/testing/manual-clock.js";

const CAPACITY = 30_000;
const END_MS = 60_000;
const STEP_MS = 250;

interface Moment {
  readonly at: number;
  /** What happens: an estimate that is taken, or the tokens that the answer of this name used. */
  readonly name: string;
  readonly consume?: number;
  readonly settle?: number;
}

const MOMENTS: readonly Moment[] = [
  { at: 4_000, name: "a", consume: 18_000 },
  { at: 14_000, name: "a", settle: 7_000 },
  { at: 20_000, name: "b", consume: 26_000 },
  { at: 24_000, name: "refused", consume: 12_000 },
  { at: 28_000, name: "b", settle: 5_000 },
  { at: 40_000, name: "c", consume: 6_000 },
  { at: 48_000, name: "c", settle: 14_000 },
];

const WIDTH = 760;
const HEIGHT = 408;
const PLOT = { left: 66, right: 736, top: 56, bottom: 266 };
const x = (ms: number) => Number((PLOT.left + (ms / END_MS) * (PLOT.right - PLOT.left)).toFixed(1));
const y = (tokens: number) => Number((PLOT.bottom - (tokens / CAPACITY) * (PLOT.bottom - PLOT.top)).toFixed(1));

interface Change extends Moment {
  readonly before: number;
  readonly after: number;
  readonly waitMs: number;
}

/** The tokens left over time, as the points of a line, and what changed them. */
function play(): { readonly line: ReadonlyArray<readonly [number, number]>; readonly changes: readonly Change[] } {
  const clock = new ManualClock();
  const limiter = createLimiter({ policy: { name: "tokens", capacity: CAPACITY, refill: perMinute(CAPACITY) }, store: new MemoryStore({ clock: clock.now }) });
  const open = new Map<string, Decision>();
  const left = (): number => limiter.peek("ann", 0).remaining;
  const line: Array<readonly [number, number]> = [];
  const changes: Change[] = [];
  for (let now = 0; now <= END_MS; now += STEP_MS) {
    clock.set(now);
    const before = left();
    line.push([now, before]);
    for (const moment of MOMENTS.filter(({ at }) => at === now)) {
      let waitMs = 0;
      if (moment.consume !== undefined) {
        const decision = limiter.consume("ann", moment.consume);
        waitMs = decision.retryAfterMs;
        open.set(moment.name, decision);
      } else limiter.settle("ann", open.get(moment.name) as Decision, moment.settle ?? 0);
      line.push([now, left()]);
      changes.push({ ...moment, before, after: left(), waitMs });
    }
  }
  return { line, changes };
}

/** Leaves out points in the middle of a straight run. */
function corners(line: ReadonlyArray<readonly [number, number]>): ReadonlyArray<readonly [number, number]> {
  return line.filter(([t, v], i) => {
    const [previous, next] = [line[i - 1], line[i + 1]];
    if (previous === undefined || next === undefined) return true;
    return Math.abs((v - previous[1]) / (t - previous[0]) - (next[1] - v) / (next[0] - t)) > 1e-9;
  });
}

/** The picture, as SVG text. */
export function drawLlm(): string {
  const { line, changes } = play();
  const kind = ({ consume, waitMs, after, before }: Change): string => (waitMs > 0 ? "refused" : consume !== undefined || after < before ? "taken" : "back");
  const marks = changes.map((change, i) => {
    const { at, before, after } = change;
    const [from, to, side] = [y(before), y(after), x(at) + 14];
    const tip = kind(change) === "back" ? 7 : -7;
    const arrow = change.waitMs > 0 ? `<path class="refused" d="M${x(at) - 5} ${from - 5}l10 10m0 -10l-10 10"/>` : `<path class="${kind(change)}" d="M${x(at)} ${from}V${to}m-4 ${tip}l4 ${-tip}l4 ${tip}"/>`;
    const middle = change.waitMs > 0 ? from - 18 : (from + to) / 2;
    return `${arrow}<circle class="number" cx="${side}" cy="${middle}" r="9"/><text class="digit" x="${side}" y="${middle + 4}" text-anchor="middle">${i + 1}</text>`;
  });
  const rows = [0, 10_000, 20_000, 30_000].map(
    (tokens) => `<path class="grid" d="M${PLOT.left} ${y(tokens)}H${PLOT.right}"/><text x="${PLOT.left - 10}" y="${y(tokens) + 4}" text-anchor="end">${tokens.toLocaleString("en-US")}</text>`,
  );
  const seconds = [0, 10, 20, 30, 40, 50, 60].map((s) => `<text x="${x(s * 1_000)}" y="${PLOT.bottom + 20}" text-anchor="middle">${s}${s === 60 ? " s" : ""}</text>`);
  const wait = ((changes.find(({ waitMs }) => waitMs > 0) as Change).waitMs / 1_000).toFixed(0);
  const said = [
    "1  consume 18,000: the prompt and max_tokens",
    "2  the answer used 7,000: 11,000 come back",
    "3  consume 26,000",
    `4  12,000 do not fit: refused, “wait ${wait} s”`,
    "5  the client goes away at 5,000: 21,000 come back",
    "6  consume 6,000",
    "7  the answer used 14,000: 8,000 more are taken",
  ].map((text, i) => `<text class="said" x="${i < 4 ? PLOT.left : 390}" y="${PLOT.bottom + 58 + (i % 4) * 22}">${text}</text>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="title about">
<title id="title">Tokens left while answers take their estimates and are settled</title>
<desc id="about">A line shows the tokens left of 30,000 over a minute, refilled at 500 a second. An answer takes its estimate at once. When the answer ends or its client goes away, the tokens that were not used come back. A request that does not fit is refused with its wait. An answer that used more than its estimate takes the rest.</desc>
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .head { font-weight: 600; font-size: 15px }
  .page { fill: #ffffff }
  .grid { stroke: #d1d9e0; stroke-width: 1; fill: none }
  .left { stroke: #0969da; stroke-width: 2.5; fill: none; stroke-linejoin: round }
  .area { fill: #0969da; fill-opacity: .1 }
  .taken { stroke: #9a6700; stroke-width: 3; fill: none; stroke-linecap: round }
  .back { stroke: #1a7f37; stroke-width: 3; fill: none; stroke-linecap: round }
  .refused { stroke: #cf222e; stroke-width: 3; fill: none; stroke-linecap: round }
  .number { fill: #1f2328 } .digit { fill: #ffffff; font-size: 12px; font-weight: 600 }
  .said { white-space: pre }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .page { fill: #0d1117 } .grid { stroke: #3d444d } .left { stroke: #58a6ff } .area { fill: #58a6ff }
    .taken { stroke: #e3b341 } .back { stroke: #3fb950 } .refused { stroke: #ff7b72 } .number { fill: #e6edf3 } .digit { fill: #0d1117 }
  }
</style>
<rect class="page" width="${WIDTH}" height="${HEIGHT}" rx="8"/>
<text class="head" x="${PLOT.left}" y="30">Tokens left: capacity 30,000, refill 30,000 per minute</text>
${rows.join("\n")}
${seconds.join("\n")}
<path class="area" d="M${x(0)} ${y(0)}${corners(line).map(([t, v]) => `L${x(t)} ${y(v)}`).join("")}L${x(END_MS)} ${y(0)}Z"/>
<path class="left" d="M${corners(line).map(([t, v]) => `${x(t)} ${y(v)}`).join("L")}"/>
${marks.join("\n")}
${said.join("\n")}
</svg>
`;
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL("llm-budget.svg", import.meta.url), drawLlm());
}
