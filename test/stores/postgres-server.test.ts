// What is particular to Postgres: what is written and when, who may do what, and settings that a database may have.
import { randomBytes } from "node:crypto";
import pg from "pg";
import { createLimiter, definePolicy, perHour, perSecond, type Charge } from "sluice";
import { postgresSchema, PostgresStore, type PostgresClient } from "sluice/postgres";
import { ManualClock } from "sluice/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { describeWith, postgresUrl } from "../helpers/services.js";

const TABLE = "sluice_server";
const HOUR = 3_600_000;
const ten = definePolicy({ name: "ten", capacity: 10, refill: perHour(10) });
const two = definePolicy({ name: "two", limits: [{ name: "a", capacity: 3, refill: perHour(3) }, { name: "b", capacity: 5, refill: perSecond(1) }] });

describeWith("postgres", "on a server", () => {
  let pool: pg.Pool;
  let store: PostgresStore;
  const clock = new ManualClock();

  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: postgresUrl(), max: 10 });
    await pool.query(`DROP TABLE IF EXISTS ${TABLE}`);
    store = new PostgresStore(pool, { table: TABLE, clock: clock.now });
    await store.migrate();
  });
  beforeEach(async () => {
    clock.set(1_700_000_000_000);
    await pool.query(`TRUNCATE ${TABLE}`);
  });
  afterAll(async () => {
    await pool.query(`DROP TABLE ${TABLE}; DROP FUNCTION ${TABLE}_decide`);
    await pool.end();
  });

  /** Every row and the version of it that is on the page: one that was written again has another xmin and ctid. */
  const versions = async (): Promise<unknown[]> => (await pool.query(`SELECT xmin, ctid, * FROM ${TABLE} ORDER BY bucket`)).rows;
  const rows = async (): Promise<number> => Number((await pool.query(`SELECT count(*) FROM ${TABLE}`)).rows[0].count);

  /** Runs `ask` in a transaction of one connection and says whether it wrote anything at all. */
  async function wrote(ask: (store: PostgresStore) => Promise<unknown>): Promise<boolean> {
    const client = await pool.connect();
    try {
      await client.query("BEGIN");
      await ask(new PostgresStore(client, { table: TABLE, clock: clock.now }));
      const { rows } = await client.query("SELECT pg_current_xact_id_if_assigned() IS NOT NULL AS wrote");
      return rows[0].wrote;
    } finally {
      await client.query("ROLLBACK");
      client.release();
    }
  }

  describe("writes", () => {
    test("L3 · a denial writes nothing, at any cost, alone or together, and neither does peek", async () => {
      await store.consume(ten, "a", 10);
      await store.consume(two, "a", 3);
      await store.consume(ten, "b", 4);
      const before = await versions();
      clock.advance(1);

      const asks: ((store: PostgresStore) => Promise<unknown>)[] = [
        (own) => own.consume(ten, "a", 1),
        (own) => own.consume(ten, "a", 11),
        (own) => own.consume(ten, "never seen", 11),
        (own) => own.consume(ten, "never seen", Number.MAX_SAFE_INTEGER),
        (own) => own.consume(two, "a", 1),
        (own) => own.consumeTogether([{ policy: ten, key: "b", cost: 1 }, { policy: ten, key: "a", cost: 1 }]),
        (own) => own.peek(ten, "a", 1),
        (own) => own.peek(ten, "never seen", 1),
      ];
      for (const ask of asks) {
        expect(await wrote(ask)).toBe(false);
        await ask(store);
      }
      expect(await versions()).toEqual(before);
      expect(await wrote((own) => own.consume(ten, "b", 1))).toBe(true);
    });

    test("L14 · the first denial under new numbers settles the record, the next one writes nothing", async () => {
      const slower = definePolicy({ name: "ten", capacity: 10, refill: perHour(7) });
      await store.consume(ten, "a", 10);
      await store.consume(ten, "b", 1);
      const [, b] = await versions();
      const both: Charge[] = [{ policy: slower, key: "a", cost: 1 }, { policy: ten, key: "b", cost: 1 }];
      expect((await store.consumeTogether(both)).map(({ allowed }) => allowed)).toEqual([false, true]);
      const settled = await versions();
      expect(settled).toMatchObject([{ p: ["7"] }, b]);
      await store.consumeTogether(both);
      expect(await versions()).toEqual(settled);
    });

    test("a bucket that is full has no row: at first, after a refund, after a reset", async () => {
      await store.refund(ten, "a", 5);
      await store.reset(ten, "a");
      await store.consume(ten, "a", 0);
      expect(await rows()).toBe(0);
      await store.consume(ten, "a", 5);
      await store.refund(ten, "a", 7);
      expect(await rows()).toBe(0);
      await store.consume(ten, "a", 5);
      await store.reset(ten, "a");
      expect(await rows()).toBe(0);
    });

    test("what is kept is one row for each caller, with the limits that are not full", async () => {
      await store.consume(two, "a", 1);
      const names = async (): Promise<string[]> => (await pool.query(`SELECT names FROM ${TABLE}`)).rows[0].names;
      expect(await names()).toEqual(["a", "b"]);
      clock.advance(1_000);
      await store.refund(two, "unknown", 1);
      await store.consume(two, "a", 0);
      expect(await names()).toEqual(["a"]);
    });

    test("updates touch no index", async () => {
      const client = await pool.connect();
      try {
        const own = new PostgresStore(client, { table: TABLE, clock: clock.now });
        const many = definePolicy({ name: "many", capacity: 1_000, refill: perSecond(10) });
        const updates = async (): Promise<{ all: number; hot: number }> =>
          (await client.query(`SELECT n_tup_upd::int AS all, n_tup_hot_upd::int AS hot FROM pg_stat_xact_user_tables WHERE relname = '${TABLE}'`)).rows[0];
        await own.consume(many, "a", 1);
        await client.query("BEGIN");
        const before = await updates(); // of this connection, not yet handed in
        for (let i = 0; i < 20; i++) await own.consume(many, "a", 1);
        expect(await updates()).toEqual({ all: before.all + 20, hot: before.hot + 20 });
      } finally {
        await client.query("ROLLBACK");
        client.release();
      }
    });

    test("L13 · the table is bounded: new callers take away those that are full", async () => {
      let callers = 0;
      const wave = async (): Promise<void> => {
        for (let i = 0; i < 20; i++) {
          await store.consumeTogether(Array.from({ length: 50 }, () => ({ policy: ten, key: `caller ${++callers}`, cost: 1 })));
        }
      };
      await wave();
      expect(await rows()).toBe(1_000);
      // One token is back after six minutes; a row may stay for 2^20 ms more, never less.
      clock.advance(HOUR / 10 - 1);
      await wave();
      expect(await rows()).toBe(2_000);
      for (let i = 0; i < 5; i++) {
        clock.advance(HOUR / 10 + 2 ** 20);
        await wave();
        expect(await rows()).toBe(1_000);
      }
    });

    test("a decision about one caller sweeps now and then", async () => {
      await store.consumeTogether(Array.from({ length: 50 }, (_, i) => ({ policy: ten, key: `old ${i}`, cost: 1 })));
      clock.advance(HOUR);
      // Not to have happened after so many has a chance of 10^-14.
      for (let i = 0; i < 1_000 && (await rows()) > i; i += 10) {
        await Promise.all(Array.from({ length: 10 }, (_, j) => store.consume(ten, `new ${i + j}`, 1)));
      }
      const { rows: old } = await pool.query(`SELECT 1 FROM ${TABLE} WHERE bucket LIKE 'ten old%'`);
      expect(old).toEqual([]);
    });
  });

  describe("keys", () => {
    test("of any length are callers of their own", async () => {
      const long = randomBytes(50_000).toString("base64"); // does not compress to what an index takes
      for (const key of [long, `${long}x`, `x${long}`]) {
        expect((await store.consume(ten, key, 4)).remaining).toBe(6);
        expect((await store.consume(ten, key, 4)).remaining).toBe(2);
        await store.reset(ten, key);
      }
      expect(await rows()).toBe(0);
    });

    test("that look like SQL, arrays or JSON are kept as they are", async () => {
      const keys = ["{a,b}", '"', "'", "\\", "{}", "NULL", "null", "$1", ",", " ", "a\nb", '[{"a":1}]', "\u{1F600}", "\uD800", "\0"];
      await store.consumeTogether(keys.map((key) => ({ policy: ten, key, cost: 3 })));
      for (const key of keys) expect((await store.peek(ten, key, 1)).remaining).toBe(7);
      expect(await rows()).toBe(keys.length);
    });
  });

  describe("the server's clock", () => {
    test("decides, unless a clock is given", async () => {
      const own = new PostgresStore(pool, { table: TABLE });
      expect(own.clock).toBe("server");
      const now = async (): Promise<number> => Number((await pool.query("SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms")).rows[0].ms);
      const before = await now();
      await own.consume(ten, "a", 1);
      const at = Number((await pool.query(`SELECT at[1] FROM ${TABLE}`)).rows[0].at);
      expect(at).toBeGreaterThanOrEqual(Math.floor(before));
      expect(at).toBeLessThanOrEqual(await now());
    });
  });

  describe("settings", () => {
    test("an isolation level under which others' charges would not be seen is refused", async () => {
      for (const level of ["repeatable read", "serializable"]) {
        const strict = new pg.Pool({ connectionString: postgresUrl(), max: 1, options: `-c default_transaction_isolation=${level.replace(" ", "\\ ")}` });
        const own = new PostgresStore(strict, { table: TABLE });
        await expect(own.consume(ten, "a", 1)).rejects.toThrow(`Expected the isolation level to be read committed, got ${level}`);
        const decision = await createLimiter({ policy: ten, store: own }).consume("a");
        expect(decision).toMatchObject({ allowed: false, reason: "store_unavailable", degraded: true });
        await strict.end();
      }
    });

    test("how a client reads bigint does not matter", async () => {
      const decisions = [];
      for (const parse of [String, Number, BigInt]) {
        const types = { getTypeParser: (id: number, format?: "text") => (id === 20 ? parse : pg.types.getTypeParser(id, format)) };
        const own = new pg.Pool({ connectionString: postgresUrl(), max: 1, types: types as pg.CustomTypesConfig });
        decisions.push(await new PostgresStore(own, { table: TABLE, clock: clock.now }).consume(two, `key ${decisions.length}`, 2));
        await own.end();
      }
      expect(decisions[1]).toStrictEqual(decisions[0]);
      expect(decisions[2]).toStrictEqual(decisions[0]);
    });
  });

  describe("migrate", () => {
    const ROLE = "sluice_app";
    const SCHEMA = "sluice_Schema";
    const drop = async (): Promise<void> => {
      await pool.query(`DROP SCHEMA IF EXISTS "${SCHEMA}" CASCADE; DROP ROLE IF EXISTS ${ROLE}`);
    };
    beforeEach(async () => {
      await drop();
      await pool.query(`CREATE SCHEMA "${SCHEMA}"; CREATE ROLE ${ROLE}; GRANT USAGE ON SCHEMA "${SCHEMA}" TO ${ROLE}`);
    });
    afterAll(drop);
    const table = `${SCHEMA}.Limits`;

    /** A client that works as somebody with few rights and no search path. */
    async function asRole(use: (client: PostgresClient) => Promise<void>): Promise<void> {
      const client = await pool.connect();
      try {
        await client.query(`SET ROLE ${ROLE}; SET search_path = ''`);
        await use(client);
      } finally {
        client.release(true);
      }
    }

    test("is safe from many connections at once, and again", async () => {
      const all = Array.from({ length: 10 }, () => new PostgresStore(pool, { table }));
      await Promise.all(all.map((each) => each.migrate()));
      await Promise.all(all.map((each) => each.migrate()));
      expect((await all[0]?.consume(ten, "a", 1))?.remaining).toBe(9);
    });

    test("needs no rights where everything is in place; deciding needs those of a reader and writer", async () => {
      await pool.query(postgresSchema(table));
      await pool.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON "${SCHEMA}"."Limits" TO ${ROLE}`);
      await asRole(async (client) => {
        const own = new PostgresStore(client, { table });
        await own.migrate();
        expect((await own.consume(ten, "a", 4)).remaining).toBe(6);
        expect((await own.consume(ten, "a", 4)).remaining).toBe(2);
      });
    });

    test("says who may not create", async () => {
      await asRole((client) => expect(new PostgresStore(client, { table }).migrate()).rejects.toThrow("permission denied for schema"));
    });

    test("brings a function of another version up to date and keeps the rows", async () => {
      const own = new PostgresStore(pool, { table, clock: clock.now });
      await own.migrate();
      await own.consume(ten, "a", 4);
      await pool.query(postgresSchema(table).replace("DECLARE", "DECLARE -- as it once was"));
      await own.migrate();
      const { rows } = await pool.query("SELECT prosrc FROM pg_proc WHERE proname = 'Limits_decide'");
      expect(rows).toHaveLength(1);
      expect(rows[0].prosrc).not.toContain("once was");
      expect((await own.consume(ten, "a", 4)).remaining).toBe(2);
    });

    test("before it has run, the error names the function that is missing", async () => {
      await expect(new PostgresStore(pool, { table }).consume(ten, "a", 1)).rejects.toThrow('function sluice_Schema.Limits_decide');
    });
  });
});

describe("what is wrong is refused when the store is made", () => {
  const client: PostgresClient = { query: () => Promise.resolve({ rows: [] }) };
  const names: unknown[] = ["", "1a", "a b", 'a"b', "a;b", "a.b.c", ".a", "a.", "a-b", "ä", "x".repeat(49), 7, null];

  test.each(names)("table %j", (table) => {
    const complaint = "Expected `table` to be 1 to 48 letters, digits or `_`";
    expect(() => new PostgresStore(client, { table: table as string })).toThrow(complaint);
    expect(() => postgresSchema(table as string)).toThrow(complaint);
  });

  test.each([null, undefined, 7, {}, { query: "SELECT" }])("client %j", (wrong) => {
    expect(() => new PostgresStore(wrong as unknown as PostgresClient)).toThrow("Expected `client` to be an object with `query(text, values)`, got ");
  });

  test("clock", () => {
    expect(() => new PostgresStore(client, { tabel: "x" } as never)).toThrow("Expected only known options, got `tabel`");
    expect(() => new PostgresStore(client, { clock: 7 as unknown as () => number })).toThrow("Expected `clock` to be a function that returns milliseconds, got 7");
  });

  test("an answer that is not the function's is an error, not a decision", async () => {
    await expect(new PostgresStore(client).consume(ten, "a", 1)).rejects.toMatchObject({ name: "StoreError", code: "ERR_STORE_REPLY" });
  });

  test("one bucket twice", async () => {
    const charge = { policy: ten, key: "a", cost: 1 };
    await expect(new PostgresStore(client).consumeTogether([charge, charge])).rejects.toThrow("Expected `charges` to name each bucket once, got one twice");
    expect(await new PostgresStore(client).consumeTogether([])).toEqual([]);
  });
});
