import { show } from "../../core/check.js";

/** The method that the store calls. A `pg` pool has it, and so has PGlite. */
export interface PostgresClient {
  /** Runs one statement with the values of `$1`, `$2`, … and resolves to its rows. */
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
}

/**
 * Any client, as one function. It runs one statement with the values of `$1`, `$2`, …, each a text or null, and
 * resolves to the rows, or to an object with `rows`.
 * @example
 * const store = new PostgresStore(async (text, values) => (await pool.query(text, values)).rows as unknown[]);
 */
export type PostgresQuery = (
  text: string, values: (string | null)[],
) => PromiseLike<readonly unknown[] | { readonly rows: readonly unknown[] }>;

/** The client with a checked `query`. A function becomes one that gets only texts, which every client sends alike. */
export function checkedClient(client: PostgresClient | PostgresQuery): PostgresClient {
  if (typeof client !== "function") return client;
  const texts = new Map<string, string>();
  return {
    async query(text, values) {
      const known = texts.get(text) ?? overText(text);
      texts.set(text, known);
      return { rows: rowsOf(await client(known, values.map(asText))) };
    },
  };
}

/** The rows of a reply. Throws a TypeError for another shape. */
export function rowsOf(reply: unknown): unknown[] {
  const rows = Array.isArray(reply) ? (reply as unknown) : (Object(reply) as { readonly rows?: unknown }).rows;
  if (Array.isArray(rows)) return rows;
  const got = rows === undefined ? show(reply) : `{ rows } with ${show(rows)} in it`;
  throw new TypeError(
    `Expected the client to resolve to { rows }, a list of objects, got ${got}. ` +
    "Write `new PostgresStore(async (text, values) => rows)` with the rows of one statement.",
  );
}

// The server reads each value from a text. Without this, clients guess types: some send arrays as JSON.
const overText = (text: string): string => text.replace(/(\$\d+)::(?!text(?!\[))/g, "$1::text::");

function asText(value: unknown): string | null {
  if (value === null) return null;
  const escaped = (each: unknown): string =>
    each === null ? "NULL" : `"${`${each as string | number}`.replace(/["\\]/g, "\\$&")}"`;
  return Array.isArray(value) ? `{${value.map(escaped).join()}}` : `${value as string | number}`;
}

/**
 * The error of a client of `pg` without a call of `connect()`: its statements wait forever. Undefined for pools, for
 * connected clients and for others.
 */
export function notConnected(client: object): TypeError | undefined {
  const { _connecting, _connected } = client as { readonly _connecting?: unknown; readonly _connected?: unknown };
  if (_connecting !== false || _connected !== false) return undefined;
  return new TypeError("The client of `pg` is not connected. Write `await client.connect()`, or pass a pool");
}
