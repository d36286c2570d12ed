// Behind PgBouncer, which gives each transaction another connection. Version 1.21 is the first to carry names along.
import pg from "pg";
import { definePolicy, perHour, type Decision } from "sluice";
import { PostgresStore, type PostgresStoreOptions } from "sluice/postgres";
import { storeSuite } from "sluice/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { noPgBouncer, startPgBouncer, type OwnServer } from "../../helpers/own-postgres.js";
import { describeWith, postgresUrl } from "../../helpers/services.js";
import { describeUnless } from "../../helpers/skip.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const TABLE = "sluice_bouncer";
const CAPACITY = 300;

describeWith("postgres", "behind PgBouncer", () => {
  describeUnless(noPgBouncer(), "PgBouncer", () => {
    let direct: pg.Pool;
    beforeAll(async () => {
      direct = new pg.Pool({ connectionString: postgresUrl(), max: 2 });
      await new PostgresStore(direct, { table: TABLE }).migrate();
    });
    afterAll(async () => {
      await direct.query(`DROP TABLE ${TABLE}; DROP FUNCTION ${TABLE}_decide, ${TABLE}_grant`);
      await direct.end();
    });

    describe.each(["transaction", "statement", "session"] as const)("in %s mode", (mode) => {
      let bouncer: OwnServer;
      const pools: pg.Pool[] = [];
      let tries = 0;
      beforeAll(async () => void (bouncer = await startPgBouncer(postgresUrl(), mode)));
      afterAll(async () => {
        await Promise.all(pools.map((pool) => pool.end()));
        await bouncer.stop();
      });
      const storeOf = (options: PostgresStoreOptions): PostgresStore => {
        const pool = new pg.Pool({ connectionString: bouncer.url, max: 6 }).on("error", () => undefined);
        pools.push(pool);
        return new PostgresStore(pool, { table: TABLE, denyCacheMs: 0, ...options });
      };

      test("several processes, with names and without, and one without grants: exactly what each bucket has", async () => {
        // Full buckets, also when the test is tried again.
        const policy = definePolicy({ name: `several-${mode}-${(tries += 1)}`, capacity: CAPACITY, refill: perHour(1) });
        // In session mode a server connection is one client's until it disconnects, so there are two clients.
        const stores = mode === "session" ? [storeOf({}), storeOf({ prepare: false })] : [storeOf({}), storeOf({}), storeOf({ prepare: true }), storeOf({ prepare: false })];
        const keys = ["a", "b", "c", "d", "e"];
        const granted = new Map(keys.map((key) => [key, 0]));
        await Promise.all(
          stores.flatMap((store) =>
            Array.from({ length: 12 }, async (_, caller) => {
              for (let i = 0; i < 50; i++) {
                const key = keys[(i + caller) % keys.length] as string;
                const { allowed }: Decision = await callsOf(store).consume(policy, key, 1);
                if (allowed) granted.set(key, (granted.get(key) as number) + 1);
              }
            }),
          ),
        );
        const asked = stores.length * 12 * 10;
        expect([...granted.values()]).toEqual(keys.map(() => Math.min(CAPACITY, asked)));
        for (const key of keys) expect((await callsOf(new PostgresStore(direct, { table: TABLE })).peek(policy, key, 0)).remaining).toBe(CAPACITY - Math.min(CAPACITY, asked));
      });
    });

    describe("the suite, in transaction mode with names that are lost", () => {
      let bouncer: OwnServer;
      let pool: pg.Pool;
      beforeAll(async () => {
        bouncer = await startPgBouncer(postgresUrl(), "transaction");
        pool = new pg.Pool({ connectionString: bouncer.url, max: 6 }).on("error", () => undefined);
      });
      afterAll(async () => {
        await pool.end();
        await bouncer.stop();
      });
      storeSuite({
        test,
        factory: ({ clock }) => Promise.resolve({ store: new PostgresStore(pool, { table: TABLE, denyCacheMs: 0, ...(clock && { clock }) }) }),
        lacks: { close: "the client is the caller's", bound: "full rows go away with later decisions", unreachable: "tested without PgBouncer" },
      });
    });
  });
});
