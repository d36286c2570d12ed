import { show } from "../../core/check.js";

/** Throws a TypeError with the cure when every call of `client` would fail. Sends no query. */
export function checkPostgresClient(client: unknown): void {
  const [got, cure] = postgresFault(client) ?? [];
  if (got !== undefined) {
    throw new TypeError(`Expected \`client\` to be an object with \`query(text, values)\`, got ${got}. ${cure}.`);
  }
}

interface PostgresMembers {
  readonly query?: unknown;
  readonly unsafe?: unknown;
  readonly then?: unknown;
  readonly ended?: unknown;
  readonly $client?: { readonly query?: unknown };
  readonly $pool?: unknown;
  readonly createQueryRunner?: unknown;
  readonly getQueryInterface?: unknown;
}

// Returns the value that came, and the cure. Only certain mistakes are reported: any object with `query` may work, even
// before it is connected.
function postgresFault(client: unknown): readonly [got: string, cure: string] | undefined {
  // Not quoted, because a URL contains the password.
  if (typeof client === "string") return ["a string", POOL];
  const of = (client ?? {}) as PostgresMembers;
  if (typeof of.then === "function") return ["a promise", "Write `await` before it"];
  if (typeof client === "function") return functionFault(client);
  if (typeof of.$client?.query === "function") return ["a Drizzle database", "Pass `db.$client`"];
  if (of.$pool !== undefined) return ["a pg-promise database", "Pass `db.$pool`"];
  // TypeORM resolves to an array of rows without `rows`, and Sequelize takes options instead of values.
  if (of.createQueryRunner !== undefined || of.getQueryInterface !== undefined) return ["an ORM's connection", POOL];
  if (of.ended === true) return ["a pool that has ended", "Pass an open one"];
  return typeof of.query === "function" ? undefined : [show(client), POOL];
}

// A plain function is a client by itself. One with members is a client's own, called in another way.
function functionFault(client: object): readonly [got: string, cure: string] | undefined {
  const { query, unsafe } = client as PostgresMembers;
  if (typeof query === "function") return ["the function of Neon", arrow("query")];
  if (typeof unsafe === "function") return ["a function with `unsafe`, such as that of `postgres` or Bun", arrow("unsafe")];
  const isPlain = Object.keys(client).length === 0 && !/^class\b/.test(`${client as unknown as string}`);
  return isPlain ? undefined : ["a function", POOL];
}

const arrow = (method: string): string => `Write \`new PostgresStore((text, values) => sql.${method}(text, values))\``;

const POOL = "Pass a `pg` pool: `new Pool({ connectionString })`";
