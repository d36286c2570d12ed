import { checkOptions } from "../../core/check.js";
import { decideBody, PARAMETERS } from "./schema-decide.js";
import { grantFunction } from "./schema-grant.js";
import { tableNames } from "./table-names.js";

const LOGGED = "Logged: the buckets survive a crash, and each decision waits for the disk.";
const UNLOGGED = "Unlogged: after a crash every bucket is full, and in return no decision waits for the disk.";

/** The options of {@link postgresSchema}. */
export interface PostgresSchemaOptions {
  /**
   * Whether the buckets survive a crash of the server, for quotas that are paid for. Each decision then waits for the
   * disk. Default false: after a crash every bucket is full.
   */
  readonly logged?: boolean | undefined;
}

/**
 * Returns the SQL that creates the table and the functions of a {@link PostgresStore}, for your own migration tool.
 *
 * `table` is the store's option of that name. Running the SQL again changes nothing: a table that is there stays logged
 * or unlogged. Throws a RangeError for a name that the store would refuse too.
 * @example
 * await pool.query(postgresSchema("sluice", { logged: true })); // a quota survives a crash
 */
export function postgresSchema(table: string, options: PostgresSchemaOptions = {}): string {
  const { logged = false } = checkOptions(options, ["logged"]);
  const { table: name, index, decide, grant } = tableNames(table);
  return `
-- ${logged ? LOGGED : UNLOGGED}
-- Some room is left on every page (fillfactor), so that most updates touch no index.
CREATE ${logged ? "" : "UNLOGGED "}TABLE IF NOT EXISTS ${name} (
  bucket text COLLATE "C" PRIMARY KEY, -- the policy's name, a space, the caller's key; or '#' and a hash where that is long
  names text[] NOT NULL,               -- the limits that are not full, '!' for a block, and for each of them
  spent bigint[] NOT NULL,             --   the units given out and not yet come back,
  at bigint[] NOT NULL,                --   the instant of that, in ms since 1970,
  p bigint[] NOT NULL,                 --   and the units per ms and
  q bigint[] NOT NULL,                 --   the units per token that it was counted in
  sweep_after bigint NOT NULL          -- when all of them are full, rounded up to 2^20 ms (17 minutes) so that it seldom changes
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX IF NOT EXISTS ${index} ON ${name} (sweep_after);

CREATE OR REPLACE FUNCTION ${decide}(${PARAMETERS.map((parameter) => parameter.join(" ")).join(", ")})
RETURNS TABLE (fits boolean, spent_before bigint, lag bigint, now_ms bigint, block_ms bigint)
LANGUAGE plpgsql
SET enable_seqscan = off -- a plan made while the table was small would live on in the connections of a pool
SET lock_timeout = '1s' -- calls that wait for a bucket that a transaction holds would take all connections of a pool
AS $$${decideBody(name)}$$;
${grantFunction(grant, name)}`;
}
