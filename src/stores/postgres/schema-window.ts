/**
 * Of the function that decides: brings the window `k` of the row `kept` to now, and takes or gives back its tokens.
 * Each amount is an entry under `^` and the limit's name: `at` is its last date, and `q` is 1 more than the ms since
 * the first.
 */
export const writeWindow = `changed := true;
          held := '^' || limits[k];
          own := now_ms + full_ms[k];
          -- What is over goes. A date too far ahead becomes that of tokens that are taken now.
          SELECT array_agg(a.s ORDER BY a.t), array_agg(a.t ORDER BY a.t), array_agg(a.f ORDER BY a.t) INTO counts, lasts, firsts
            FROM (
              SELECT sum(e.s)::bigint AS s, least(e.t, own) AS t, min(least(e.t - e.q + 1, own)) AS f
                FROM unnest(kept.names, kept.spent, kept.at, kept.q) AS e(n, s, t, q) WHERE e.n = held AND e.t >= now_ms
                GROUP BY least(e.t, own)) AS a;
          place := coalesce(cardinality(lasts), 0);
          IF all_fit AND tokens[k] > 0 AND lasts[place] = own THEN
            counts[place] := counts[place] + tokens[k];
          ELSIF all_fit AND tokens[k] > 0 THEN
            counts := counts || tokens[k];
            lasts := lasts || own;
            firsts := firsts || own;
            IF place = 18 THEN
              -- The two neighbors become one that are shortest together, which comes back when the later one does.
              place := (SELECT n FROM generate_series(1, 18) AS n ORDER BY lasts[n + 1] - firsts[n], n LIMIT 1);
              counts[place + 1] := counts[place] + counts[place + 1];
              firsts[place + 1] := firsts[place];
              counts[place] := 0;
            END IF;
          ELSIF all_fit AND tokens[k] < 0 THEN
            -- To the amount whose dates enclose the given one, or without one to the last amounts.
            l := -tokens[k];
            WHILE place > 0 AND l > 0 LOOP
              IF back_to[k] IS NULL OR (back_to[k] >= now_ms AND back_to[k] BETWEEN firsts[place] AND lasts[place]) THEN
                s := least(l, counts[place]);
                counts[place] := counts[place] - s;
                l := CASE WHEN back_to[k] IS NULL THEN l - s ELSE 0 END;
              END IF;
              place := place - 1;
            END LOOP;
          END IF;
          SELECT array_agg(f.n), array_agg(f.s), array_agg(f.t), array_agg(f.p), array_agg(f.q)
            INTO kept.names, kept.spent, kept.at, kept.p, kept.q
            FROM (
              SELECT o.n, o.s, o.t, o.p, o.q
                FROM unnest(kept.names, kept.spent, kept.at, kept.p, kept.q) AS o(n, s, t, p, q) WHERE o.n <> held
              UNION ALL
              SELECT held, u.s, u.t, most, u.t - u.f + 1 FROM unnest(counts, lasts, firsts) AS u(s, t, f) WHERE u.s > 0
            ) AS f(n, s, t, p, q);`;

/**
 * Of the function that grants: the same for many buckets of one window, which take tokens. `spent_after` is what was
 * spent before. `granted` is the ms until the first amount is over that had some of it, a space, and the bucket.
 */
export const grantWindows = (table: string): string => `
    own := now_ms + per_token;
    inserted := 0;
    FOR asked_for, wanted, entries, counts, lasts, spans IN
      SELECT a.name, a.cost, b.names, b.spent, b.at, b.q
        FROM unnest(buckets, tokens) AS a(name, cost) LEFT JOIN ${table} AS b ON b.bucket = a.name
    LOOP
      n := coalesce(cardinality(lasts), 0);
      -- The bounds exclude numbers that this package never writes, and dates too far ahead.
      CONTINUE WHEN n > 0 AND (entry = ALL (entries) AND cardinality(entries) = n AND cardinality(counts) = n
        AND cardinality(spans) = n AND n <= 18 AND own >= ALL (lasts) AND 1 <= ALL (counts) AND 1 <= ALL (spans)
        AND per_ms >= ALL (counts) AND per_ms >= ALL (spans)) IS NOT TRUE;
      start := 1;
      WHILE start <= n AND lasts[start] < now_ms LOOP start := start + 1; END LOOP;
      spent_after := 0;
      shortest := NULL;
      FOR i IN start .. n LOOP
        spent_after := spent_after + counts[i];
        IF i > start AND (shortest IS NULL OR lasts[i] - since < shortest) THEN
          shortest := lasts[i] - since;
          place := i;
        END IF;
        since := lasts[i] - spans[i] + 1;
      END LOOP;
      CONTINUE WHEN spent_after + wanted > capacity;
      IF start > 1 THEN
        lasts := lasts[start:];
        counts := counts[start:];
        spans := spans[start:];
        place := place - start + 1;
        n := n - start + 1;
      END IF;
      IF lasts[n] = own THEN
        counts[n] := counts[n] + wanted;
      ELSE
        n := n + 1;
        lasts[n] := own;
        counts[n] := wanted;
        spans[n] := 1;
        IF n > 18 THEN
          -- The two neighbors become one that are shortest together, and of equals the earliest.
          IF own - since < shortest THEN place := n; END IF;
          spans[place] := lasts[place] - lasts[place - 1] + spans[place - 1];
          counts[place] := counts[place] + counts[place - 1];
          lasts := lasts[:place - 2] || lasts[place:];
          counts := counts[:place - 2] || counts[place:];
          spans := spans[:place - 2] || spans[place:];
          n := 18;
        END IF;
      END IF;
      granted := CASE WHEN spent_after > 0 THEN lasts[1] - now_ms ELSE 0 END || ' ' || asked_for;
      IF entries IS NULL THEN
        INSERT INTO ${table} VALUES (asked_for, ARRAY[entry], counts, lasts, ARRAY[per_ms], spans, ${sweepAfter});
        inserted := inserted + 1;
      ELSE
        UPDATE ${table} SET names = array_fill(entry, ARRAY[n]), spent = counts, at = lasts,
          p = array_fill(per_ms, ARRAY[n]), q = spans, sweep_after = ${sweepAfter} WHERE bucket = asked_for;
      END IF;
      RETURN NEXT;
    END LOOP;`;

const sweepAfter = "((own + 1048576) / 1048576) * 1048576";
