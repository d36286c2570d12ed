import { writeWindow } from "./schema-window.js";

/**
 * The function's parameters: names and types. An array has one element per bucket, or per limit of each bucket. Other
 * types make another function beside an older one, and processes of both versions run side by side during a deployment.
 */
export const PARAMETERS = [
  ["what", "text"], // 'c' consume, 's' consume the sum of several decisions, 'p' peek, 'a' adjust, 'b' block, 'd' delete
  ["buckets", "text[]"], // different names; all are charged or none
  ["part", "int[]"], // per limit: the position of its bucket, from 1, never decreasing
  ["limits", "text[]"], // per limit: its name
  ["tokens", "bigint[]"], // per limit: to take, or to give back where an adjustment's are below 0; the ms of a block, 0 to end it
  ["capacity", "bigint[]"], // per limit: in tokens
  ["per_ms", "bigint[]"], // per limit: units that refill each ms
  ["per_token", "bigint[]"], // per limit: units in a token
  ["full_ms", "bigint[]"], // per limit: ms from empty to full
  // Per limit what `LimitDates` of port/kind-rules.ts names so. An array without a number is null:
  ["kinds", "text[]"], ["since", "bigint[]"], ["back_to", "bigint[]"],
  ["due_from", "bigint[]"], ["due_before", "bigint[]"], ["due", "bigint[]"], ["due_after", "bigint[]"],
  ["step", "bigint[]"], ["moved", "bigint[]"], ["moved_to", "bigint[]"],
  ["clock", "bigint"], // ms since 1970, or null for the server's own clock
] as const;

