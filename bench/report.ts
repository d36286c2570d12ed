/**
 * The last step of `npm run report --prefix bench`: writes the tables of each bench/results/*.json into a page beside it,
 * and one row for each section into docs/performance.md, between its marks. A test compares them, so no figure is typed
 * by hand.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { isBusy, type Goal, type Results, type Table } from "./results.js";
import { summaryRows } from "./summary.js";

const PAGE = new URL("../docs/performance.md", import.meta.url);
const RESULTS = new URL("results/", import.meta.url);
const IMAGES = new URL("../docs/images/", import.meta.url);
const FIGURES = /(<!-- figures of summary -->\n).*?(<!-- end of figures -->)/s;

/** The sections that were measured. */
export function sections(): readonly string[] {
  return readdirSync(RESULTS).flatMap((file) => /^(\w+)\.json$/.exec(file)?.[1] ?? []);
}

/** The page of the last run of a section, with all its tables. */
export function pageOf(section: string): string {
  const results = resultsOf(section) as Results;
  const tables = Object.entries(results.tables).map(([title, table]) => `## ${title}\n\n${tableOf(table)}`);
  const plots = Object.keys(results.series)
    .filter((name) => existsSync(new URL(`bench-${name}.svg`, IMAGES)))
    .map((name) => `![The figures of ${name}](../../docs/images/bench-${name}.svg)`);
  const goals = results.goals.length > 0 ? [`## Goals\n\n${goalsOf(results.goals)}`] : [];
  return `${[`# Results: ${section}`, `Made by \`npm run report --prefix bench\`. [What the figures mean](../../docs/performance.md).`, about(results), ...goals, ...plots, ...tables].join("\n\n")}\n`;
}

/** docs/performance.md with the row of each section. */
export function withSummary(page: string): string {
  return page.replace(FIGURES, (_all, start: string, end: string) => `${start}\n${rowsOf(summaryRows(resultsOf))}\n\n${end}`);
}

function resultsOf(section: string): Results | null {
  const source = new URL(`${section}.json`, RESULTS);
  return existsSync(source) ? (JSON.parse(readFileSync(source, "utf8")) as Results) : null;
}

function about({ machine, day, load, versions, goals, quick }: Results): string {
  const met = goals.filter(({ verdict }) => verdict === "met").length;
  const busy = isBusy(load) ? ", so it was busy with other work" : "";
  const tools = Object.entries(versions).map((pair) => pair.join(" ")).join(", ");
  const reached = goals.length > 0 ? `${met} of ${goals.length} goals met. ` : "";
  return `${reached}${quick ? "A short run. " : ""}${machine}; load ${load.toFixed(1)} before the run began${busy}; ${day}. ${tools}.`;
}

function goalsOf(goals: readonly Goal[]): string {
  const rows = goals.map(({ goal, wanted, measured, verdict }) => [goal, wanted, measured, verdict === "met" ? "**met**" : "not met"]);
  return rowsOf([["goal", "wanted", "measured", ""], ...rows]);
}

function tableOf(table: Table): string {
  const columns = [...new Set(Object.values(table).flatMap((row) => Object.keys(row)))];
  const rows = Object.entries(table).map(([name, row]) => [name, ...columns.map((column) => String(row[column] ?? ""))]);
  return rowsOf([["", ...columns], ...rows]);
}

function rowsOf([head = [], ...rows]: readonly string[][]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  for (const section of sections()) writeFileSync(new URL(`${section}.md`, RESULTS), pageOf(section));
  writeFileSync(PAGE, withSummary(readFileSync(PAGE, "utf8")));
}
