// Many processes, many connections, and connections that die: not one token too many, not one lost.
import pg from "pg";
import { createLimiter, definePolicy, perHour, type Decision } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hammer } from "../../helpers/hammer.js";
import { describeWith, postgresUrl } from "../../helpers/services.js";
import { callsOf } from "../../../src/testing/store-calls.js";

// One for each test, since their clocks differ: a sweep by one clock would take the rows of another.
const TABLES = { hammer: "sluice_hammer", sides: "sluice_sides", together: "sluice_together", cut: "sluice_cut" };
const HAMMERED = { capacity: 50, refill: { tokens: 123, everyMs: 1_000 } };

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
    for (const table of Object.values(TABLES)) await admin.query(`DROP TABLE IF EXISTS ${table}; DROP FUNCTION IF EXISTS ${table}_decide, ${table}_grant`);
  };

  // By itself: eight processes at once leave each of them few decisions.
  test("L1 · bound: two processes that grant, and two of before there was such a function, share one key exactly", async () => {
    await hammer("Postgres, old and new", "test/stores/postgres/hammer-child.ts", [postgresUrl(), TABLES.sides], HAMMERED, ["named", "unnamed", "older", "older"]);
  }, 30_000);

  describe.concurrent("at once", () => {
    test("L1 · bound: four processes get from one key what it has, in every window, and lose nothing", async () => {
      await hammer("Postgres", "test/stores/postgres/hammer-child.ts", [postgresUrl(), TABLES.hammer], HAMMERED, ["named", "unnamed", "named", "unnamed"]);
    }, 30_000);

    test("L10 · together: opposite orders on many connections never wait in a circle and never charge half", async () => {
      await admin.query(`TRUNCATE ${TABLES.together}`); // a test that is tried again has full buckets
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
      const answers = await Promise.all(Array.from({ length: 600 }, (_, i) => callsOf(store).together(orders[i % 3] as typeof charges)));
      expect(answers.filter((decisions) => decisions.every(({ allowed }) => allowed))).toHaveLength(150);
      for (const { policy, key } of charges) {
        expect((await callsOf(store).peek(policy, key, 0)).remaining).toBe((policy.limits[0].capacity ?? 0) - 150);
      }
      await pool.end();
    });

    test("connections that are cut under load cost no more than the decisions they carried", async () => {
      await admin.query(`TRUNCATE ${TABLES.cut}`);
      const pool = new pg.Pool({ connectionString: postgresUrl(), max: 6, application_name: TABLES.cut });
      pool.on("error", () => undefined); // an idle connection was cut; without a listener the process would end
      const store = new PostgresStore(pool, { table: TABLES.cut, clock: () => 0 });
      const policy = definePolicy({ name: "cut", capacity: 1_000_000, refill: perHour(1) });
      const outcomes = { granted: 0, unknown: 0 };
      let over = false;
      const callers = Array.from({ length: 6 }, async () => {
        while (!over) {
          try {
            if ((await callsOf(store).consume(policy, "a", 1)).allowed) outcomes.granted += 1;
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
      const spent = policy.maxCost - (await callsOf(store).peek(policy, "a", 0)).remaining;
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
    const store = new PostgresStore(pool, { timeoutMs: Infinity });
    const policy = definePolicy({ name: "away", capacity: 3, refill: perHour(1) });
    const limiter = createLimiter({ policy, store, onStoreError: "unavailable" });
    await new Promise(setImmediate);
    const decision: Decision = await limiter.consume("a");
    expect(decision).toMatchObject({ allowed: false, reason: "store_unavailable", degraded: true });
    expect(String((decision as { error?: unknown }).error)).toContain("ECONNREFUSED");
    const asks = [callsOf(store).peek(policy, "a", 1), callsOf(store).together([{ policy, key: "a", cost: 1 }]), callsOf(store).adjust(policy, "a", -1), callsOf(store).block(policy, "a", 1), callsOf(store).reset(policy, "a"), store.migrate()];
    for (const answer of await Promise.allSettled(asks)) {
      expect(answer).toMatchObject({ status: "rejected", reason: { message: expect.stringContaining("ECONNREFUSED") } });
    }
    await pool.end();
  });
});
