import { dirname, relative, resolve } from "node:path";
import { defineConfig, type Options } from "tsup";
import entries from "./entries.json" with { type: "json" };
import { luaInBuild } from "./scripts/minify-lua.mjs";

/** dist/<name>.js for each subpath: "." is index, "./express" is express. */
const entry = Object.fromEntries(
  Object.entries(entries.subpaths).map(([subpath, { source }]) => [subpath === "." ? "index" : subpath.slice(2), source]),
);
/** Old bundlers make no bundles of tests, and Node's built-ins that `testing` names stop them. */
const { testing: _, ...olderEntry } = entry;
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

// They run at once, so `npm run clean` empties dist first, not tsup's own `clean`.
export default defineConfig([
  { ...common, name: "esm", entry: { ...entry, ...diagnostics, command: entries.command.source }, format: "esm", splitting: true },
  // A bundle would declare its constants with `var`, and a user's esbuild drops code only for a `const`.
  { ...common, name: "no-diagnostics", entry: noDiagnostics, format: "esm", bundle: false },
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
    // A seventh of its packed bytes. Names and statements stay, for stack traces in Jest.
    esbuildOptions: (options) => void (options.minifyWhitespace = true),
    plugins: [
      {
        name: "cjs-specifiers",
        renderChunk(code, info) {
          // A file that every resolver finds: see scripts/chosen-diagnostics.cjs.
          const chosen = `${relative(dirname(info.path), resolve("dist/cjs")) || "."}/diagnostics/chosen.cjs`;
          const named = code.replace('require("#diagnostics")', `require("${chosen}")`);
          return { code: named.replace(/require\("(\.\.?\/[^"]+)\.js"\)/g, 'require("$1.cjs")'), map: info.map ?? null };
        },
      },
    ],
  },
  {
    ...common,
    name: "older",
    // ES modules for tools that read neither `exports` nor `imports`, such as webpack 4, whose parser knows ES2019. It
    // always has the checks: tsconfig.json says where they are.
    entry: olderEntry,
    minify: true, // nobody reads it, and errors carry their names themselves
    outDir: "dist/older",
    format: "esm",
    target: "es2019",
    splitting: true,
    external: [/^node:/],
  },
  // Only .d.cts files. Those of the ES modules name them: see scripts/write-folders.mjs.
  { ...common, name: "types", entry, format: "cjs", dts: { only: true, compilerOptions: { ignoreDeprecations: "6.0", stripInternal: true } } },
]);
