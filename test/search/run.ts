/**
 * `npm run search`: goes through every state of the named worlds, and ends with 1 if a law is broken. `-- <names>` searches
 * those worlds only. `-- --planted` searches for each planted mistake, and ends with 1 unless each is found. `-- --write`
 * writes the counts into docs/proof.md.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { explore, type Exploration } from "./explore.js";
import { MISTAKES } from "./mistakes.js";
import { asTest } from "./pasted.js";
import { realFunctions } from "./real.js";
import type { StoreState } from "./state.js";
import { STORE_WORLDS, WORLDS } from "./worlds.js";

const most = Number(process.env["SLUICE_SEARCH_STATES"] ?? 20_000_000);
const asked = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const isAsked = (name: string): boolean => asked.length === 0 || asked.includes(name);

if (process.argv.includes("--planted")) await searchForMistakes();
else await searchWorlds();

async function searchWorlds(): Promise<void> {
  const real = await realFunctions();
  const rows: string[] = [];
  for (const world of WORLDS.filter(({ name }) => isAsked(name))) {
    const before = process.cpuUsage().user;
    const found = explore(world.make(real), most);
    console.log(`${lineOf(found)}, ${((process.cpuUsage().user - before) / 1e6).toFixed(1)} s`);
    rows.push(`| ${world.name} | ${found.states.toLocaleString("en")} | ${found.depth} | ${found.isExhausted ? "all" : "not all"} |\n`);
    if (found.fault === null) continue;
    console.log(historyOf(found.fault));
    const { law, state } = found.fault;
    if (STORE_WORLDS.some(({ name }) => name === world.name)) console.log(asTest(world.name, law, state as StoreState));
    process.exitCode = 1;
  }
  if (process.argv.includes("--write")) writeRows(rows);
}

// Worlds that were not asked for keep their rows.
function writeRows(rows: readonly string[]): void {
  const page = new URL("../../docs/proof.md", import.meta.url);
  const head = "| world | states | events in a row | searched |\n| --- | --: | --: | --- |\n";
  const text = readFileSync(page, "utf8").replace(/(<!-- worlds -->\n)([^]*?)(<!-- end -->)/, (_, start: string, old: string, end: string) => {
    const all = [...rows, ...old.split("\n").map((line) => `${line}\n`)];
    return start + head + WORLDS.map(({ name }) => all.find((row) => row.startsWith(`| ${name} |`)) ?? "").join("") + end;
  });
  writeFileSync(page, text);
}

async function searchForMistakes(): Promise<void> {
  for (const mistake of MISTAKES) {
    const real = await realFunctions(mistake);
    for (const world of WORLDS.filter(({ name }) => mistake.worlds.includes(name) && isAsked(name))) {
      const found = explore(world.make(real), most);
      const isFound = found.fault?.law.startsWith(mistake.law) === true;
      console.log(`${isFound ? "found" : "MISSED"}: ${mistake.what} in "${lineOf(found)}: ${found.fault?.law}`);
      if (!isFound) process.exitCode = 1;
    }
  }
}

function lineOf({ world, states, depth, isExhausted, fault }: Exploration): string {
  return `${world}": ${states} states, ${fault?.events.length ?? depth} events deep${isExhausted ? ", no new state is left" : ""}`;
}

function historyOf({ law, events }: { readonly law: string; readonly events: readonly string[] }): string {
  return [`  ${law}`, ...events.map((event, i) => `  ${i + 1}. ${event}`)].join("\n");
}
