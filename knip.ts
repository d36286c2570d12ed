import type { KnipConfig } from "knip";

// The subpaths of package.json, the tests and the scripts it names are known to knip by themselves.
const config: KnipConfig = {
  entry: ["test/types/*.test-d.ts", "examples/*/main.ts"],
  project: ["src/**", "scripts/**", "test/**", "examples/**"],
};
export default config;
