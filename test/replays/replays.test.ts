// Fault runs over real processes: four ask a store while one of them, connections, servers or data are lost. Each writes its
// events as lines, and the checker says for each grant which law allows it. SLUICE_HISTORIES=40 makes 40 rounds of each.
import type { ChildProcess } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import pg from "pg";
import { PostgresStore } from "sluice/postgres";
import { expect, test } from "vitest";
import { slotOf } from "../../src/stores/redis/slot.js";
import { histories } from "../helpers/histories.js";
import { startCluster, startRedis, type OwnRedis } from "../helpers/own-redis.js";
import { messageFrom, startProcess } from "../helpers/processes.js";
import { describeWith, postgresUrl } from "../helpers/services.js";
import { check } from "./checker.js";
import type { ReplayChild } from "./child.js";
import { readLines, type Loss } from "./lines.js";

const PROCESSES = 4;

/** Resolves when the fault is over. */
type Fault = () => Promise<unknown>;

/** Runs processes for a while, with faults between, and checks what they wrote. */
async function run(child: Omit<ReplayChild, "file">, ...faults: ReadonlyArray<{ readonly isLoss: boolean; readonly fault: Fault }>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-replay-"));
  const file = (which: number | string): string => join(folder, `${which}.jsonl`);
  const start = async (which: number): Promise<ChildProcess> => {
    const started = await startProcess("test/replays/child.ts", [JSON.stringify({ ...child, file: file(which) } satisfies ReplayChild)]);
    await messageFrom(started);
    return started;
  };
  const children = await Promise.all(Array.from({ length: PROCESSES }, (_, i) => start(i)));
  try {
    for (const [round, { isLoss, fault }] of faults.entries()) {
      await sleep(500);
      const from = Date.now();
      await fault();
      if (isLoss) appendFileSync(file("losses"), `${JSON.stringify({ event: "loss", from, to: Date.now() } satisfies Loss)}\n`);
      // A process dies in the middle of its works, and another begins.
      await sleep(300);
      (children.shift() as ChildProcess).kill("SIGKILL");
      children.push(await start(PROCESSES + round));
    }
    await sleep(700);
  } finally {
    for (const one of children) one.kill("SIGKILL");
  }
  const lines = readLines(folder);
  const { allowed, forbidden } = check(lines);
  console.log(`${child.kind}: ${lines.length} lines; ${[...allowed].map(([law, count]) => `${law}: ${count}`).join("; ")}`);
  expect(forbidden, `see ${folder}`).toEqual([]);
  for (const law of ["L1", "L1, net of what is given back", "L20", "L21"]) expect(allowed.get(law)).toBeGreaterThan(50);
  rmSync(folder, { recursive: true });
}

const rounds = (): undefined[] => Array.from({ length: histories(1) });

describeWith("redis-server", "fault runs over Redis", () => {
  test("each grant is allowed by a law while the server stops, loses connections, and starts anew without its data", async () => {
    for (const _ of rounds()) {
      let server: OwnRedis = await startRedis();
      const admin = async (...command: [string, ...string[]]): Promise<unknown> => {
        const client = new Redis(server.url);
        return client.call(...command).finally(() => client.disconnect());
      };
      try {
        await run(
          { kind: "redis", urls: [server.url], name: "replay" },
          { isLoss: false, fault: () => admin("CLIENT", "KILL", "TYPE", "normal") },
          { isLoss: false, fault: async () => (await server.kill("SIGSTOP"), await sleep(400), await server.kill("SIGCONT")) },
          { isLoss: true, fault: async () => (await server.stop(), void (server = await startRedis([], server.port))) },
          { isLoss: true, fault: () => admin("FLUSHALL") },
        );
      } finally {
        await server.stop();
      }
    }
  });

  test("each grant is allowed by a law while a replica takes over from a master of a cluster", async () => {
    for (const _ of rounds()) {
      const cluster = await startCluster(true);
      try {
        const owner = Math.floor((slotOf("{replay}") * 3) / 16_384);
        const urls = [...cluster.masters, ...cluster.replicas].map(({ url }) => url);
        const replica = new Redis((cluster.replicas[owner] as OwnRedis).url);
        const takeOver: Fault = async () => {
          await (cluster.masters[owner] as OwnRedis).kill("SIGKILL");
          while (!String(await replica.call("ROLE")).startsWith("master")) await sleep(20);
        };
        await run({ kind: "cluster", urls, name: "{replay}" }, { isLoss: true, fault: takeOver }, { isLoss: false, fault: () => replica.call("CLIENT", "KILL", "TYPE", "normal").catch(() => undefined) });
        replica.disconnect();
      } finally {
        await cluster.stop();
      }
    }
  });
});

describeWith("postgres", "fault runs over Postgres", () => {
  test("each grant is allowed by a law while connections end, the table is locked, and its rows are lost", async () => {
    for (const _ of rounds()) {
      const table = `replay_${process.pid}_${Date.now()}`;
      const pool = new pg.Pool({ connectionString: postgresUrl(), max: 2 });
      try {
        await new PostgresStore(pool, { table }).migrate();
        await run(
          { kind: "postgres", urls: [postgresUrl()], name: table },
          { isLoss: false, fault: () => pool.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", [table]) },
          { isLoss: false, fault: () => pool.query(`BEGIN; LOCK TABLE ${table}; SELECT pg_sleep(0.4); COMMIT`) },
          { isLoss: true, fault: () => pool.query(`DELETE FROM ${table}`) },
        );
      } finally {
        await pool.query(`DROP TABLE "${table}"; DROP FUNCTION "${table}_decide", "${table}_grant"`);
        await pool.end();
      }
    }
  });
});
