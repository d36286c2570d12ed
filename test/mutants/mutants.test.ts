import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { mutants, plant } from "./mutants.js";
import { ITEMS, LAWS, numbersIn, testsOf } from "./numbers.js";

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

test("every law and every item of the contract has a mutant", () => {
  const numbers = new Set(mutants.map(({ item }) => item));
  expect([...LAWS, ...ITEMS].filter((number) => !numbers.has(number))).toEqual([]);
});

test.each(mutants)("$item · $file: its place is found once, within a line, and its tests exist", (mutant) => {
  const { item, file, find, replace, test: tests } = mutant;
  const source = read(file);
  const planted = plant(mutant, source);
  expect(planted).not.toBe(source);
  expect(planted.split("\n")).toHaveLength(source.split("\n").length);
  expect([find, replace].join("")).not.toContain("\n");
  expect(numbersIn(read(tests))).toContain(item);
});

test("a place that is gone, or not the only one, is named", () => {
  const mutant = { item: "3", file: "src/a.ts", find: "x", replace: "y", test: "" };
  expect(plant(mutant, "a x b")).toBe("a y b");
  expect(plant({ ...mutant, replace: "$&$1" }, "a x b")).toBe("a $&$1 b");
  expect(() => plant(mutant, "a b")).toThrow("Expected the place of mutant 3 to occur once in src/a.ts, found it 0 times: x");
  expect(() => plant(mutant, "x x")).toThrow("found it 2 times");
});

test("a number picks its own tests and no others", () => {
  const names = ["3 · a", "13 · a", "L3 · a", "suite 3 · a", "30 · a", "a 3"];
  expect(names.filter((name) => testsOf("3").test(name))).toEqual(["3 · a", "suite 3 · a"]);
  expect(names.filter((name) => testsOf("L3").test(name))).toEqual(["L3 · a"]);
});
