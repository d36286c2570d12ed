// Writes dist/cjs, for tools that do not load ES modules: Jest, bundlers of code with `require`, webpack 4, Metro. The
// syntax is ES2019, which webpack 4 parses, and it is minified, but for the names of functions and classes.
//
// The files in dist/cjs hold the code. What they need from a tool they read from chosen.cjs. The files in the folders
// below it are what the tool names. Each chooses, and then returns the entry beside:
// - default: with the checks of setup
// - production: without them
// - older: with them, for tools that read `main` and not `exports`. It has no private fields in its syntax
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build, transform } from "esbuild";
import ts from "typescript";
import { luaInBuild } from "./minify-lua.mjs";
import entries from "../entries.json" with { type: "json" };

const OUT = "dist/cjs";
const TARGET = "es2019";
const small = {
  minifySyntax: true, minifyWhitespace: true, legalComments: "none", platform: "neutral",
  supported: { "unicode-escapes": false }, // Rollup 4 fails at one of them after a lone surrogate
};
const names = new Map(Object.entries(entries.subpaths).map(([subpath, { source }]) => [subpath === "." ? "index" : subpath.slice(2), source]));

const { outputFiles, metafile } = await build({
  entryPoints: { ...Object.fromEntries(names), checks: "src/diagnostics/index.ts", "no-checks": "src/diagnostics/none.ts" },
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "neutral",
  target: "es2022",
  outdir: OUT,
  write: false,
  metafile: true,
  external: ["node:*", "@nestjs/*"],
  plugins: [luaInBuild, { name: "chosen", setup: chooseLater }],
});
for (const { path, text } of outputFiles) {
  const file = relative(OUT, path).replace(/\.js$/, ".cjs");
  write(file, await toCommonJs(withOlderClasses(text), file));
}
write("chosen.cjs", '"use strict";exports.choose=(...parts)=>Object.assign(exports,...parts);\n');
for (const [name, target] of [["private-fields", "es2022"], ["weak-maps", TARGET]]) {
  await build({ entryPoints: ["src/port/hidden.ts"], format: "cjs", target, ...small, outfile: join(OUT, `${name}.cjs`) });
}
writeFolder("default", "checks", "private-fields");
writeFolder("production", "no-checks", "private-fields");
writeFolder("older", "checks", "weak-maps");

function write(file, text) {
  mkdirSync(dirname(join(OUT, file)), { recursive: true });
  writeFileSync(join(OUT, file), text);
}

/** The path of a file of dist/cjs in a `require` of another one. */
function pathTo(file, from) {
  const path = relative(dirname(from), file);
  return path.startsWith(".") ? path : `./${path}`;
}

