import { postgresSchema } from "./schema.js";
import { decideBody, PARAMETERS } from "./schema-decide.js";
import { GRANT_PARAMETERS, grantBody } from "./schema-grant.js";
import type { PostgresClient } from "./statements.js";
import { tableNames } from "./table-names.js";

/** Creates the table and the functions, or updates the functions. Needs no right to create when all is up to date. */
export async function migrateTable(client: PostgresClient, table: string): Promise<void> {
  const { table: quoted, decide, grant } = tableNames(table);
  const signature = (name: string, parameters: typeof PARAMETERS | typeof GRANT_PARAMETERS): string =>
    `${name}(${parameters.map(([, type]) => type).join(", ")})`;
  const { rows } = await client.query(
    `SELECT to_regclass($1::text) IS NOT NULL
      AND (SELECT prosrc FROM pg_proc WHERE oid = to_regprocedure($2::text)) = $3::text
      AND (SELECT prosrc FROM pg_proc WHERE oid = to_regprocedure($4::text)) = $5::text AS done`,
    [quoted, signature(decide, PARAMETERS), decideBody(quoted), signature(grant, GRANT_PARAMETERS), grantBody(quoted)],
  );
  if ((rows as { done: boolean | null }[])[0]?.done === true) return;
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
