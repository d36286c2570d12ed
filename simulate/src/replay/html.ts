import { CHART_STYLE, drawChart, type ChartScene } from "../chart/index.js";
import { cut, duration, grouped } from "../text.js";
import type { CostFields } from "./cost-fields.js";
import type { RequestList } from "./request-list.js";
import { linesOfLog, linesOfReplay, rowsOfAdvice, sentencesOfAdvice, type Findings } from "./report.js";
import type { ReplayResult } from "./replay.js";
import { sceneOfCaller, type CallerScene } from "./scene-of-caller.js";

/** Callers of a policy that get a chart: those with the most refusals. */
const CHARTS = 3;

const STYLE = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; } h3 { font-size: 1rem; margin-bottom: 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem; text-align: right; border-bottom: 1px solid light-dark(#d8dee4, #343b43); }
figure { margin: 1rem 0; }
.scroll { overflow-x: auto; }
.scroll .chart { min-width: 640px; }
figcaption { color: light-dark(#57606a, #a5adb7); font-size: .9rem; }
`;

/** The findings as one page that loads nothing: numbers, and a chart for each of the callers with the most refusals. */
export function reportHtml(findings: Findings, requests: RequestList, fields: CostFields): string {
  const { log, advice } = findings;
  const replays = log.requests === 0 ? [] : findings.replays;
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">`,
    `<title>What a limit would refuse</title><style>${STYLE}${CHART_STYLE}</style></head><body><main>`,
    `<h1>What a limit would refuse</h1>${paragraphs(linesOfLog(findings))}`,
    ...replays.map((replay) => sectionOf(replay, requests, fields)),
    advice === null ? "" : adviceOf(findings),
    `</main></body></html>\n`,
  ].join("\n");
}

function sectionOf(replay: ReplayResult, requests: RequestList, fields: CostFields): string {
  const [title = "", ...lines] = linesOfReplay(replay);
  const charts = replay.worst.slice(0, CHARTS).map(({ key, requests: all, refused }) => {
    const label = `${cut(key, 200)}: ${grouped(refused)} of ${grouped(all)} requests refused`;
    return `<h3>${forHtml(label)}</h3>${figureOf(label, sceneOfCaller(replay.policy, requests.of(key), fields))}`;
  });
  return `<section><h2>${forHtml(title)}</h2>${paragraphs(lines)}${charts.join("")}</section>`;
}

/** A chart, the exact counts of its span, and its marks as a table for a keyboard and a screen reader. */
function figureOf(label: string, { scene, served, refused }: CallerScene): string {
  const { width, height, from, to, marks } = scene;
  const counts = `In ${duration(to - from)}: ${grouped(served)} served, ${grouped(refused)} refused.`;
  const all = served + refused;
  const drawn = marks.length < all ? ` ${grouped(marks.length)} of ${grouped(all)} are drawn.` : "";
  const name = forHtml(`${label}. ${counts}`);
  return (
    // A part that scrolls takes the focus, so that the arrow keys move it.
    `<figure><div class="scroll" tabindex="0" role="region" aria-label="Chart">` +
    `<svg class="chart" viewBox="0 0 ${width} ${height}" role="img" aria-label="${name}">${drawChart(scene)}</svg></div>` +
    `<figcaption>Around the first refusal, ${new Date(from).toISOString()}. ${counts}${drawn} ` +
    `Circles were served, crosses refused.</figcaption></figure>${marksTable(scene)}`
  );
}

function marksTable({ marks }: ChartScene): string {
  const rows = marks.map(({ at, outcome }) => `<tr><td>${new Date(at).toISOString()}</td><td>${outcome}</td></tr>`);
  return (
    `<details><summary>The drawn requests as a table</summary><table><thead><tr><th scope="col">time</th>` +
    `<th scope="col">outcome</th></tr></thead><tbody>${rows.join("")}</tbody></table></details>`
  );
}

function adviceOf({ log, advice }: Findings): string {
  const given = advice as NonNullable<Findings["advice"]>;
  const [head = [], ...cells] = rowsOfAdvice(given.rows);
  const { intro, after } = sentencesOfAdvice(log, given);
  const body = cells.map(
    ([rate = "", ...numbers]) => `<tr><th scope="row">${rate}</th>${numbers.map((each) => `<td>${each}</td>`).join("")}</tr>`,
  );
  const columns = head.map((each) => `<th scope="col">${each}</th>`).join("");
  const table = `<table><thead><tr>${columns}</tr></thead><tbody>${body.join("")}</tbody></table>`;
  return `<section><h2>Other numbers</h2>${paragraphs([intro])}${table}${paragraphs(after)}</section>`;
}

function paragraphs(lines: readonly string[]): string {
  return lines.filter((text) => text !== "").map((text) => `<p>${forHtml(text)}</p>`).join("");
}

function forHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
