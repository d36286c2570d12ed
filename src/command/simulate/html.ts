import { CHART_STYLE, drawChart, summarize } from "../chart/index.js";
import { grouped } from "../text.js";
import type { RequestList } from "./request-list.js";
import { linesOfLog, linesOfReplay, rowsOfAdvice, sentencesOfAdvice, type Findings } from "./report.js";
import type { ReplayResult } from "./replay.js";
import { sceneOfCaller } from "./scene-of-caller.js";

/** Callers of a policy that get a chart: those with the most refusals. */
const CHARTS = 3;

const STYLE = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; } h3 { font-size: 1rem; margin-bottom: 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem; text-align: right; border-bottom: 1px solid light-dark(#d8dee4, #343b43); }
figure { margin: 1rem 0; overflow-x: auto; }
figcaption { color: light-dark(#57606a, #a5adb7); font-size: .9rem; }
`;

/** The findings as one page that loads nothing: numbers, and a chart for each of the callers with the most refusals. */
export function reportHtml(findings: Findings, requests: RequestList): string {
  const { log, replays, advice } = findings;
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">`,
    `<title>What a limit would refuse</title><style>${STYLE}${CHART_STYLE}</style></head><body><main>`,
    `<h1>What a limit would refuse</h1>${paragraphs(linesOfLog(log))}`,
    ...replays.map((replay) => sectionOf(replay, requests)),
    advice === null ? "" : adviceOf(findings),
    `</main></body></html>\n`,
  ].join("\n");
}

function sectionOf(replay: ReplayResult, requests: RequestList): string {
  const [title = "", ...lines] = linesOfReplay(replay);
  const charts = replay.worst.slice(0, CHARTS).map(({ key, requests: all, refused }) => {
    const scene = sceneOfCaller(replay.policy, requests.of(key));
    const label = `${key}: ${grouped(refused)} of ${grouped(all)} requests refused`;
    const { width, height } = scene;
    const name = forHtml(`${label}. ${summarize(scene)}`);
    return (
      `<h3>${forHtml(label)}</h3><figure><svg class="chart" viewBox="0 0 ${width} ${height}" role="img" aria-label="${name}">` +
      `${drawChart(scene)}</svg><figcaption>Around the first refusal, ` +
      `${forHtml(new Date(scene.from).toISOString())}. Circles were served, crosses refused.</figcaption></figure>`
    );
  });
  return `<section><h2>${forHtml(title)}</h2>${paragraphs(lines)}${charts.join("")}</section>`;
}

function adviceOf({ log, advice }: Findings): string {
  const { share, rows } = advice as NonNullable<Findings["advice"]>;
  const [head = [], ...cells] = rowsOfAdvice(rows);
  const { intro, example } = sentencesOfAdvice(log, share, rows);
  const body = cells.map(
    ([rate = "", ...numbers]) => `<tr><th scope="row">${rate}</th>${numbers.map((each) => `<td>${each}</td>`).join("")}</tr>`,
  );
  const columns = head.map((each) => `<th scope="col">${each}</th>`).join("");
  const table = `<table><thead><tr>${columns}</tr></thead><tbody>${body.join("")}</tbody></table>`;
  return `<section><h2>Other numbers</h2>${paragraphs([intro])}${table}${paragraphs([example])}</section>`;
}

function paragraphs(lines: readonly string[]): string {
  return lines.filter((text) => text !== "").map((text) => `<p>${forHtml(text)}</p>`).join("");
}

function forHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
