// Writes a folder with a small package.json for each subpath, for tools that do not read `exports`: Jest before 28,
// webpack 4, eslint-plugin-import. They are part of the packed package only. Tools that read `exports` never see them.
// And what dist lacks after the build: the declarations of the ES modules, one line each, so that a type is one type for
// `import` and `require`.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";

const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
const isBuilt = existsSync("dist/cjs");
for (const { import: esm, require: cjs } of Object.values(exports)) {
  if (isBuilt && cjs !== undefined) writeFileSync(esm.types, `export * from "./${basename(cjs.types, ".d.cts")}.cjs";\n`);
}
for (const [subpath, { require: cjs }] of Object.entries(exports)) {
  if (cjs === undefined || subpath === ".") continue;
  const from = (file) => file.replace("./", "../".repeat(subpath.split("/").length - 1));
  const main = from(`./dist/cjs/older/${subpath.slice(2)}.cjs`);
  mkdirSync(subpath, { recursive: true });
  writeFileSync(`${subpath}/package.json`, JSON.stringify({ types: from(cjs.types), main, sideEffects: false }, null, 2) + "\n");
}
