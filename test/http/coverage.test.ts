import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ITEMS, numbersIn } from "../mutants/numbers.js";

const folder = new URL("./", import.meta.url);
const sources = readdirSync(folder).filter((file) => file.startsWith("checklist-")).map((file) => readFileSync(new URL(file, folder), "utf8"));

test("every item of the contract's checklist has a test that starts with its number", () => {
  const tested = new Set(sources.flatMap(numbersIn));
  expect(ITEMS.filter((item) => !tested.has(item))).toEqual([]);
  expect([...tested].filter((number) => !ITEMS.includes(number))).toEqual([]);
});

test("only tests that run count: neither comments, nor skipped tests, nor numbers further on", () => {
  expect(numbersIn('test("3 · a");\n  test("L4 · b");\ntest.each([1])("5 · c")')).toEqual(["3", "L4", "5"]);
  expect(numbersIn('// test("3 · a")\ntest.skip("4 · b");\ntest.todo("5 · c");\ntest("of 6 · d");\n * test("7 · e")')).toEqual([]);
});
