/**
 * The last step of `npm run report --prefix bench`: writes the figures of bench/results/*.json into
 * docs/performance.md, between the marks `<!-- figures of memory -->` and `<!-- end of figures -->`. A test compares
 * the two, so no figure is typed by hand.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { summaryRows } from "./summary.js";
import { isBusy, type Goal, type Results, type Table } from "./results.js";

const PAGE = new URL("../docs/performance.md", import.meta.url);
const FIGURES = /(<!-- figures of (\w+) -->\n).*?(<!-- end of figures -->)/gs;

/** The page with the figures of all sections that were measured. */
export function withFigures(page: string): string {
  return page.replaceAll(FIGURES, (_all, start: string, section: string, end: string) => `${start}\n${figuresOf(section)}\n${end}`);
}

function figuresOf(section: string): string {
  if (section === "summary") return `${rowsOf(summaryRows(resultsOf))}\n`;
  const results = resultsOf(section);
  if (results === null) return "Not measured yet.\n";
  const tables = Object.entries(results.tables).map(([title, table]) => `${title}:\n\n${tableOf(table)}`);
  const details = `<details><summary>Every table of this run</summary>\n\n${tables.join("\n\n")}\n\n</details>\n`;
  return [about(results), ...(results.goals.length > 0 ? [goalsOf(results.goals)] : []), details].join("\n\n");
}

function resultsOf(section: string): Results | null {
  const source = new URL(`results/${section}.json`, import.meta.url);
  return existsSync(source) ? (JSON.parse(readFileSync(source, "utf8")) as Results) : null;
}

function about({ machine, day, load, versions, goals }: Results): string {
  const met = goals.filter(({ verdict }) => verdict === "met").length;
  const busy = isBusy(load) ? ", so it was busy with other work" : "";
  const tools = Object.entries(versions).map((pair) => pair.join(" ")).join(", ");
  return `${met} of ${goals.length} goals met. ${machine}; load ${load.toFixed(1)} before the run began${busy}; ${day}. ${tools}.`;
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

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) writeFileSync(PAGE, withFigures(readFileSync(PAGE, "utf8")));
