import { startTimer } from "../../platform.js";
import { StoreUnavailableError } from "../../guard/errors.js";
import { postgresSchema } from "./schema.js";
import { decideBody, PARAMETERS } from "./schema-decide.js";
import { GRANT_PARAMETERS, grantBody } from "./schema-grant.js";
import { notConnected, rowsOf, type PostgresClient } from "./client.js";
import { tableNames } from "./table-names.js";

const MIGRATION_MS = 10_000;

/** Runs {@link createAll}, and rejects when it takes longer than 10 seconds. */
export function migrateTable(client: PostgresClient, table: string): Promise<void> {
  return new Promise((resolve, reject) => {
    startTimer(() => {
      const message = `migrate() did not end within ${MIGRATION_MS} ms. Check that the client is connected, and that no ` +
        `transaction holds a lock on ${tableNames(table).table}`;
      reject(new StoreUnavailableError("ERR_STORE_TIMEOUT", message));
    }, MIGRATION_MS);
    createAll(client, table).then(resolve, reject);
  });
}

/** Creates the table and the functions, or updates the functions. Needs no right to create when all is up to date. */
async function createAll(client: PostgresClient, table: string): Promise<void> {
  const { table: quoted, decide, grant } = tableNames(table);
  const signature = (name: string, parameters: typeof PARAMETERS | typeof GRANT_PARAMETERS): string =>
    `${name}(${parameters.map(([, type]) => type).join(", ")})`;
  const away = notConnected(client);
  if (away !== undefined) throw away;
  const rows = rowsOf(await client.query(
    `SELECT to_regclass($1::text) IS NOT NULL
      AND (SELECT prosrc FROM pg_proc WHERE oid = to_regprocedure($2::text)) = $3::text
      AND (SELECT prosrc FROM pg_proc WHERE oid = to_regprocedure($4::text)) = $5::text AS done`,
    [quoted, signature(decide, PARAMETERS), decideBody(quoted), signature(grant, GRANT_PARAMETERS), grantBody(quoted)],
  )) as { readonly done?: boolean | null }[];
  if (rows.length !== 1 || rows[0]?.done === undefined) {
    throw new TypeError(
      `Expected the client to resolve to { rows } with one row, got ${rows.length} rows without its column. ` +
      "Pass a client whose `query(text, values)` runs the statement",
    );
  }
  if (rows[0].done === true) return;
  // One statement, so that any client can send it. The lock keeps two processes from creating the same objects at once.
  await client.query(
    `DO $sluice$ BEGIN
      IF getdatabaseencoding() <> 'UTF8' THEN
        RAISE EXCEPTION 'Expected a database in UTF8, which holds every key, got %', getdatabaseencoding();
      END IF;
      PERFORM pg_advisory_xact_lock(hashtextextended('migrate ${quoted}', 0));
      ${postgresSchema(table)}
    END $sluice$`,
    [],
  );
}
