// Many buckets by one statement, which only grants. Whatever it does not grant, the other function decides.
import fc from "fast-check";
import pg from "pg";
import { definePolicy, perHour, perSecond, type Policy } from "sluice";
import { PostgresStore, type PostgresClient } from "sluice/postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ownTable } from "../../helpers/postgres.js";
import { describeWith, postgresUrl } from "../../helpers/services.js";
import { askedBy, watched, withoutGrants } from "./watched.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const TABLE = "sluice_grants";
const OTHER = "sluice_grants_other";
const HOUR = 3_600_000;
const ten = definePolicy({ name: "ten", capacity: 10, refill: perHour(10) });
const two = definePolicy({ name: "two", limits: [{ name: "a", capacity: 3, refill: perHour(3) }, { name: "b", capacity: 5, refill: perSecond(1) }] });

describeWith("postgres", "grants to many buckets at once", () => {
  const own = ownTable(TABLE);
  const other = ownTable(OTHER);
  let strangers: pg.Pool;
  beforeAll(() => void (strangers = new pg.Pool({ connectionString: postgresUrl(), max: 2 }).on("error", () => undefined)));
  afterAll(() => strangers.end());
  const storeOn = (client: PostgresClient, denyCacheMs = 0): PostgresStore => new PostgresStore(client, { table: TABLE, clock: own.clock.now, denyCacheMs });
  const consumeAll = (store: PostgresStore, policy: Policy, keys: readonly string[], cost = 1) => Promise.all(keys.map((key) => callsOf(store).consume(policy, key, cost)));

  test("one statement for all buckets of a tick and a policy, with the sum of each", async () => {
    const { client, statements, grants } = watched(own.pool);
    const store = storeOn(client);
    const more = definePolicy({ name: "more", capacity: 5, refill: perHour(1) });
    const decisions = await Promise.all(["a", "b", "c"].flatMap((key) => [callsOf(store).consume(ten, key, 1), callsOf(store).consume(ten, key, 3), callsOf(store).consume(more, key, 2)]));
    expect(decisions.map(({ remaining }) => remaining)).toEqual(["a", "b", "c"].flatMap(() => [9, 6, 3]));
    const of = (name: string, tokens: number) => new Map(["a", "b", "c"].map((key) => [`${name} ${key}`, tokens]));
    expect(statements).toEqual([of("ten", 4), of("more", 2)]);
    expect(grants).toEqual(statements);
  });

  test("128 buckets are the most of one statement; with none in flight, 32 are sent at once", async () => {
    const { client, grants } = watched(own.pool);
    const keys = Array.from({ length: 300 }, (_, i) => `key ${i}`);
    for (const { remaining } of await consumeAll(storeOn(client), ten, keys)) expect(remaining).toBe(9);
    expect(grants.map(({ size }) => size)).toEqual([32, 128, 128, 12]);
    expect(await own.rows()).toBe(300);
  });

  test("L8 · the same answers and the same rows as by the function that decides alone", async () => {
    const calls = fc.record({ key: fc.integer({ min: 0, max: 5 }), cost: fc.integer({ min: 0, max: 12 }), ms: fc.integer({ min: -400_000, max: 2_000_000 }) });
    const slower = definePolicy({ name: "ten", capacity: 9, refill: perHour(7) });
    let [run, granted] = [0, 0];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(calls, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 12 }), fc.boolean(), async (ticks, changes) => {
        run += 1;
        const { client, grants } = watched(own.pool);
        const fast = storeOn(client);
        const slow = new PostgresStore(withoutGrants(own.pool), { table: OTHER, clock: own.clock.now, denyCacheMs: 0 });
        for (const [i, tick] of ticks.entries()) {
          const policy = changes && i % 3 === 2 ? slower : ten;
          const ask = (store: PostgresStore) => Promise.all(tick.map(({ key, cost }) => callsOf(store).consume(policy, `${run} ${key}`, cost)));
          const expected = await ask(slow);
          for (const [n, decision] of (await ask(fast)).entries()) {
            // Of several that are refused at one instant, one may be told what was left before others were granted.
            if (expected[n]?.allowed) expect(decision).toEqual(expected[n]);
            else expect(decision).toMatchObject({ allowed: false, reason: expected[n]?.reason });
          }
          own.clock.advance(tick[0]?.ms ?? 0);
        }
        // Full rows go now and then.
        const rows = async (table: string): Promise<unknown> =>
          (await own.pool.query(`SELECT * FROM ${table} WHERE bucket LIKE $1 AND sweep_after >= $2 ORDER BY bucket`, [`ten ${run} %`, own.clock.now()])).rows;
        expect(await rows(TABLE)).toEqual(await rows(OTHER));
        granted += grants.length;
      }),
      { numRuns: 40 },
    );
    expect(granted).toBeGreaterThan(100);
  });

  const hold = async (what: string): Promise<() => Promise<void>> => {
    const holder = await strangers.connect();
    holder.on("error", () => undefined);
    await holder.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = 20000; ${what}`);
    return async () => {
      await holder.query("ROLLBACK");
      holder.release();
    };
  };

  test.each([
    ["advisory lock", `SELECT pg_advisory_xact_lock(hashtextextended('"${TABLE}" ten b', 0))`],
    ["row lock", `SELECT * FROM ${TABLE} WHERE bucket = 'ten b' FOR UPDATE`],
  ])("a bucket under the %s of others is decided alone, and the rest of its batch is granted meanwhile", async (_, lock) => {
    const store = storeOn(own.pool);
    await consumeAll(store, ten, ["a", "b", "c"]);
    const release = await hold(lock);
    const held = callsOf(store).consume(ten, "b", 1).catch((error: unknown) => error);
    const rest = await consumeAll(store, ten, ["a", "c", "new"]);
    expect(rest.map(({ remaining }) => remaining)).toEqual([8, 8, 9]);
    expect(await held).toMatchObject({ code: "55P03" }); // lock_not_available, after one second
    await release();
    expect((await callsOf(store).consume(ten, "b", 1)).remaining).toBe(8);
  });

  test("L3 · a bucket of a batch that is not granted is only read", async () => {
    const versions = async (): Promise<unknown> => (await own.pool.query(`SELECT xmin, xmax, ctid, * FROM ${TABLE} WHERE bucket LIKE 'ten spent%' ORDER BY bucket`)).rows;
    const store = storeOn(own.pool);
    const spent = ["spent 1", "spent 2"];
    await consumeAll(store, ten, spent, 10);
    const before = await versions();
    const decisions = await consumeAll(store, ten, [...spent, "a", "b"]);
    expect(decisions.map(({ allowed }) => allowed)).toEqual([false, false, true, true]);
    expect(await versions()).toEqual(before);
  });

  test("one bad row fails its own decision, and the others of its batch are granted", async () => {
    const store = storeOn(own.pool);
    const keys = ["a", "b", "c", "d"];
    for (const set of ["at[1] = -9223372036854775808", "spent[1] = 9223372036854775807", "spent = '{}'", "names = '{}'"]) {
      await Promise.all(keys.map((key) => callsOf(store).reset(ten, key)));
      await consumeAll(store, ten, keys);
      await own.pool.query(`UPDATE ${TABLE} SET ${set} WHERE bucket = 'ten c'`);
      const results = await Promise.allSettled(keys.map((key) => callsOf(store).consume(ten, key, 1)));
      expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
      expect(results[2]).toMatchObject({ reason: { code: "ERR_STORE_FOREIGN_VALUE" } });
    }
  });

  test("a server that refuses the statement leaves every bucket to the other function", async () => {
    for (const code of ["22003", "40P01", "55P03", "P0001"]) {
      const client: PostgresClient = { query: (text, values) => (askedBy(values).isGrant ? Promise.reject(Object.assign(new Error("no"), { code })) : own.pool.query(text, values)) };
      for (const { allowed } of await consumeAll(storeOn(client), ten, ["a", "b"])) expect(allowed).toBe(true);
    }
    expect((await callsOf(own.store).peek(ten, "a", 0)).remaining).toBe(6);
  });

  test("a connection that breaks fails the decisions of its statement, and is not asked again", async () => {
    for (const code of ["ECONNRESET", "EPIPE", "57P01", "57014", "08006", undefined]) {
      const calls: unknown[] = [];
      const client: PostgresClient = { query: (_, values) => (calls.push(values), Promise.reject(Object.assign(new Error("broken"), { code }))) };
      const store = storeOn(client);
      expect((await Promise.allSettled(["a", "b", "a"].map((key) => callsOf(store).consume(ten, key, 1)))).map(({ status }) => status)).toEqual(Array(3).fill("rejected"));
      expect(calls).toHaveLength(1);
    }
  });

  /** What the statement that grants is never asked for, and what it is asked for and leaves alone. */
  const left: [what: string, before: (store: PostgresStore) => Promise<unknown>, policy: Policy, key: string, cost: number, asked: boolean][] = [
    ["a cost of 0", (store) => callsOf(store).adjust(ten, "a", 30), ten, "a", 0, false],
    ["a cost above the capacity", () => Promise.resolve(), ten, "a", 11, false],
    ["several limits", () => Promise.resolve(), two, "a", 1, false],
    ["a name that the database replaces", () => Promise.resolve(), ten, "k".repeat(400), 1, false],
    ["a refusal", (store) => callsOf(store).consume(ten, "a", 9), ten, "a", 2, true],
    ["a block", (store) => callsOf(store).block(ten, "a", HOUR), ten, "a", 1, true],
    ["a block of a bucket with a record", (store) => Promise.all([callsOf(store).consume(ten, "a", 1), callsOf(store).block(ten, "a", HOUR)]), ten, "a", 1, true],
    ["a record in other numbers", (store) => callsOf(store).consume(definePolicy({ name: "ten", capacity: 10, refill: perHour(7) }), "a", 1), ten, "a", 1, true],
    ["a record of another limit", (store) => callsOf(store).consume(definePolicy({ name: "ten", limits: [{ name: "b", capacity: 10, refill: perHour(10) }] }), "a", 1), ten, "a", 1, true],
    ["a record ahead of the clock", (store) => (own.clock.advance(1), callsOf(store).consume(ten, "a", 1).finally(() => own.clock.advance(-1))), ten, "a", 1, true],
    ["an impossible record", (store) => (own.clock.advance(2 * HOUR), callsOf(store).consume(ten, "a", 1).finally(() => own.clock.advance(-2 * HOUR))), ten, "a", 1, true],
  ];
  test.each(left)("%s is decided by the other function", async (_, before, policy, key, cost, asked) => {
    const slow = new PostgresStore(withoutGrants(other.pool), { table: OTHER, clock: own.clock.now, denyCacheMs: 0 });
    const { client, statements, grants } = watched(own.pool);
    const fast = storeOn(client);
    for (const store of [slow, storeOn(withoutGrants(own.pool))]) await before(store);
    expect(await callsOf(fast).consume(policy, key, cost)).toEqual(await callsOf(slow).consume(policy, key, cost));
    expect(grants).toHaveLength(asked ? 1 : 0);
    expect(statements).toHaveLength(grants.length + 1);
    const rows = async (table: string): Promise<unknown> => (await own.pool.query(`SELECT * FROM ${table}`)).rows;
    expect(await rows(TABLE)).toEqual(await rows(OTHER));
  });

  test("a remembered refusal is not asked to be granted, also after it is too old to use", async () => {
    const { client, grants } = watched(own.pool);
    const store = storeOn(client, 1_000);
    await callsOf(store).consume(ten, "a", 10);
    await callsOf(store).consume(ten, "a", 1);
    grants.length = 0;
    own.clock.advance(2_000);
    expect((await callsOf(store).consume(ten, "a", 1)).allowed).toBe(false);
    expect(grants).toEqual([]);
    own.clock.advance(HOUR);
    for (let i = 0; i < 2; i++) expect((await callsOf(store).consume(ten, "a", 1)).allowed).toBe(true);
    expect(grants).toHaveLength(1);
  });

  test("L13 · new rows of batches pay for those that are full", async () => {
    await consumeAll(own.store, ten, Array.from({ length: 200 }, (_, i) => `old ${i}`));
    own.clock.advance(2 * HOUR);
    const old = async (): Promise<number> => (await own.pool.query(`SELECT count(*)::int AS old FROM ${TABLE} WHERE bucket LIKE 'ten old%'`)).rows[0].old as number;
    // A batch of 128 sweeps for certain.
    await consumeAll(own.store, ten, Array.from({ length: 128 }, (_, i) => `new ${i}`));
    expect(await old()).toBe(0);
    // Few at a time: not to have happened after so many has a chance of 10^-14.
    await consumeAll(own.store, ten, Array.from({ length: 50 }, (_, i) => `old ${i}`));
    own.clock.advance(2 * HOUR);
    for (let i = 0; i < 1_000 && (await old()) > 0; i += 10) await consumeAll(own.store, ten, Array.from({ length: 10 }, (_, j) => `newer ${i + j}`));
    expect(await old()).toBe(0);
  });

  test("a plan from when the table was small reads no more of a large one than the batch needs", async () => {
    const client = await own.pool.connect();
    try {
      const store = storeOn(client);
      const keys = Array.from({ length: 16 }, (_, i) => `key ${i}`);
      for (let i = 0; i < 8; i++) await consumeAll(store, ten, keys);
      await client.query(`ALTER TABLE ${TABLE} SET (autovacuum_enabled = off)`);
      await client.query(`INSERT INTO ${TABLE} SELECT 'ten many ' || i, '{ten}', '{1}', '{1}', '{1}', '{360000}', 9e15 FROM generate_series(1, 5000) AS i`);
      await client.query("BEGIN");
      const read = async (): Promise<number> =>
        (await client.query(`SELECT (seq_tup_read + idx_tup_fetch)::int AS read FROM pg_stat_xact_user_tables WHERE relname = '${TABLE}'`)).rows[0].read as number;
      const before = await read();
      for (const { remaining } of await consumeAll(store, ten, keys)) expect(remaining).toBe(1);
      expect((await read()) - before).toBeLessThan(16 * 4);
    } finally {
      await client.query("ROLLBACK");
      client.release();
    }
  });
});
