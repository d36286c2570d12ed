-- Unlogged: after a crash every bucket is full, and in return no decision waits for the disk.
-- Some room is left on every page (fillfactor), so that most updates touch no index.
CREATE UNLOGGED TABLE IF NOT EXISTS "sluice_Schema"."Limits" (
  bucket text COLLATE "C" PRIMARY KEY, -- the policy's name, a space, the caller's key; or '#' and a hash where that is long
  names text[] NOT NULL,               -- the limits that are not full, and for each of them
  spent bigint[] NOT NULL,             --   the units given out and not yet come back,
  at bigint[] NOT NULL,                --   the instant of that, in ms since 1970,
  p bigint[] NOT NULL,                 --   and the units per ms and
  q bigint[] NOT NULL,                 --   the units per token that it was counted in
  sweep_after bigint NOT NULL          -- when all of them are full, rounded up to 2^20 ms (17 minutes) so that it seldom changes
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX IF NOT EXISTS "Limits_sweep" ON "sluice_Schema"."Limits" (sweep_after);

CREATE OR REPLACE FUNCTION "sluice_Schema"."Limits_decide"(what text, buckets text[], tokens bigint[], part int[], limits text[], capacity bigint[], per_ms bigint[], per_token bigint[], full_ms bigint[], clock bigint)
RETURNS TABLE (fits boolean, spent_before bigint, lag bigint, now_ms bigint)
LANGUAGE plpgsql
SET enable_seqscan = off -- a plan made while the table was small would live on in the connections of a pool
SET lock_timeout = '1s' -- calls that wait for a bucket that a transaction holds would take all connections of a pool
AS $$
DECLARE
  most CONSTANT bigint := 9007199254740991; -- 2^53 - 1
  now bigint;
  kept "sluice_Schema"."Limits"%ROWTYPE;
  place int;
  k int;
  dims text;
  foreign_row boolean;
  any_foreign boolean := false;
  s bigint;
  l bigint;
  found_spent bigint[];
  found_lag bigint[];
  renumbered boolean[];
  all_fit boolean := true;
  changed boolean;
  full_at bigint;
  some_full boolean;
  inserted int := 0;
BEGIN
  -- Under a snapshot that is older than the lock, others' charges would not be seen.
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'Expected the isolation level to be read committed, got %', current_setting('transaction_isolation')
      USING HINT = 'Set default_transaction_isolation for the connections of this pool.';
  END IF;

  -- An index takes 2704 bytes and callers choose the length of their keys. A policy's name never begins with '#'.
  FOR i IN 1 .. cardinality(buckets) LOOP
    IF octet_length(buckets[i]) > 1000 THEN
      buckets[i] := '#' || encode(sha256(convert_to(buckets[i], 'UTF8')), 'hex');
    END IF;
  END LOOP;

  -- One call at a time for each bucket, locked in the same order everywhere to prevent deadlocks. This lock needs no row
  -- and writes none. Two buckets with one hash only wait for each other.
  IF cardinality(buckets) = 1 THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('"sluice_Schema"."Limits" ' || buckets[1], 0));
  ELSE
    PERFORM pg_advisory_xact_lock(h)
      FROM (SELECT DISTINCT hashtextextended('"sluice_Schema"."Limits" ' || b, 0) AS h FROM unnest(buckets) AS b ORDER BY h) AS hashes;
  END IF;
  now := coalesce(clock, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);

  -- The whole row goes, with limits that the policy no longer has, whatever is in it. The rows below say that all fit.
  IF what = 'd' THEN
    DELETE FROM "sluice_Schema"."Limits" WHERE bucket = ANY (buckets);
  END IF;

  k := 1;
  FOR i IN 1 .. cardinality(buckets) LOOP
    SELECT * INTO kept FROM "sluice_Schema"."Limits" WHERE bucket = buckets[i];
    -- Numbers out of these ranges divide by zero or overflow below. A null in them makes the condition null.
    dims := array_dims(kept.names);
    foreign_row := kept.bucket IS NOT NULL AND (
      dims = '[1:' || cardinality(kept.names) || ']'
      AND array_dims(kept.spent) = dims AND array_dims(kept.at) = dims AND array_dims(kept.p) = dims AND array_dims(kept.q) = dims
      AND 0 <= ALL (kept.spent) AND most >= ALL (kept.spent) AND -most <= ALL (kept.at) AND most >= ALL (kept.at)
      AND 1 <= ALL (kept.p) AND most >= ALL (kept.p) AND 1 <= ALL (kept.q) AND most >= ALL (kept.q)) IS NOT TRUE;
    any_foreign := any_foreign OR foreign_row;
    WHILE part[k] = i LOOP
      s := 0;
      l := 0;
      place := CASE WHEN NOT foreign_row THEN array_position(kept.names, limits[k]) END;
      renumbered[k] := place IS NOT NULL AND (kept.p[place] <> per_ms[k] OR kept.q[place] <> per_token[k]);
      -- A record that is further ahead of the clock than a whole refill is impossible, and counts as absent.
      IF place IS NOT NULL AND kept.at[place] - now <= full_ms[k] THEN
        s := kept.spent[place];
        l := greatest(0, kept.at[place] - now);
        -- The elapsed time is capped before it is multiplied, so that years idle do not overflow.
        s := greatest(0, s - kept.p[place] * least(greatest(0, now - kept.at[place]), (s + kept.p[place] - 1) / kept.p[place]));
        IF kept.q[place] <> per_token[k] THEN
          s := least(most, div(s::numeric * per_token[k] + kept.q[place] - 1, kept.q[place]))::bigint; -- rounded up
        END IF;
      END IF;
      found_spent[k] := s;
      found_lag[k] := l;
      fits := NOT foreign_row AND (tokens[i] = 0 OR (tokens[i] <= capacity[k] AND s <= (capacity[k] - least(tokens[i], capacity[k])) * per_token[k]));
      spent_before := CASE WHEN NOT foreign_row THEN s END;
      lag := l;
      now_ms := now;
      RETURN NEXT;
      all_fit := all_fit AND fits;
      k := k + 1;
    END LOOP;
  END LOOP;

  IF any_foreign OR what = 'd' THEN RETURN; END IF;

  -- A sum that does not fit is not a decision yet, so it may not even settle.
  IF what = 's' THEN
    IF NOT all_fit THEN RETURN; END IF;
    what := 'c';
  END IF;

  -- A refusal writes nothing, but that it settles what was counted in other numbers.
  IF what = 'p' OR (what = 'c' AND NOT all_fit AND NOT true = ANY (renumbered)) THEN RETURN; END IF;

  -- With one limit, and no other in the row, the row is written at once; the rest below comes to the same, in more steps.
  IF what = 'c' AND all_fit AND cardinality(limits) = 1 AND found_spent[1] + tokens[1] > 0 AND (kept.names IS NULL OR kept.names = limits) THEN
    s := found_spent[1] + tokens[1] * per_token[1];
    l := now + found_lag[1];
    full_at := ((l + (s + per_ms[1] - 1) / per_ms[1] + 1048575) / 1048576) * 1048576;
    UPDATE "sluice_Schema"."Limits" SET spent = ARRAY[s], at = ARRAY[l], p = per_ms, q = per_token, sweep_after = full_at WHERE bucket = buckets[1];
    IF NOT FOUND THEN
      INSERT INTO "sluice_Schema"."Limits" VALUES (buckets[1], limits, ARRAY[s], ARRAY[l], per_ms, per_token, full_at);
      inserted := 1;
    END IF;
    buckets := '{}';
  END IF;

  k := 1;
  FOR i IN 1 .. cardinality(buckets) LOOP
    IF cardinality(buckets) > 1 THEN SELECT * INTO kept FROM "sluice_Schema"."Limits" WHERE bucket = buckets[i]; END IF;
    changed := false;
    WHILE part[k] = i LOOP
      IF what <> 'c' OR all_fit OR renumbered[k] THEN
        changed := true;
        place := coalesce(array_position(kept.names, limits[k]), cardinality(kept.names) + 1, 1);
        kept.names[place] := limits[k];
        kept.spent[place] := CASE what
          WHEN 'c' THEN found_spent[k] + CASE WHEN all_fit THEN tokens[i] * per_token[k] ELSE 0 END
          WHEN 'r' THEN greatest(0, found_spent[k] - tokens[i]::numeric * per_token[k])::bigint
          -- A debit. A debt ends at twice the capacity, or at what was spent before where that is more.
          ELSE greatest(found_spent[k], least(found_spent[k] + tokens[i]::numeric * per_token[k], 2 * capacity[k] * per_token[k], most))::bigint END;
        kept.at[place] := now + found_lag[k];
        kept.p[place] := per_ms[k];
        kept.q[place] := per_token[k];
      END IF;
      k := k + 1;
    END LOOP;
    CONTINUE WHEN NOT changed;

    full_at := now;
    some_full := false;
    FOR j IN 1 .. coalesce(cardinality(kept.names), 0) LOOP
      s := kept.at[j] + (kept.spent[j] + kept.p[j] - 1) / kept.p[j];
      some_full := some_full OR kept.spent[j] = 0 OR s <= now;
      IF kept.spent[j] > 0 THEN full_at := greatest(full_at, s); END IF;
    END LOOP;
    IF full_at = now THEN
      DELETE FROM "sluice_Schema"."Limits" WHERE bucket = buckets[i];
      CONTINUE;
    END IF;
    IF some_full THEN
      SELECT array_agg(u.n), array_agg(u.s), array_agg(u.t), array_agg(u.p), array_agg(u.q)
        INTO kept.names, kept.spent, kept.at, kept.p, kept.q
        FROM unnest(kept.names, kept.spent, kept.at, kept.p, kept.q) AS u(n, s, t, p, q)
        WHERE u.s > 0 AND u.t + (u.s + u.p - 1) / u.p > now;
    END IF;
    kept.sweep_after := ((full_at + 1048575) / 1048576) * 1048576;
    UPDATE "sluice_Schema"."Limits" SET names = kept.names, spent = kept.spent, at = kept.at, p = kept.p, q = kept.q, sweep_after = kept.sweep_after
      WHERE bucket = buckets[i];
    IF NOT FOUND THEN
      kept.bucket := buckets[i];
      INSERT INTO "sluice_Schema"."Limits" VALUES (kept.*);
      inserted := inserted + 1;
    END IF;
  END LOOP;

  -- Only a new row makes the table grow, so new rows pay: one in 32 takes away some hundred that are full, which is three for
  -- each. Last of all, since from here on nothing waits for a lock.
  IF random() * 32 < inserted THEN
    DELETE FROM "sluice_Schema"."Limits" WHERE bucket = ANY (ARRAY(
      SELECT bucket FROM "sluice_Schema"."Limits" WHERE sweep_after < now ORDER BY sweep_after LIMIT 100 + 3 * inserted FOR UPDATE SKIP LOCKED));
  END IF;
END $$;
