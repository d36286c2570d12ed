// Each file to copy is run by a test that names it, or by a file that such a test runs. The samples of pages are run in
// anew.test.ts, but for those that are a part of such a file.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../helpers/docs-read.js";
import { files } from "./rows.js";

/** The files that a file names: from its own folder by "./" and "../", from the root by "examples/", or all of a folder. */
function namedIn(file: string, text = readFileSync(file, "utf8").replaceAll("${HOSTS}", "examples/hosts/")): string[] {
  const names = [...text.matchAll(/(\bcp\()?["'`/ ](\.{1,2}\/[\w./-]+|examples\/[\w./-]+)(\$\{\w+\}(?:\.ts)?)?/g)].flatMap(([, copied, name = "", each]) => {
    const path = name.startsWith("examples/") ? join(ROOT, name) : resolve(dirname(file), name);
    if (!path.startsWith(join(ROOT, "examples/"))) return [];
    if ((copied ?? each) !== undefined && statSync(path, { throwIfNoEntry: false })?.isDirectory()) return readdirSync(path, { recursive: true, encoding: "utf8" }).map((inside) => join(path, inside));
    return [path, path.replace(/js$/, "ts"), path.replace(/js$/, "tsx")];
  });
  if (text.includes('"page.ts", pageFolder()')) names.push(join(dirname(file), "page/page.ts")); // esbuild reads it
  return names.filter((name) => /\.m?tsx?$/.test(name) && existsSync(name));
}

const tests = ["test", "examples/hosts/test", "simulate/test"].flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((file) => join(ROOT, folder, file)))
  .filter((file) => /\.m?tsx?$/.test(file) && !/node_modules|test\/(?:samples\/|docs(?:-compile)?\.test|examples\/copied\.test)/.test(file));

/** The test that runs each file of `examples`. */
function runBy(): ReadonlyMap<string, string> {
  const by = new Map<string, string>();
  const visit = (file: string, from: string): void => {
    if (!relative(ROOT, file).startsWith("examples/") || relative(ROOT, file).startsWith("examples/hosts/test/") || by.has(file)) return;
    by.set(file, from);
    for (const next of namedIn(file)) visit(next, from);
  };
  for (const from of tests) for (const file of namedIn(from)) visit(file, relative(ROOT, from));
  return by;
}

test("each file to copy is run by a test", () => {
  const by = runBy();
  const bare = files.filter(({ file }) => !by.has(file)).map(({ name }) => name);
  expect(bare, "files that no test imports or starts: add a test to test/examples").toEqual([]);
  expect(by.get(join(ROOT, "examples/one-file/limits.ts"))).toMatch(/^test\/(?:command|examples)\//);
});
