import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { withFigures } from "../bench/report.js";

test("docs/performance.md shows the figures that bench/results has", () => {
  const page = readFileSync("docs/performance.md", "utf8");
  expect(page).toContain("<!-- figures of memory -->");
  expect(withFigures(page), "run `npm run report --prefix bench`").toBe(page);
});