/** For esbuild: leaves the imports that depend on the tool as imports of chosen.cjs. */
function chooseLater({ onResolve }) {
  onResolve({ filter: /^#diagnostics$|[\\/]hidden\.js$/ }, () => ({ path: "./chosen.cjs", external: true }));
}

/**
 * Replaces private names by symbols. Parsers of ES2019 know them, and they are as fast. With what esbuild makes of a
 * private name, a WeakMap, a decision takes eight times as long. Two kinds of public fields change too:
 * - A static field becomes a getter: esbuild would wrap its class, which then loses its name.
 * - `name` of an error is defined in the constructor: an assignment throws where `Error.prototype` is frozen.
 */
function withOlderClasses(code) {
  const edits = [];
  const declared = [];
  const taken = new Set(code.match(/[\w$]+/g));
  const declare = (text) => {
    let name = text.replace("#", "_");
    while (taken.has(name)) name = `_${name}`;
    taken.add(name);
    declared.push(`${name} = Symbol("${text}")`);
    return name;
  };
  const visit = (node, scope) => {
    if (ts.isClassLike(node)) {
      const own = new Set(node.members.filter(({ name }) => name && ts.isPrivateIdentifier(name)).map(({ name }) => name.text));
      scope = new Map([...scope, ...[...own].map((text) => [text, declare(text)])]);
    }
    if (ts.isPrivateIdentifier(node)) edits.push(inPlaceOf(node, scope.get(node.text)));
    if (ts.isPropertyDeclaration(node)) edits.push(...inPlaceOfField(node));
    ts.forEachChild(node, (child) => visit(child, scope));
  };
  visit(ts.createSourceFile("file.js", code, ts.ScriptTarget.ESNext, true), new Map());
  let out = code;
  for (const [start, end, text] of edits.sort((a, b) => b[0] - a[0])) out = out.slice(0, start) + text + out.slice(end);
  return declared.length === 0 ? out : `const ${declared.join(", ")};\n${out}`;
}

/** What to write for a private name: `[start, end, text]`. */
function inPlaceOf(node, name) {
  const { parent } = node;
  if (ts.isBinaryExpression(parent)) return [node.getStart(), node.end, name]; // `#a in object`
  if (!ts.isPropertyAccessExpression(parent)) return [node.getStart(), node.end, `[${name}]`];
  return [parent.expression.end, node.end, `${parent.questionDotToken ? "?." : ""}[${name}]`];
}

/** What to write for a public field, if it cannot stay. */
function inPlaceOfField(node) {
  const name = node.name.getText();
  const value = node.initializer?.getText();
  if (node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword)) {
    return [[node.getStart(), node.end, `static get ${name}() { return ${value}; }`]];
  }
  const parents = node.parent.heritageClauses?.map((clause) => clause.getText()).join();
  if (name !== "name" || parents !== "extends Error") return [];
  const { end } = node.parent.members.find(ts.isConstructorDeclaration).body.statements[0]; // `super()`
  const define = `Object.defineProperty(this, "name", { value: ${value}, writable: true, enumerable: true, configurable: true });`;
  return [[node.getStart(), node.end, ""], [end, end, define]];
}

async function toCommonJs(code, file) {
  // Fields become assignments. As definitions, each would be a call of Object.defineProperty.
  const tsconfigRaw = { compilerOptions: { useDefineForClassFields: false, verbatimModuleSyntax: true, alwaysStrict: true } };
  const commonJs = await transform(code, { loader: "ts", format: "cjs", target: TARGET, ...small, tsconfigRaw });
  // Once more, because without a format esbuild keeps the names at the top level.
  const minified = await transform(commonJs.code, { target: TARGET, ...small, minifyIdentifiers: true });
  return minified.code.replace(/require\("(\.[^"]+?)\.c?js"\)/g, (_, path) => {
    return `require("${path === "./chosen" ? pathTo("chosen.cjs", file) : `${path}.cjs`}")`;
  });
}

/** Writes what a tool names, for each entry. An entry that reads nothing of chosen.cjs leaves it out. */
function writeFolder(folder, checks, fields) {
  const choose = `${folder}/choose.cjs`;
  const parts = [checks, fields].map((name) => `require("../${name}.cjs")`);
  write(choose, `"use strict";require("../chosen.cjs").choose(${parts});module.exports=entry=>entry;\n`);
  for (const name of names.keys()) {
    const file = `${folder}/${name}.cjs`;
    const entry = `require("${pathTo(`${name}.cjs`, file)}")`;
    // By a call, because a bundler drops a file without side effects that nobody uses.
    write(file, `"use strict";module.exports=${chooses(`${name}.js`) ? `require("${pathTo(choose, file)}")(${entry})` : entry};\n`);
  }
}

/** Whether a file of the build leads to chosen.cjs. */
function chooses(file, seen = new Set()) {
  if (seen.has(file)) return false;
  seen.add(file);
  const { imports } = metafile.outputs[`${OUT}/${file}`];
  return imports.some(({ path, external }) => (external ? path === "./chosen.cjs" : chooses(relative(OUT, path), seen)));
}
