import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { pageOf, sections, withSummary } from "../bench/report.js";
import { folderOf } from "../bench/results.js";

const CURE = "run `npm run report --prefix bench`";

test("docs/performance.md shows the committed figures, those of bench/results", () => {
  const page = readFileSync("docs/performance.md", "utf8");
  expect(page).toContain("<!-- figures of summary -->");
  expect(withSummary(page), CURE).toBe(page);
});

test.each(sections())("the tables of %s are those of its run, which is one line", (section) => {
  expect(readFileSync(`bench/results/${section}.md`, "utf8"), CURE).toBe(pageOf(section));
  expect(readFileSync(`bench/results/${section}.json`, "utf8").split("\n")).toHaveLength(2);
});

test("a benchmark writes where git ignores it, so the figures stay the committed ones", () => {
  const ignored = readFileSync("bench/.gitignore", "utf8").split("\n").map((line) => pathToFileURL(`bench/${line}/`).href);
  for (const rough of [true, false]) expect(ignored).toContain(folderOf(rough).href);
});
