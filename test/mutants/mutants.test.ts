import { expect, test } from "vitest";
import { Code } from "./code.js";
import { locate, mutants, readTexts, type Mutant } from "./mutants.js";
import { ITEMS, LAWS, testsOf } from "./numbers.js";
import { MISTAKES } from "../search/mistakes.js";

const code = new Code(readTexts("src"));
const tests = readTexts("test", ".test.ts");

test("every law and every item of the contract has a mutant", () => {
  const numbers = new Set(mutants.map(({ item }) => item));
  expect([...LAWS, ...ITEMS].filter((number) => !numbers.has(number))).toEqual([]);
});

const named = mutants.map((mutant) => [`${mutant.item} in ${mutant.test}`, mutant] as const);

test.each(named)("%s: found once in its declaration, and in one file of tests", (_, mutant) => {
  const { planted, source } = locate(mutant, code, tests);
  expect(planted).not.toBe(source);
});

const mutant: Mutant = { item: "3", in: "f", find: "x + 1", replace: "y", test: "laws" };
const own = new Map([["test/core/laws.test.ts", 'test("3 · a", () => {});']]);
const place = (texts: Record<string, string>, changed: Partial<Mutant> = {}, tested: ReadonlyMap<string, string> = own): unknown =>
  locate({ ...mutant, ...changed }, new Code(new Map(Object.entries(texts))), tested);

test.each(MISTAKES)("the search plants once: $what", ({ in: name, find }) => {
  expect(code.search(name, find)).toHaveLength(1);
});

test("a mutant is found in any file, whatever stands around its declaration", () => {
  const text = "const g = x + 1;\nexport function f() { return x + 1; }\n";
  const planted = "const g = x + 1;\nexport function f() { return y; }\n";
  expect(place({ "src/a.ts": text, "src/b.ts": "x + 1" })).toEqual({ file: "src/a.ts", source: text, planted, test: "test/core/laws.test.ts" });
  expect(place({ "src/deep/er/c.ts": text })).toMatchObject({ file: "src/deep/er/c.ts", planted });
  expect(place({ "src/a.ts": "const f = x + 1;" }, { replace: "$&$1" })).toMatchObject({ planted: "const f = $&$1;" });
});

test("spaces, line breaks, comments and a comma before a bracket do not count", () => {
  const planted = (text: string, find: string): unknown => place({ "src/a.ts": text }, { find });
  expect(planted("function f() {\n  return g(\n    x, // first\n    1,\n  );\n}", "g(x, 1)")).toMatchObject({ planted: "function f() {\n  return y;\n}" });
  expect(planted("function f() { return g(x, 1); }", "g(\n x,\n 1,\n)")).toMatchObject({ planted: "function f() { return y; }" });
  expect(planted("/** x + 1 */\nconst f = x /* and */ + 1; // x + 1", "x + 1")).toMatchObject({ planted: "/** x + 1 */\nconst f = y; // x + 1" });
  expect(planted('function f() { const s = "/* x */"; return x; }', "return x;")).toMatchObject({ planted: 'function f() { const s = "/* x */"; y }' });
});

test("a declaration is a function, a constant, a class, one of its members, or what holds a script", () => {
  const text = "class C { #a = 1; constructor() { x + 1; } static s() { x + 1; } #f() { x + 1; } }";
  const found = (name: string): string => (place({ "src/a.ts": text }, { in: name }) as { planted: string }).planted;
  expect(found("C.constructor")).toBe(text.replace("x + 1", "y"));
  expect(found("C.s")).toBe(text.replace("s() { x + 1", "s() { y"));
  expect(found("C.#f")).toBe(text.replace("#f() { x + 1", "#f() { y"));
  expect(place({ "src/a.ts": text }, { in: "C", find: "#a = 1" })).toMatchObject({ planted: text.replace("#a = 1", "y") });
  const script = "export const f = (n) => /* lua */ `\nlocal a = x + 1\nlocal b = ${n}\n`;";
  expect(place({ "src/a.ts": script })).toMatchObject({ planted: script.replace("x + 1", "y") });
});

test("one line says what to do about a mutant that is not found, or found twice", () => {
  const f = "function f() {}";
  const said = (text: string): (() => unknown) => () => place({ "src/a.ts": text });
  expect(said(`${f}\nfunction g() { x + 1 }\nclass C { m() { x+1 } }`))
    .toThrow(/^Mutant 3 of laws: f does not hold this, write in `in` the name of its holder \(g or C\.m\): x \+ 1$/);
  expect(said("const g = x + 1")).toThrow(/^Mutant 3 of laws: src declares no f, write in `in` the name of its holder \(g\): x \+ 1$/);
  expect(said(f)).toThrow(/^Mutant 3 of laws: f does not hold this, write in `in` and `find` where the code is now and what it has become: x \+ 1$/);
  expect(said("function f() { x + 1; x+1 }")).toThrow(/^Mutant 3 of laws: f holds this 2 times, take more of it into `find`: x \+ 1$/);
  expect(() => place({ "src/a.ts": "const f = x + 1", "src/b.ts": "function f() { x + 1 }" })).toThrow("f holds this 2 times");
});

test("of several files with the name of its tests, the one with its number counts; none or two are an error", () => {
  const source = { "src/a.ts": "const f = x + 1" };
  const other = 'test("4 · b", () => {});';
  expect(place(source, {}, new Map([...own, ["test/http/laws.test.ts", other]]))).toMatchObject({ test: "test/core/laws.test.ts" });
  expect(place(source, {}, new Map([["test/http/laws.test.ts", [...own.values()][0] as string]]))).toMatchObject({ test: "test/http/laws.test.ts" });
  expect(() => place(source, {}, new Map())).toThrow('Expected one file laws.test.ts with a test "3 · …" for mutant 3 (x + 1), found no such file.');
  expect(() => place(source, {}, new Map([["test/http/laws.test.ts", other]]))).toThrow("found none of that number in test/http/laws.test.ts");
  expect(() => place(source, {}, new Map([...own, ["test/b/laws.test.ts", 'test("3 · c", () => {});']])))
    .toThrow("found test/core/laws.test.ts, test/b/laws.test.ts");
});

test("a number picks its own tests and no others", () => {
  const names = ["3 · a", "13 · a", "L3 · a", "suite 3 · a", "30 · a", "a 3"];
  expect(names.filter((name) => testsOf("3").test(name))).toEqual(["3 · a", "suite 3 · a"]);
  expect(names.filter((name) => testsOf("L3").test(name))).toEqual(["L3 · a"]);
});
