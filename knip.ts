import type { KnipConfig } from "knip";
import entries from "./entries.json" with { type: "json" };

const config: KnipConfig = {
  entry: [...Object.values(entries), "src/diagnostics/{index,none}.ts", "test/types/*.test-d.ts", "examples/*/main.ts", "examples/minimal/*.ts", "test/mutants/setup.ts", "test/**/*-child.ts", "test/testing/store-suite/runners/*.ts", "scripts/*.d.mts", "test/runtimes/{main,host,portable,runner}.ts"],
  project: ["src/**", "scripts/**", "test/**", "examples/**"],
  ignore: ["examples/hosts/**"], // it has packages of its own
  ignoreDependencies: ["jest", "runner"], // started by path; and whichever runner the bundler puts there
  tsup: false, // its CommonJS half names every file of src as an entry, which would hide unused code
};
export default config;
