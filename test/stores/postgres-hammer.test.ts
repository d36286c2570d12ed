// Many processes, many connections, and connections that die: not one token too many, not one lost.
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import pg from "pg";
import { createLimiter, definePolicy, perHour, TokenBucket, type Decision } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { ManualClock } from "sluice/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWith, postgresUrl } from "../helpers/services.js";
import type { Tale, Told } from "./postgres-hammer-child.js";

// One for each test, since their clocks differ: a sweep by one clock would take the rows of another.
const TABLES = { hammer: "sluice_hammer", together: "sluice_together", cut: "sluice_cut" };
const HAMMERED = { capacity: 50, refill: { tokens: 123, everyMs: 1_000 } };
const PER_MS = HAMMERED.refill.tokens / HAMMERED.refill.everyMs;

describeWith("postgres", "under many hands", () => {
  let admin: pg.Pool;
  beforeAll(async () => {
    admin = new pg.Pool({ connectionString: postgresUrl(), max: 2 });
    await drop();
    for (const table of Object.values(TABLES)) await new PostgresStore(admin, { table }).migrate();
  });
  afterAll(async () => {
    await drop();
    await admin.end();
  });
  const drop = async (): Promise<void> => {
    for (const table of Object.values(TABLES)) await admin.query(`DROP TABLE IF EXISTS ${table}; DROP FUNCTION IF EXISTS ${table}_decide`);
  };

  describe.concurrent("at once", () => {
    test("L1 · bound: four processes get from one key what it has, in every window, and lose nothing", async () => {
      const children = Array.from({ length: 4 }, () => hammer(2_000));
      try {
        await Promise.all(children.map((child) => once(child, "message"))); // "ready"
        for (const child of children) child.send("go");
        const tales = await Promise.all(children.map(async (child) => (await once(child, "message"))[0] as Tale));
        const told = tales.flatMap((tale) => tale.told);
        // In the order of the server: at one instant nothing comes back, so the grants of it were before its refusals.
        told.sort(([now, granted], [other, wasGranted]) => now - other || Number(wasGranted) - Number(granted));
        const grants = told.filter(([, granted]) => granted);
        const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
        const tokens = sum(grants.map(([, , of]) => of));

        // The most that any window got beyond what came back in it: the best end minus the best start, in one pass.
        let most = 0;
        let least = Infinity;
        let before = 0;
        for (const [now, , of] of grants) {
          least = Math.min(least, before - PER_MS * now);
          before += of;
          most = Math.max(most, before - PER_MS * now - least);
        }
        const [first, last] = [told[0] as Told, told.at(-1) as Told];
        console.log(
          `Postgres, four processes: ${sum(tales.map(({ asked }) => asked))} decisions by ${told.length} statements in ${last[0] - first[0]} ms, ` +
            `${tokens} granted, at most ${most.toFixed(2)} of ${HAMMERED.capacity} ahead of the rate`,
        );
        expect(most).toBeLessThan(HAMMERED.capacity + 0.001); // doubles
        expect(told.length - grants.length).toBeGreaterThan(100);
        expect(sum(tales.map(({ allowed }) => allowed))).toBe(tokens);

        // Nothing is lost: one bucket in one process, asked at the same instants, grants as much and no more.
        const clock = new ManualClock();
        const bucket = new TokenBucket({ ...HAMMERED, clock: clock.now });
        const alone = told.map(([now, , of]): Told => (clock.set(now), [now, bucket.consume(of).allowed, of]));
        expect(alone).toEqual(told);
      } finally {
        for (const child of children) child.kill("SIGKILL");
      }
    }, 30_000);

    test("L10 · together: opposite orders on many connections never wait in a circle and never charge half", async () => {
      const pool = new pg.Pool({ connectionString: postgresUrl(), max: 12 });
      const store = new PostgresStore(pool, { table: TABLES.together, clock: () => 0 });
      const wide = definePolicy({ name: "wide", capacity: 1_000, refill: perHour(1) });
      const narrow = definePolicy({ name: "narrow", capacity: 150, refill: perHour(1) });
      const charges = [
        { policy: wide, key: "a", cost: 1 },
        { policy: narrow, key: "b", cost: 1 },
        { policy: wide, key: "b", cost: 1 },
        { policy: wide, key: "c", cost: 1 },
      ];
      const orders = [charges, [...charges].reverse(), [...charges.slice(2), ...charges.slice(0, 2)]];
      const answers = await Promise.all(Array.from({ length: 600 }, (_, i) => store.consumeTogether(orders[i % 3] as typeof charges)));
      expect(answers.filter((decisions) => decisions.every(({ allowed }) => allowed))).toHaveLength(150);
      for (const { policy, key } of charges) {
        expect((await store.peek(policy, key, 0)).remaining).toBe((policy.limits[0].capacity ?? 0) - 150);
      }
      await pool.end();
    });

    test("connections that are cut under load cost no more than the decisions they carried", async () => {
      const pool = new pg.Pool({ connectionString: postgresUrl(), max: 6, application_name: TABLES.cut });
      pool.on("error", () => undefined); // an idle connection was cut; without a listener the process would end
      const store = new PostgresStore(pool, { table: TABLES.cut, clock: () => 0 });
      const policy = definePolicy({ name: "cut", capacity: 1_000_000, refill: perHour(1) });
      const outcomes = { granted: 0, unknown: 0 };
      let over = false;
      const callers = Array.from({ length: 6 }, async () => {
        while (!over) {
          try {
            if ((await store.consume(policy, "a", 1)).allowed) outcomes.granted += 1;
          } catch {
            outcomes.unknown += 1;
          }
        }
      });
      // Until enough were cut in the middle of something, however long this machine takes for it.
      for (let i = 0; i < 200 && (outcomes.unknown < 10 || outcomes.granted < 50); i++) {
        await new Promise((resolve) => setTimeout(resolve, 25));
        await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", [TABLES.cut]);
      }
      over = true;
      await Promise.all(callers);
      const spent = policy.maxCost - (await store.peek(policy, "a", 0)).remaining;
      console.log(`Postgres, connections cut: ${outcomes.granted} granted, ${outcomes.unknown} unknown, ${spent} charged`);
      expect(outcomes.unknown).toBeGreaterThan(0);
      expect(spent).toBeGreaterThanOrEqual(outcomes.granted);
      expect(spent).toBeLessThanOrEqual(outcomes.granted + outcomes.unknown);
      await pool.end();
    });
  });
});

