import { grantWindows } from "./schema-window.js";

/** The parameters of the function that grants: names and types. The arrays have one element per bucket. */
export const GRANT_PARAMETERS = [
  ["buckets", "text[]"], // different names of at most 1000 bytes
  ["entry", "text"], // of the one limit that all buckets have: its name, and '^' before that of a window
  ["tokens", "bigint[]"], // per bucket: to take, from 1 to the capacity
  ["capacity", "bigint"], // in tokens
  ["per_ms", "bigint"], // units that refill each ms
  ["per_token", "bigint"], // units in a token; of a window the ms until the date of new tokens
  ["clock", "bigint"], // ms since 1970, or null for the server's own clock
] as const;

/** The SQL that creates the function `grant` for `table`. */
export const grantFunction = (grant: string, table: string): string => `
CREATE OR REPLACE FUNCTION ${grant}(${GRANT_PARAMETERS.map((parameter) => parameter.join(" ")).join(", ")})
RETURNS TABLE (granted text, spent_after bigint, now_ms bigint)
LANGUAGE plpgsql
SET enable_seqscan = off -- a plan made while the table was small would read all of a table that has grown
SET enable_hashjoin = off
SET enable_mergejoin = off
SET lock_timeout = '50ms' -- a bucket that a transaction holds does not hold up the others; each is then decided alone
AS $$${grantBody(table)}$$;
`;

/**
 * Charges each bucket whose tokens fit, and returns one row for it. A bucket without a row is unchanged. It may be
 * refused, blocked, held, ahead of the clock or absent, or counted in other numbers or under another limit's name. The
 * function that decides finds out which.
 *
 * So the conditions cover only what a grant needs. The other function decides uncertain cases. A bucket that is not
 * granted is only read.
 */
export const grantBody = (table: string): string => `
DECLARE
  updated int;
  inserted int;
  own bigint; -- the date of tokens of a window that are taken now
  asked_for text; -- a bucket of a window, the tokens to take, and its row: names, spent, at and q
  wanted bigint;
  entries text[];
  counts bigint[];
  lasts bigint[];
  spans bigint[];
  n int;
  start int; -- the first amount that is not over
  since bigint; -- when the amount before began
  shortest bigint; -- of two neighbors, the ms from the first date to the last, and the place of the second
  place int;
BEGIN
  -- Under a snapshot that is older than the locks, others' charges would not be seen. The other function says so.
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted')
    OR 1 > ANY (tokens) OR capacity < ANY (tokens) THEN
    RETURN;
  END IF;

  -- The same locks in the same order as in the other function, so that no two calls wait for each other in a circle.
  -- A single bucket comes to the same as many, in fewer steps.
  IF starts_with(entry, '^') THEN
    PERFORM ${locksOf(table)};
    now_ms := ${NOW};
    ${grantWindows(table).trim()}
  ELSIF cardinality(buckets) = 1 THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('${table} ' || buckets[1], 0));
    now_ms := ${NOW};
    RETURN QUERY UPDATE ${table} AS b SET ${chargeSql("tokens[1]")}
      WHERE b.bucket = buckets[1] AND ${fitsSql("tokens[1]")} RETURNING ${ANSWER};
  ELSE
    PERFORM ${locksOf(table)};
    now_ms := ${NOW};
    RETURN QUERY UPDATE ${table} AS b SET ${chargeSql("cost")} FROM unnest(buckets, tokens) AS asked(name, cost)
      WHERE b.bucket = name AND ${fitsSql("cost")} RETURNING ${ANSWER};
  END IF;

  IF NOT starts_with(entry, '^') THEN
    GET DIAGNOSTICS updated = ROW_COUNT;
    IF updated = cardinality(buckets) THEN RETURN; END IF;

    -- A bucket without a row is full. One that has a row was charged above, or is not granted.
    RETURN QUERY INSERT INTO ${table} AS b
      SELECT name, ARRAY[entry], ARRAY[cost * per_token], ARRAY[now_ms], ARRAY[per_ms], ARRAY[per_token],
          ${fullAfter("cost * per_token")}
        FROM unnest(buckets, tokens) AS asked(name, cost)
      ON CONFLICT DO NOTHING RETURNING ${ANSWER};
    GET DIAGNOSTICS inserted = ROW_COUNT;
  END IF;

  -- As in the other function: new rows pay for those that are full.
  IF random() * 32 < inserted THEN
    DELETE FROM ${table} WHERE bucket = ANY (ARRAY(
      SELECT bucket FROM ${table} WHERE sweep_after < now_ms ORDER BY sweep_after LIMIT 100 + 3 * inserted
      FOR UPDATE SKIP LOCKED));
  END IF;
END `;

const locksOf = (table: string): string => `pg_advisory_xact_lock(h)
      FROM (SELECT DISTINCT hashtextextended('${table} ' || b, 0) AS h FROM unnest(buckets) AS b ORDER BY h) AS hashes`;

const NOW = "coalesce(clock, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)";
const ANSWER = "b.bucket, b.spent[1], now_ms";

// The spent units of the row `b` by now. The elapsed time is capped before it is multiplied, so that years idle do not
// overflow.
const SPENT_NOW = "greatest(0, b.spent[1] - per_ms * least(now_ms - b.at[1], (b.spent[1] + per_ms - 1) / per_ms))";

const fullAfter = (spent: string): string => `((now_ms + (${spent} + per_ms - 1) / per_ms + 1048575) / 1048576) * 1048576`;

const chargeSql = (cost: string): string => {
  const spent = `${SPENT_NOW} + ${cost} * per_token`;
  return `spent = ARRAY[${spent}], at = ARRAY[now_ms], sweep_after = ${fullAfter(spent)}`;
};

// The bounds come first: they exclude numbers that this package never writes, before the arithmetic uses them.
const fitsSql = (cost: string): string => `b.names = ARRAY[entry] AND b.p = ARRAY[per_ms] AND b.q = ARRAY[per_token]
      AND cardinality(b.spent) = 1 AND b.spent[1] BETWEEN 0 AND 9007199254740991
      AND cardinality(b.at) = 1 AND b.at[1] BETWEEN -9007199254740991 AND now_ms
      AND ${SPENT_NOW} <= (capacity - ${cost}) * per_token`;
