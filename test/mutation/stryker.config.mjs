// `npm run mutation -- "src/core/*.ts"`: changes one expression at a time, and asks whether a test fails. report.mjs writes
// the scores of whole rooms into README.md beside it.
import { fileURLToPath } from "node:url";

// Which tests judge depends on the room (vitest.config.ts). The processes of Stryker inherit this variable.
const room = /src\/(\w+)/.exec(process.argv.at(-1))?.[1] ?? "all";
process.env.SLUICE_MUTATED_ROOM = room;

export default {
  plugins: [fileURLToPath(import.meta.resolve("./stryker-runner.mjs"))],
  testRunner: "judge",
  coverageAnalysis: "perTest",
  // Tests define policies while they are loaded, so code of that kind is covered by all tests. With `false`, each of its
  // mutants would need all tests, which takes most of the time. What nothing but loading runs is not judged.
  ignoreStatic: true,
  reporters: ["clear-text", "progress-append-only", "json"],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  jsonReporter: { fileName: `.mutation/${room}.json` },
  tempDirName: `.mutation/sandbox-${room}`,
  ignorePatterns: ["/dist", "/site", "/bench", "/.runtimes", "/.tools", "/examples/hosts", "/test/mutation/node_modules"],
  timeoutMS: 10_000,
  dryRunTimeoutMinutes: 15, // on a busy machine
  thresholds: { high: 95, low: 90, break: { core: 90, limits: 90, guard: 85, limiter: 85 }[room] ?? null },
};
