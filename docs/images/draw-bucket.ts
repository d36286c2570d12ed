// Draws bucket.svg from the real TokenBucket: `npx tsx docs/images/draw-bucket.ts`. test/docs.test.ts compares the two.
import { realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { perSecond, TokenBucket } from "../../src/index.js";
import { ManualClock } from "../../src/testing/manual-clock.js";

const LIMIT = { capacity: 5, refill: perSecond(1) };
const END_MS = 10_000;
/** Instants of calls, in milliseconds: a burst, an impatient caller, one who keeps the promise, a pause, calls now and then. */
const CALLS = [400, 500, 600, 700, 800, 900, 1_150, 1_400, 2_150, 2_600, 8_300, 8_700, 9_100, 9_500];

const WIDTH = 760;
const PLOT = { left: 56, right: 736, top: 56, bottom: 256 };
const x = (ms: number) => Number((PLOT.left + (ms / END_MS) * (PLOT.right - PLOT.left)).toFixed(1));
const y = (tokens: number) => Number((PLOT.bottom - (tokens / LIMIT.capacity) * (PLOT.bottom - PLOT.top)).toFixed(1));

interface Call {
  readonly at: number;
  readonly before: number;
  readonly after: number;
  readonly allowed: boolean;
  readonly retryAfterMs: number;
}

/** Tokens with their fraction: what is left whole, and how far the next one has come. */
function level(bucket: TokenBucket): number {
  const { remaining, nextTokenMs } = bucket.peek(0);
  const perTokenMs = LIMIT.refill.everyMs / LIMIT.refill.tokens;
  return nextTokenMs === 0 ? remaining : remaining + 1 - nextTokenMs / perTokenMs;
}

/** The tokens left over time, as the points of a line, and each call with its answer. */
function play(): { readonly line: ReadonlyArray<readonly [number, number]>; readonly calls: readonly Call[] } {
  const clock = new ManualClock();
  const bucket = new TokenBucket({ ...LIMIT, clock: clock.now });
  const line: Array<readonly [number, number]> = [];
  const calls: Call[] = [];
  for (let now = 0; now <= END_MS; now += 50) {
    clock.set(now);
    const before = level(bucket);
    line.push([now, before]);
    if (!CALLS.includes(now)) continue;
    const { allowed, retryAfterMs } = bucket.consume();
    const after = level(bucket);
    line.push([now, after]);
    calls.push({ at: now, before, after, allowed, retryAfterMs });
  }
  return { line, calls };
}

/** Leaves out points in the middle of a straight run. */
function corners(line: ReadonlyArray<readonly [number, number]>): ReadonlyArray<readonly [number, number]> {
  return line.filter(([t, v], i) => {
    const [previous, next] = [line[i - 1], line[i + 1]];
    if (previous === undefined || next === undefined) return true;
    const slopeIn = (v - previous[1]) / (t - previous[0]);
    const slopeOut = (next[1] - v) / (next[0] - t);
    return !(Math.abs(slopeIn - slopeOut) < 1e-9);
  });
}

/** The picture, as SVG text. */
export function drawBucket(): string {
  const { line, calls } = play();
  const refused = calls.filter((call) => !call.allowed);
  const promise = refused[0] as Call;
  const kept = promise.at + promise.retryAfterMs;
  const marks = calls.map(({ at, before, allowed }) =>
    allowed
      ? `<circle class="allowed" cx="${x(at)}" cy="${y(before)}" r="5"/>`
      : `<path class="refused" d="M${x(at) - 5} ${y(before) - 5}l10 10m0 -10l-10 10"/>`,
  );
  const rows = [0, 1, 2, 3, 4, 5].map(
    (tokens) =>
      `<path class="grid" d="M${PLOT.left} ${y(tokens)}H${PLOT.right}"/><text x="${PLOT.left - 10}" y="${y(tokens) + 4}" text-anchor="end">${tokens}</text>`,
  );
  const seconds = Array.from({ length: END_MS / 1_000 + 1 }, (_, s) =>
    `<text x="${x(s * 1_000)}" y="${PLOT.bottom + 20}" text-anchor="middle">${s}${s === END_MS / 1_000 ? " s" : ""}</text>`,
  );
  const below = PLOT.bottom + 48;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} 352" role="img" aria-labelledby="title about">
<title id="title">A bucket of 5 tokens, refilled at 1 a second</title>
<desc id="about">A line shows the tokens left over ten seconds. A burst of five calls empties the bucket; the sixth is refused and told how long to wait, and a call at exactly that instant is allowed. A pause fills the bucket again.</desc>
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .head { font-weight: 600; font-size: 15px }
  .page { fill: #ffffff }
  .grid { stroke: #d1d9e0; stroke-width: 1; fill: none }
  .left { stroke: #0969da; stroke-width: 2.5; fill: none; stroke-linejoin: round }
  .area { fill: #0969da; fill-opacity: .1 }
  .allowed { fill: #1a7f37; stroke: #ffffff; stroke-width: 1.5 }
  .refused { stroke: #cf222e; stroke-width: 3; fill: none; stroke-linecap: round }
  .promise { stroke: #9a6700; stroke-width: 2; fill: none; stroke-dasharray: 4 3 }
  .said { fill: #9a6700; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .page { fill: #0d1117 } .grid { stroke: #3d444d } .left { stroke: #58a6ff } .area { fill: #58a6ff }
    .allowed { fill: #3fb950; stroke: #0d1117 } .refused { stroke: #ff7b72 } .promise { stroke: #e3b341 } .said { fill: #e3b341 }
  }
</style>
<rect class="page" width="${WIDTH}" height="352" rx="8"/>
<text class="head" x="${PLOT.left}" y="30">Tokens left: capacity 5, refill 1 per second</text>
${rows.join("\n")}
${seconds.join("\n")}
<path class="area" d="M${x(0)} ${y(0)}${corners(line).map(([t, v]) => `L${x(t)} ${y(v)}`).join("")}L${x(END_MS)} ${y(0)}Z"/>
<path class="left" d="M${corners(line).map(([t, v]) => `${x(t)} ${y(v)}`).join("L")}"/>
<path class="promise" d="M${x(promise.at)} ${y(promise.before) + 9}V${below}H${x(kept)}V${y(1)}"/>
<text class="said" x="${x(kept) + 8}" y="${below + 4}">refused at ${promise.at / 1_000} s: “wait ${promise.retryAfterMs} ms”. A call at exactly that instant is allowed.</text>
${marks.join("\n")}
<circle class="allowed" cx="${PLOT.left + 6}" cy="334" r="5"/><text x="${PLOT.left + 18}" y="338">allowed</text>
<path class="refused" d="M${PLOT.left + 95} 329l10 10m0 -10l-10 10"/><text x="${PLOT.left + 112}" y="338">refused, and nothing spent</text>
<text x="${x(8_200)}" y="${y(5) - 10}" text-anchor="end">a pause fills it, never past 5</text>
</svg>
`;
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL("bucket.svg", import.meta.url), drawBucket());
}
