// What is in the packed file, and what it may never hold.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { transform } from "esbuild";
import { afterAll, expect, test } from "vitest";
import { Consumer, entries } from "./consumer.js";

const consumer = new Consumer();
afterAll(() => consumer.remove());
const root = join(consumer.root, "node_modules/sluice");
const files = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((file) => file.isFile())
  .map((file) => join(file.parentPath, file.name).slice(root.length + 1))
  .toSorted();
const names = entries.map(([specifier]) => specifier.slice(7) || "index").filter((name) => name !== "");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { license: string; scripts: Record<string, string> };

/** A file that a build names by its content, such as `chunk-25O6OLYV.js`, without that part. */
const withoutHash = (file: string): string => file.replace(/-[\w-]{8}(?=\.(?:c?js|d\.c?ts)$)/, "-*");

/** The files of `folder`, once each without their hashes. */
const filesIn = (folder: string): string[] => [...new Set(files.filter((file) => file.startsWith(folder)).map((file) => withoutHash(file.slice(folder.length))))];

test("the ES modules and their declarations: one file for each entry, and what they share", () => {
  const top = filesIn("dist/").filter((file) => !file.startsWith("cjs/"));
  const others = ["command.js", "diagnostics.js", "no-diagnostics.js", "chunk-*.js"];
  expect(top.filter((file) => file.endsWith(".js")).toSorted()).toEqual([...names.map((name) => `${name}.js`), ...others].toSorted());
  const declared = (type: string) => top.filter((file) => file.endsWith(type)).toSorted();
  expect(declared(".d.cts").filter((file) => !file.includes("-*"))).toEqual(names.map((name) => `${name}.d.cts`).toSorted());
  expect(declared(".d.ts")).toEqual(names.map((name) => `${name}.d.ts`).toSorted());
  for (const name of names) expect(readFileSync(join(root, `dist/${name}.d.ts`), "utf8")).toBe(`export * from "./${basename(name)}.cjs";\n`);
  expect(top.filter((file) => !/\.(?:js|d\.c?ts)$/.test(file))).toEqual([]);
});

test("CommonJS: the code, and three ways to load each entry", () => {
  const entryFiles = names.map((name) => `${name}.cjs`);
  const folders = ["default", "production", "older"].flatMap((folder) => ["choose.cjs", ...entryFiles].map((file) => `${folder}/${file}`));
  const others = ["chosen.cjs", "checks.cjs", "no-checks.cjs", "private-fields.cjs", "weak-maps.cjs", "chunk-*.cjs"];
  expect(filesIn("dist/cjs/").toSorted()).toEqual([...entryFiles, ...others, ...folders].toSorted());
});

test("CommonJS has the syntax of ES2019, which webpack 4 parses", async () => {
  const at = async (code: string, target: string) => (await transform(code, { target })).code;
  const isNewer = async (code: string) => (await at(code, "es2019")) !== (await at(code, "esnext"));
  for (const file of files.filter((name) => name.startsWith("dist/cjs/"))) {
    expect([file, await isNewer(readFileSync(join(root, file), "utf8"))]).toEqual([file, file.endsWith("/private-fields.cjs")]);
  }
});

test("beside dist: pages, the skill, and a package.json for each entry", () => {
  const folders = names.filter((name) => name !== "index").map((name) => `${name}/package.json`);
  const skill = readdirSync("skills", { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".md")).map((file) => `skills/${file}`);
  const expected = ["CHANGELOG.md", "LICENSE", "README.md", "package.json", ...folders, ...skill];
  expect(files.filter((file) => !file.startsWith("dist/"))).toEqual(expected.toSorted());
});

test("installing it runs nothing", () => {
  const atInstall = ["preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare"];
  expect(Object.keys(manifest.scripts).filter((name) => atInstall.includes(name))).toEqual([]);
  expect(files.filter((file) => file.endsWith("binding.gyp"))).toEqual([]);
});

/** Code that makes code of a text. */
const MAKES_CODE = /\beval\s*\(|\beval\s*:|\bnew\s+Function\b|[^.\w]Function\s*\(|["'`]data:text\/javascript/;

test("no code makes code of a text, which a content security policy forbids", () => {
  const code = files.filter((file) => /\.[cm]?js$/.test(file));
  expect(code.length).toBeGreaterThan(100);
  expect(code.filter((file) => MAKES_CODE.test(readFileSync(join(root, file), "utf8")))).toEqual([]);
  for (const planted of ["eval('1')", "new Worker('1', { eval: true })", "new Function('1')", "x=Function('1')", "import('data:text/javascript,1')"]) expect(planted).toMatch(MAKES_CODE);
  expect("isFunction(value)").not.toMatch(MAKES_CODE);
});

test("there is one license", () => {
  expect(manifest.license).toBe("MIT");
  expect(files.filter((file) => /licen[cs]e|notice|copying/i.test(file))).toEqual(["LICENSE"]);
  expect(readFileSync(join(root, "LICENSE"), "utf8")).toBe(readFileSync("LICENSE", "utf8"));
  expect(files.filter((file) => /\.(?:c?js|ts|cts)$/.test(file) && /SPDX|@license|Copyright/.test(readFileSync(join(root, file), "utf8")))).toEqual([]);
});
