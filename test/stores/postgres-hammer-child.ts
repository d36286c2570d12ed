// One of the processes that hammer one key: asks as fast as it can, then tells every decision with the server's instant.
import pg from "pg";
import { definePolicy, type LimitOptions } from "sluice";
import { PostgresStore } from "sluice/postgres";

const [url, table, limit, ms] = process.argv.slice(2) as [string, string, string, string];

/** One decision: the server's instant, and whether it was granted. */
export type Told = readonly [now: number, granted: boolean];

const told: Told[] = [];
const pool = new pg.Pool({ connectionString: url, max: 4 });
const client = {
  async query(text: string, values: unknown[]) {
    const answer = await pool.query(text, values);
    const [row] = answer.rows as { now_ms: string; fits: boolean }[];
    if (row !== undefined) told.push([Number(row.now_ms), row.fits]);
    return answer;
  },
};
const policy = definePolicy({ name: "hammer", ...(JSON.parse(limit) as LimitOptions) });
const store = new PostgresStore(client, { table });

await store.peek(policy, "one", 1); // connected, and ready to start with the others
told.length = 0;
process.send?.("ready");
await new Promise((resolve) => process.once("message", resolve));

const end = performance.now() + Number(ms);
await Promise.all(
  Array.from({ length: 4 }, async () => {
    while (performance.now() < end) await store.consume(policy, "one", 1);
  }),
);
await pool.end();
process.send?.(told, () => process.disconnect());
