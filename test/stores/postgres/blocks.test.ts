// What the end of a block leaves in Postgres, who sees it, and what an older function does.
import { definePolicy, perHour, perSecond, type Decision } from "sluice";
import { postgresSchema, PostgresStore } from "sluice/postgres";
import { expect, test } from "vitest";
import { ownTable } from "../../helpers/postgres.js";
import { describeWith } from "../../helpers/services.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const TABLE = "sluice_block_ends";
const HOUR = 3_600_000;
const ten = definePolicy({ name: "ten", capacity: 10, refill: perHour(10) });
const many = definePolicy({ name: "ten", limits: [{ name: "ten", capacity: 9, refill: perSecond(3) }, { name: "day", capacity: 90, refill: perHour(2) }] });

describeWith("postgres", "the end of a block in Postgres", () => {
  const own = ownTable(TABLE);
  const rows = async (): Promise<unknown[]> => (await own.pool.query(`SELECT * FROM ${TABLE} ORDER BY bucket`)).rows;

  test("L4 · with 0 the record of the block is gone, and a row without another", async () => {
    await callsOf(own.store).block(ten, "only", HOUR);
    expect(await own.rows()).toBe(1);
    await callsOf(own.store).block(ten, "only", 0);
    await callsOf(own.store).block(ten, "never", 0);
    expect(await own.rows()).toBe(0);
    expect(await callsOf(own.store).consume(ten, "only", 4)).toMatchObject({ allowed: true, remaining: 6 });
    const before = await rows();
    await callsOf(own.store).block(ten, "only", HOUR);
    await callsOf(own.store).block(ten, "only", 0);
    expect(await rows()).toEqual(before);
    expect(await callsOf(own.store).consume(ten, "only", 6)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test("leaves the records of every version of a policy as they are, also those in other numbers", async () => {
    await callsOf(own.store).consume(many, "a", [4, 50]);
    const before = await rows();
    await callsOf(own.store).block(ten, "a", HOUR);
    own.clock.advance(300);
    await callsOf(own.store).block(ten, "a", 0);
    expect(await rows()).toEqual(before);
  });

  test("a block that is further ahead than it is long ends, too", async () => {
    await callsOf(own.store).block(ten, "a", 1_000);
    own.clock.advance(-HOUR);
    await callsOf(own.store).block(ten, "a", 0);
    expect(await own.rows()).toBe(0);
    own.clock.advance(HOUR);
    expect((await callsOf(own.store).consume(ten, "a", 10)).allowed).toBe(true);
  });

  test("beside others in one tick takes effect in its turn", async () => {
    const ask = (): Promise<Decision> => callsOf(own.store).consume(ten, "a", 1);
    const answers = await Promise.all([ask(), callsOf(own.store).block(ten, "a", HOUR), ask(), callsOf(own.store).block(ten, "a", 0), ask()]);
    expect(answers.filter((answer) => answer !== undefined).map(({ allowed, remaining }) => [allowed, remaining])).toEqual([[true, 9], [false, 0], [true, 8]]);
    expect(answers[2]).toMatchObject({ blocked: true });
  });

  test("of this process is seen at once, by another after denyCacheMs at the latest; what is recalled says that a block refused", async () => {
    const [one, other] = Array.from({ length: 2 }, () => new PostgresStore(own.pool, { table: TABLE, clock: own.clock.now })) as [PostgresStore, PostgresStore];
    await callsOf(one).block(ten, "a", HOUR);
    for (const each of [one, other]) expect(await callsOf(each).consume(ten, "a", 1)).toMatchObject({ allowed: false, blocked: true });
    own.clock.advance(999);
    await callsOf(one).block(ten, "a", 0);
    expect(await callsOf(one).consume(ten, "a", 1)).toMatchObject({ allowed: true });
    expect(other.recall(ten, "a", 0)).toMatchObject({ allowed: false, blocked: true });
    own.clock.advance(1);
    expect(await callsOf(other).consume(ten, "a", 1)).toMatchObject({ allowed: true });
  });

  test("with a function of a version that ends no block, the call fails and says what to do; blocks and all else work", async () => {
    const older = postgresSchema(TABLE).replace(" AND (what <> 'b' OR tokens[1] > 0)", "");
    expect(older).not.toBe(postgresSchema(TABLE));
    await own.pool.query(older);
    try {
      await callsOf(own.store).block(ten, "a", HOUR);
      await expect(callsOf(own.store).block(ten, "a", 0)).rejects.toMatchObject({
        code: "ERR_STORE_REPLY", message: `Expected the block to end, got one with ${HOUR} ms left. Run \`migrate()\` to update the function.`,
      });
      expect(await callsOf(own.store).consume(ten, "a", 1)).toMatchObject({ allowed: false, blocked: true, retryAfterMs: HOUR });
      await callsOf(own.store).block(ten, "b", 0); // there is no block to end
      expect(await callsOf(own.store).consume(ten, "b", 1)).toMatchObject({ allowed: true });
    } finally {
      await own.store.migrate();
    }
    await callsOf(own.store).block(ten, "a", 0);
    expect(await callsOf(own.store).consume(ten, "a", 1)).toMatchObject({ allowed: true });
  });
});
