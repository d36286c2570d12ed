import { readdirSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { pageOf, sections, withSummary } from "../bench/report.js";
import { twoDigits } from "../bench/summary.js";
import { folderOf, type Results } from "../bench/results.js";
import entries from "../entries.json" with { type: "json" };

const CURE = "run `npm run report --prefix bench`";

test("docs/performance.md shows the committed figures, those of bench/results", () => {
  const page = readFileSync("docs/performance.md", "utf8");
  expect(page).toContain("<!-- figures of summary -->");
  expect(withSummary(page), CURE).toBe(page);
});

const resultsOf = (section: string): Results => JSON.parse(readFileSync(`bench/results/${section}.json`, "utf8")) as Results;
const bytesOf = (name: string): number => Number(resultsOf("size").tables["Bytes in a bundle"]?.[name]?.["and gzipped"]);
const kilobytes = (name: string): string => `${bytesOf(name) < 10_000 ? twoDigits(bytesOf(name) / 1_000) : Math.round(bytesOf(name) / 1_000)} kB`;

test("the README's figures are those of the last runs", () => {
  const { tables } = resultsOf("redis");
  const many = ["ioredis", "ioredis 6", "node-redis", "node-redis 6"].map((client) => Object.entries(tables).find(([name]) => name.startsWith(`${client}, 512 callers`))?.[1] ?? {});
  const timesOf = (row: string): string => {
    const times = many.map((table) => Number(table["sluice"]?.["decisions/s"]) / Number(table[row]?.["decisions/s"])).sort((a, b) => a - b);
    return `${twoDigits(times[0] as number)} to ${twoDigits(times.at(-1) as number)} times`;
  };
  const readme = readFileSync("README.md", "utf8");
  expect(readme).toContain(`[${timesOf("rate-limiter-flexible")}]`);
  expect(readme).toContain(`and ${timesOf("rate-limit-redis")} as many as rate-limit-redis`);
  const [alone, both, peer] = ["sluice/express, rateLimit", "sluice/express, rateLimit, and RedisStore", "express-rate-limit, rateLimit"].map(kilobytes);
  expect(readme).toContain(`\`sluice/express\` is ${alone}, and ${both} with Redis; express-rate-limit is ${peer}.`);
});

test("the comparison's figures are those of the last runs", () => {
  const page = readFileSync("docs/comparison.md", "utf8");
  const sizes = ["sluice/express, rateLimit", "express-rate-limit, rateLimit", "rate-limiter-flexible, RateLimiterMemory", "@fastify/rate-limit, default", "hono-rate-limiter, rateLimiter"].map(kilobytes);
  const row = (name: string): string[] => page.split("\n").find((line) => line.startsWith(`| ${name} |`))?.split(" | ").slice(1, 6).map((cell) => cell.replace(/ \(.*|;.*/, "")) ?? [];
  expect(row("**Bundle**, minified and gzipped")).toEqual(sizes);
  for (const more of ["sluice/express, rateLimit, and RedisStore", "sluice/express, rateLimit, with the checks of development", "rate-limiter-flexible/lib/RateLimiterMemory.js, default", "effect/persistence, RateLimiter", "p-queue, default"]) {
    expect(page.split("\n").find((line) => line.startsWith("| **Bundle**"))).toContain(kilobytes(more));
  }
  expect(page).toContain(`hono-rate-limiter has ${sizes[4]}, where \`sluice/express\` has ${sizes[0]};`);
  for (const callers of ["16", "1,000", "100,000"]) {
    const table = resultsOf("decision").tables[`${callers.replace(",", " ")} keys of 12 characters: nanoseconds of a decision`] ?? {};
    const wanted = ["sluice", "express-rate-limit", "rate-limiter-flexible", "@fastify/rate-limit"].map((name) => `${twoDigits(Number(table[name]?.["ns"]))} ns`);
    expect(row(`**A decision in memory**, ${callers} callers`).slice(0, 4)).toEqual(wanted);
  }
});

test.each([[0.656, "0.66"], [1, "1.0"], [9.94, "9.9"], [9.96, "10"], [22_630, "23,000"], [100, "100"]])("%d has two digits: %s", (value, text) => {
  expect(twoDigits(value)).toBe(text);
});

test("the first screen names the day, the machine and its load of each figure, and counts no goals", () => {
  const [, screen = ""] = /<!-- figures of summary -->(.*)<!-- end of figures -->/s.exec(readFileSync("docs/performance.md", "utf8")) ?? [];
  const rows = screen.trim().split("\n").slice(2);
  expect(rows.length).toBeGreaterThan(8);
  expect(rows.filter((row) => !/\[2026-\d\d-\d\d, [A-Z][\w ]+, \d+\.\d\]\(\.\.\/bench\/results\/\w+\.md\) \|$/.test(row))).toEqual([]);
  expect(screen).not.toContain("goal");
});

test.each(sections())("the tables of %s are those of its run, which is one line", (section) => {
  expect(readFileSync(`bench/results/${section}.md`, "utf8"), CURE).toBe(pageOf(section));
  expect(readFileSync(`bench/results/${section}.json`, "utf8").split("\n")).toHaveLength(2);
});

test("a benchmark writes where git ignores it, so the figures stay the committed ones", () => {
  const ignored = readFileSync("bench/.gitignore", "utf8").split("\n").map((line) => pathToFileURL(`bench/${line}/`).href);
  for (const rough of [true, false]) expect(ignored).toContain(folderOf(rough).href);
});

test("a benchmark imports entries that the build makes", () => {
  const files = readdirSync("bench", { recursive: true, encoding: "utf8" }).filter((file) => /\.m?ts$|\.mjs$/.test(file) && !file.includes("node_modules"));
  const imported = files.flatMap((file) => [...readFileSync(`bench/${file}`, "utf8").matchAll(/from "(?:\.\.\/)+dist\/([\w-]+)\.js"/g)].map(([, name]) => name as string));
  expect(imported).toContain("store");
  const made = Object.keys(entries.subpaths).map((path) => (path === "." ? "index" : path.slice(2)));
  expect(imported.filter((name) => !made.includes(name))).toEqual([]);
});
