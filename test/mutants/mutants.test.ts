import { expect, test } from "vitest";
import { locate, mutants, readTexts, type Mutant } from "./mutants.js";
import { ITEMS, LAWS, testsOf } from "./numbers.js";

const sources = readTexts("src");
const tests = readTexts("test", ".test.ts");

test("every law and every item of the contract has a mutant", () => {
  const numbers = new Set(mutants.map(({ item }) => item));
  expect([...LAWS, ...ITEMS].filter((number) => !numbers.has(number))).toEqual([]);
});

const named = mutants.map((mutant) => [`${mutant.item} in ${mutant.test}`, mutant] as const);

test.each(named)("%s: found once in src, within a line, and in one file of tests", (_, mutant) => {
  const { planted, source } = locate(mutant, sources, tests);
  expect(planted).not.toBe(source);
  expect(planted.split("\n")).toHaveLength(source.split("\n").length);
  expect([mutant.find, mutant.replace].join("")).not.toContain("\n");
});

const mutant: Mutant = { item: "3", find: "x", replace: "y", test: "laws" };
const own = new Map([["test/core/laws.test.ts", 'test("3 · a", () => {});']]);
const place = (texts: Record<string, string>, tested: ReadonlyMap<string, string> = own, replace = "y"): unknown =>
  locate({ ...mutant, replace }, new Map(Object.entries(texts)), tested);

test("a mutant is found in any folder", () => {
  const found = { source: "a x b", planted: "a y b", test: "test/core/laws.test.ts" };
  expect(place({ "src/a.ts": "a x b", "src/b.ts": "b" })).toEqual({ file: "src/a.ts", ...found });
  expect(place({ "src/deep/er/a.ts": "a x b" })).toEqual({ file: "src/deep/er/a.ts", ...found });
  expect(place({ "src/a.ts": "a x b" }, own, "$&$1")).toMatchObject({ planted: "a $&$1 b" });
});

test("a text that is gone, or that src holds twice, is an error", () => {
  expect(() => place({ "src/a.ts": "a b" })).toThrow("Expected src to hold the text of mutant 3 once, found it nowhere: x");
  expect(() => place({ "src/a.ts": "x", "src/b.ts": "x" })).toThrow("found it in src/a.ts, src/b.ts: x\nTake more of the line");
  expect(() => place({ "src/a.ts": "x x" })).toThrow("found it in src/a.ts, src/a.ts: x");
});

test("of several files with the name of its tests, the one with its number counts; none or two are an error", () => {
  const source = { "src/a.ts": "x" };
  const other = 'test("4 · b", () => {});';
  expect(place(source, new Map([...own, ["test/http/laws.test.ts", other]]))).toMatchObject({ test: "test/core/laws.test.ts" });
  expect(place(source, new Map([["test/http/laws.test.ts", [...own.values()][0] as string]]))).toMatchObject({ test: "test/http/laws.test.ts" });
  expect(() => place(source, new Map())).toThrow('Expected one file laws.test.ts with a test "3 · …" for mutant 3 (x), found no such file.');
  expect(() => place(source, new Map([["test/http/laws.test.ts", other]]))).toThrow("found none of that number in test/http/laws.test.ts");
  expect(() => place(source, new Map([...own, ["test/b/laws.test.ts", 'test("3 · c", () => {});']])))
    .toThrow("found test/core/laws.test.ts, test/b/laws.test.ts");
});

test("a number picks its own tests and no others", () => {
  const names = ["3 · a", "13 · a", "L3 · a", "suite 3 · a", "30 · a", "a 3"];
  expect(names.filter((name) => testsOf("3").test(name))).toEqual(["3 · a", "suite 3 · a"]);
  expect(names.filter((name) => testsOf("L3").test(name))).toEqual(["L3 · a"]);
});
