// A Prometheus that one test starts and ends.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.js";

/** Whether `prometheus` and `promtool` are on the PATH. */
export const hasPrometheusProgram = (): boolean => ["prometheus", "promtool"].every((program) => spawnSync(program, ["--version"]).status === 0);

/** An alarm, as Prometheus lists it. */
export interface Alarm {
  readonly labels: Readonly<Record<string, string>>;
  readonly state: "pending" | "firing";
}

/** Starts a Prometheus that scrapes the server on `target` four times a second, and tries `rules` as often. */
export async function startPrometheus(target: number, rules: string) {
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), "sluice-prometheus-"));
  writeFileSync(join(dir, "rules.yml"), rules);
  writeFileSync(
    join(dir, "prometheus.yml"),
    `global: { scrape_interval: 250ms, scrape_timeout: 250ms, evaluation_interval: 250ms }
rule_files: [rules.yml]
scrape_configs: [{ job_name: mail, static_configs: [{ targets: ["127.0.0.1:${target}"] }] }]
`,
  );
  const args = [`--config.file=${join(dir, "prometheus.yml")}`, `--storage.tsdb.path=${join(dir, "data")}`, `--web.listen-address=127.0.0.1:${port}`, "--log.level=error"];
  const child = spawn("prometheus", args, { stdio: ["ignore", "ignore", "inherit"] });
  const gone = once(child, "exit");
  const kill = (): unknown => child.kill("SIGKILL");
  process.once("exit", kill); // it must end with this process
  const base = `http://127.0.0.1:${port}`;
  const ask = async <T>(path: string): Promise<T> => {
    const answer = (await (await fetch(base + path)).json()) as { status: string; error?: string; data: T };
    if (answer.status !== "success") throw new Error(answer.error);
    return answer.data;
  };
  while (!(await fetch(`${base}/-/ready`).then(({ ok }) => ok, () => false))) {
    if (child.exitCode !== null) throw new Error(`prometheus on port ${port} ended before it was ready`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    /** The result of a query at this instant. */
    query: async (query: string) => (await ask<{ result: readonly { metric: Readonly<Record<string, string>>; value: [number, string] }[] }>(`/api/v1/query?query=${encodeURIComponent(query)}`)).result,
    /** The names of the alarms that fire now. */
    async firing(): Promise<string[]> {
      const { alerts } = await ask<{ alerts: readonly Alarm[] }>("/api/v1/alerts");
      return alerts.filter(({ state }) => state === "firing").map(({ labels }) => labels["alertname"] as string).toSorted();
    },
    async stop(): Promise<void> {
      kill();
      process.off("exit", kill);
      await gone;
      rmSync(dir, { recursive: true });
    },
  };
}
