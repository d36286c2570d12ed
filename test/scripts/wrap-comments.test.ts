import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { longComments, wrapComments, wrapFiles } from "../../scripts/wrap-comments.mjs";

/** Wraps at 40 columns, and checks that a second time changes nothing. */
function wrap(...lines: string[]): string[] {
  const once = wrapComments(lines.join("\n"), 40);
  expect(wrapComments(once, 40)).toBe(once);
  return once.split("\n");
}

/** Checks that the text stays as it is. */
function keeps(...lines: string[]): void {
  expect(wrap(...lines)).toEqual(lines);
}

describe("paragraphs are filled", () => {
  test("in docstrings", () => {
    expect(wrap("/**", " * Takes tokens,", " * and returns the decision. It never", " * waits for anything at all.", " *", " * Next paragraph.", " */", "f();")).toEqual([
      "/**", " * Takes tokens, and returns the", " * decision. It never waits for anything", " * at all.", " *", " * Next paragraph.", " */", "f();",
    ]);
  });

  test("in runs of line comments, each by itself", () => {
    expect(wrap("// one two", "// three four five six seven eight nine ten", "//", "// eleven", "", "// twelve", "f();", "// thirteen")).toEqual([
      "// one two three four five six seven", "// eight nine ten", "//", "// eleven", "", "// twelve", "f();", "// thirteen",
    ]);
  });

  test("at their own indentation", () => {
    expect(wrap("class A {", "  // one two three four five six seven eight", "  /** One two three four five six seven eight. */", "  b = 1;", "}")).toEqual([
      "class A {", "  // one two three four five six seven", "  // eight", "  /**", "   * One two three four five six seven", "   * eight.", "   */", "  b = 1;", "}",
    ]);
  });

  test("to the last column and no further", () => {
    keeps(`// ${"x".repeat(37)}`, "f();", `/** ${"x".repeat(33)} */`);
    expect(wrap(`// ${"x".repeat(35)} y`)).toEqual([`// ${"x".repeat(35)} y`]);
    expect(wrap(`// ${"x".repeat(36)} y`)).toEqual([`// ${"x".repeat(36)}`, "// y"]);
    keeps(`// ${"x".repeat(60)}`); // a word is not broken
  });

  test("after tags with prose", () => {
    expect(wrap("/**", " * A.", " * @param name the name that is", " * given to it by its caller", " * @returns nothing", " * @internal", " */")).toEqual([
      "/**", " * A.", " * @param name the name that is given to", " * it by its caller", " * @returns nothing", " * @internal", " */",
    ]);
  });

  test("with the line ends that the file has", () => {
    expect(wrapComments("// one two three four five\r\n// six\r\nf();\r\n", 20)).toBe("// one two three\r\n// four five six\r\nf();\r\n");
  });
});

describe("what has lines of its own keeps them", () => {
  test("examples, to the next tag with prose", () => {
    const example = [" * @example", " * const a = 1;", " *", " *   if (a === aVeryLongName && another === 1) b();", " * @Decorator()", " * class C {}"];
    keeps("/**", " * A.", ...example, " */");
    expect(wrap("/**", ...example, " * @throws when", " * it fails", " */").slice(-3)).toEqual([" * class C {}", " * @throws when it fails", " */"]);
  });

  test("lists, tables, quotations, headings and rules", () => {
    for (const block of [["- one", "  two", "- three"], ["1. one", "2. two"], ["| a | b |", "| - | - |"], ["> said", "> so"], ["# Title", "text"], ["-----", "text"]]) {
      keeps("/**", ...block.map((line) => ` * ${line}`), " */");
      keeps(...block.map((line) => `// ${line}`));
    }
  });

  test("fenced and indented code", () => {
    keeps("/**", " * A:", " * ```ts", " * const a = 1;", " * const b = 2;", " * ```", " * B.", " */");
    keeps("/**", " * The formula", " *     a = b", " * and more", " */");
    keeps("// A:", "//   spent = max(0, spent - p)", "//   allowed = spent <= capacity");
  });

  test("directives, also in the middle of a run", () => {
    keeps("// oxlint-disable-next-line no-console", "// @ts-expect-error it is", "// short", "/// <reference types=\"node\" />", "//#region a", "//#endregion");
    keeps("// one", "// @ts-ignore", "// two");
  });

  test("license headers and plain block comments", () => {
    keeps("// Copyright 2026", "// The authors", "f();", "/**", " * @license MIT", " * Text", " * more", " */", "/* a", "   b */");
  });

  test("comments beside code, and the lines that continue them", () => {
    const long = "// one two three four five six seven eight nine";
    keeps(`const a = 1; ${long}`, `             ${long}`, `const b = 1; /** ${long} */`, `/** ${long} */ const c = 1;`);
  });

  test("lines that end in a backslash", () => keeps("// one\\", "// two"));
});