// The function returns one row per limit, in order. It has three values: whether the tokens fit, the units spent before
// the charge, and the milliseconds that a block of its bucket had left. The units are null for a row that this function
// did not write. The call then changes nothing.
export const decideBody = (table: string): string => `
DECLARE
  most CONSTANT bigint := 9007199254740991; -- 2^53 - 1
  kept ${table}%ROWTYPE;
  place int;
  k int;
  dims text;
  foreign_row boolean;
  any_foreign boolean := false;
  s bigint;
  l bigint;
  found_spent bigint[];
  found_lag bigint[];
  due_lag bigint[]; -- of a quota, the ms until the last of the present period
  held text; -- the name of the entries of a limit in flight or a window, one for each date, or null for another limit
  any_ahead boolean; -- whether an entry of it is impossible
  own bigint; -- the date of tokens of it that are taken now
  counts bigint[]; -- the amounts of a window, and for each the date of its last and of its first tokens
  lasts bigint[];
  firsts bigint[];
  stale boolean[];
  stale_blocks int[]; -- in buckets, the positions of those whose block is impossible
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
    PERFORM pg_advisory_xact_lock(hashtextextended('${table} ' || buckets[1], 0));
  ELSE
    PERFORM pg_advisory_xact_lock(h)
      FROM (SELECT DISTINCT hashtextextended('${table} ' || b, 0) AS h FROM unnest(buckets) AS b ORDER BY h) AS hashes;
  END IF;
  now_ms := coalesce(clock, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);

  -- The whole row goes, with limits that the policy no longer has, whatever is in it. The rows below say that all fit.
  IF what = 'd' THEN
    DELETE FROM ${table} WHERE bucket = ANY (buckets);
  END IF;

  k := 1;
  FOR i IN 1 .. cardinality(buckets) LOOP
    SELECT * INTO kept FROM ${table} WHERE bucket = buckets[i];
    -- Numbers out of these ranges divide by zero or overflow below. A null in them makes the condition null.
    dims := array_dims(kept.names);
    foreign_row := kept.bucket IS NOT NULL AND (
      dims = '[1:' || cardinality(kept.names) || ']'
      AND array_dims(kept.spent) = dims AND array_dims(kept.at) = dims AND array_dims(kept.p) = dims AND array_dims(kept.q) = dims
      AND 0 <= ALL (kept.spent) AND most >= ALL (kept.spent) AND -most <= ALL (kept.at) AND most >= ALL (kept.at)
      AND 1 <= ALL (kept.p) AND most >= ALL (kept.p) AND 1 <= ALL (kept.q) AND most >= ALL (kept.q)) IS NOT TRUE;
    any_foreign := any_foreign OR foreign_row;
    -- A block is the record '!' and counts milliseconds. One further ahead of the clock than it is long begins now.
    -- One that this call ends has nothing left: the reply of an older function, which ends none, tells otherwise.
    block_ms := 0;
    IF kept.names <> limits AND NOT foreign_row AND '!' = ANY (kept.names) AND (what <> 'b' OR tokens[1] > 0) THEN
      place := array_position(kept.names, '!');
      block_ms := greatest(0, kept.spent[place] + CASE WHEN kept.at[place] - now_ms <= kept.spent[place]
        THEN kept.at[place] - now_ms ELSE 0 END);
      IF block_ms > 0 AND kept.at[place] - now_ms > kept.spent[place] THEN stale_blocks := stale_blocks || i; END IF;
    END IF;
    WHILE part[k] = i LOOP
      spent_before := CASE WHEN NOT foreign_row THEN 0 END;
      lag := 0;
      held := CASE kinds[k] WHEN 'in-flight' THEN '~' WHEN 'window' THEN '^' END || limits[k];
      IF held IS NOT NULL AND foreign_row THEN lag := -1; END IF;
      -- A record under the name of a limit in flight is of a rate, in another version of the policy. It stays.
      place := CASE WHEN NOT foreign_row AND held IS NULL THEN array_position(kept.names, limits[k]) END;
      stale[k] := place IS NOT NULL AND (kept.p[place] <> per_ms[k] OR kept.q[place] <> per_token[k]);
      IF place IS NOT NULL THEN
        s := kept.spent[place];
        -- A record that is further ahead of the clock than a whole refill is impossible: it is brought to now.
        IF kept.at[place] > now_ms THEN
          -- A rate that takes over the record of a quota has its units refill from now on.
          lag := CASE WHEN kept.at[place] - now_ms > full_ms[k] OR (kept.p[place] = most AND per_ms[k] < most)
            THEN 0 ELSE kept.at[place] - now_ms END;
          stale[k] := stale[k] OR (lag = 0 AND s > 0);
        END IF;
        -- The elapsed time is capped before it is multiplied, so that years idle do not overflow.
        s := greatest(0, s - kept.p[place] * least(greatest(0, now_ms - kept.at[place]),
          (s + kept.p[place] - 1) / kept.p[place]));
        IF kept.q[place] <> per_token[k] THEN
          s := least(most, div(s::numeric * per_token[k] + kept.q[place] - 1, kept.q[place]))::bigint; -- rounded up
        END IF;
        spent_before := s;
      END IF;
      -- The tokens of a quota are spent until a date. A record in these numbers has its own; taking tokens moves it to the
      -- end of this period. What a decision took is given back to the period of its own date only.
      due_lag[k] := NULL;
      IF kinds[k] = 'quota' THEN
        due_lag[k] := CASE WHEN now_ms <= due_before[k] THEN due_before[k] WHEN now_ms <= due[k] THEN due[k]
          ELSE due_after[k] END - now_ms;
        -- The clock of the process is wrong by more than a period.
        IF now_ms < due_from[k] OR now_ms > due_after[k] THEN
          spent_before := NULL;
          any_foreign := true;
        ELSIF stale[k] OR coalesce(s, 0) = 0 OR place IS NULL THEN
          lag := due_lag[k];
          IF tokens[k] < 0 AND back_to[k] IS NOT NULL THEN tokens[k] := 0; END IF;
        ELSIF tokens[k] < 0 AND back_to[k] <> now_ms + lag THEN
          tokens[k] := 0;
        END IF;
      END IF;
      IF held IS NOT NULL AND NOT foreign_row THEN
        SELECT coalesce(sum(e.s), 0), -1 - count(*), coalesce(bool_or(e.t - now_ms > full_ms[k]), false)
          INTO spent_before, lag, any_ahead
          FROM unnest(kept.names, kept.spent, kept.at) AS e(n, s, t) WHERE e.n = held AND e.t >= now_ms;
        stale[k] := any_ahead;
      END IF;
      found_spent[k] := spent_before;
      found_lag[k] := lag;
      fits := CASE WHEN what = 'a' THEN NOT foreign_row AND spent_before + tokens[k]::numeric * per_token[k] <= most
        ELSE NOT foreign_row AND block_ms = 0 AND (tokens[k] = 0 OR
          (tokens[k] <= capacity[k] AND spent_before <= (capacity[k] - least(tokens[k], capacity[k])) * per_token[k])) END;
      RETURN NEXT;
      all_fit := all_fit AND fits;
      -- A row for each date: its tokens, and the ms until it.
      IF held IS NOT NULL AND NOT foreign_row THEN
        FOR spent_before, lag IN SELECT e.s, e.t - now_ms FROM unnest(kept.names, kept.spent, kept.at) AS e(n, s, t)
          WHERE e.n = held AND e.t >= now_ms ORDER BY e.t
        LOOP
          -- Of a window no date is later than that of tokens that are taken now.
          IF kinds[k] = 'window' THEN lag := least(lag, full_ms[k]); END IF;
          RETURN NEXT;
        END LOOP;
      END IF;
      k := k + 1;
    END LOOP;
  END LOOP;

  IF any_foreign THEN RETURN; END IF;

  IF what = 'c' THEN
    -- A refusal writes nothing, but that it settles what was counted in other numbers or is impossible.
    IF NOT all_fit AND NOT true = ANY (stale) AND stale_blocks IS NULL THEN RETURN; END IF;
  ELSE
    -- A sum that does not fit is not a decision yet, so it may not even settle. An adjustment changes all limits or none.
    IF what IN ('d', 'p') OR (what <> 'b' AND NOT all_fit) THEN RETURN; END IF;
    -- A block is written as if it were a limit. One unit is one millisecond.
    IF what = 'b' THEN
      SELECT '{!}', '{1}', ARRAY[greatest(block_ms, tokens[1])], '{0}', '{0}', '{NULL}', '{1}', '{1}', true
        INTO limits, part, tokens, found_spent, found_lag, due_lag, per_ms, per_token, all_fit;
    END IF;
    IF what <> 'a' THEN what := 'c'; END IF;
  END IF;

  -- With one limit, and no other in the row, the row is written at once; the rest below comes to the same, in more steps.
  IF what = 'c' AND all_fit AND cardinality(limits) = 1 AND held IS NULL
    AND found_spent[1] + tokens[1] > 0 AND (kept.names IS NULL OR kept.names = limits) THEN
    s := found_spent[1] + tokens[1] * per_token[1];
    l := now_ms + CASE WHEN tokens[1] > 0 THEN greatest(found_lag[1], due_lag[1]) ELSE found_lag[1] END;
    full_at := ((l + (s + per_ms[1] - 1) / per_ms[1] + 1048575) / 1048576) * 1048576;
    UPDATE ${table} SET spent = ARRAY[s], at = ARRAY[l], p = per_ms, q = per_token, sweep_after = full_at
      WHERE bucket = buckets[1];
    IF NOT FOUND THEN
      INSERT INTO ${table} VALUES (buckets[1], limits, ARRAY[s], ARRAY[l], per_ms, per_token, full_at);
      inserted := 1;
    END IF;
    buckets := '{}';
  END IF;

  k := 1;
  FOR i IN 1 .. cardinality(buckets) LOOP
    IF cardinality(buckets) > 1 THEN SELECT * INTO kept FROM ${table} WHERE bucket = buckets[i]; END IF;
    changed := false;
    WHILE part[k] = i LOOP
      IF kinds[k] = 'in-flight' THEN
        IF all_fit OR stale[k] THEN
          changed := true;
          held := '~' || limits[k];
          own := (now_ms + full_ms[k]) / step[k] * step[k] - 1;
          -- What is taken, or given back to its own date; then what a renewal moves. A date without tokens goes.
          SELECT array_agg(f.n), array_agg(f.s), array_agg(f.t), array_agg(f.p), array_agg(f.q)
            INTO kept.names, kept.spent, kept.at, kept.p, kept.q
            FROM (
              WITH entries AS (
                SELECT CASE WHEN e.t - now_ms > full_ms[k] THEN own ELSE e.t END AS due_at, e.s AS units
                  FROM unnest(kept.names, kept.spent, kept.at) AS e(n, s, t) WHERE e.n = held AND e.t >= now_ms),
              leaving AS (
                SELECT least(moved[k], coalesce(sum(units), 0)) AS units FROM entries
                  WHERE due_at = back_to[k] AND all_fit AND moved_to[k] >= now_ms),
              changes AS (
                SELECT due_at, units FROM entries
                UNION ALL SELECT own, tokens[k] WHERE all_fit AND tokens[k] > 0
                UNION ALL SELECT back_to[k], tokens[k] WHERE all_fit AND tokens[k] < 0
                UNION ALL SELECT back_to[k], -units FROM leaving
                UNION ALL SELECT moved_to[k], units FROM leaving)
              SELECT o.n, o.s, o.t, o.p, o.q
                FROM unnest(kept.names, kept.spent, kept.at, kept.p, kept.q) AS o(n, s, t, p, q) WHERE o.n <> held
              UNION ALL
              SELECT held, sum(units)::bigint, due_at, most, 1 FROM changes GROUP BY due_at HAVING sum(units) > 0
            ) AS f(n, s, t, p, q);
        END IF;
      ELSIF kinds[k] = 'window' THEN
        IF all_fit OR stale[k] THEN
          ${writeWindow}
        END IF;
      ELSIF all_fit OR stale[k] THEN
        changed := true;
        place := coalesce(array_position(kept.names, limits[k]), cardinality(kept.names) + 1, 1);
        kept.names[place] := limits[k];
        kept.spent[place] := CASE WHEN NOT all_fit THEN found_spent[k] WHEN what = 'c'
          THEN found_spent[k] + tokens[k] * per_token[k]
          -- What a rate has refilled since the given instant is not given back again.
          WHEN tokens[k] < 0 AND since[k] IS NOT NULL
          THEN greatest(0, found_spent[k] + least(0, tokens[k]::numeric * per_token[k]
            + per_ms[k]::numeric * greatest(0, now_ms - since[k])))::bigint
          ELSE greatest(0, found_spent[k] + tokens[k]::numeric * per_token[k])::bigint END;
        kept.at[place] := now_ms + CASE WHEN all_fit AND tokens[k] > 0 THEN greatest(found_lag[k], due_lag[k])
          ELSE found_lag[k] END;
        kept.p[place] := per_ms[k];
        kept.q[place] := per_token[k];
      END IF;
      k := k + 1;
    END LOOP;
    IF NOT all_fit AND i = ANY (stale_blocks) THEN
      changed := true;
      kept.at[array_position(kept.names, '!')] := now_ms;
    END IF;
    CONTINUE WHEN NOT changed;

    full_at := now_ms;
    some_full := false;
    FOR j IN 1 .. coalesce(cardinality(kept.names), 0) LOOP
      s := kept.at[j] + (kept.spent[j] + kept.p[j] - 1) / kept.p[j];
      some_full := some_full OR kept.spent[j] = 0 OR s <= now_ms;
      IF kept.spent[j] > 0 THEN full_at := greatest(full_at, s); END IF;
    END LOOP;
    IF full_at = now_ms THEN
      DELETE FROM ${table} WHERE bucket = buckets[i];
      CONTINUE;
    END IF;
    IF some_full THEN
      SELECT array_agg(u.n), array_agg(u.s), array_agg(u.t), array_agg(u.p), array_agg(u.q)
        INTO kept.names, kept.spent, kept.at, kept.p, kept.q
        FROM unnest(kept.names, kept.spent, kept.at, kept.p, kept.q) AS u(n, s, t, p, q)
        WHERE u.s > 0 AND u.t + (u.s + u.p - 1) / u.p > now_ms;
    END IF;
    kept.sweep_after := ((full_at + 1048575) / 1048576) * 1048576;
    UPDATE ${table}
      SET names = kept.names, spent = kept.spent, at = kept.at, p = kept.p, q = kept.q, sweep_after = kept.sweep_after
      WHERE bucket = buckets[i];
    IF NOT FOUND THEN
      kept.bucket := buckets[i];
      INSERT INTO ${table} VALUES (kept.*);
      inserted := inserted + 1;
    END IF;
  END LOOP;

  -- Only a new row makes the table grow, so new rows pay: one in 32 takes away some hundred that are full, which is three for
  -- each. Last of all, since from here on nothing waits for a lock.
  IF random() * 32 < inserted THEN
    DELETE FROM ${table} WHERE bucket = ANY (ARRAY(
      SELECT bucket FROM ${table} WHERE sweep_after < now_ms ORDER BY sweep_after LIMIT 100 + 3 * inserted
        FOR UPDATE SKIP LOCKED));
  END IF;
END `;
