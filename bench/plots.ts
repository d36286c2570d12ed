// `npm run report --prefix bench`: draws docs/images/bench-*.svg from bench/results/*.json. A picture states the
// machine and the day of its measurement. `--quick` draws the results of quick runs into bench/results/quick.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { isBusy, quick, type Results, type Series } from "./results.js";

interface Plot {
  readonly section: string;
  /** The name of the section's lines. */
  readonly of: string;
  readonly title: string;
  readonly y: string;
  /** The x axis: a factor of ten between marks, or equal steps. */
  readonly x: "tenfold" | "even";
  readonly below: string;
}

const PLOTS: readonly Plot[] = [
  { section: "redis", of: "redis-callers-ioredis", title: "Decisions over Redis with ioredis, as callers grow", y: "k/s", x: "tenfold", below: "callers of one process, 20 000 keys" },
  { section: "redis", of: "redis-callers-node-redis", title: "Decisions over Redis with node-redis, as callers grow", y: "k/s", x: "tenfold", below: "callers of one process, 20 000 keys" },
  { section: "redis", of: "redis-processes", title: "Decisions over one Redis, as processes grow", y: "k/s", x: "even", below: "processes of 128 callers each" },
  { section: "adaptive", of: "adaptive", title: "Requests in flight of a limit that finds its number, as workers leave and come", y: "places", x: "even", below: "seconds: 9 workers, 3 from 20 s on, 9 from 40 s on, 27 from 60 s on" },
  { section: "soak", of: "soak-heap", title: "Heap and buffers under mixed load", y: "MB", x: "even", below: "minutes" },
  { section: "soak", of: "soak-rss", title: "Resident memory under mixed load", y: "MB", x: "even", below: "minutes" },
];

const BOX = { width: 760, height: 408, left: 64, right: 736, top: 64, bottom: 288 };
const STYLE = `<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .head { font-weight: 600; font-size: 15px }
  .small { font-size: 11px }
  .page { fill: #ffffff }
  .grid { stroke: #d1d9e0; stroke-width: 1; fill: none }
  .line { fill: none; stroke-width: 2 }
  .range { stroke-width: 1 }
  .c0 { stroke: #0969da } .c1 { stroke: #9a6700 } .c2 { stroke: #1a7f37 } .c3 { stroke: #cf222e } .c4 { stroke: #8250df } .c5 { stroke: #57606a } .c6 { stroke: #bf3989 }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .page { fill: #0d1117 } .grid { stroke: #3d444d } }
</style>`;

const round = (value: number): number => Number(value.toFixed(1));
const thousands = (value: number): string => String(value).replaceAll(/\B(?=(\d{3})+$)/g, " ");

/** Marks from 0 in steps of 1, 2 or 5 times a power of ten. There are about five, and the last is at least `most`. */
function marks(most: number): number[] {
  const raw = most / 5;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((times) => times * power).find((each) => each >= raw) as number;
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}

/** The picture of one plot. */
function draw({ title, y: unit, x: axis, below }: Plot, lines: readonly Series[], results: Results): string {
  const all = lines.flatMap(({ points }) => points);
  const up = marks(Math.max(...all.map(({ y, high }) => high ?? y)));
  const y = (value: number): number => round(BOX.bottom - (value / (up.at(-1) as number)) * (BOX.bottom - BOX.top));
  const scale = (value: number): number => (axis === "tenfold" ? Math.log10(value) : value);
  const least = Math.min(...all.map(({ x }) => scale(x)));
  const most = Math.max(...all.map(({ x }) => scale(x)));
  const x = (value: number): number => round(BOX.left + 16 + ((scale(value) - least) / (most - least || 1)) * (BOX.right - BOX.left - 32));

  const parts = up.map((mark) => `<path class="grid" d="M${BOX.left} ${y(mark)}H${BOX.right}"/><text class="small" x="${BOX.left - 8}" y="${y(mark) + 4}" text-anchor="end">${thousands(mark)}</text>`);
  parts.push(`<text class="small" x="${BOX.left - 8}" y="${BOX.top - 12}" text-anchor="end">${unit}</text>`);
  parts.push(...lines.flatMap((line, i) => path(line, i, x, y)));
  const ticks = axis === "tenfold" ? [...new Set(all.map((point) => point.x))] : marks(most).filter((mark) => mark >= least && mark <= most);
  parts.push(...ticks.map((tick) => `<text class="small" x="${x(tick)}" y="${BOX.bottom + 18}" text-anchor="middle">${thousands(tick)}</text>`));
  parts.push(`<text class="small" x="${(BOX.left + BOX.right) / 2}" y="${BOX.bottom + 36}" text-anchor="middle">${below}</text>`);
  parts.push(...legend(lines.map(({ name }) => name)));

  const versions = Object.entries(results.versions).slice(0, 1).map((pair) => pair.join(" "));
  const how = `${results.quick ? ", a quick run" : ""}${isBusy(results.load) ? `, on a machine busy with other work (load ${results.load.toFixed(1)})` : ""}`;
  const about = lines.map(({ name, points }) => `${name}: ${points.map((point) => `${round(point.x)} ${Number(point.y.toPrecision(3))}`).join(", ")}`).join("; ");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${BOX.width} ${BOX.height}" role="img" aria-labelledby="title about">
<title id="title">${title}</title>
<desc id="about">${about}</desc>
${STYLE}
<rect class="page" width="${BOX.width}" height="${BOX.height}" rx="8"/>
<text class="head" x="${BOX.left}" y="30">${title}</text>
${parts.join("\n")}
<text class="small" x="${BOX.left}" y="${BOX.height - 26}">${results.machine}</text>
<text class="small" x="${BOX.left}" y="${BOX.height - 10}">${versions.join(", ")}, ${results.day}${how}</text>
</svg>
`;
}

/** A line through the medians, with the range of the rounds where it is known. */
function path({ points }: Series, i: number, x: (value: number) => number, y: (value: number) => number): string[] {
  const line = `<path class="line c${i}" d="${points.map((point, n) => `${n === 0 ? "M" : "L"}${x(point.x)} ${y(point.y)}`).join("")}"/>`;
  const ranges = points.flatMap((point) => (point.low === undefined || point.high === undefined ? [] : [`<path class="range c${i}" d="M${x(point.x)} ${y(point.low)}V${y(point.high)}"/>`]));
  return [line, ...ranges];
}

/** The names of the lines, in rows of four. */
function legend(names: readonly string[]): string[] {
  return names.flatMap((name, i) => {
    const left = BOX.left + (i % 4) * 172;
    const top = BOX.bottom + 54 + Math.floor(i / 4) * 16;
    return [`<path class="line c${i}" d="M${left} ${top - 4}h14"/>`, `<text class="small" x="${left + 20}" y="${top}">${name}</text>`];
  });
}

for (const each of PLOTS) {
  const source = new URL(`results/${quick ? "quick/" : ""}${each.section}.json`, import.meta.url);
  const results = existsSync(source) ? (JSON.parse(readFileSync(source, "utf8")) as Results) : null;
  const lines = results?.series[each.of];
  if (results === null || lines === undefined) {
    console.log(`${each.of}: not measured yet`);
    continue;
  }
  const target = new URL(quick ? `results/quick/bench-${each.of}.svg` : `../docs/images/bench-${each.of}.svg`, import.meta.url);
  writeFileSync(target, draw(each, lines, results));
  console.log(`${each.of}: drawn`);
}
