// `npm run mutation -- "src/core/*.ts"`: changes one expression at a time, and asks whether a test fails. The nightly
// workflow has a job for each part of core and limits.
import { fileURLToPath } from "node:url";

export default {
  plugins: [fileURLToPath(import.meta.resolve("@stryker-mutator/vitest-runner"))],
  testRunner: "vitest",
  vitest: { configFile: "test/mutation/vitest.config.ts" },
  coverageAnalysis: "perTest",
  // Tests define policies while they are loaded, so code of that kind is covered by all tests. With `false`, each of its
  // mutants would need all tests, which takes most of the time. What nothing but loading runs is not judged.
  ignoreStatic: true,
  reporters: ["clear-text", "progress-append-only", "json"],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  jsonReporter: { fileName: ".mutation/report.json" },
  tempDirName: ".mutation/sandbox",
  ignorePatterns: ["/dist", "/site", "/bench", "/.runtimes", "/.tools", "/examples/hosts", "/test/mutation/node_modules"],
  timeoutMS: 20_000,
  dryRunTimeoutMinutes: 15, // on a busy machine
  thresholds: { high: 95, low: 90, break: 90 },
};
