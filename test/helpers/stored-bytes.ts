// The bytes of a store on its server, for the suite's law L16.
import type { Redis } from "ioredis";

/** The bytes of all keys under `prefix`, including names and Redis's overhead. */
export async function bytesInRedis(client: Redis, prefix: string): Promise<number> {
  let bytes = 0;
  let cursor = "0";
  do {
    const [next, names] = await client.scan(cursor, "MATCH", `${prefix}:*`, "COUNT", 1_000);
    const sizes = await Promise.all(names.map((name) => client.memory("USAGE", name)));
    bytes += sizes.reduce<number>((sum, size) => sum + Number(size ?? 0), 0);
    cursor = next;
  } while (cursor !== "0");
  return bytes;
}

/** The bytes of all rows of `table` as Postgres stores them, which compresses long text. */
export async function bytesInPostgres(client: { query(text: string, values: unknown[]): Promise<{ rows: unknown[] }> }, table: string): Promise<number> {
  const { rows } = await client.query(`SELECT coalesce(sum(pg_column_size(kept.*)), 0)::int AS bytes FROM "${table}" AS kept`, []);
  return (rows as [{ bytes: number }])[0].bytes;
}
