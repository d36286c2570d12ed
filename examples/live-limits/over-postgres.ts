/** Numbers that reach every process through Postgres: a table holds them, and a notification says that they have changed. */
import pg from "pg";
import type { LiveLimits, Numbers } from "./live-limits.js";

const AGAIN_MS = 1_000;

/** Reads the numbers now, after each change, and after each reconnect. Resolves when the first ones hold. */
export async function followPostgres(limits: LiveLimits, pool: pg.Pool, table = "live_limits") {
  await pool.query(`CREATE TABLE IF NOT EXISTS ${table} (name text PRIMARY KEY, capacity bigint, tokens bigint, every_ms bigint)`);
  let closed = false;
  let listener = await listen();

  async function listen(): Promise<pg.PoolClient> {
    const client = await pool.connect(); // it stays out of the pool
    client.on("notification", () => void read().catch(console.error));
    client.on("error", () => void again(client)); // messages of an outage are lost
    await client.query(`LISTEN ${table}`);
    await read();
    return client;
  }

  async function again(lost: pg.PoolClient): Promise<void> {
    lost.release(true);
    while (!closed) {
      try {
        listener = await listen();
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    }
  }

  async function read(): Promise<void> {
    const { rows } = await pool.query<{ name: string } & Record<"capacity" | "tokens" | "every_ms", string>>(`SELECT * FROM ${table}`);
    for (const { name, capacity, tokens, every_ms: everyMs } of rows) {
      try {
        limits.set(name, { capacity: Number(capacity), tokens: Number(tokens), everyMs: Number(everyMs) });
      } catch (error) {
        console.error(`The numbers of ${name} stay as they are:`, (error as Error).message);
      }
    }
  }

  return {
    /** Changes the numbers in all processes. Throws for impossible ones, and then tells no one. */
    async set(policy: string, numbers: Numbers): Promise<void> {
      limits.check(policy, numbers);
      const { capacity, tokens, everyMs } = numbers;
      // One statement: the notification is sent if the row is written.
      await pool.query(
        `WITH changed AS (INSERT INTO ${table} VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO UPDATE
           SET capacity = EXCLUDED.capacity, tokens = EXCLUDED.tokens, every_ms = EXCLUDED.every_ms RETURNING name)
         SELECT pg_notify('${table}', name) FROM changed`,
        [policy, capacity, tokens, everyMs],
      );
    },
    close(): void {
      closed = true;
      listener.release(true);
    },
  };
}
