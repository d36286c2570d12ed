// The alarms of examples/metrics, by a real Prometheus that scrapes the example's server, and its dashboard for Grafana.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Redis } from "ioredis";
import { MemoryStore, type Store } from "sluice";
import { RedisStore } from "sluice/redis";
import ts from "typescript";
import { afterEach, describe, expect, test, vi } from "vitest";
import { buildServer } from "../../examples/metrics/main.js";
import { ROOT } from "../helpers/docs-read.js";
import { startPrometheus } from "../helpers/own-prometheus.js";
import { startRedis } from "../helpers/own-redis.js";
import { describeWith } from "../helpers/services.js";

const FOLDER = join(ROOT, "examples/metrics");
const rules = readFileSync(join(FOLDER, "alerts.yml"), "utf8");
const SOON = { timeout: 30_000, interval: 100 };

/** The rules with seconds in place of minutes and days, so that each alarm fires and ends within a test. The rest is as it is. */
const quickRules = rules
  .replace(/\[\d+m\]/g, "[3s]")
  .replaceAll("[1d] offset 1h", "[3s] offset 6s")
  .replace(/for: \d+m/g, "for: 0s");

interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}
interface Dashboard {
  readonly panels: readonly { readonly id: number; readonly title: string; readonly gridPos: Place; readonly targets: readonly { readonly expr: string }[] }[];
}
const dashboard = JSON.parse(readFileSync(join(FOLDER, "dashboard.json"), "utf8")) as Dashboard;

describeWith("prometheus", "alarms", () => {
  const stops: (() => unknown)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).toReversed()) await stop();
  });

  /** The example's server over `store`, and a Prometheus that looks at it. `ask` sends requests of these users, one after another. */
  async function watch(store?: Store, shadow = false) {
    const server: Server = buildServer(store, (request) => request.headers.authorization, shadow).listen(0, "127.0.0.1");
    await once(server, "listening");
    stops.push(() => (server.closeAllConnections(), server.close()));
    const { port } = server.address() as AddressInfo;
    const prometheus = await startPrometheus(port, quickRules);
    stops.push(() => prometheus.stop());
    const ask = async (...users: readonly string[]): Promise<void> => {
      for (const authorization of users) await (await fetch(`http://127.0.0.1:${port}/inbox`, { headers: { authorization } })).text();
    };
    const flood = (users: readonly string[]): Promise<unknown> => Promise.all(users.map((user) => ask(user)));
    /** Asks again and again until each of these alarms has fired, and no other but those of `may`. Then waits until none does. */
    const fires = async (
      names: readonly string[], provoke: () => Promise<void>, mend: () => Promise<void> = async () => undefined, may: readonly string[] = [],
    ): Promise<void> => {
      const seen = new Set<string>();
      await vi.waitFor(async () => {
        await provoke();
        for (const name of await prometheus.firing()) seen.add(name);
        expect([...seen].filter((name) => !may.includes(name)).toSorted()).toEqual(names);
      }, SOON);
      await mend();
      await vi.waitFor(async () => {
        await ask(`quiet ${Math.random()}`);
        expect(await prometheus.firing()).toEqual([]);
      }, { ...SOON, interval: 500 }); // few callers, so that a flood is many times more
    };
    /** The titles of the panels whose queries find something above 0 now. A query that is wrong throws. */
    const shown = async (): Promise<string[]> => {
      const found = await Promise.all(dashboard.panels.map(async ({ title, targets }) => {
        const rows = await Promise.all(targets.map(({ expr }) => prometheus.query(atOnce(expr))));
        return rows.every((each) => each.some(({ value }) => Number(value[1]) > 0)) ? [title] : [];
      }));
      return found.flat();
    };
    return { ask, flood, fires, prometheus, shown };
  }
  const many = (count: number): string[] => Array.from({ length: count }, () => `user ${Math.random()}`);

  test("refusals, callers close to the limit, and sprayed keys", { timeout: 120_000 }, async () => {
    const { ask, flood, fires, prometheus, shown } = await watch(new MemoryStore({ maxKeys: 500 }));
    // Six users in turn, each of whom leaves at least a fifth: nothing fires.
    await vi.waitFor(async () => {
      await ask(...many(1));
      expect(Number((await prometheus.query("sum(sluice_decisions_total)"))[0]?.value[1])).toBeGreaterThan(20);
    }, SOON);
    expect(await prometheus.firing()).toEqual([]);
    await fires(["SluiceManyRefused"], () => ask("ann", ...many(2), "ann"));
    await fires(["SluiceNearLimit"], async () => {
      const [user = ""] = many(1);
      await ask(user, user, user, user, user);
    });
    await fires(["SluiceBucketsEvicted", "SluiceManyNewKeys"], async () => void (await flood(many(300))));
    expect(await shown()).toEqual(["Requests by outcome", "Refused, share of requests", "Close to the limit, share of requests", "Callers who had spent nothing", "Forgotten too early"]);
  });

  test("the panel of shadow mode shows what would be refused", { timeout: 120_000 }, async () => {
    const { ask, shown } = await watch(new MemoryStore(), true);
    await vi.waitFor(async () => {
      await ask("ann", "ann", "ann", "ann");
      expect(await shown()).toContain("Would be refused in shadow mode");
    }, SOON);
  });

  describeWith("redis-server", "of the store", () => {
    test("a store that is slow, gone, and back", { timeout: 120_000 }, async () => {
      const redis = await startRedis();
      stops.push(() => redis.stop());
      const client = new Redis(redis.url, { retryStrategy: () => 50 }).on("error", () => undefined);
      stops.push(() => client.disconnect());
      const admin = new Redis(redis.url).on("error", () => undefined);
      stops.push(() => admin.disconnect());
      const store = new RedisStore(client, { timeoutMs: 2_000, breaker: { failures: 2, probeEveryMs: 100 }, denyCacheMs: 0 });
      const { ask, fires, prometheus, shown } = await watch(store);
      await fires(["SluiceStoreSlow"], async () => {
        const paused = admin.call("CLIENT", "PAUSE", "90", "ALL");
        await Promise.all([paused, ask(...many(1))]);
      });
      expect(await shown()).toContain("Wait for the store");
      await redis.kill("SIGSTOP");
      let stopped = true;
      let panels: readonly string[] = [];
      let instances: readonly unknown[] = [];
      await fires(
        ["SluiceDecidesAlone", "SluiceStoreUnavailable"],
        () => Promise.all([ask(...many(1)), ask(...many(1))]).then(() => undefined),
        async () => {
          panels = await shown();
          instances = await prometheus.query(`sum by (instance) (sluice_store_unavailable{job=~".*"})`);
          if (stopped) await redis.kill("SIGCONT");
          stopped = false;
        },
        ["SluiceStoreSlow"], // each call waits for the whole timeout
      );
      expect(panels).toEqual(expect.arrayContaining(["Decided without the store, share", "Stores"]));
      expect(instances).toMatchObject([{ metric: { instance: expect.stringContaining(":") as string }, value: [expect.any(Number), "1"] }]); // the runbook's query
    });
  });

  test("each fires after its time and not before: the tests of promtool", () => {
    for (const args of [["check", "rules", "alerts.yml"], ["test", "rules", "alerts.test.yml"]]) {
      const { status, stdout, stderr } = spawnSync("promtool", args, { cwd: FOLDER, encoding: "utf8" });
      expect(status, stdout + stderr).toBe(0);
    }
    const tested = readFileSync(join(FOLDER, "alerts.test.yml"), "utf8");
    for (const name of alarms()) expect(tested.match(new RegExp(`alertname: ${name}\\n|alertname: ${name},`, "g"))?.length, name).toBeGreaterThan(1);
  });
});

