// Draws client-traffic.svg and client-spread.svg from what bench/client measured: `npm run client --prefix bench`.
import { crowd } from "../../bench/client/outage.js";
import type { Run } from "../../bench/client/simulate.js";
import type { SpreadRow } from "../../bench/client/spread.js";

const WIDTH = 760;
const PLOT = { left: 56, right: 736 };
const STYLE = `<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .head { font-weight: 600; font-size: 15px }
  .name { font-weight: 600 }
  .small { font-size: 11px }
  .page { fill: #ffffff }
  .grid { stroke: #d1d9e0; stroke-width: 1; fill: none }
  .all { fill: #0969da; fill-opacity: .25; stroke: #0969da; stroke-width: 1 }
  .refused { fill: #cf222e; fill-opacity: .75 }
  .bound { stroke: #9a6700; stroke-width: 1.5; stroke-dasharray: 4 3; fill: none }
  .said { fill: #9a6700 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .page { fill: #0d1117 } .grid { stroke: #3d444d } .all { fill: #58a6ff; stroke: #58a6ff } .refused { fill: #ff7b72 }
    .bound { stroke: #e3b341 } .said { fill: #e3b341 }
  }
</style>`;

const round = (value: number): number => Number(value.toFixed(1));
const thousands = (value: number): string => String(Math.round(value)).replaceAll(/\B(?=(\d{3})+$)/g, " ");

/** How many of `instants` fall into each `ms`, up to `end`. */
function histogram(instants: readonly number[], ms: number, end: number): number[] {
  const counts = Array<number>(Math.ceil(end / ms)).fill(0);
  for (const instant of instants) counts[Math.floor(instant / ms)] = (counts[Math.floor(instant / ms)] ?? 0) + 1;
  return counts;
}

/** The outline of a histogram, as a path that is closed along `bottom`. */
function steps(counts: readonly number[], x: (bin: number) => number, y: (count: number) => number, bottom: number): string {
  const tops = counts.map((count, bin) => `V${y(count)}H${x(bin + 1)}`);
  return `M${x(0)} ${bottom}${tops.join("")}V${bottom}Z`;
}

function page(height: number, title: string, about: string, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title about">
<title id="title">${title}</title>
<desc id="about">${about}</desc>
${STYLE}
<rect class="page" width="${WIDTH}" height="${height}" rx="8"/>
<text class="head" x="${PLOT.left}" y="30">${title}</text>
${parts.join("\n")}
</svg>
`;
}

/** Requests and refusals a second, a row for each strategy, all on one logarithmic scale. */
export function drawTraffic(runs: readonly Run[]): string {
  const end = Math.ceil(Math.max(...runs.map(({ doneMs }) => doneMs)) / 10_000) * 10_000;
  const row = { height: 86, plot: 52, first: 96 };
  const x = (second: number): number => round(PLOT.left + ((second * 1_000) / end) * (PLOT.right - PLOT.left));
  const rows = runs.flatMap(({ name, wire, doneMs }, i) => {
    const bottom = row.first + i * row.height + row.plot;
    const y = (count: number): number => round(bottom - (count < 1 ? 0 : (Math.log10(count) + 0.3) / 3.6) * row.plot);
    const refused = wire.filter((request) => request.refused);
    const all = histogram(wire.map(({ at }) => at), 1_000, end);
    const told = `${thousands(wire.length)} requests, ${thousands(refused.length)} refused, done in ${Math.round(doneMs / 1_000)} s`;
    return [
      `<text class="name" x="${PLOT.left}" y="${bottom - row.plot - 8}">${name}</text>`,
      `<text x="${PLOT.right}" y="${bottom - row.plot - 8}" text-anchor="end">${told}</text>`,
      ...[1, 10, 100, 1_000].map(
        (count) => `<path class="grid" d="M${PLOT.left} ${y(count)}H${PLOT.right}"/><text class="small" x="${PLOT.left - 8}" y="${y(count) + 4}" text-anchor="end">${count}</text>`,
      ),
      `<path class="all" d="${steps(all, x, y, bottom)}"/>`,
      `<path class="refused" d="${steps(histogram(refused.map(({ at }) => at), 1_000, end), x, y, bottom)}"/>`,
    ];
  });
  const below = row.first + runs.length * row.height - row.height + row.plot;
  const seconds = Array.from({ length: end / 20_000 + 1 }, (_, i) => i * 20).map(
    (second) => `<text x="${x(second)}" y="${below + 20}" text-anchor="middle">${second} s</text>`,
  );
  const legend = [
    `<rect class="all" x="${PLOT.left}" y="44" width="12" height="12"/><text x="${PLOT.left + 18}" y="55">requests a second</text>`,
    `<rect class="refused" x="${PLOT.left + 150}" y="44" width="12" height="12"/><text x="${PLOT.left + 168}" y="55">refused with 429 (logarithmic scale)</text>`,
  ];
  const about = runs.map(({ name, wire }) => `${name}: ${wire.length} requests, ${wire.filter(({ refused }) => refused).length} refused`).join("; ");
  return page(below + 36, "2000 calls of 50 callers who share a budget of 20 a second", about, [...legend, ...rows, ...seconds]);
}

/** Retries in each 100 ms after an outage, a row for each case. */
export function drawSpread(rows: readonly SpreadRow[], endMs: number): string {
  const top = 250;
  const row = { height: 150, plot: 96, first: 70 };
  const x = (bin: number): number => round(PLOT.left + ((bin * 100) / endMs) * (PLOT.right - PLOT.left));
  const parts = rows.flatMap(({ name, retries, bound }, i) => {
    const bottom = row.first + i * row.height + row.plot;
    const y = (count: number): number => round(bottom - (Math.min(count, top * 1.06) / top) * row.plot);
    const most = crowd(retries);
    return [
      `<text class="name" x="${PLOT.left}" y="${bottom - row.plot - 12}">${name}</text>`,
      `<text x="${PLOT.right}" y="${bottom - row.plot - 12}" text-anchor="end">at most ${most} within any 100 ms</text>`,
      ...[0, 100, 200].map(
        (count) => `<path class="grid" d="M${PLOT.left} ${y(count)}H${PLOT.right}"/><text class="small" x="${PLOT.left - 8}" y="${y(count) + 4}" text-anchor="end">${count}</text>`,
      ),
      `<path class="${most > bound ? "refused" : "all"}" d="${steps(histogram(retries.filter((at) => at < endMs), 100, endMs), x, y, bottom)}"/>`,
      `<path class="bound" d="M${PLOT.left} ${y(bound)}H${PLOT.right}"/>`,
      ...Array.from({ length: endMs / 2_000 + 1 }, (_, i) => i * 2).map((s) => `<text class="small" x="${x(s * 10)}" y="${bottom + 16}" text-anchor="middle">${s} s</text>`),
    ];
  });
  const height = row.first + rows.length * row.height + 4;
  const said = `<text class="said" x="${PLOT.left}" y="${height - 14}">Dashed: the bound for any 100 ms. Each bar is 100 ms; what is taller than 250 is cut off.</text>`;
  const about = rows.map(({ name, retries }) => `${name}: at most ${crowd(retries)} of ${retries.length} retries within any 100 ms`).join("; ");
  return page(height, "Retries of a thousand clients that were refused at the same instant", about, [...parts, said]);
}
