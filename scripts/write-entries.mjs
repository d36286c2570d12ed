// Writes the parts of package.json and tsconfig.json that repeat entries.json, the list of subpaths. Run
// `npm run entries` after a change of that list. With --check it writes nothing, and fails when a file would change.
import { readFileSync, writeFileSync } from "node:fs";

const read = (file) => JSON.parse(readFileSync(file, "utf8"));

function write(file, value) {
  const text = JSON.stringify(value, null, 2) + "\n";
  if (text === readFileSync(file, "utf8")) return;
  if (!process.argv.includes("--check")) return writeFileSync(file, text);
  console.error(`${file} does not follow entries.json: run \`npm run entries\``);
  process.exitCode = 1;
}

const { subpaths } = read("entries.json");
/** The name of a subpath in dist: "." is index, "./express" is express. */
const nameOf = (subpath) => (subpath === "." ? "index" : subpath.slice(2));

/** module-sync comes first: `require` and `import` then load one copy on Node, and a class exists only once. */
function conditions(subpath) {
  const name = nameOf(subpath);
  const esm = { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` };
  // scripts/build-commonjs.mjs says what is in these folders.
  const cjs = { types: `./dist/${name}.d.cts`, production: `./dist/cjs/production/${name}.cjs`, default: `./dist/cjs/default/${name}.cjs` };
  return [subpath, { "module-sync": esm, import: esm, require: cjs }];
}

const list = Object.keys(subpaths);
const manifest = read("package.json");
manifest.exports = { ...Object.fromEntries(list.map(conditions)), "./package.json": "./package.json" };
// For resolvers older than `exports`.
manifest.typesVersions = {
  "*": Object.fromEntries(list.slice(1).map((s) => [nameOf(s), [`./dist/${nameOf(s)}.d.cts`]])),
};
// The folders that scripts/write-folders.mjs makes.
const folders = [...new Set(list.slice(1).map((subpath) => subpath.split("/")[1]))];
manifest.files = ["dist", "skills", "CHANGELOG.md", ...folders];
write("package.json", manifest);
const ignored = readFileSync(".gitignore", "utf8").split("\n");
for (const folder of folders) {
  if (ignored.includes(`/${folder}`)) continue;
  console.error(`Expected .gitignore to have the line /${folder}`);
  process.exitCode = 1;
}

// Tests and examples import "sluice/express" like a user, from the sources, without a build.
const tsconfig = read("tsconfig.json");
tsconfig.compilerOptions.paths = {
  ...Object.fromEntries(Object.entries(subpaths).map(([s, { source }]) => [s.replace(/^\./, "sluice"), [`./${source}`]])),
  // In the package, a condition picks the file. In the sources it is always the checks. See src/diagnostics/index.ts.
  "#diagnostics": ["./src/diagnostics/index.ts"],
};
write("tsconfig.json", tsconfig);
