import { greatestCommonDivisor } from "../core/limit.js";
import { ALL_UNITS, takenAt, type QuotaRule, type RuleFacts } from "../core/rules.js";
import type { Bucket } from "../core/bucket.js";
import { datedWork } from "../dated.js";
import { QUOTA_LUA } from "./lua.js";
import type { Period } from "./periods.js";

// In an outage a 32nd of the local share can be taken at once, and the whole share within a period.
const QUOTA_PARTS = 32;
// A waiter looks no further ahead: more than three months of days.
const MOST_RENEWALS = 100;

/** Makes the arithmetic of quotas whose periods `periodAt` finds. */
export function quotaRule(facts: RuleFacts, periodAt: (now: number) => Period): QuotaRule {
  const dateOf = (now: number): number => periodAt(now)[1];
  // A record of a rate, of a period that is over or of one too far ahead has no date.
  const ownDate = ({ spent, at, unitsPerMs }: Bucket, now: number): number =>
    spent > 0 && unitsPerMs === ALL_UNITS && at >= now && at - now <= facts.fullMs ? at : -Infinity;
  // First millisecond of the period before that of `now`; last of that period, of the period of `now`, of the next.
  let near: readonly number[] = [0, -1, -1, -1];
  function datesNear(now: number): readonly number[] {
    if (now <= (near[1] as number) || now > (near[2] as number)) {
      const [first, last] = periodAt(now);
      near = [periodAt(first - 1)[0], first - 1, last, dateOf(last + 1)];
    }
    return near;
  }

  // The dates from one on, because a long line asks for them again and again.
  let dates: number[] = [];
  function dateAfter(date: number, renewals: number): number {
    if (dates[0] !== date) dates = [date];
    const last = Math.min(renewals, MOST_RENEWALS);
    while (dates.length <= last) dates.push(dateOf((dates.at(-1) as number) + 1));
    return dates[last] as number;
  }

  return {
    field: "renews",
    kind: "quota",
    facts,
    tokens: ALL_UNITS,
    everyMs: 1,
    dateOf,
    dateAfter,
    datesNear,
    lagAt(record, now, units) {
      const own = ownDate(record, now);
      // Under another calendar the record may have a later date than this period. Only taking tokens moves a date.
      return (units <= 0 && own >= now ? own : Math.max(own, dateOf(now))) - now;
    },
    unitsFor: (record, now, units, from) =>
      units < 0 && from !== undefined && ownDate(record, now) !== dateOf(from) ? 0 : units,
    numbersOf({ policy, from }, position, now) {
      const taken = takenAt(policy.limits[position] as never, from);
      return [taken === undefined ? 0 : dateOf(taken), facts.fullMs, ...datesNear(now)];
    },
    isNear(now, here) {
      const [first, , , last] = datesNear(here);
      return now >= (first as number) && now <= (last as number);
    },
    evenly(capacity) {
      const windowMs = facts.windowSeconds * 1_000;
      const divisor = greatestCommonDivisor(capacity, windowMs);
      return { capacity: capacity / QUOTA_PARTS, unitsPerMs: capacity / divisor, unitsPerToken: windowMs / divisor };
    },
    needsDates: true,
    lua: QUOTA_LUA,
    work: datedWork,
  };
}
