import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { normalizePath, type Plugin } from "vite";
import { defineConfig, type TestProjectConfiguration } from "vitest/config";
import entries from "./entries.json" with { type: "json" };
import { luaInTests } from "./scripts/minify-lua.mjs";

/** "sluice/express" in a test means the source file, so `npm test` needs no build. */
const alias = Object.entries(entries.subpaths).map(([subpath, { source }]) => ({
  find: new RegExp(`^${subpath.replace(/^\./, "sluice")}$`),
  replacement: fileURLToPath(new URL(source, import.meta.url)),
}));
alias.push({ find: /^#diagnostics$/, replacement: fileURLToPath(new URL("src/diagnostics/index.ts", import.meta.url)) });

// Property tests draw the same cases every time, so that a red run is red again.
const seed = process.env["FC_SEED"] ?? "20261101";
const tellSeed = { onInit: () => console.log(`fast-check seed ${seed} (set FC_SEED to draw other cases)`) };

const drawsAll = process.env["SLUICE_ALL_CASES"] === "1" || process.env["SLUICE_HISTORIES"] !== undefined;
const FEW_CASES = normalizePath(fileURLToPath(new URL("test/setup/few-cases.ts", import.meta.url)));
/** Properties draw few cases, so that `npm test` stays quick. `npm run check` asks for all of them. */
export const fewCases: Plugin = {
  name: "few-cases",
  enforce: "pre",
  resolveId: (id, importer) => (id === "fast-check" && importer !== FEW_CASES ? FEW_CASES : undefined),
};

/**
 * Tests of servers, browsers, older majors, long programs and the tools of this repository, and the longest proofs: a
 * project of their own, so that `npm test` stays quick.
 */
export const services: string[] = [
  "test/{docs-compile,editor,runtimes}.test.ts",
  "test/{mutants,scripts}/*.test.ts",
  "test/core/pollution.test.ts",
  "test/client/{obey,fetch/outage}.test.ts",
  "test/client/traffic/simulation.test.ts",
  "test/adapters/{browser,random-stacks}.test.ts",
  "test/adapters/contract/contract-older.test.ts",
  "test/stores/{redis,postgres}/**/*.test.ts",
  "test/stores/late-give-back.test.ts",
  "test/stores/sql/{sql,mysql,sqlite,wrong-databases}.test.ts",
  "test/stores/cas*.test.ts",
  "test/guard/{slow-server,stalled-loop}.test.ts",
  "test/http/options/polluted-adapters.test.ts",
  "test/examples/{admin,admin-main,admin-outage,alarms,copied,heavy-hitters,job-runner,live-limits,numbers,reports,stores,custom-store,outage,login,logging,llm-parts,llm-processes,live-page,mobile-client,settings-process}.test.ts",
  "test/stores/lease/{lease-*,changes,flood}.test.ts",
  "test/in-flight/{gate-aborts,killed-processes,lost-answers,many-streams,many-works,paused}.test.ts",
  "test/command/{address-spellings,operate-redis,output,pages,typescript}.test.ts",
  "simulate/test/{address-spellings,hostile-lines,output}.test.ts",
  "test/stores/memory/many-keys.test.ts",
  "test/testing/{adapter,store}-suite/*.test.ts",
  "test/setup/setup.test.ts",
  "test/advice/{redis,postgres}-setups.test.ts",
  "test/samples/anew.test.ts",
];

/** What the unit project leaves to others. */
const elsewhere: string[] = ["test/package/**", ...services];

// The machine decides when a server or a browser starts, answers and fails over, and each of their tests sets a limit to
// that. On a busy machine a limit may pass. A test that is wrong fails three times.
const retry = process.env["CI"] ? 2 : 0;
// SLUICE_TRY_TWICE shows that these tests can be tried again at all: each of them is tried twice, and the second try decides.
const tries = process.env["SLUICE_TRY_TWICE"] === "1" ? { retry: 1, runner: "test/setup/try-twice.ts" } : { retry };

/** The packages of NestJS of one folder, also for the sources of sluice: an exception of another copy is none. */
const nestOf = (folder: string): { readonly find: RegExp; readonly replacement: string }[] => [{
  find: /^(@nestjs\/[^/]+|rxjs|reflect-metadata)(?=$|\/)/,
  replacement: fileURLToPath(new URL(`${folder}/node_modules/$1`, import.meta.url)),
}];

/**
 * The tests of NestJS on a major that the root does not have, with the packages of a folder of examples/hosts: its packages
 * import each other, so an alias in package.json does not work for them.
 */
const onNest = (major: number): TestProjectConfiguration => ({
  extends: true,
  resolve: { alias: nestOf(`examples/hosts/nest-${major}`) },
  test: {
    name: `nest-${major}`,
    env: { SLUICE_NEST: `examples/hosts/nest-${major}` },
    include: ["test/adapters/{nest,nest/*,contract/contract-nest}.test.ts", "test/package/nest.test.ts", `examples/hosts/nest-${major}/*.test.ts`],
    retry,
    setupFiles: ["test/setup.ts"],
  },
});

export default defineConfig({
  resolve: { alias },
  plugins: [luaInTests()], // the scripts as they are published
  test: {
    env: { FC_SEED: seed },
    reporters: ["default", tellSeed],
    pool: "threads",
    // For tests that hang: no machine is so busy.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { interval: 2, timeout: 10_000 } },
    maxWorkers: "100%", // by default one core is left idle
    projects: [
      {
        extends: true,
        plugins: drawsAll ? [] : [fewCases],
        test: {
          name: "unit",
          env: { SLUICE_TEST_PROJECT: "unit", SLUICE_ALL_CASES: drawsAll ? "1" : "" },
          include: ["test/**/*.test.ts", "simulate/test/**/*.test.ts"],
          exclude: ["**/node_modules/**", ...elsewhere],
          provide: { elsewhere },
          setupFiles: ["test/setup.ts"],
          // Files share what they import: that halves the time of many small files. test/setup fails a file that leaves state.
          isolate: false,
          // While a test waits for a socket, another worker uses its core. A project with another number needs a group of its own.
          maxWorkers: availableParallelism() + 1,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: { name: "services", include: services, ...tries, setupFiles: ["test/setup.ts"] },
      },
      // The recipes of examples/hosts, with packages of their own: `npm run check:hosts` installs them first.
      {
        extends: true,
        resolve: { alias: nestOf("examples/hosts") },
        test: { name: "hosts", include: ["examples/hosts/test/*.test.ts"], retry, setupFiles: ["test/setup.ts"] },
      },
      onNest(10),
      onNest(12),
      // The documentation site as it was built: `npm run check:site` builds it first.
      {
        extends: true,
        test: { name: "site", include: ["site/test/*.test.ts"], retry, setupFiles: ["test/setup.ts"], testTimeout: 120_000 },
      },
      // What is published, not what is written: needs `npm run build`.
      { test: { name: "package", include: ["test/package/**/*.test.ts"], testTimeout: 60_000, hookTimeout: 60_000 } },
    ],
  },
});
