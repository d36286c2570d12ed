// `npm run check:tools`: loads every subpath of the packed package in test runners, bundlers, a linter and compilers, old
// and new. Needs a build. Fetches them from npm into .tools, by the lock of test/tools. With names, such as
// `-- jest webpack-4`, runs only those.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const SOURCE = resolve("test/tools");
const TOOLS = resolve(".tools");
const MODULES = join(TOOLS, "node_modules");
const PROJECT = join(TOOLS, "project");
const PAGE = "docs/runtimes.md";
const [BEGIN, END] = ["<!-- begin of the tools -->\n", "<!-- end of the tools -->"];

const { subpaths } = JSON.parse(readFileSync("entries.json", "utf8"));
const specifiers = Object.keys(subpaths).map((subpath) => subpath.replace(/^\./, "sluice"));
const WITHOUT = {
  // It needs names of built-ins with `node:`, which these do not know.
  "sluice/testing": ["webpack-4", "metro"],
  // Metro is for React Native. NestJS is for servers.
  "sluice/nest": ["metro"],
};
const entriesFor = (tool) => specifiers.filter((name) => !WITHOUT[name]?.includes(tool));

install();
const wanted = process.argv.slice(2);
const rows = [...jests(), ...bundlers(), linter(), ...compilers()].filter(
  ({ name }) => wanted.length === 0 || wanted.some((each) => name.startsWith(each)),
);
for (const row of rows) {
  try {
    row.run();
    console.log(`ok      ${row.name} ${versionOf(row.name)}: ${row.how}`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`FAILED  ${row.name}: ${row.how}\n${error.stdout ?? ""}${error.stderr ?? error.stack ?? error}`);
  }
}
if (!process.exitCode && wanted.length === 0) writePage();

function install() {
  const lock = readFileSync(join(SOURCE, "package-lock.json"), "utf8");
  const done = join(TOOLS, "installed.json");
  if (!existsSync(done) || readFileSync(done, "utf8") !== lock) {
    mkdirSync(TOOLS, { recursive: true });
    for (const file of ["package.json", "package-lock.json"]) cpSync(join(SOURCE, file), join(TOOLS, file));
    npm(["ci", "--ignore-scripts", "--no-bin-links", "--no-audit", "--no-fund", "--prefer-offline"], TOOLS);
    writeFileSync(done, lock);
  }
  rmSync(PROJECT, { recursive: true, force: true });
  const target = join(PROJECT, "node_modules/sluice");
  mkdirSync(target, { recursive: true });
  npm(["pack", "--silent", "--pack-destination", PROJECT], ".");
  const [tarball] = readdirSync(PROJECT).filter((name) => name.endsWith(".tgz"));
  execFileSync("tar", ["xzf", join(PROJECT, tarball), "--strip-components=1", "-C", target]);
  write("package.json", '{ "name": "project", "private": true }');
  // Esbuild reads the nearest one. The `paths` of this repository lead to the sources.
  write("tsconfig.json", "{}");
}

function npm(args, cwd) {
  execFileSync("npm", args, { cwd, stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, npm_config_dry_run: "false" } });
}

function write(file, text) {
  writeFileSync(join(PROJECT, file), text);
}

function node(...args) {
  return nodeIn(PROJECT, ...args);
}

