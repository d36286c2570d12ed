// Settlements over Postgres, as it comes: by the server's clock.
import { definePolicy } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { expect, test } from "vitest";
import { ownTable } from "../../helpers/postgres.js";
import { settlesTogether } from "../../helpers/settling.js";
import { describeWith } from "../../helpers/services.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const table = "sluice_settlements";

describeWith("postgres", "settlements over Postgres", () => {
  const own = ownTable(table);
  settlesTogether((options) => new PostgresStore(own.pool, { table, ...options }));

  test("L4 · by the server's clock a debt is not swept away before it has come back", async () => {
    const day = 86_400_000;
    const policy = definePolicy({ name: "llm", capacity: 10, refill: { tokens: 1, everyMs: day } });
    const store = new PostgresStore(own.pool, { table });
    const keptMs = async (): Promise<number> => {
      const { rows } = await own.pool.query(`SELECT sweep_after - extract(epoch FROM now()) * 1000 AS kept FROM ${table} WHERE bucket = 'llm ann'`);
      return Number((rows[0] as { kept: string }).kept);
    };
    await callsOf(store).consume(policy, "ann", 4);
    await callsOf(store).adjust(policy, "ann", 9);
    expect(await keptMs()).toBeGreaterThan(13 * day - 60_000);
    await callsOf(store).adjust(policy, "ann", 100);
    expect(await keptMs()).toBeGreaterThan(113 * day - 60_000);
  });
});
