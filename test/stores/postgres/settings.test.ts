// Whatever a caller's key, a server's settings, a client's types or an option's value may be.
import { randomBytes } from "node:crypto";
import pg from "pg";
import { createLimiter, definePolicy, perHour, perSecond } from "sluice";
import { postgresSchema, PostgresStore, type PostgresClient } from "sluice/postgres";
import { describe, expect, test } from "vitest";
import { badCharges } from "../../helpers/bad-charges.js";
import { ownTable } from "../../helpers/postgres.js";
import { describeWith, postgresUrl } from "../../helpers/services.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const TABLE = "sluice_settings";
const ten = definePolicy({ name: "ten", capacity: 10, refill: perHour(10) });
const two = definePolicy({ name: "two", limits: [{ name: "a", capacity: 3, refill: perHour(3) }, { name: "b", capacity: 5, refill: perSecond(1) }] });

describeWith("postgres", "on any Postgres server", () => {
  const own = ownTable(TABLE);

  describe("keys", () => {
    test("L16 · of any length are callers of their own, in rows of one size", async () => {
      const long = randomBytes(50_000).toString("base64"); // does not compress to what an index takes
      for (const key of [long, `${long}x`, `x${long}`]) {
        expect((await callsOf(own.store).consume(ten, key, 4)).remaining).toBe(6);
        expect((await callsOf(own.store).consume(ten, key, 4)).remaining).toBe(2);
        expect((await own.pool.query(`SELECT octet_length(bucket) AS bytes FROM ${TABLE}`)).rows).toEqual([{ bytes: 65 }]);
        await callsOf(own.store).reset(ten, key);
      }
      expect(await own.rows()).toBe(0);
    });

    test("that look like SQL, arrays or JSON are kept as they are", async () => {
      const keys = ["{a,b}", '"', "'", "\\", "{}", "NULL", "null", "$1", ",", " ", "a\nb", '[{"a":1}]', "\u{1F600}", "\uD800", "\0"];
      await callsOf(own.store).together(keys.map((key) => ({ policy: ten, key, cost: 3 })));
      for (const key of keys) expect((await callsOf(own.store).peek(ten, key, 1)).remaining).toBe(7);
      expect(await own.rows()).toBe(keys.length);
    });
  });

  describe("bad input", () => {
    test.each(badCharges)("L9 · a charge of %o with others is refused by name, and changes nothing", async (wrong, complaint) => {
      const good = { policy: ten, key: "a", cost: 2 };
      await callsOf(own.store).consume(ten, "a", 2);
      await expect(callsOf(own.store).together([{ ...good, cost: 1 }, { ...good, key: "b", ...wrong } as typeof good])).rejects.toThrow(complaint);
      expect(await own.rows()).toBe(1);
      expect((await callsOf(own.store).peek(ten, "a", 0)).remaining).toBe(8);
    });

    test("L12 · a cost that is none is refused at once, where nothing is left too", async () => {
      for (const taken of [0, 8, 10]) {
        await callsOf(own.store).consume(ten, `key ${taken}`, taken);
        for (const cost of [undefined, null, "3", Number.NaN, -5, 0.5]) {
          await expect(callsOf(own.store).consume(ten, `key ${taken}`, cost as number)).rejects.toThrow("Expected `cost` to be a whole number of at least 0, got ");
        }
        expect((await callsOf(own.store).peek(ten, `key ${taken}`, 0)).remaining).toBe(10 - taken);
      }
    });
  });

  describe("the server's clock", () => {
    test("decides, unless a clock is given", async () => {
      const other = new PostgresStore(own.pool, { table: TABLE });
      expect(other.clock).toBe("server");
      const now = async (): Promise<number> => Number((await own.pool.query("SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms")).rows[0].ms);
      const before = await now();
      await callsOf(other).consume(ten, "a", 1);
      const at = Number((await own.pool.query(`SELECT at[1] FROM ${TABLE}`)).rows[0].at);
      expect(at).toBeGreaterThanOrEqual(Math.floor(before));
      expect(at).toBeLessThanOrEqual(await now());
    });
  });

  describe("settings", () => {
    test("an isolation level under which others' charges would not be seen is refused", async () => {
      for (const level of ["repeatable read", "serializable"]) {
        const strict = new pg.Pool({ connectionString: postgresUrl(), max: 1, options: `-c default_transaction_isolation=${level.replace(" ", "\\ ")}` });
        const other = new PostgresStore(strict, { table: TABLE, timeoutMs: Infinity });
        await expect(callsOf(other).consume(ten, "a", 1)).rejects.toThrow(`Expected the isolation level to be read committed, got ${level}`);
        const decision = await createLimiter({ policy: ten, store: other, onStoreError: "unavailable" }).consume("a");
        expect(decision).toMatchObject({ allowed: false, reason: "store_unavailable", degraded: true });
        await strict.end();
      }
    });

    test("how a client reads bigint does not matter", async () => {
      const decisions = [];
      for (const parse of [String, Number, BigInt]) {
        const types = { getTypeParser: (id: number, format?: "text") => (id === 20 ? parse : pg.types.getTypeParser(id, format)) };
        const pool = new pg.Pool({ connectionString: postgresUrl(), max: 1, types: types as pg.CustomTypesConfig });
        decisions.push(await callsOf(new PostgresStore(pool, { table: TABLE, clock: own.clock.now })).consume(two, `key ${decisions.length}`, 2));
        await pool.end();
      }
      expect(decisions[1]).toStrictEqual(decisions[0]);
      expect(decisions[2]).toStrictEqual(decisions[0]);
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
    expect(() => new PostgresStore(client, { tabel: "x" } as never)).toThrow("Unknown option `tabel`. Did you mean `table`?");
    expect(() => new PostgresStore(client, { clock: 7 as unknown as () => number })).toThrow("Expected `clock` to be a function that returns milliseconds, or { now, wallNow }, got 7");
  });

  test.each([-1, 1.5, NaN, "1000"])("denyCacheMs %j", (wrong) => {
    expect(() => new PostgresStore(client, { denyCacheMs: wrong as number })).toThrow("Expected `denyCacheMs` to be ");
  });

  test("an answer that is not the function's is an error, not a decision", async () => {
    await expect(callsOf(new PostgresStore(client)).consume(ten, "a", 1)).rejects.toMatchObject({ name: "StoreError", code: "ERR_STORE_REPLY" });
  });

  test("one bucket twice", async () => {
    const charge = { policy: ten, key: "a", cost: 1 };
    await expect(callsOf(new PostgresStore(client)).together([charge, charge])).rejects.toThrow("Expected the parts to name each bucket once, got one twice. Add up their costs.");
  });

  test("more than 128 buckets together", async () => {
    const charges = Array.from({ length: 129 }, (_, i) => ({ policy: ten, key: `${i}`, cost: 1 }));
    await expect(callsOf(new PostgresStore(client)).together(charges)).rejects.toThrow("Expected `charges` to be a list of at most 128, got an array of 129");
  });
});
