// A client between a store and its pool, which sees every statement.
import type { PostgresClient } from "sluice/postgres";

/** What one statement asked for: the tokens of the first limit of each of its buckets. */
export type Statement = ReadonlyMap<string, number>;

/** Reads a statement's values. A grant's are the buckets, an entry, then the tokens of each. Those of a migration ask for nothing. */
export function askedBy(values: readonly unknown[]): { readonly isGrant: boolean; readonly statement: Statement } {
  if (Array.isArray(values[0])) {
    const [names, , tokens] = values as [string[], unknown, number[]];
    return { isGrant: true, statement: new Map(names.map((name, i) => [name, tokens[i] as number])) };
  }
  const [, names, part, , tokens] = values as [unknown, string[], number[], unknown, number[]];
  if (!Array.isArray(names)) return { isGrant: false, statement: new Map() };
  return { isGrant: false, statement: new Map(names.map((name, i) => [name, tokens[part.indexOf(i + 1)] as number])) };
}

/** A client that notes each statement, with grants among them and alone, and complains of two at once about one bucket. */
export function watched(pool: PostgresClient): { client: PostgresClient; statements: Statement[]; grants: Statement[] } {
  const statements: Statement[] = [];
  const grants: Statement[] = [];
  const inFlight = new Set<string>();
  const client: PostgresClient = {
    async query(text, values) {
      const { isGrant, statement } = askedBy(values);
      for (const name of statement.keys()) {
        if (inFlight.has(name)) throw new Error(`Two statements at once about ${name}`);
        inFlight.add(name);
      }
      statements.push(statement);
      if (isGrant) grants.push(statement);
      try {
        return await pool.query(text, values);
      } finally {
        for (const name of statement.keys()) inFlight.delete(name);
      }
    },
  };
  return { client, statements, grants };
}

/** A client on which the function that grants is missing, so that the other one decides everything. */
export function withoutGrants(pool: PostgresClient): PostgresClient {
  return {
    query: (text, values) => (askedBy(values).isGrant ? Promise.reject(Object.assign(new Error("no such function"), { code: "42883" })) : pool.query(text, values)),
  };
}
