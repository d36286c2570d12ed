import { defineConfig, type Options } from "tsup";
import entries from "./entries.json" with { type: "json" };
import { luaInBuild } from "./scripts/minify-lua.mjs";

/** dist/<name>.js for each subpath: "." is index, "./express" is express. */
const entry = Object.fromEntries(
  Object.entries(entries.subpaths).map(([subpath, { source }]) => [subpath === "." ? "index" : subpath.slice(2), source]),
);
/** What `#diagnostics` in package.json names for ES modules. */
const diagnostics = { diagnostics: "src/diagnostics/index.ts" };
const noDiagnostics = { "no-diagnostics": "src/diagnostics/none.ts" };
// "neutral" keeps the import conditions of Node and browsers out of the output.
const common: Options = {
  target: "es2022",
  platform: "neutral",
  // Maps were half of the package. The ES modules, which most read, are published as they are.
  sourcemap: false,
  outDir: "dist",
  external: [/^node:/, "#diagnostics"],
  esbuildPlugins: [luaInBuild],
  removeNodeProtocol: false, // Deno and Workers know "node:http" and not "http"
};

// They run at once, so `npm run clean` empties dist first, not tsup's own `clean`. CommonJS: scripts/build-commonjs.mjs.
export default defineConfig([
  { ...common, name: "esm", entry: { ...entry, ...diagnostics, command: entries.command.source }, format: "esm", splitting: true },
  // A bundle would declare its constants with `var`, and a user's esbuild drops code only for a `const`.
  { ...common, name: "no-diagnostics", entry: noDiagnostics, format: "esm", bundle: false },
  // Only .d.cts files. Those of the ES modules name them: see scripts/write-folders.mjs.
  { ...common, name: "types", entry, format: "cjs", dts: { only: true, compilerOptions: { ignoreDeprecations: "6.0", stripInternal: true } } },
]);
