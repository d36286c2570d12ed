import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { withFigures } from "../bench/report.js";
import { folderOf } from "../bench/results.js";

test("docs/performance.md shows the committed figures, those of bench/results", () => {
  const page = readFileSync("docs/performance.md", "utf8");
  expect(page).toContain("<!-- figures of memory -->");
  expect(withFigures(page), "run `npm run report --prefix bench`").toBe(page);
});

test("a benchmark writes where git ignores it, so the figures stay the committed ones", () => {
  const ignored = readFileSync("bench/.gitignore", "utf8").split("\n").map((line) => pathToFileURL(`bench/${line}/`).href);
  for (const rough of [true, false]) expect(ignored).toContain(folderOf(rough).href);
});
