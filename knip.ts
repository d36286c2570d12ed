import type { KnipConfig } from "knip";
import entries from "./entries.json" with { type: "json" };

const config: KnipConfig = {
  entry: [...Object.values(entries), "scripts/*.mjs", "examples/*/main.ts", "test/types/*.test-d.ts", "test/mutants/run.ts"],
  project: ["src/**", "scripts/**", "test/**", "examples/**"],
};
export default config;
