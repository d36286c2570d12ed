// L8 and L14 on Postgres: the same history in SQL, in the core and in the big-integer model, compared call by call in every field.
import { PGlite } from "@electric-sql/pglite";
import fc from "fast-check";
import pg from "pg";
import { definePolicy, MemoryStore, type Policy, type PolicyOptions } from "sluice";
import { PostgresStore, type PostgresClient } from "sluice/postgres";
import { ManualClock } from "sluice/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Model } from "../../helpers/model.js";
import { runs, type Run } from "../../helpers/runs.js";
import { describeWith, postgresUrl } from "../../helpers/services.js";
import { Tally } from "../../helpers/tally.js";

let tally = new Tally();
let keys = 0;

/** Plays a run on a key of its own, in a table of its own: a sweep by one clock would take the rows of another. */
async function play({ policies, steps }: Run, client: PostgresClient, table: string): Promise<void> {
  const key = `key ${++keys}`;
  const clock = new ManualClock();
  const store = new PostgresStore(client, { table, clock: clock.now, denyCacheMs: 0 });
  const core = new MemoryStore({ clock: clock.now });
  const model = new Model();
  const defined = policies.map((policy) => definePolicy(policy));
  let last: { now: number; chosen: number } | undefined;
  for (const { call, now, cost, choice } of steps) {
    clock.set(now);
    const chosen = choice % policies.length;
    const options = policies[chosen] as PolicyOptions;
    const policy = defined[chosen] as Policy;
    last = tally.step(now, chosen, last);
    if (call === "reset") {
      await store.reset(policy, key);
      // It forgets the limits of all versions of the policy.
      for (const each of defined) core.reset(each, key);
      for (const each of policies) model.reset(each);
    } else if (call === "refund") {
      await store.refund(policy, key, cost);
      core.refund(policy, key, cost);
      model.refund(options, cost, now);
    } else if (call === "debit") {
      await store.debit(policy, key, cost);
      core.debit(policy, key, cost);
      model.debit(options, cost, now);
    } else {
      const decision = await store[call](policy, key, cost);
      expect(decision).toStrictEqual(model[call](options, cost, now));
      expect(decision).toStrictEqual(core[call](policy, key, cost));
      if (!decision.allowed) tally.denials += 1;
    }
  }
}

async function create(client: PostgresClient, table: string): Promise<void> {
  await client.query(`DROP TABLE IF EXISTS "${table}"`, []);
  await new PostgresStore(client, { table }).migrate();
}

describeWith("postgres", "L8 · one arithmetic, on a server", () => {
  const LANES = 8;
  const tables = Array.from({ length: LANES }, (_, i) => `sluice_fuzz_${i}`);
  let pool: pg.Pool;
  beforeAll(() => void (pool = new pg.Pool({ connectionString: postgresUrl(), max: LANES })));
  afterAll(async () => {
    await pool.query(`DROP TABLE ${tables.join(", ")}; DROP FUNCTION ${tables.map((table) => `${table}_decide`).join(", ")}`);
    await pool.end();
  });

  test("L8, L14 · every answer is the model's and the core's, whatever the limits, their changes, the clock and the cost", async () => {
    await Promise.all(tables.map((table) => create(pool, table)));
    await fc.assert(
      fc.asyncProperty(fc.array(runs, { minLength: LANES, maxLength: LANES }), async (list) => {
        await Promise.all(list.map((run, i) => play(run, pool, tables[i] as string)));
      }),
      { numRuns: 72 },
    );
    tally.tell("Postgres");
  });
});

describe("L8 · one arithmetic, on PGlite", () => {
  test("L8, L14 · every answer is the model's and the core's", { timeout: 180_000 }, async () => {
    const db = new PGlite();
    tally = new Tally();
    try {
      await create(db, "sluice");
      await fc.assert(fc.asyncProperty(runs, (run) => play(run, db, "sluice")), { numRuns: 100 });
      tally.tell("PGlite");
    } finally {
      await db.close();
    }
  });
});
