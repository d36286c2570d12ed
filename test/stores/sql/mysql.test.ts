import { randomUUID } from "node:crypto";
import mysql, { type Pool, type RowDataPacket } from "mysql2/promise";
import { definePolicy, perHour } from "sluice";
import { ManualClock, storeSuite } from "sluice/testing";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createTable, mysqlStore } from "../../../examples/custom-store/mysql-store.js";
import { countGrants } from "./count.js";
import { describeWith, mysqlUrl } from "../../helpers/services.js";
import { testPriority } from "../../limiter/priority.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const policy = definePolicy({ name: "lost", capacity: 3, refill: perHour(1) });

describeWith("mysql", "sqlStore over MySQL, as in the example", () => {
  const table = `sluice_suite_${process.pid}`;
  let pool: Pool;
  let nowhere: Pool;
  beforeAll(async () => {
    pool = mysql.createPool({ uri: mysqlUrl(), connectionLimit: 10 });
    nowhere = mysql.createPool({ host: "127.0.0.1", port: 1 });
    await pool.query(createTable(table));
  });
  afterAll(async () => {
    await pool.query(`DROP TABLE IF EXISTS ${table}, ${table}_empty`);
    await pool.end();
    await nowhere.end();
  });
  storeSuite({
    test,
    factory: async ({ clock, unreachable, empty, timeoutMs, breaker, sharedBy }) => {
      const own = empty ? `${table}_empty` : table;
      if (empty) for (const sql of [`DROP TABLE IF EXISTS ${own}`, createTable(own)]) await pool.query(sql);
      const storedBytes = async () => {
        const [[sum]] = await pool.query<RowDataPacket[]>(`SELECT SUM(LENGTH(name) + LENGTH(COALESCE(value, ''))) AS bytes FROM ${own}`);
        return Number(sum?.["bytes"]);
      };
      return { store: mysqlStore(unreachable ? nowhere : pool, { table: own, ...(clock && { clock }), timeoutMs, breaker, sharedBy }), storedBytes };
    },
    lacks: { close: "the pool is the caller's", bound: "rows are swept an hour after they are full" },
  });

  describe("two policies of one name", () => {
    const clock = new ManualClock(Date.now());
    testPriority(() => mysqlStore(pool, { table, clock: clock.now, timeoutMs: Infinity }), (ms) => clock.advance(ms));
  });

  test("L1 · four processes share one table: not one token too many, not one lost", async () => {
    const counted = `${table}_counted`;
    await pool.query(`DROP TABLE IF EXISTS ${counted}`);
    await pool.query(createTable(counted));
    await countGrants("mysql", JSON.stringify([mysqlUrl(), counted]));
    await pool.query(`DROP TABLE ${counted}`);
  });

  test("a connection that is lost in a transaction fails its call with its own error, and the next call gets another connection", async () => {
    const one = mysql.createPool({ uri: mysqlUrl(), connectionLimit: 1 });
    const [[own]] = await one.query<RowDataPacket[]>("SELECT CONNECTION_ID() AS id");
    const store = mysqlStore(one, { table });
    const ann = randomUUID(); // a full bucket, also when the test is tried again
    const holder = await pool.getConnection();
    onTestFinished(async () => {
      holder.destroy();
      await one.end();
    });
    await holder.beginTransaction();
    await holder.query(`INSERT INTO ${table} (name) VALUES (?)`, [`lost ${ann}`]);
    const failed = expect(callsOf(store).consume(policy, ann, 1)).rejects.toMatchObject({ code: "PROTOCOL_CONNECTION_LOST" });
    for (let waits = false; !waits; ) {
      const [rows] = await pool.query<RowDataPacket[]>("SELECT 1 FROM information_schema.processlist WHERE id = ? AND info LIKE 'INSERT%'", [own?.["id"]]);
      waits = rows.length > 0;
    }
    await pool.query("KILL ?", [own?.["id"]]);
    await failed;
    await holder.rollback();
    expect((await callsOf(store).consume(policy, ann, 1)).remaining).toBe(2);
  });
});