function nodeIn(cwd, ...args) {
  return execFileSync(process.execPath, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

function versionOf(name) {
  return JSON.parse(readFileSync(join(MODULES, name, "package.json"), "utf8")).version;
}

function jests() {
  const test = `
    for (const name of ${JSON.stringify(specifiers)}) test(name, () => expect(Object.keys(require(name)).length).toBeGreaterThan(0));
    test("the checks are there", () => {
      const policy = { name: "api", capacity: 1, refill: { tokens: 1, everyMs: 1000 } };
      expect(() => require("sluice").createLimiter({ policy, windowMs: 1 })).toThrow("Unknown option");
      expect(require("sluice").createLimiter({ policy }).consume("ann").allowed).toBe(true);
      expect(require("sluice").StoreError).toBe(require("sluice/store").StoreError);
    });
    const { ManualClock, storeSuite } = require("sluice/testing");
    const lacks = Object.fromEntries(["close", "sharing", "serverClock", "unreachable"].map((name) => [name, "it is in this process"]));
    describe("the store suite", () => storeSuite({ test, factory: ({ clock, maxKeys = 10000 }) => new (require("sluice").MemoryStore)({ clock, maxKeys }), lacks }));
    test("the manual clock", () => {
      const clock = new ManualClock();
      const policy = { name: "api", capacity: 1, refill: { tokens: 1, everyMs: 1000 } };
      const limiter = require("sluice").createLimiter({ policy, store: new (require("sluice").MemoryStore)({ clock: clock.now }) });
      expect([limiter.consume("ann").allowed, limiter.consume("ann").allowed]).toEqual([true, false]);
      clock.advance(1000);
      expect(limiter.consume("ann").allowed).toBe(true);
    });`;
  return ["jest-26", "jest-27", "jest-28", "jest-29", "jest-30"].map((name) => ({
    name,
    how: "`require`, the store suite",
    run() {
      write("load.test.js", test);
      write("setup.js", /```js\n([^`]*)```/.exec(readFileSync(PAGE, "utf8").split("## Tools")[1])[1]);
      // That of this Jest, not of another one beside it.
      const testEnvironment = createRequire(join(MODULES, name, "package.json")).resolve("jest-environment-node");
      const setupFiles = /2[67]$/.test(name) ? ["<rootDir>/setup.js"] : [];
      const config = JSON.stringify({ rootDir: PROJECT, testEnvironment, setupFiles, transform: {} });
      // Elsewhere, because Jest starts the `jest-cli` that is nearest to its folder.
      nodeIn(tmpdir(), join(MODULES, name, "bin/jest.js"), "--config", config, "--no-watchman", "--no-cache");
    },
  }));
}

/** Each makes out.js of main.js, which must run and print whether the checks are there. */
function bundlers() {
  // Outside the bundle, as NestJS requires packages that most apps do not have. Vite needs no such list.
  const NESTJS = ["@nestjs/common", "@nestjs/core"];
  // A `require` beside an `import`: the classes of both must know each other.
  const use = (name) => `if (!(new imported.StoreError("ERR_X", "x") instanceof ${name}.StoreError)) throw new Error("two classes");
    const policy = { name: "api", capacity: 1, refill: { tokens: 1, everyMs: 1000 } };
    let told = ""; try { imported.createLimiter({ policy, windowMs: 1 }) } catch (error) { told = error.message }
    console.log(JSON.stringify({ loaded: all.every((each) => Object.keys(each).length > 0), checks: told.startsWith("Unknown option") }));`;
  const mainOf = (form, names) => {
    const required = names.map((name) => `require("${name}")`).join();
    if (form === "require") return `const all = [${required}];\nconst imported = require("sluice");\n${use("imported")}`;
    const imports = names.map((name, i) => `import * as m${i} from "${name}";\n`).join("");
    const esm = `${imports}import * as imported from "sluice";\nconst all = [${names.map((_, i) => `m${i}`).join()}];\n`;
    return form === "import" ? `${esm}${use("imported")}` : `${esm}const required = require("sluice");\n${use("required")}`;
  };
  const webpack = (name, mode) => `require("${MODULES}/${name}")({ mode: "${mode}", target: "node", entry: "./main.js", devtool: false,
    externals: ${JSON.stringify(Object.fromEntries(NESTJS.map((name) => [name, `commonjs ${name}`])))},
    output: { path: __dirname, filename: "out.js", hashFunction: "sha256" }, optimization: { minimize: false } }, (error, stats) => {
      if (error || stats.hasErrors()) { console.error(error ?? stats.toString()); process.exit(1); } });`;
  const esbuild = (_, mode) => `require("${MODULES}/esbuild").buildSync({ entryPoints: ["main.js"], bundle: true, platform: "node",
    conditions: ${mode === "production" ? '["production"]' : "[]"}, external: ${JSON.stringify(NESTJS)}, outfile: "out.js" });`;
  const rollup = (_, mode) => `(async () => { const plugins = [require("${MODULES}/@rollup/plugin-node-resolve").nodeResolve(
      { exportConditions: ["node", "${mode}"] }), require("${MODULES}/@rollup/plugin-commonjs")()];
    const bundle = await require("${MODULES}/rollup").rollup(
      { input: "main.js", external: ${JSON.stringify(NESTJS)}, plugins, onwarn() {} });
    await bundle.write({ file: "out.js", format: "cjs", inlineDynamicImports: true }); })();`;
  const vite = (_, mode) => `import("${MODULES}/vite/dist/node/index.js").then(({ build }) => build({ configFile: false, logLevel: "error",
    mode: "${mode}", build: { ssr: "main.js", outDir: ".", emptyOutDir: false, rollupOptions: { output: { format: "cjs", entryFileNames: "out.js" } } },
    ssr: { noExternal: true } }));`;
  const metro = () => `const Metro = require("${MODULES}/metro"); (async () => {
    // A packed file has the same date in every build, so its cache would keep an old one.
    const config = await Metro.loadConfig({ cwd: __dirname, "max-workers": 1, "reset-cache": true }, { projectRoot: __dirname, watchFolders: [__dirname, "${MODULES}"],
      resolver: { useWatchman: false, nodeModulesPaths: ["${MODULES}"], resolverMainFields: ["react-native", "browser", "main"] },
      transformer: { babelTransformerPath: "${MODULES}/metro-react-native-babel-transformer/src/index.js" }, reporter: { update() {} } });
    await Metro.runBuild(config, { entry: "main.js", out: "out.js", dev: false, minify: false }); process.exit(0); })()
    .catch((error) => { console.error(error); process.exit(1); });`;
  const cases = [
    ["webpack-4", "import", "production", webpack, true], // it does not read `imports`
    ["webpack-4", "import beside require", "development", webpack, true],
    ["webpack-5", "import", "production", webpack, false],
    ["webpack-5", "require", "production", webpack, false],
    ["webpack-5", "import beside require", "development", webpack, true],
    ["rollup", "import", "production", rollup, false],
    ["rollup", "require", "production", rollup, false],
    ["esbuild", "import", "production", esbuild, false],
    ["esbuild", "require", "production", esbuild, false],
    ["esbuild", "import beside require", "development", esbuild, true],
    ["vite", "import", "production", vite, false],
    ["metro", "import", "without `exports`", metro, true],
    ["metro", "require", "without `exports`", metro, true],
  ];
  return cases.map(([name, form, mode, script, checks]) => ({
    name,
    how: `\`${form}\`, ${mode}`,
    run() {
      write("main.js", mainOf(form, entriesFor(name)));
      rmSync(join(PROJECT, "out.js"), { force: true });
      write("build.cjs", script(name, mode));
      node("build.cjs");
      const file = join(PROJECT, "out.js");
      const told = node(file).trim();
      if (told !== JSON.stringify({ loaded: true, checks })) throw new Error(`Expected all entries and checks: ${checks}, got ${told}`);
    },
  }));
}

function linter() {
  return {
    name: "eslint-plugin-import",
    how: "its default resolver",
    run() {
      write("lint.js", specifiers.map((name, i) => `import * as m${i} from "${name}";\n`).join("") + 'import "sluice/none";\n');
      const rules = { "import/no-unresolved": 2 };
      const config = { root: true, plugins: ["import"], parserOptions: { ecmaVersion: 2022, sourceType: "module" }, rules };
      write(".eslintrc.json", JSON.stringify(config));
      const eslint = join(MODULES, "eslint/bin/eslint.js");
      let told = "[]";
      try {
        node(eslint, "--resolve-plugins-relative-to", TOOLS, "--format", "json", "lint.js");
      } catch (error) {
        told = error.stdout;
      }
      const lines = JSON.parse(told).flatMap(({ messages }) => messages.map(({ message }) => message));
      if (lines.join() !== "Unable to resolve path to module 'sluice/none'.") throw new Error(`Expected one complaint, got ${lines.join("; ")}`);
    },
  };
}

function compilers() {
  const code = `${specifiers.map((name, i) => `import * as m${i} from "${name}";\n`).join("")}
    export const all: object[] = [${specifiers.map((_, i) => `m${i}`).join()}];
    import { createLimiter, perSecond } from "sluice";
    export const limiter = createLimiter({ policy: { name: "api", capacity: 1, refill: perSecond(1) } });
    // @ts-expect-error -- a capacity is a number
    createLimiter({ policy: { name: "api", capacity: "1", refill: perSecond(1) } });
    ${specifiers.map((_, i) => `// @ts-expect-error -- no entry is any\n    m${i}.none;`).join("\n    ")}`;
  const cases = [
    // The lowest that "Versions" promises, and the newest.
    ["typescript-5.4", "node"], ["typescript-5.4", "node16"],
    ["typescript-5.4", "bundler"], ["typescript-6", "node10"], ["typescript-6", "nodenext"], ["typescript-6", "bundler"],
  ];
  return [...cases.map(compile), typeTests(), copied(), copiedInNext()];

  function compile([name, moduleResolution]) {
    return {
      name,
      how: `\`moduleResolution: ${moduleResolution}\``,
      run() {
        write("main.ts", code);
        const module = /^node(16|next)/.test(moduleResolution) ? moduleResolution : "es2022";
        const compilerOptions = {
          target: "es2022", lib: ["es2022", "dom"], strict: true, noEmit: true, skipLibCheck: true, types: [], module, moduleResolution,
          ...(moduleResolution === "node10" && { ignoreDeprecations: "6.0" }),
        };
        write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["main.ts"] }));
        node(join(MODULES, name, "bin/tsc"), "-p", ".");
      },
    };
  }

  /** Those of test/types, which `npm run test:types` compiles with the newest TypeScript. */
  function typeTests() {
    return lowest("the tests of types", {}, ["test/types"]);
  }

  /** Those of examples for Node, which a test compiles with the newest TypeScript. The page of the server is no file to copy. */
  function copied() {
    const without = ["hosts", "simulate", "server/demo", "server/main.ts", "*/page"].map((place) => `examples/${place}`);
    return lowest("the files to copy", { lib: ["es2022"] }, ["examples", "test/helpers/node-sqlite.d.ts"], without);
  }

  function copiedInNext() {
    const next = { lib: ["dom", "dom.iterable", "esnext"], types: [], module: "esnext", moduleResolution: "bundler" };
    return lowest("the files to copy into Next.js", next, ["examples/by-body/web.ts", "examples/minimal/web.ts"]);
  }

  /** Files of this repository but those `without`, with the lowest version and the packed declarations. */
  function lowest(how, options, files, without = []) {
    const name = "typescript-5.4";
    return {
      name,
      how,
      run() {
        const declared = (specifier) => `./node_modules/sluice/dist/${specifier.slice(7) || "index"}.d.ts`;
        const paths = Object.fromEntries(specifiers.map((specifier) => [specifier, [declared(specifier)]]));
        // The types of Node that this repository has. Those that Jest brings here need TypeScript 5.6.
        const compilerOptions = { ...options, paths, typeRoots: ["../../node_modules/@types"] };
        const [include, exclude] = [files, without].map((places) => places.map((place) => `../../${place}`));
        write("tsconfig.json", JSON.stringify({ extends: "../../tsconfig.json", compilerOptions, include, exclude }));
        node(join(MODULES, name, "bin/tsc"), "-p", ".");
      },
    };
  }
}

function writePage() {
  const lines = ["| tool | version | how it loads the package |", "| --- | --- | --- |"];
  for (const name of new Set(rows.map((row) => row.name))) {
    const ways = rows.filter((row) => row.name === name).map(({ how }) => how);
    lines.push(`| ${name.replace(/-[\d.]+$/, "")} | ${versionOf(name)} | ${ways.join("; ")} |`);
  }
  const page = readFileSync(PAGE, "utf8");
  writeFileSync(PAGE, page.slice(0, page.indexOf(BEGIN) + BEGIN.length) + `${lines.join("\n")}\n` + page.slice(page.indexOf(END)));
}
