// A client that cannot work is refused when the store is made, with the cure; one that may work is not.
import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import { PostgresStore, type PostgresClient } from "sluice/postgres";
import { expect, test } from "vitest";

const never = (): never => expect.unreachable();
const POOL = "Pass a `pg` pool: `new Pool({ connectionString })`.";

/** What the libraries that are not installed here give: their members, as they were seen. */
const cannot: ReadonlyArray<readonly [name: string, client: unknown, words: string]> = [
  ["a URL", "postgres://me:secret@127.0.0.1/app", `a string. ${POOL}`],
  ["nothing", undefined, `undefined. ${POOL}`],
  ["options", { connectionString: "postgres://127.0.0.1" }, `an object. ${POOL}`],
  ["the class of pg", pg.Pool, `a function. ${POOL}`],
  ["a promise", Promise.resolve({ query: never }), "a promise. Write `await` before it."],
  ["postgres", Object.assign(() => undefined, { unsafe: never }), "a function with `unsafe`, such as that of `postgres` or Bun. Write `new PostgresStore((text, values) => sql.unsafe(text, values))`."],
  ["neon", Object.assign(() => undefined, { query: never, unsafe: never, transaction: never }), "the function of Neon. Write `new PostgresStore((text, values) => sql.query(text, values))`."],
  ["knex", Object.assign(() => undefined, { raw: never, client: {} }), `a function. ${POOL}`],
  ["Drizzle over pg", { query: {}, $client: { query: never } }, "a Drizzle database. Pass `db.$client`."],
  ["Drizzle over postgres", { query: {}, $client: Object.assign(() => undefined, { unsafe: never }) }, `an object. ${POOL}`],
  ["pg-promise", { query: never, $pool: {} }, "a pg-promise database. Pass `db.$pool`."],
  ["TypeORM", { query: never, createQueryRunner: never }, `an ORM's connection. ${POOL}`],
  ["Sequelize", { query: never, getQueryInterface: never }, `an ORM's connection. ${POOL}`],
  ["a pool that has ended", { query: never, ended: true }, "a pool that has ended. Pass an open one."],
];

test.each(cannot)("%s", (_, client, words) => {
  const make = () => new PostgresStore(client as PostgresClient);
  expect(make).toThrow(TypeError);
  expect(make).toThrow(`Expected \`client\` to be an object with \`query(text, values)\`, got ${words}`);
  expect(make).not.toThrow("secret");
});

test("a pool of pg that has ended", async () => {
  const pool = new pg.Pool();
  expect(() => new PostgresStore(pool)).not.toThrow();
  await pool.end();
  expect(() => new PostgresStore(pool)).toThrow("a pool that has ended");
});

test("a client that may work is taken, connected or not", () => {
  // A client of pg keeps statements until it is connected.
  for (const client of [new pg.Pool(), new pg.Client(), new PGlite(), { query: () => Promise.resolve({ rows: [] }) }]) {
    expect(() => new PostgresStore(client)).not.toThrow();
  }
});
