// A client between a store and its pool, which sees every statement.
import type { PostgresClient } from "sluice/postgres";

/** What one statement asked for: the tokens of the first limit of each of its buckets. */
export type Statement = ReadonlyMap<string, number>;

/** A client that notes each statement, and complains of two at once about one bucket. */
export function watched(pool: PostgresClient): { client: PostgresClient; statements: Statement[] } {
  const statements: Statement[] = [];
  const inFlight = new Set<string>();
  const client: PostgresClient = {
    async query(text, values) {
      const names = values[1] as string[];
      for (const name of names) {
        if (inFlight.has(name)) throw new Error(`Two statements at once about ${name}`);
        inFlight.add(name);
      }
      const [, , part, , tokens] = values as [unknown, unknown, number[], unknown, number[]];
      statements.push(new Map(names.map((name, i) => [name, tokens[part.indexOf(i + 1)] as number])));
      try {
        return await pool.query(text, values);
      } finally {
        for (const name of names) inFlight.delete(name);
      }
    },
  };
  return { client, statements };
}
