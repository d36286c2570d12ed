/**
 * The table and the function that {@link PostgresStore.migrate} creates, for a migration tool of your own.
 *
 * Running it again changes nothing. The table is unlogged: buckets are cheap to lose (a crash makes every bucket full) and
 * dear to write twice.
 * @example
 * await pool.query(postgresSchema("sluice"));
 */
export function postgresSchema(name: string): string {
  return `
CREATE UNLOGGED TABLE IF NOT EXISTS "${name}" (
  bucket text PRIMARY KEY,           -- the policy's name, a space, the caller's key
  names text[] NOT NULL,             -- the limits that are not full, and for each of them
  spent bigint[] NOT NULL,           --   units given out and not yet come back
  at bigint[] NOT NULL,              --   the instant of that, in ms since 1970
  p bigint[] NOT NULL,               --   the units per ms and
  q bigint[] NOT NULL,               --   the units per token that it was counted in
  sweep_after bigint NOT NULL        -- when all of it is full, rounded up to 2^20 ms (17 minutes) so that it seldom changes
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS "${name}_sweep" ON "${name}" (sweep_after);

-- what     'c' consume, 'p' peek, 'r' refund, 'd' delete
-- buckets  one for each part; the parts are charged together or not at all
-- tokens   for each part
-- limits   for each part a list of {"n": name, "c": capacity, "p": units per ms, "q": units per token, "f": ms from empty to full}
-- clock    ms, or null for the server's own
-- sweep    whether to drop some rows that are full
-- Answers a row for each limit of each part, in order, with what it found before it charged anything.
CREATE OR REPLACE FUNCTION "${name}_decide"(what text, buckets text[], tokens bigint[], limits jsonb, clock bigint, sweep boolean)
RETURNS TABLE (part int, fits boolean, spent_before bigint, lag bigint, now_ms bigint) LANGUAGE plpgsql AS $$
DECLARE
  most CONSTANT bigint := 9007199254740991;
  now bigint;
  row "${name}"%ROWTYPE;
  lim jsonb;
  place int;
  part_limits int;
  cap bigint; lp bigint; lq bigint; full_ms bigint;
  found_spent bigint[] := '{}'; found_lag bigint[] := '{}'; found_fits boolean[] := '{}'; stale boolean[] := '{}';
  all_fit boolean := true;
  s bigint; l bigint; old_p bigint; old_q bigint; is_stale boolean; fit boolean;
  k int := 0;
  full_at bigint;
BEGIN
  -- One at a time for each bucket, taken in one order everywhere so that nobody waits in a circle. A lock needs no row.
  PERFORM pg_advisory_xact_lock(h) FROM (SELECT DISTINCT hashtextextended('${name} ' || b, 0) AS h FROM unnest(buckets) AS b ORDER BY h) AS hashes;
  now := coalesce(clock, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);

  FOR i IN 1 .. array_length(buckets, 1) LOOP
    SELECT * INTO row FROM "${name}" WHERE bucket = buckets[i];
    fit := true;
    FOR lim IN SELECT * FROM jsonb_array_elements(limits -> (i - 1)) LOOP
      cap := (lim ->> 'c')::bigint; lp := (lim ->> 'p')::bigint; lq := (lim ->> 'q')::bigint; full_ms := (lim ->> 'f')::bigint;
      place := array_position(row.names, lim ->> 'n');
      s := 0; l := 0; is_stale := false;
      IF place IS NOT NULL THEN
        old_p := row.p[place]; old_q := row.q[place];
        is_stale := old_p <> lp OR old_q <> lq;
        IF row.spent[place] > 0 AND row.at[place] - now <= full_ms THEN
          l := greatest(0, row.at[place] - now);
          s := row.spent[place];
          -- The elapsed time is capped before it is multiplied, so that years idle do not overflow.
          s := greatest(0, s - old_p * least(greatest(0, now - row.at[place]), (s + old_p - 1) / old_p));
          IF old_q <> lq THEN s := least(most, div(s::numeric * lq + old_q - 1, old_q))::bigint; END IF;
        END IF;
      END IF;
      IF tokens[i] > cap OR (tokens[i] > 0 AND s > cap * lq - tokens[i] * lq) THEN fit := false; END IF;
      found_spent := found_spent || s; found_lag := found_lag || l; stale := stale || is_stale;
    END LOOP;
    found_fits := found_fits || fit;
    all_fit := all_fit AND fit;
  END LOOP;

  FOR i IN 1 .. array_length(buckets, 1) LOOP
    SELECT * INTO row FROM "${name}" WHERE bucket = buckets[i];
    IF NOT FOUND THEN
      row := ROW(buckets[i], '{}'::text[], '{}'::bigint[], '{}'::bigint[], '{}'::bigint[], '{}'::bigint[], 0);
    END IF;
    part_limits := jsonb_array_length(limits -> (i - 1));
    is_stale := false;
    FOR j IN 1 .. part_limits LOOP
      lim := limits -> (i - 1) -> (j - 1);
      lp := (lim ->> 'p')::bigint; lq := (lim ->> 'q')::bigint;
      k := k + 1;
      s := found_spent[k];
      part := i; fits := found_fits[i]; spent_before := s; lag := found_lag[k]; now_ms := now;
      RETURN NEXT;
      IF what = 'p' OR NOT (stale[k] OR what <> 'c' OR all_fit) THEN CONTINUE; END IF;
      IF what = 'c' AND all_fit THEN s := s + tokens[i] * lq; END IF;
      IF what = 'r' THEN s := greatest(0, s - tokens[i]::numeric * lq)::bigint; END IF;
      IF what = 'd' THEN s := 0; END IF;
      is_stale := true;
      place := array_position(row.names, lim ->> 'n');
      IF place IS NULL THEN place := coalesce(array_length(row.names, 1), 0) + 1; END IF;
      row.names[place] := lim ->> 'n'; row.spent[place] := s; row.at[place] := now + found_lag[k]; row.p[place] := lp; row.q[place] := lq;
    END LOOP;
    IF NOT is_stale THEN CONTINUE; END IF;

    SELECT max(u.t + (u.s + u.p - 1) / u.p), array_agg(u.n), array_agg(u.s), array_agg(u.t), array_agg(u.p), array_agg(u.q)
      INTO full_at, row.names, row.spent, row.at, row.p, row.q
      FROM unnest(row.names, row.spent, row.at, row.p, row.q) AS u(n, s, t, p, q)
      WHERE u.s > 0 AND u.t + (u.s + u.p - 1) / u.p > now;
    IF full_at IS NULL THEN
      DELETE FROM "${name}" WHERE bucket = buckets[i];
    ELSE
      row.sweep_after := ((full_at + 1048575) / 1048576) * 1048576;
      INSERT INTO "${name}" VALUES (row.*)
      ON CONFLICT (bucket) DO UPDATE SET names = excluded.names, spent = excluded.spent, at = excluded.at, p = excluded.p, q = excluded.q, sweep_after = excluded.sweep_after;
    END IF;
  END LOOP;

  IF sweep THEN
    DELETE FROM "${name}" WHERE bucket IN (SELECT bucket FROM "${name}" WHERE sweep_after < now LIMIT 200 FOR UPDATE SKIP LOCKED);
  END IF;
END $$;
`;
}
