import { defineConfig, type Options } from "tsup";
import entries from "./entries.json" with { type: "json" };
import { luaInBuild } from "./scripts/minify-lua.mjs";

/** dist/<name>.js for each subpath: "." is index, "./express" is express. */
const entry = Object.fromEntries(
  Object.entries(entries).map(([subpath, source]) => [subpath === "." ? "index" : subpath.slice(2), source]),
);
/** What `#diagnostics` in package.json names for ES modules. */
const diagnostics = { diagnostics: "src/diagnostics/index.ts", "no-diagnostics": "src/diagnostics/none.ts" };
// "neutral" keeps the import conditions of Node and browsers out of the output.
const common: Options = {
  target: "es2022",
  platform: "neutral",
  // Maps were half of the package. The code is published as it is, readable.
  sourcemap: false,
  outDir: "dist",
  external: [/^node:/, "#diagnostics"],
  esbuildPlugins: [luaInBuild],
  removeNodeProtocol: false, // Deno and Workers know "node:http" and not "http"
};

// The three run at once, so `npm run clean` empties dist first, not tsup's own `clean`.
export default defineConfig([
  { ...common, name: "esm", entry: { ...entry, ...diagnostics, command: "src/command/main.ts" }, format: "esm", splitting: true },
  {
    ...common,
    name: "cjs",
    // File by file: bundling each entry would give every subpath its own copy of a class,
    // and tsup's splitting for CommonJS renames classes.
    entry: ["src/**/*.ts", "!src/command/**"], // the command is an ES module; pages bundle its chart
    outDir: "dist/cjs",
    format: "cjs",
    bundle: false,
    splitting: false,
    plugins: [
      {
        name: "cjs-specifiers",
        renderChunk(code, info) {
          return { code: code.replace(/require\("(\.\.?\/[^"]+)\.js"\)/g, 'require("$1.cjs")'), map: info.map ?? null };
        },
      },
    ],
  },
  { ...common, name: "types", entry, format: ["esm", "cjs"], dts: { only: true, compilerOptions: { ignoreDeprecations: "6.0" } } },
]);
