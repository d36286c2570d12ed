// The output of every section: tables and goals on the screen, and the same as JSON for the plots of
// docs/performance.md.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";

/** Rows by name, each with the same columns. */
export type Table = Readonly<Record<string, Readonly<Record<string, string | number>>>>;

/** One line of a plot. Each place on the x axis has a value, and with rounds also the smallest and the largest. */
export interface Series {
  readonly name: string;
  readonly points: ReadonlyArray<{ readonly x: number; readonly y: number; readonly low?: number; readonly high?: number }>;
}

/** The JSON that a section writes as `<section>.json` into {@link folderOf}: one line for a run. */
export interface Results {
  readonly section: string;
  readonly quick: boolean;
  /** The day, such as 2026-11-21. */
  readonly day: string;
  readonly machine: string;
  /** The load average of the minute before the section. */
  readonly load: number;
  readonly versions: Readonly<Record<string, string>>;
  readonly tables: Readonly<Record<string, Table>>;
  readonly goals: readonly Goal[];
  readonly series: Readonly<Record<string, readonly Series[]>>;
}

/** One row of the table at the end. */
export interface Goal {
  readonly goal: string;
  readonly wanted: string;
  readonly measured: string;
  readonly verdict: "met" | "NOT MET";
}

export const quick = process.argv.includes("--quick");

const load = loadavg()[0] as number;
const tables: Record<string, Table> = {};
const goals: Goal[] = [];
const series: Record<string, readonly Series[]> = {};

/** Prints a table, and keeps it for {@link finish}. */
export function show(title: string, table: Table): void {
  tables[title] = table;
  console.log(`\n${title}`);
  console.table(table);
}

/** Keeps the lines of one plot for {@link finish}. */
export function plot(name: string, lines: readonly Series[]): void {
  series[name] = lines;
}

/** Notes whether a value reaches its goal; printed by {@link finish}. */
export function goal(
  text: string,
  value: { readonly median: number; readonly spread?: string },
  wanted: { readonly atLeast?: number; readonly atMost?: number },
): void {
  const { atLeast = -Infinity, atMost = Infinity } = wanted;
  goals.push({
    goal: text,
    wanted: wanted.atLeast === undefined ? `at most ${atMost}` : `at least ${atLeast}`,
    measured: value.spread === undefined ? rounded(value.median) : `${rounded(value.median)} (${value.spread})`,
    verdict: value.median >= atLeast && value.median <= atMost ? "met" : "NOT MET",
  });
}

/**
 * The folder of a run's JSON. Git ignores both folders, so a run changes no committed figure and no test. To publish
 * whole runs, `npm run report --prefix bench` moves them from `local/` to `bench/results`.
 */
export const folderOf = (rough: boolean): URL => new URL(rough ? "results/quick/" : "results/local/", import.meta.url);

/**
 * Prints the goals, the machine and the versions of `packages`, and writes the section's JSON. Does not write it when
 * `--only`, `--client` or `--against` ran a part. `rough` marks a short run.
 */
export function finish(section: string, packages: readonly string[], more: Readonly<Record<string, string>> = {}, rough = quick): void {
  const machine = `${cpus().length} x ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB, ${process.platform} ${process.arch}`;
  const versions = { Node: process.version, ...more, ...Object.fromEntries(packages.map((name) => [name, versionOf(name)])) };
  if (goals.length > 0) {
    console.log("\nGoals, with their spread or control");
    console.table(goals);
  }
  console.log(Object.entries(versions).map((pair) => pair.join(" ")).join(", "));
  console.log(`${machine}; load ${load.toFixed(1)} before it began${isBusy(load) ? ": measured on a busy machine" : ""}`);
  if (process.argv.some((word) => /^--(?:only|client|against|keys|length)(?:=|$)/.test(word))) return; // a part must not replace the whole
  const results: Results = { section, quick: rough, day: new Date().toISOString().slice(0, 10), machine, load, versions, tables, goals, series };
  const folder = folderOf(rough);
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL(`${section}.json`, folder), `${JSON.stringify(results)}\n`);
}

/** Whether other programs used the processors in the minute before. `all.mjs` waits until they do not. */
export const isBusy = (before: number): boolean => before > 0.3;

/** Whether a process can be pinned to a core, which needs Linux and `taskset`. */
export const canPin = process.platform === "linux" && cpus().length > 1 && hasTaskset();

/** The command that runs `command` on `core` only, where the platform can pin it. */
export function pinned(core: number, command: readonly string[]): readonly [string, ...string[]] {
  return (canPin ? ["taskset", "-c", String(core), ...command] : command) as unknown as readonly [string, ...string[]];
}

function hasTaskset(): boolean {
  try {
    execFileSync("taskset", ["-p", String(process.pid)], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

// As Node finds it: here, or among the packages of the repository.
function versionOf(name: string): string {
  const places = ["./", "../"].map((folder) => new URL(`${folder}node_modules/${name}/package.json`, import.meta.url));
  const file = places.find((place) => existsSync(place)) ?? (places[0] as URL);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** A number with three significant digits. */
export const rounded = (value: number): string => (Math.abs(value) >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3))));
