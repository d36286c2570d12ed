// Rows that another program wrote or damaged. Each fails alone, by name, and is left as it is until a reset.
import { PGlite } from "@electric-sql/pglite";
import { createLimiter, definePolicy, perHour } from "sluice";
import { PostgresStore, type PostgresClient } from "sluice/postgres";
import { ManualClock } from "sluice/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ownTable } from "../../helpers/postgres.js";
import { describeWith } from "../../helpers/services.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const TABLE = "sluice_foreign";
const ten = definePolicy({ name: "ten", capacity: 10, refill: perHour(10) });
const a = { name: "a", capacity: 10, refill: perHour(10) };
const two = definePolicy({ name: "two", limits: [a, { name: "b", capacity: 20, refill: perHour(1) }] });
const without = definePolicy({ name: "two", limits: [a] });
const foreign = { name: "StoreError", code: "ERR_STORE_FOREIGN_VALUE" };
const MOST = "9223372036854775807"; // 2^63 - 1
const LEAST = "-9223372036854775808";

/** What is set in a row, in SQL. */
const poisons = [
  "p[1] = 0", "p[1] = -1", `p[1] = ${MOST}`, "p[1] = null", "q[1] = 0", "q[1] = -1", `q[1] = ${MOST}`, "q[1] = null",
  `spent[1] = ${MOST}`, "spent[1] = -1", `spent[1] = ${LEAST}`, "spent[1] = null", `at[1] = ${MOST}`, `at[1] = ${LEAST}`, "at[1] = null",
  "spent = '{}'", "at = '{}'", "p = '{}'", "q = '{}'", "names = '{}'", "names = names || text 'c'", "spent = spent || 1", "q = q || 1",
  "names = '{}', spent = '{}', at = '{}', p = '{}', q = '{}'", "names = ARRAY[names]", "p = ARRAY[p]", "spent = '[0:0]={1}'", "names = '[0:0]={ten}'",
];

function proveOver(own: { readonly client: PostgresClient; readonly store: PostgresStore }): void {
  const rows = async (): Promise<unknown[]> => (await own.client.query(`SELECT xmin, ctid, * FROM ${TABLE} ORDER BY bucket`, [])).rows;
  const poison = (bucket: string, set: string): Promise<unknown> => own.client.query(`UPDATE ${TABLE} SET ${set} WHERE bucket = $1`, [bucket]);

  test.each(poisons)("a row with %s fails every call for its key, changes nothing, and is cured by reset", async (set) => {
    await callsOf(own.store).consume(ten, "bad", 4);
    await callsOf(own.store).consume(ten, "good", 4);
    await poison("ten bad", set);
    const before = await rows();
    const together = [{ policy: ten, key: "good", cost: 1 }, { policy: ten, key: "bad", cost: 1 }, { policy: ten, key: "new", cost: 1 }];
    const calls = [
      () => callsOf(own.store).consume(ten, "bad", 1), () => callsOf(own.store).consume(ten, "bad", 0), () => callsOf(own.store).consume(ten, "bad", 11),
      () => callsOf(own.store).peek(ten, "bad", 1), () => callsOf(own.store).adjust(ten, "bad", -1), () => callsOf(own.store).adjust(ten, "bad", 1), () => callsOf(own.store).block(ten, "bad", 1),
      () => callsOf(own.store).together(together), () => callsOf(own.store).together([...together].reverse()),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject(foreign);
    await expect(callsOf(own.store).consume(ten, "bad", 1)).rejects.toThrow('Expected the row of "ten bad" to hold a bucket, got values that sluice never writes. Reset that key.');
    expect(await rows()).toEqual(before);

    expect(await callsOf(own.store).consume(ten, "good", 1)).toMatchObject({ allowed: true, remaining: 5 });
    await callsOf(own.store).reset(ten, "bad");
    expect(await callsOf(own.store).consume(ten, "bad", 1)).toMatchObject({ allowed: true, remaining: 9 });
  });

  test("a bad record of one limit fails the key, also where the policy no longer has that limit", async () => {
    await callsOf(own.store).consume(two, "bad", 4);
    await poison("two bad", "p[2] = 0");
    for (const policy of [two, without]) await expect(callsOf(own.store).consume(policy, "bad", 1)).rejects.toMatchObject(foreign);
    await callsOf(own.store).reset(without, "bad");
    expect(await callsOf(own.store).consume(two, "bad", 1)).toMatchObject({ allowed: true, remaining: 9 });
  });

  test("every decision that waits for the key fails, and the store stays available for others", async () => {
    await callsOf(own.store).consume(ten, "bad", 4);
    await poison("ten bad", "p[1] = 0");
    const states: string[] = [];
    const limiter = createLimiter({ policy: ten, store: own.store, onStoreError: "unavailable" });
    const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.consume("bad")));
    for (const { error } of decisions) states.push((error as { code: string }).code);
    expect(states).toEqual(Array(20).fill("ERR_STORE_FOREIGN_VALUE"));
    expect(await limiter.consume("good")).toMatchObject({ allowed: true, degraded: false });
  });

  test("the largest numbers that sluice can write are a bucket", async () => {
    await callsOf(own.store).consume(ten, "bad", 4);
    for (const set of ["spent[1] = 9007199254740991", "at[1] = 9007199254740991", "at[1] = -9007199254740991", "p[1] = 9007199254740991", "q[1] = 9007199254740991"]) {
      await poison("ten bad", set);
      expect((await callsOf(own.store).peek(ten, "bad", 0)).allowed).toBe(true);
      await callsOf(own.store).adjust(ten, "bad", -1);
    }
  });

  test("reset forgets limits that the policy no longer has, and no other key or policy", async () => {
    for (const [policy, key] of [[two, "a"], [two, "b"], [ten, "a"]] as const) await callsOf(own.store).consume(policy, key, 4);
    await callsOf(own.store).reset(without, "a");
    const left = async (policy: typeof two, key: string): Promise<unknown> => {
      const { remaining, limits } = await callsOf(own.store).peek(policy, key, 0);
      return limits?.map((limit) => limit.remaining) ?? remaining;
    };
    expect(await left(two, "a")).toEqual([10, 20]);
    expect(await left(two, "b")).toEqual([6, 16]);
    expect(await left(ten, "a")).toBe(6);
  });
}

describeWith("postgres", "foreign rows, on a server", () => {
  const own = ownTable(TABLE);
  proveOver({
    get client() {
      return own.pool;
    },
    get store() {
      return own.store;
    },
  });
});

describe("foreign rows, on PGlite", () => {
  let database: PGlite;
  let store: PostgresStore;
  beforeAll(async () => {
    database = new PGlite();
    store = new PostgresStore(database, { table: TABLE, clock: new ManualClock(1_700_000_000_000).now, denyCacheMs: 0 });
    await store.migrate();
  });
  beforeEach(() => void database.query(`TRUNCATE ${TABLE}`));
  afterAll(() => database.close());
  proveOver({
    get client() {
      return database;
    },
    get store() {
      return store;
    },
  });
});
