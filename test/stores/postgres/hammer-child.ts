// One of the processes that hammer one key: asks as fast as it can, then tells what every statement asked for, what the
// server said and when, and what its callers were granted in all.
import pg from "pg";
import { definePolicy } from "sluice";
import { PostgresStore, type PostgresClient } from "sluice/postgres";
import type { Tale, Told } from "../../helpers/hammer.js";
import { askedBy, withoutGrants } from "./watched.js";
import { callsOf } from "../../../src/testing/store-calls.js";
import type { RateOptions } from "../../../src/core/limit.js";

const [url, table, limit, ms, kind] = process.argv.slice(2) as [string, string, string, string, string];

const told: Told[] = [];
const pool = new pg.Pool({ connectionString: url, max: 4 });

/** What a statement granted or refused. One that may only grant decides nothing about the buckets that it does not name. */
function listen(values: readonly unknown[], { rows }: pg.QueryResult): pg.QueryResult {
  const [row] = rows as { now_ms: string; fits?: boolean }[];
  const { isGrant, statement } = askedBy(values);
  if (row !== undefined) told.push([Number(row.now_ms), isGrant || row.fits === true, [...statement.values()][0] as number]);
  return { rows } as pg.QueryResult;
}

type Named = { readonly name: string; readonly text: string; readonly values: unknown[] };
const client = {
  query: async (first: string | Named, values?: unknown[]) =>
    typeof first === "string" ? listen(values as unknown[], await pool.query(first, values)) : listen(first.values, await pool.query(first)),
};
const policy = definePolicy({ name: "hammer", ...(JSON.parse(limit) as RateOptions) });
process.once("disconnect", () => process.exit());
// A process of before asks the function that decides for everything.
const store = new PostgresStore(kind === "older" ? withoutGrants(client as PostgresClient) : (client as PostgresClient), { table, denyCacheMs: 0, prepare: kind === "named" });

await callsOf(store).peek(policy, "one", 1); // connected, and ready to start with the others
told.length = 0;
process.send?.("ready");
await new Promise((resolve) => process.once("message", resolve));

const end = performance.now() + Number(ms);
let asked = 0;
let allowed = 0;
await Promise.all(
  Array.from({ length: 4 }, async () => {
    while (performance.now() < end) {
      if ((await callsOf(store).consume(policy, "one", 1)).allowed) allowed += 1;
      asked += 1;
    }
  }),
);
await pool.end();
process.send?.({ told, asked, allowed } satisfies Tale, () => process.disconnect());