test("each alarm names a page that has it", () => {
  const pages = [...rules.matchAll(/alert: (\w+)[\s\S]*?runbook: (\S+)/g)].map(([, name = "", page = ""]) => [name, page] as const);
  expect(pages.map(([name]) => name)).toEqual(alarms());
  for (const [name, page] of pages) expect(readFileSync(join(ROOT, page), "utf8"), page).toContain(`\`${name}\``);
});

describe("the dashboard", () => {
  test("fits the types of Grafana", { timeout: 60_000 }, () => {
    const source = (text: string): string => `
      import type { Dashboard } from "@grafana/schema";
      type Plain<T> = T extends string ? \`\${T}\` : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
      export const dashboard: Plain<Dashboard> = ${text};`;
    const text = readFileSync(join(FOLDER, "dashboard.json"), "utf8");
    expect(mistakes(source(text))).toEqual([]);
    expect(mistakes(source(text.replace('"title": "sluice"', '"title": 5')))).toEqual(["Type 'number' is not assignable to type 'string'."]);
    expect(mistakes(source(text.replace('"mode": "absolute"', '"mode": "absolutely"')))).toHaveLength(1);
  });

  test("has a panel for every metric, and no two at one place", () => {
    const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join("\n");
    const metrics = [...readFileSync(join(FOLDER, "prometheus.ts"), "utf8").matchAll(/name: "(\w+)"/g)].map(([, name = ""]) => name);
    expect(metrics.length).toBe(7);
    expect(metrics.filter((name) => !queries.includes(name))).toEqual([]);
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const [i, { title, gridPos: one }] of panels.entries()) {
      expect(one.x + one.w, title).toBeLessThanOrEqual(24); // the columns of Grafana
      for (const { title: second, gridPos: other } of panels.slice(i + 1)) {
        const apart = one.x + one.w <= other.x || other.x + other.w <= one.x || one.y + one.h <= other.y || other.y + other.h <= one.y;
        expect(apart, `${title} and ${second}`).toBe(true);
      }
    }
  });
});

function alarms(): string[] {
  return [...rules.matchAll(/alert: (\w+)/g)].map(([, name = ""]) => name);
}

/** A query of the dashboard, with what Grafana puts in for its variables. */
function atOnce(query: string): string {
  return query.replaceAll("$__rate_interval", "1m").replaceAll("$job", ".*").replaceAll("$policy", ".*");
}

function mistakes(text: string): string[] {
  const name = join(ROOT, "dashboard-of-test.ts");
  const options: ts.CompilerOptions = { strict: true, noEmit: true, skipLibCheck: true, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, types: [] };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (file) => file === name || fileExists(file);
  host.getSourceFile = (file, version, ...rest) => (file === name ? ts.createSourceFile(file, text, version) : getSourceFile(file, version, ...rest));
  const program = ts.createProgram([name], options, host);
  const source = program.getSourceFile(name);
  return program.getSemanticDiagnostics(source).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, " "));
}
