import type { KnipConfig } from "knip";
import entries from "./entries.json" with { type: "json" };

const config: KnipConfig = {
  workspaces: {
    ".": {
      entry: [...Object.values(entries.subpaths).map(({ source }) => source), entries.command.source, "src/diagnostics/{index,none}.ts", "test/stores/shared/before-quotas.mjs", "test/types/*.test-d.ts", "test/vectors/frozen/write.ts", "examples/*/main.ts", "examples/{admin,server/demo}/page/page.ts", "test/runtimes/*/run.mjs", "test/runtimes/workerd/worker.ts", "test/runtimes/workerd/types/*.ts", "test/runtimes/next/{app,types}/**", "test/runtimes/{main,host,portable,runner}.ts", "examples/{minimal,quick-start,simulate}/*.ts", "examples/live-limits/{limits,raise}.ts", "examples/llm/express.ts", "test/mutants/setup.ts", "test/mutation/*.{ts,mjs}", "test/**/*-child.ts", "test/**/*-module.ts", "test/setup/{try-twice,files/*.fixture}.ts", "test/testing/store-suite/runners/*.ts", "{scripts,test/runtimes}/*.d.mts"],
      project: ["src/**", "scripts/**", "test/**", "examples/**", "docs/images/draw-{edge,kinds}.ts"],
    },
    simulate: {
      project: ["src/**", "test/**"],
    },
  },
  ignore: ["examples/hosts/**"], // it has packages of its own, as site has
  ignoreDependencies: ["jest", "runner", "next", "@grafana/schema"], // started by path; whichever runner the bundler puts there; installed with the runtimes; imported in a text
  ignoreBinaries: ["prometheus", "promtool"], // of Debian: scripts/install-test-servers.sh
};
export default config;
