// L8 and L14 on Postgres: the same history in SQL, in the core and in the big-integer model, compared call by call in every field.
import { PGlite } from "@electric-sql/pglite";
import fc from "fast-check";
import pg from "pg";
import { definePolicy, MemoryStore, type Policy, type PolicyOptions } from "sluice";
import { PostgresStore, type PostgresClient } from "sluice/postgres";
import { ManualClock } from "sluice/testing";
import { mapCosts } from "../../../src/core/cost.js";
import { simplest } from "../../../src/core/limit.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Model } from "../../helpers/model.js";
import { runs, type Run } from "../../helpers/runs.js";
import { describeWith, postgresUrl } from "../../helpers/services.js";
import { Tally } from "../../helpers/tally.js";
import { withoutGrants } from "./watched.js";
import { callsOf } from "../../../src/testing/store-calls.js";

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
  // A block that is over is forgotten with the next write, which changes no answer while the clock moves on (L4).
  const movesOn = steps.every(({ now }, i) => i === 0 || now >= (steps[i - 1]?.now ?? now));
  if (movesOn) await startAhead();
  let last: { now: number; chosen: number } | undefined;
  for (const { call, now, cost, choice } of steps) {
    clock.set(now);
    const chosen = choice % policies.length;
    const options = policies[chosen] as PolicyOptions;
    const policy = defined[chosen] as Policy;
    last = tally.step(now, chosen, last);
    // Half of the calls have a cost of its own for each limit.
    const costs = simplest(policy.limits.map(({ capacity }, place) => (choice % 2 === 0 || place === 0 ? cost : (cost * (place + choice)) % (capacity + 2))));
    if (call === "reset") {
      await callsOf(store).reset(policy, key);
      // It forgets the limits of all versions of the policy.
      for (const each of defined) callsOf(core).reset(each, key);
      for (const each of policies) model.reset(each);
    } else if (call === "refund" || call === "debit") {
      const changes = call === "debit" ? costs : mapCosts(policy, costs, (each) => 0 - each);
      const done = await callsOf(store).adjust(policy, key, changes);
      expect(done).toBe(model.adjust(options, changes, now));
      expect(done).toBe(callsOf(core).adjust(policy, key, changes));
    } else if (call === "block") {
      if (!movesOn) continue;
      const forMs = choice % 3 === 0 ? 0 : 1 + (cost % 100_000);
      await callsOf(store).block(policy, key, forMs);
      callsOf(core).block(policy, key, forMs);
      model.block(forMs, now);
    } else {
      const decision = await callsOf(store)[call](policy, key, costs);
      expect(decision).toStrictEqual(model[call](options, costs, now));
      expect(decision).toStrictEqual(callsOf(core)[call](policy, key, costs));
      if (!decision.allowed) tally.denials += 1;
    }
  }

  /** Spends and blocks by a clock that was ahead of the history's: by less than the block is long, or by any time more. */
  async function startAhead(): Promise<void> {
    const { now, cost, choice } = steps[0] as Run["steps"][number];
    const [options, policy] = [policies[0] as PolicyOptions, defined[0] as Policy];
    const ahead = now + ([1, 100_000, 1e9, 1e12][cost % 4] as number);
    const forMs = 1 + (cost % 100_000);
    clock.set(ahead);
    const done = await callsOf(store).adjust(policy, key, 1 + cost);
    expect(done).toBe(model.adjust(options, 1 + cost, ahead));
    expect(done).toBe(callsOf(core).adjust(policy, key, 1 + cost));
    if (choice % 2 === 0) return;
    await callsOf(store).block(policy, key, forMs);
    callsOf(core).block(policy, key, forMs);
    model.block(forMs, ahead);
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
    await pool.query(`DROP TABLE ${tables.join(", ")}; DROP FUNCTION ${tables.flatMap((table) => [`${table}_decide`, `${table}_grant`]).join(", ")}`);
    await pool.end();
  });

  // Policies of one limit are granted by the one function where it is there, and all else is decided by the other.
  const paths: [which: string, client: () => PostgresClient][] = [["both functions", () => pool], ["the function that decides alone", () => withoutGrants(pool)]];
  test.each(paths)("L8, L14 · by %s, every answer is the model's and the core's, whatever the limits, their changes, the clock and the cost", async (which, client) => {
    tally = new Tally();
    await Promise.all(tables.map((table) => create(pool, table)));
    await fc.assert(
      fc.asyncProperty(fc.array(runs, { minLength: LANES, maxLength: LANES }), async (list) => {
        await Promise.all(list.map((run, i) => play(run, client(), tables[i] as string)));
      }),
      { numRuns: 48 },
    );
    tally.tell(`Postgres, ${which}`);
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
