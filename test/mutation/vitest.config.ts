// The tests that judge a mutant of core or limits. Those of adapters, servers and pages take longer and find no more.
import { defineConfig } from "vitest/config";
import all, { services } from "../../vitest.config.js";

const rooms = ["core", "limits", "limiter", "in-flight", "stores/memory", "stores/shared", "guard", "http"];

export default defineConfig({
  resolve: all.resolve ?? {},
  plugins: all.plugins ?? [],
  test: {
    env: { FC_SEED: "20261101", SLUICE_TEST_PROJECT: "unit" },
    pool: "threads",
    include: [...rooms.map((room) => `test/${room}/**/*.test.ts`), "test/stores/{frozen-values,late-give-back}.test.ts"],
    exclude: services,
    setupFiles: ["test/setup.ts"],
    isolate: false,
    testTimeout: 20_000,
  },
});
