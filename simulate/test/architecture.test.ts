// The tool stands on what every user of sluice can import.
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { circlesOf, crowdedFunctions, drawArrows, longLines } from "../../test/architecture.js";

const files = readdirSync("simulate/src", { recursive: true, encoding: "utf8" })
  .map((file) => `simulate/src/${file.replaceAll("\\", "/")}`)
  .filter((file) => file.endsWith(".ts"));
const sources = new Map(files.map((file) => [file, readFileSync(file, "utf8")]));
const arrows = drawArrows(sources);

test("it imports Node, the entry `sluice`, and its own files", () => {
  const outside = arrows.filter(({ to }) => !to.startsWith("simulate/src/") && !to.startsWith("node:"));
  expect([...new Set(outside.map(({ to }) => to))]).toEqual(["sluice"]);
  expect(arrows.filter(({ to }) => to.startsWith("simulate/src/") && !sources.has(to))).toEqual([]);
});

test("no circle of files, not even of types", () => {
  expect(circlesOf(arrows)).toEqual([]);
});

test("the chart imports nothing: the live page and the site bundle it", () => {
  expect(arrows.filter(({ from, to }) => from.startsWith("simulate/src/chart/") && !to.startsWith("simulate/src/chart/"))).toEqual([]);
});

test("its files have at most 250 lines, of at most 130 characters, and functions at most five parameters", () => {
  for (const [file, text] of sources) {
    expect([file, text.split("\n").length - 1 <= 250, longLines(text), crowdedFunctions(file, text)]).toEqual([file, true, [], []]);
  }
});