test("nothing in strings, templates, patterns or JSX-like text is a comment", () => {
  const long = "// one two three four five six seven eight nine ten";
  keeps(`const a = "${long}";`, `const b = \`/**`, ` * one`, ` * two`, ` */`, `${long}\`;`, `const c = \`\${"${long}"}`, "// one", "// two`;", "const d = /[/]/** 2;", "const e = /\\/\\/ a/g;");
});

test("a comment inside of a template's expression is one", () => {
  expect(wrap("const a = `${", "  // one", "  // two", "  b}`;")).toEqual(["const a = `${", "  // one two", "  b}`;"]);
});

describe("a line does not begin with", () => {
  const filler = "x".repeat(36);

  test.each(["-", "1.", "#", "|", ">", "@param", "```", "oxlint-disable", "@ts-ignore"])("%s, which would mean something else there", (word) => {
    expect(wrap(`// ab ${filler} ${word} z`)).toEqual(["// ab", `// ${filler} ${word} z`.slice(0, 3 + 37 + word.length), "// z"]);
  });

  test.each(["`a b c`", "``a ` b``", "{@link A b c}", "(`a b`)."])("the middle of %s", (piece) => {
    expect(wrap(`// ${"x".repeat(34)} ${piece}`)).toEqual([`// ${"x".repeat(34)}`, `// ${piece}`]);
  });
});

test("code that was broken over two lines is put together", () => {
  expect(wrap("// one `two", "// three` four")).toEqual(["// one `two three` four"]);
});

test("a docstring gets its usual form", () => {
  expect(wrap("/** One", " *  two */", "f();", "/**", "One.", "*/")).toEqual(["/**", " * One two", " */", "f();", "/**", " * One.", " */"]);
  keeps("/***/", "/**/", "/** */", "/*** a", " b */");
});

describe("a comment that is kept and passes the last column is named, with its line", () => {
  const long = "one two three four five six seven";
  const rows: [what: string, text: string, lines: number[]][] = [
    ["a list", `/**\n * - ${long}\n * - one\n */\nf();`, [2]],
    ["a table of several rows", `/**\n * | one |\n * | ${long} |\n * | ${long} |\n */`, [3, 4]],
    ["a comment beside code", `f();\nconst a = 1; // ${long}`, [2]],
    ["a comment inside of code", `f(/* ${long} */);`, [1]],
    ["an example, with the line ends of Windows", `/**\r\n * @example\r\n * f("${long}");\r\n */`, [3]],
    ["two comments of one line", `f(/* ${long} */); // one`, [1]],
    ["code after a short comment", `f(/* one */ "${long}");`, []],
    ["a string", `f("// ${long}");`, []],
    ["a single word", `// https://one.example/${"x".repeat(30)}\n/**\n * ${"x".repeat(40)}\n */`, []],
    ["the last column", `// ${"x ".repeat(13)}x`, []],
    ["one more", `// ${"x ".repeat(13)}xx`, [1]],
  ];
  test.each(rows)("%s", (_, text, lines) => expect(longComments(text, 30)).toEqual(lines));
});

test("the command writes what changes; with --check it names it and fails", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-wrap-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [wide, narrow] = [join(folder, "wide.ts"), join(folder, "narrow.ts")];
  writeFileSync(wide, `// ${"word ".repeat(40).trim()}\n`);
  writeFileSync(narrow, "// word\n");
  const { status, stdout } = spawnSync(process.execPath, ["scripts/wrap-comments.mjs", "--check", folder], { encoding: "utf8" });
  expect([status, stdout]).toEqual([1, `${wide}: its comments are not filled, run \`npm run format\`\n`]);
  expect(wrapFiles([folder], false)).toEqual([wide]);
  expect(readFileSync(wide, "utf8").split("\n").map((line) => line.length)).toEqual([117, 87, 0]);
  expect(wrapFiles([folder], true)).toEqual([]);
  writeFileSync(narrow, `f();\n// - ${"word ".repeat(26)}\n`);
  expect(wrapFiles([folder], false)).toEqual([narrow]); // a blank at the end
  expect(wrapFiles([folder], true)).toEqual([`${narrow}:2: its comment passes column 130, shorten or split it`]);
});
