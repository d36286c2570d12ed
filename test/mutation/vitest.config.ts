// The tests that judge a mutant, in one file that Vitest runs with judge.ts. Those of adapters, servers and pages take
// longer and find no more.
import { defineConfig } from "vitest/config";
import all, { fewCases, services } from "../../vitest.config.js";

const inFlight = "in-flight/{gate,gate-*,laws-settlements,limiter,model,renewals,turns}";
const few = ["core/*", "limits/*", inFlight, "limiter/*", "stores/frozen-values", "stores/shared/{charges,snapshot}", "guard/local-share"];
const most = [...few, "guard/*", "limiter/{several,waiting}/*", "stores/memory/*"];
const slow = ["test/limiter/waiting/waiter-process.test.ts", ...services];

/** The room of the mutants, which stryker.config.mjs tells, and the tests that find its mutants. */
const room = process.env["SLUICE_MUTATED_ROOM"] ?? "";
// Fewer files load in less time, and a mutant that leaves something behind costs a new process.
const dated = ["limits/*", inFlight, "core/{laws-quota,limit,plain-policy}", "limiter/{numbers-in-flight,quotas,run,settle-keys}", "stores/frozen-values", "stores/shared/{charges,snapshot}", "guard/local-share"];
const judges: Record<string, readonly string[]> = { core: few, limits: dated, guard: ["guard/*", "limiter/*"] };
const files = [...(judges[room] ?? most).map((name) => `/test/${name}.test.ts`), ...slow.map((file) => `!/${file}`)];

export default defineConfig({
  resolve: all.resolve ?? {},
  plugins: [
    ...(all.plugins ?? []),
    fewCases,
    {
      name: "all-tests",
      enforce: "pre",
      transform: (source, id) =>
        id.endsWith("/all-tests.ts") ? source.replace("entries(FILES)", `entries(import.meta.glob(${JSON.stringify(files)}))`) : undefined,
    },
  ],
  test: {
    env: { FC_SEED: "20261101", SLUICE_TEST_PROJECT: "mutation" },
    pool: "threads",
    maxWorkers: 1,
    include: ["test/mutation/all-tests.ts"],
    runner: "test/mutation/judge.ts",
    reporters: [{}],
    setupFiles: ["test/setup.ts"],
    isolate: false,
    experimental: { fsModuleCache: true, fsModuleCachePath: ".mutation/modules" }, // a mutant that hangs costs a new process
    disableConsoleIntercept: true,
    testTimeout: 10_000,
  },
});
