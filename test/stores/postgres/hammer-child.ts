// One of the processes that hammer one key: asks as fast as it can, then tells what every statement asked for, what the
// server said and when, and what its callers were granted in all.
import pg from "pg";
import { definePolicy, type LimitOptions } from "sluice";
import { PostgresStore } from "sluice/postgres";
import type { Tale, Told } from "../../helpers/hammer.js";

const [url, table, limit, ms] = process.argv.slice(2) as [string, string, string, string];

const told: Told[] = [];
const pool = new pg.Pool({ connectionString: url, max: 4 });
const client = {
  async query(text: string, values: unknown[]) {
    const answer = await pool.query(text, values);
    const [row] = answer.rows as { now_ms: string; fits: boolean }[];
    if (row !== undefined) told.push([Number(row.now_ms), row.fits, (values[4] as number[])[0] as number]);
    return answer;
  },
};
const policy = definePolicy({ name: "hammer", ...(JSON.parse(limit) as LimitOptions) });
process.once("disconnect", () => process.exit());
const store = new PostgresStore(client, { table, denyCacheMs: 0 });

await store.peek(policy, "one", 1); // connected, and ready to start with the others
told.length = 0;
process.send?.("ready");
await new Promise((resolve) => process.once("message", resolve));

const end = performance.now() + Number(ms);
let asked = 0;
let allowed = 0;
await Promise.all(
  Array.from({ length: 4 }, async () => {
    while (performance.now() < end) {
      if ((await store.consume(policy, "one", 1)).allowed) allowed += 1;
      asked += 1;
    }
  }),
);
await pool.end();
process.send?.({ told, asked, allowed } satisfies Tale, () => process.disconnect());
