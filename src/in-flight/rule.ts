import type { Bucket } from "../core/bucket.js";
import { costAt } from "../core/limit.js";
import { ALL_UNITS, takenAt, type InFlightRule, type InFlightTimes } from "../core/rules.js";
import { datedWork } from "../dated.js";
import { currentDates, dateWithout, tokensAt, tokensIn, withTokens, type Dates } from "./dates.js";
import { releaseLate, settleLater } from "./give-back.js";
import { IN_FLIGHT_LUA } from "./lua.js";
import { HeldRecords } from "./held-records.js";
import { keepRenewing, stopRenewing } from "./renewals.js";

// The dates of one record. More would cost a store more, and fewer would keep the tokens of a dead process for longer.
const DATES = 16;

/**
 * Makes the arithmetic of limits in flight. Dates are rounded up to a sixteenth, so a record has at most 18 of them.
 */
export function inFlightRule(times: InFlightTimes): InFlightRule {
  const { staleAfterMs, retryMs } = times;
  const step = Math.ceil(staleAfterMs / DATES);
  const fullMs = staleAfterMs + step - 1;
  const dateOf = (now: number): number => Math.ceil((now + staleAfterMs) / step) * step - 1;
  const datesAt = ({ dates = [] }: Bucket, now: number): Dates => currentDates(dates, now, dateOf(now), fullMs);

  function set(record: Bucket, dates: Dates): void {
    record.dates = dates;
    record.spent = tokensIn(dates);
    record.at = dates.at(-2) ?? 0;
    record.unitsPerMs = ALL_UNITS;
    record.unitsPerToken = 1;
  }

  return {
    field: "returns",
    kind: "in-flight",
    inFlight: true,
    times,
    facts: { calendar: `${staleAfterMs} ms`, fullMs, windowSeconds: 0 },
    tokens: ALL_UNITS,
    everyMs: 1,
    dateOf,
    spentAt: (record, now) => tokensIn(datesAt(record, now)),
    lagAt: (record, now, units) => Math.max(datesAt(record, now).at(-2) ?? now, units > 0 ? dateOf(now) : now) - now,
    // All is done here: the dates tell how many units are spent.
    unitsFor(record, now, units, from) {
      const dates = datesAt(record, now);
      // A debit and a credit leave tokens in flight alone, and state no instant.
      const isLeft = units <= 0 && from === undefined;
      set(record, isLeft ? dates : withTokens(dates, units > 0 ? dateOf(now) : dateOf(from as number), units));
      return 0;
    },
    setWaits(decision, record, { size }, units) {
      const { at, cost, remaining, retryAfterMs } = decision;
      const dates = withTokens(datesAt(record, at), dateOf(at), units);
      const spent = tokensIn(dates);
      const until = (tokens: number): number => Math.max(0, dateWithout(dates, tokens) + 1 - at);
      const isWait = retryAfterMs > 0 && retryAfterMs < Infinity;
      Object.assign(decision, {
        inFlight: true,
        retryAfterMs: isWait ? Math.min(retryMs, until(spent - size + cost)) : retryAfterMs,
        nextTokenMs: spent === 0 ? 0 : until(spent - size + remaining + 1),
      });
    },
    renew(record, now, tokens, { from, to }) {
      const dates = datesAt(record, now);
      const moved = dateOf(to) < now ? 0 : Math.min(tokens, tokensAt(dates, dateOf(from)));
      set(record, withTokens(withTokens(dates, dateOf(from), -moved), dateOf(to), moved));
    },
    keep: keepRenewing,
    stop: stopRenewing,
    later: settleLater,
    giveBackLate: releaseLate,
    numbersOf({ policy, from, moved = 0, to }, position) {
      const taken = takenAt(policy.limits[position] as never, from);
      const dates = [taken, to].map((instant) => (instant === undefined ? 0 : dateOf(instant)));
      // The second number tells a limit in flight from a quota.
      return [dates[0] as number, -fullMs, step, dates[1] as number, costAt(moved, position), staleAfterMs];
    },
    isNear: () => true,
    needsDates: false,
    gather(records, { name }) {
      const record = { spent: 0, at: 0, unitsPerMs: ALL_UNITS, unitsPerToken: 1 };
      const found = placesOf(records, name).map((place) => records.get(place) as Bucket);
      set(record, found.sort((a, b) => a.at - b.at).flatMap(({ at, spent }) => [at, spent]));
      return record;
    },
    scatter(records, name, { dates = [] }) {
      for (const place of placesOf(records, name)) records.delete(place);
      for (let i = 0; i < dates.length; i += 2) {
        const [at, spent] = [dates[i] as number, dates[i + 1] as number];
        records.set(`~${name}.${i / 2}`, { spent, at, unitsPerMs: ALL_UNITS, unitsPerToken: 1 });
      }
    },
    makeTable: (maxKeys) => new HeldRecords(maxKeys),
    lua: IN_FLIGHT_LUA,
    work: datedWork,
  };
}

/** The names under which the dates of a limit are kept: the name, and the place among its dates. */
function placesOf(records: ReadonlyMap<string, Bucket>, name: string): readonly string[] {
  const start = `~${name}.`;
  return [...records.keys()].filter((place) => place.startsWith(start) && !place.includes(".", start.length));
}
