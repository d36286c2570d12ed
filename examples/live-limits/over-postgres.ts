/** Numbers that reach every process through Postgres: a table holds them, and a notification says that they have changed. */
import type pg from "pg";
import { keepReading, type Follower, type ReadingOptions } from "./keep-reading.js";
import { policyIn, type LiveLimits, type Numbers } from "./live-limits.js";

/** A server that does not answer for so long has failed. */
const ANSWER_MS = 5_000;
const NO_TABLE = "42P01";
/** Two processes that make the table at the same time: the second one gets one of these codes. */
const OTHERS_MADE_IT = ["42P07", "42710", "23505"];

/**
 * Reads the numbers now, after each change and reconnect, and each minute. Resolves when the first ones hold. Without
 * Postgres it resolves after a second with the numbers of the code, and reads on in the background.
 *
 * A missing table is made. If the service may not do that, make it in a migration.
 */
export async function followPostgres<N extends Numbers>(limits: LiveLimits<N>, pool: pg.Pool, table = "live_limits", options?: ReadingOptions): Promise<Follower<N>> {
  if (!/^[a-z_][a-z0-9_]*$/.test(table)) throw new RangeError(`Expected a table's name in lower case, such as live_limits, got ${table}`);
  let listener: pg.PoolClient | null = null;
  let closed = false;
  const reader = keepReading(read, options);

  /** Numbers that were written before a notification are seen by a read after it, on the same connection. */
  async function read(): Promise<void> {
    const client = (listener ??= await listen());
    try {
      const { rows } = await withTable(client, () => client.query<{ name: string; numbers: string }>(timed(`SELECT name, numbers::text FROM ${table}`)));
      if (!closed) limits.take(new Map(rows.map(({ name, numbers }) => [name, numbers])));
    } catch (error) {
      drop(client);
      throw error;
    }
  }

  async function listen(): Promise<pg.PoolClient> {
    const client = await pool.connect(); // it stays out of the pool
    client.on("notification", () => void reader.readNow());
    client.on("error", () => (drop(client), void reader.readNow())); // notifications of an outage are lost
    try {
      await client.query(timed(`LISTEN ${table}`));
      if (closed) throw new Error("It was closed meanwhile");
      return client;
    } catch (error) {
      release(client);
      throw error;
    }
  }

  function drop(client: pg.PoolClient): void {
    if (listener !== client) return;
    listener = null;
    release(client);
  }

  async function withTable<T>(on: pg.PoolClient | pg.Pool, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (codeOf(error) !== NO_TABLE) throw error;
      await on.query(`CREATE TABLE IF NOT EXISTS ${table} (name text PRIMARY KEY, numbers jsonb NOT NULL)`).catch((refused: unknown) => {
        if (!OTHERS_MADE_IT.includes(codeOf(refused))) throw refused;
      });
      return run();
    }
  }

  /** One statement: the notification is sent if the row is written. */
  async function change(statement: string, values: readonly string[]): Promise<void> {
    await withTable(pool, () => pool.query(`WITH changed AS (${statement} RETURNING name) SELECT pg_notify('${table}', name) FROM changed`, [...values]));
  }

  await reader.started();
  return {
    async set(policy, numbers) {
      limits.check(policy, numbers);
      await change(`INSERT INTO ${table} VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET numbers = EXCLUDED.numbers`, [policy, JSON.stringify(numbers)]);
      limits.set(policy, numbers); // here at once, before the notification
    },
    async unset(policy) {
      limits.policy(policyIn(policy));
      await change(`DELETE FROM ${table} WHERE name = $1`, [policy]);
      limits.unset(policy);
    },
    close() {
      closed = true;
      reader.close();
      if (listener !== null) drop(listener);
    },
  };
}

/** Ends a connection. It is not used again: it listens, or it failed. */
function release(client: pg.PoolClient): void {
  client.removeAllListeners("notification");
  client.on("error", () => undefined);
  client.release(true);
}

/** A statement that fails if the server does not answer. */
function timed(text: string): pg.QueryConfig {
  return { text, query_timeout: ANSWER_MS } as pg.QueryConfig;
}

function codeOf(error: unknown): string {
  return String((error as { readonly code?: unknown }).code);
}
