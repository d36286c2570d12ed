// What a decision writes to Postgres and what it takes away, and when it does neither.
import { definePolicy, perHour, perSecond, type Charge } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { expect, test } from "vitest";
import { ownTable } from "../../helpers/postgres.js";
import { describeWith } from "../../helpers/services.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const TABLE = "sluice_server";
const HOUR = 3_600_000;
const ten = definePolicy({ name: "ten", capacity: 10, refill: perHour(10) });
const two = definePolicy({ name: "two", limits: [{ name: "a", capacity: 3, refill: perHour(3) }, { name: "b", capacity: 5, refill: perSecond(1) }] });

describeWith("postgres", "what is written to Postgres", () => {
  const own = ownTable(TABLE);

  /** Every row and the version of it that is on the page: one that was written again has another xmin and ctid. */
  const versions = async (): Promise<unknown[]> => (await own.pool.query(`SELECT xmin, ctid, * FROM ${TABLE} ORDER BY bucket`)).rows;

  /** Runs `ask` in a transaction of one connection and says whether it wrote anything at all. */
  async function wrote(ask: (store: PostgresStore) => Promise<unknown>): Promise<boolean> {
    const client = await own.pool.connect();
    try {
      await client.query("BEGIN");
      await ask(new PostgresStore(client, { table: TABLE, clock: own.clock.now }));
      const { rows } = await client.query("SELECT pg_current_xact_id_if_assigned() IS NOT NULL AS wrote");
      return rows[0].wrote;
    } finally {
      await client.query("ROLLBACK");
      client.release();
    }
  }

  test("L3 · a denial writes nothing, at any cost, alone or together, and neither does peek", async () => {
    await callsOf(own.store).consume(ten, "a", 10);
    await callsOf(own.store).consume(two, "a", 3);
    await callsOf(own.store).consume(ten, "b", 4);
    const before = await versions();
    own.clock.advance(1);

    const asks: ((store: PostgresStore) => Promise<unknown>)[] = [
      (each) => callsOf(each).consume(ten, "a", 1),
      (each) => callsOf(each).consume(ten, "a", 11),
      (each) => callsOf(each).consume(ten, "never seen", 11),
      (each) => callsOf(each).consume(ten, "never seen", Number.MAX_SAFE_INTEGER),
      (each) => callsOf(each).consume(two, "a", 1),
      (each) => callsOf(each).together([{ policy: ten, key: "b", cost: 1 }, { policy: ten, key: "a", cost: 1 }]),
      (each) => callsOf(each).peek(ten, "a", 1),
      (each) => callsOf(each).peek(ten, "never seen", 1),
    ];
    for (const ask of asks) {
      expect(await wrote(ask)).toBe(false);
      await ask(own.store);
    }
    expect(await versions()).toEqual(before);
    expect(await wrote((each) => callsOf(each).consume(ten, "b", 1))).toBe(true);
  });

  test("L14 · the first denial under new numbers settles the record, the next one writes nothing", async () => {
    const slower = definePolicy({ name: "ten", capacity: 10, refill: perHour(7) });
    await callsOf(own.store).consume(ten, "a", 10);
    await callsOf(own.store).consume(ten, "b", 1);
    const [, b] = await versions();
    const both: Charge[] = [{ policy: slower, key: "a", cost: 1 }, { policy: ten, key: "b", cost: 1 }];
    expect((await callsOf(own.store).together(both)).map(({ allowed }) => allowed)).toEqual([false, true]);
    const settled = await versions();
    expect(settled).toMatchObject([{ p: ["7"] }, b]);
    await callsOf(own.store).together(both);
    expect(await versions()).toEqual(settled);
  });

  test("a bucket that is full has no row: at first, after a refund, after a reset", async () => {
    await callsOf(own.store).adjust(ten, "a", -5);
    await callsOf(own.store).reset(ten, "a");
    await callsOf(own.store).consume(ten, "a", 0);
    expect(await own.rows()).toBe(0);
    await callsOf(own.store).consume(ten, "a", 5);
    await callsOf(own.store).adjust(ten, "a", -7);
    expect(await own.rows()).toBe(0);
    await callsOf(own.store).consume(ten, "a", 5);
    await callsOf(own.store).reset(ten, "a");
    expect(await own.rows()).toBe(0);
  });

  test("what is kept is one row for each caller, with the limits that are not full", async () => {
    await callsOf(own.store).consume(two, "a", 1);
    const names = async (): Promise<string[]> => (await own.pool.query(`SELECT names FROM ${TABLE}`)).rows[0].names;
    expect(await names()).toEqual(["a", "b"]);
    own.clock.advance(1_000);
    await callsOf(own.store).adjust(two, "unknown", -1);
    await callsOf(own.store).consume(two, "a", 0);
    expect(await names()).toEqual(["a"]);
  });

  test("L19 · each limit is charged its own cost, and an adjustment changes each by its own tokens", async () => {
    const spent = async (): Promise<unknown> => (await own.pool.query(`SELECT names, spent FROM ${TABLE}`)).rows;
    await callsOf(own.store).consume(two, "a", [2, 0]);
    expect(await spent()).toEqual([{ names: ["a"], spent: ["2400000"] }]);
    expect(await callsOf(own.store).adjust(two, "a", [-1, 7])).toBe(true);
    expect(await spent()).toEqual([{ names: ["a", "b"], spent: ["1200000", "7000"] }]);
  });

  test("an adjustment that a limit cannot hold changes no limit, however large it is", async () => {
    const most = Number.MAX_SAFE_INTEGER;
    const yearly = definePolicy({ name: "huge", limits: [{ name: "a", capacity: 3, refill: perHour(3) }, { name: "b", capacity: 1, refill: { tokens: 1, everyMs: most } }] });
    await callsOf(own.store).consume(yearly, "a", [1, 0]);
    const before = await versions();
    for (const changes of [[-1, 2], [1, most], most, [most, -most]]) expect(await callsOf(own.store).adjust(yearly, "a", changes)).toBe(false);
    expect(await versions()).toEqual(before);
    expect(await callsOf(own.store).adjust(yearly, "a", [1, 1])).toBe(true);
    expect(await callsOf(own.store).adjust(yearly, "a", [0, 1])).toBe(false);
    expect((await callsOf(own.store).peek(yearly, "a", 0)).limits?.map(({ remaining }) => remaining)).toEqual([1, 0]);
    expect(await callsOf(own.store).adjust(yearly, "a", -most)).toBe(true);
    expect(await own.rows()).toBe(0);
  });

  test("a block is a record of its own, which is kept until its end and goes with the next write after it", async () => {
    const records = async (): Promise<unknown> => (await own.pool.query(`SELECT names, spent, sweep_after >= at[1] + spent[1] AS kept FROM ${TABLE}`)).rows;
    await callsOf(own.store).block(ten, "a", HOUR);
    expect(await records()).toEqual([{ names: ["!"], spent: ["3600000"], kept: true }]);
    own.clock.advance(HOUR / 2);
    await callsOf(own.store).block(ten, "a", 1);
    expect(await records()).toEqual([{ names: ["!"], spent: ["1800000"], kept: true }]);
    await callsOf(own.store).adjust(ten, "a", 4);
    expect(await records()).toEqual([{ names: ["!", "ten"], spent: ["1800000", "1440000"], kept: true }]);
    own.clock.advance(HOUR / 2);
    await callsOf(own.store).consume(ten, "a", 3);
    expect(await records()).toMatchObject([{ names: ["ten"] }]);
  });

  test("L3, L14 · a refusal by a block writes nothing, at any cost, but that it settles a record in old numbers", async () => {
    const slower = definePolicy({ name: "ten", capacity: 10, refill: perHour(7) });
    await callsOf(own.store).consume(ten, "a", 1);
    await callsOf(own.store).block(ten, "a", HOUR);
    const before = await versions();
    for (const cost of [0, 1, 11]) {
      expect((await callsOf(own.store).consume(ten, "a", cost)).allowed).toBe(false);
      expect((await callsOf(own.store).together([{ policy: two, key: "a", cost: 1 }, { policy: ten, key: "a", cost }])).map(({ allowed }) => allowed)).toEqual([true, false]);
    }
    expect(await versions()).toEqual(before);
    expect((await callsOf(own.store).consume(slower, "a", 0)).allowed).toBe(false);
    expect(await versions()).toMatchObject([{ names: ["ten", "!"], p: ["7", "1"] }]);
  });

  test("L13 · a block is swept away after its end, and not before", async () => {
    const wave = async (name: string): Promise<void> => {
      for (let i = 0; i < 20; i++) await callsOf(own.store).together(Array.from({ length: 50 }, (_, j) => ({ policy: ten, key: `${name} ${50 * i + j}`, cost: 1 })));
    };
    await callsOf(own.store).block(ten, "blocked", HOUR);
    own.clock.advance(HOUR - 1);
    await wave("before");
    expect(await callsOf(own.store).consume(ten, "blocked", 1)).toMatchObject({ allowed: false, retryAfterMs: 1 });
    own.clock.advance(1 + 2 ** 20);
    await wave("after");
    expect((await own.pool.query(`SELECT 1 FROM ${TABLE} WHERE bucket = 'ten blocked'`)).rows).toEqual([]);
  });

  test("updates touch no index", async () => {
    const client = await own.pool.connect();
    try {
      const other = new PostgresStore(client, { table: TABLE, clock: own.clock.now });
      const many = definePolicy({ name: "many", capacity: 1_000, refill: perSecond(10) });
      const updates = async (): Promise<{ all: number; hot: number }> =>
        (await client.query(`SELECT n_tup_upd::int AS all, n_tup_hot_upd::int AS hot FROM pg_stat_xact_user_tables WHERE relname = '${TABLE}'`)).rows[0];
      await callsOf(other).consume(many, "a", 1);
      await client.query("BEGIN");
      const before = await updates(); // of this connection, not yet handed in
      for (let i = 0; i < 20; i++) await callsOf(other).consume(many, "a", 1);
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
        await callsOf(own.store).together(Array.from({ length: 50 }, () => ({ policy: ten, key: `caller ${++callers}`, cost: 1 })));
      }
    };
    await wave();
    expect(await own.rows()).toBe(1_000);
    // One token is back after six minutes; a row may stay for 2^20 ms more, never less.
    own.clock.advance(HOUR / 10 - 1);
    await wave();
    expect(await own.rows()).toBe(2_000);
    for (let i = 0; i < 5; i++) {
      own.clock.advance(HOUR / 10 + 2 ** 20);
      await wave();
      expect(await own.rows()).toBe(1_000);
    }
  });

  test("a decision about one caller sweeps now and then", async () => {
    await callsOf(own.store).together(Array.from({ length: 50 }, (_, i) => ({ policy: ten, key: `old ${i}`, cost: 1 })));
    own.clock.advance(HOUR);
    // Not to have happened after so many has a chance of 10^-14.
    for (let i = 0; i < 1_000 && (await own.rows()) > i; i += 10) {
      await Promise.all(Array.from({ length: 10 }, (_, j) => callsOf(own.store).consume(ten, `new ${i + j}`, 1)));
    }
    const { rows: old } = await own.pool.query(`SELECT 1 FROM ${TABLE} WHERE bucket LIKE 'ten old%'`);
    expect(old).toEqual([]);
  });
});