describe("without a server", () => {
  test("L11 · refused is not broken: a store is made, its decisions are degraded, and nothing is left unhandled", async () => {
    const pool = new pg.Pool({ connectionString: "postgres://postgres@127.0.0.1:1/test" });
    const store = new PostgresStore(pool);
    const policy = definePolicy({ name: "away", capacity: 3, refill: perHour(1) });
    const limiter = createLimiter({ policy, store });
    await new Promise(setImmediate);
    const decision: Decision = await limiter.consume("a");
    expect(decision).toMatchObject({ allowed: false, reason: "store_unavailable", degraded: true });
    expect(String((decision as { error?: unknown }).error)).toContain("ECONNREFUSED");
    const asks = [store.peek(policy, "a", 1), store.consumeTogether([{ policy, key: "a", cost: 1 }]), store.refund(policy, "a", 1), store.reset(policy, "a"), store.migrate()];
    for (const answer of await Promise.allSettled(asks)) {
      expect(answer).toMatchObject({ status: "rejected", reason: { message: expect.stringContaining("ECONNREFUSED") } });
    }
    await pool.end();
  });
});

function hammer(ms: number): ChildProcess {
  return fork("test/stores/postgres-hammer-child.ts", [postgresUrl(), TABLES.hammer, JSON.stringify(HAMMERED), String(ms)], { execArgv: ["--import", "tsx"] });
}
