// A bucket has one statement in flight at a time, so a crowd at one bucket leaves connections of the pool to others.
import pg from "pg";
import { definePolicy, perHour, type Decision, type Policy } from "sluice";
import { PostgresStore, type PostgresClient } from "sluice/postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ownTable } from "../../helpers/postgres.js";
import { describeWith, postgresUrl } from "../../helpers/services.js";
import { askedBy, watched } from "./watched.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const TABLE = "sluice_turns";
const policy = definePolicy({ name: "fifty", capacity: 50, refill: perHour(1) });
const narrow = definePolicy({ name: "narrow", limits: [{ name: "a", capacity: 7, refill: perHour(1) }, { name: "b", capacity: 9, refill: perHour(2) }] });

describeWith("postgres", "queues on Postgres", () => {
  const own = ownTable(TABLE);
  let pool: pg.Pool;
  beforeAll(() => void (pool = new pg.Pool({ connectionString: postgresUrl(), max: 2 })));
  afterAll(() => pool.end());
  const storeOn = (client: PostgresClient, denyCacheMs = 1_000): PostgresStore => new PostgresStore(client, { table: TABLE, clock: own.clock.now, denyCacheMs });

  test.each([0, 1_000])("two hundred callers that wait for one bucket hold one connection of two, with a deny cache of %i ms", async (denyCacheMs) => {
    const { client, statements } = watched(pool);
    const store = storeOn(client, denyCacheMs);
    // Another process is at the attacked bucket, and stays until the other caller has his answer, or for five seconds.
    const holder = await own.pool.connect();
    await holder.query("BEGIN; SET LOCAL idle_in_transaction_session_timeout = 5000");
    holder.on("error", () => undefined);
    await callsOf(storeOn(holder)).consume(policy, "attacked", 1);

    const order: string[] = [];
    const note = async (who: string, decision: Promise<Decision>): Promise<Decision> => decision.finally(() => order.push(who));
    const attack = Array.from({ length: 200 }, () => note("attacked", callsOf(store).consume(policy, "attacked", 1)));
    const other = await note("other", callsOf(store).consume(policy, "other", 1));
    expect(order).toEqual(["other"]);
    expect(other.allowed).toBe(true);

    await holder.query("COMMIT");
    holder.release(true);
    const decisions = await Promise.all(attack);
    expect(decisions.map(({ allowed }) => allowed)).toEqual([...Array(49).fill(true), ...Array(151).fill(false)]);
    expect(decisions.map(({ remaining }) => remaining)).toEqual([...Array.from({ length: 49 }, (_, i) => 48 - i), ...Array(151).fill(0)]);
    // Both at once, which the held bucket fails after 50 ms; then the first of them, the other caller, all that were found
    // to fit, and whether anything is left.
    expect(statements.map((statement) => [...statement.values()])).toEqual([[50, 1], [1], [1], [48], [1]]);
  });

  test("an attack costs one statement per bucket and denyCacheMs, however wide it is", async () => {
    const { client, statements } = watched(pool);
    const store = storeOn(client);
    await callsOf(store).consume(policy, "a", 50);
    await callsOf(store).consume(policy, "a", 1);
    statements.length = 0;
    for (let i = 0; i < 40; i++) {
      own.clock.advance(100);
      const attack = Array.from({ length: 50 }, (_, n) => callsOf(store).consume(policy, "a", 1 + (n % 3)));
      await new Promise(setImmediate);
      attack.push(...Array.from({ length: 50 }, () => callsOf(store).consume(policy, "a", 1)));
      for (const decision of await Promise.all(attack)) expect(decision.allowed).toBe(false);
    }
    expect(statements).toHaveLength(4);
  });

  test("a denial from memory is the server's own, until the instant that it promised", async () => {
    const { client, statements } = watched(pool);
    const store = storeOn(client);
    const quick = definePolicy({ name: "quick", capacity: 3, refill: { tokens: 1, everyMs: 900 } });
    await callsOf(store).consume(quick, "a", 3);
    await callsOf(store).consume(quick, "a", 1);
    statements.length = 0;
    for (const ms of [0, 1, 500, 398]) {
      own.clock.advance(ms);
      for (const cost of [1, 2, 3, 4]) expect(await callsOf(store).consume(quick, "a", cost)).toEqual(await callsOf(own.store).peek(quick, "a", cost));
    }
    expect(statements).toEqual([]);
    own.clock.advance(1);
    expect(await callsOf(store).consume(quick, "a", 1)).toMatchObject({ allowed: true, remaining: 0 });
    expect(await callsOf(store).consume(quick, "a", 1)).toMatchObject({ allowed: false, retryAfterMs: 900 });
  });

  test("a refund and a reset of this process are seen at once, those of another within denyCacheMs", async () => {
    const store = storeOn(pool);
    await callsOf(store).consume(policy, "a", 50);
    for (const give of [() => callsOf(store).adjust(policy, "a", -50), () => callsOf(store).reset(policy, "a")]) {
      expect((await callsOf(store).consume(policy, "a", 1)).allowed).toBe(false);
      const refused = callsOf(store).consume(policy, "a", 2);
      const given = give();
      expect((await callsOf(store).consume(policy, "a", 50)).allowed).toBe(true);
      expect((await refused).allowed).toBe(false);
      await given;
    }
    expect((await callsOf(store).consume(policy, "a", 1)).allowed).toBe(false);
    await callsOf(own.store).reset(policy, "a");
    own.clock.advance(999);
    expect((await callsOf(store).consume(policy, "a", 1)).allowed).toBe(false);
    own.clock.advance(1);
    expect((await callsOf(store).consume(policy, "a", 1)).allowed).toBe(true);
  });

  test("together: a refusal is remembered for the bucket that refused, and the next one asks again", async () => {
    const { client, statements } = watched(pool);
    const store = storeOn(client);
    await callsOf(store).consume(policy, "a", 50);
    const both = [{ policy, key: "a", cost: 1 }, { policy, key: "b", cost: 1 }];
    for (let i = 0; i < 2; i++) expect((await callsOf(store).together(both)).map(({ allowed }) => allowed)).toEqual([false, true]);
    expect((await callsOf(store).consume(policy, "a", 1)).allowed).toBe(false);
    expect(statements).toHaveLength(3);
    expect(await callsOf(store).consume(policy, "b", 1)).toMatchObject({ allowed: true, remaining: 49 });
  });

  test("L3, L14 · a sum that others made too large is nobody's refusal: it writes nothing, not even new numbers", async () => {
    const [before, after] = [3, 7].map((tokens) => definePolicy({ name: "new", capacity: 10, refill: { tokens, everyMs: 1_000_003 } })) as [Policy, Policy];
    const rows: unknown[] = [];
    const { client, statements } = watched({
      async query(text, values) {
        if (askedBy(values).isGrant) throw Object.assign(new Error("busy"), { code: "55P03" });
        // Between the two statements of a round another process takes six, in the old numbers.
        if (statements.length === 3) await callsOf(own.store).consume(before, "a", 6);
        const answer = await pool.query(text, values);
        rows.push((await pool.query(`SELECT spent, p FROM ${TABLE}`)).rows);
        return answer;
      },
    });
    const store = storeOn(client);
    const decisions = await Promise.all(Array.from({ length: 9 }, () => callsOf(store).consume(after, "a", 1)));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(4);
    expect(statements.map((statement) => [...statement.values()])).toEqual([[9], [1], [8], [3], [1]]);
    expect(rows[1]).toMatchObject([{ p: ["3"] }]);
    expect(rows[2]).toMatchObject([{ p: ["7"] }]);
  });

  test("L19 · what waits is decided by the sum of each limit", async () => {
    const { client, statements } = watched(pool);
    const store = storeOn(client);
    // The second limit has nine: four of these fit, and a fifth would not.
    const decisions = await Promise.all(Array.from({ length: 6 }, () => callsOf(store).consume(narrow, "a", [1, 2])));
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, true, false, false]);
    expect(decisions[3]?.limits).toMatchObject([{ cost: 1, remaining: 3 }, { cost: 2, remaining: 1 }]);
    expect(decisions[5]).toMatchObject({ limit: "b", cost: 2, remaining: 1 });
    // The first alone, the three that fit beside it, and one that is refused.
    expect(statements.map((statement) => [...statement.values()])).toEqual([[1], [3], [1]]);
    // What one limit has left is no obstacle to a cost that leaves it out.
    expect((await Promise.all(Array.from({ length: 3 }, () => callsOf(store).consume(narrow, "a", [1, 0])))).map(({ allowed }) => allowed)).toEqual([true, true, true]);
  });

  test.each([0, 1_000])("a block refuses all that waits, also what costs nothing, with a deny cache of %i ms", async (denyCacheMs) => {
    const { client, statements, grants } = watched(pool);
    const store = storeOn(client, denyCacheMs);
    const costs = [0, 0, 1, 0, 51, 2];
    const ask = (): Promise<Decision[]> => Promise.all(costs.map((cost) => callsOf(store).consume(policy, "a", cost)));
    const [blocked, refused] = await Promise.all([callsOf(store).block(policy, "a", 100), ask()]);
    expect(blocked).toBeUndefined();
    expect(refused.map(({ reason, retryAfterMs }) => [reason, retryAfterMs])).toEqual(costs.map((cost) => (cost > 50 ? ["cost_above_capacity", Infinity] : ["limited", 100])));
    expect(statements).toHaveLength(3);
    expect(grants).toEqual([new Map([["fifty a", 1]])]);
    own.clock.advance(100);
    expect((await ask()).map(({ allowed }) => allowed)).toEqual(costs.map((cost) => cost <= 50));
  });

  test("a block of this process is seen at once, one of another within denyCacheMs", async () => {
    const store = storeOn(pool);
    await callsOf(store).consume(policy, "a", 50);
    expect(await callsOf(store).consume(policy, "a", 1)).toMatchObject({ retryAfterMs: 3_600_000 });
    await callsOf(store).block(policy, "a", 5_000_000);
    expect(await callsOf(store).consume(policy, "a", 1)).toMatchObject({ retryAfterMs: 5_000_000 });
    await callsOf(own.store).block(policy, "a", 6_000_000);
    own.clock.advance(999);
    expect(await callsOf(store).consume(policy, "a", 1)).toMatchObject({ retryAfterMs: 4_999_001 });
    own.clock.advance(1);
    expect(await callsOf(store).consume(policy, "a", 1)).toMatchObject({ retryAfterMs: 5_999_000 });
  });

  test("a statement that fails, fails those who waited for it and nobody after", async () => {
    let broken = true;
    const flaky: PostgresClient = { query: (text, values) => (broken ? Promise.reject(new Error("broken")) : pool.query(text, values)) };
    const store = storeOn(flaky);
    const asked = Array.from({ length: 5 }, () => callsOf(store).consume(policy, "a", 20));
    const together = callsOf(store).together([{ policy, key: "a", cost: 1 }, { policy, key: "b", cost: 1 }]);
    expect((await Promise.allSettled([...asked, together])).map(({ status }) => status)).toEqual(Array(6).fill("rejected"));
    broken = false;
    expect(await callsOf(store).consume(policy, "a", 1)).toMatchObject({ allowed: true, remaining: 49 });
  });

  test("a bucket that a transaction holds fails its own calls after a second, and leaves the connections to others", async () => {
    const holder = await own.pool.connect();
    await holder.query("BEGIN; SET LOCAL idle_in_transaction_session_timeout = 10000");
    holder.on("error", () => undefined);
    await callsOf(storeOn(holder)).consume(policy, "held", 1);
    const store = storeOn(pool);
    const asked = [1, 2, 3].map(() => callsOf(store).peek(policy, "held", 1).catch((error: unknown) => error));
    for (const answer of asked) expect(await answer).toMatchObject({ code: "55P03" }); // lock_not_available
    expect(await callsOf(store).consume(policy, "other", 1)).toMatchObject({ allowed: true, remaining: 49 });
    await holder.query("COMMIT");
    holder.release(true);
    expect(await callsOf(store).consume(policy, "held", 1)).toMatchObject({ allowed: true, remaining: 48 });
  });
});
