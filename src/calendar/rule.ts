import { monotonicClock } from "../core/clock.js";
import {
  ALL_UNITS, costAt, greatestCommonDivisor, type DatedPart, type DatedUnits, type QuotaFacts, type QuotaRule,
} from "../core/limit.js";
import { QUOTA_LUA } from "./lua.js";
import type { Period } from "./periods.js";

// The part of a quota's share that one moment of an outage can take.
const QUOTA_PARTS = 32;

/** Makes the arithmetic of quotas whose periods `periodAt` finds. */
export function quotaRule(facts: QuotaFacts, periodAt: (now: number) => Period): QuotaRule {
  const dateOf = (now: number): number => periodAt(now)[1];
  // A record of a rate, of a period that is over or of one too far ahead has no date.
  const ownDate = ({ spent, at, unitsPerMs }: DatedUnits, now: number): number =>
    spent > 0 && unitsPerMs === ALL_UNITS && at >= now && at - now <= facts.fullMs ? at : -Infinity;
  let near: readonly number[] = [0, -1, -1, -1];

  return {
    facts,
    tokens: ALL_UNITS,
    everyMs: 1,
    dateOf,
    lagAt(record, now, units) {
      const own = ownDate(record, now);
      // Under another calendar the record may have a later date than this period. Only taking tokens moves a date.
      return (units <= 0 && own >= now ? own : Math.max(own, dateOf(now))) - now;
    },
    unitsFor: (record, now, units, from) =>
      units < 0 && from !== undefined && ownDate(record, now) !== dateOf(from) ? 0 : units,
    datesNear(now) {
      if (now <= (near[1] as number) || now > (near[2] as number)) {
        const [first, last] = periodAt(now);
        near = [periodAt(first - 1)[0], first - 1, last, dateOf(last + 1)];
      }
      return near;
    },
    numbersOf: datesOf,
    // A block and a reset have no dates: they are possible by any clock.
    tokensOf: (what, part, now) =>
      "cpa".includes(what)
        ? [...part.policy.limits.map((_, i) => costAt(part.tokens, i)), ...datesOf([part], now === "" ? Date.now() : Number(now))]
        : part.tokens,
    clockFault: faultOf,
    evenly(capacity) {
      const windowMs = facts.windowSeconds * 1_000;
      const divisor = greatestCommonDivisor(capacity, windowMs);
      return { capacity: capacity / QUOTA_PARTS, unitsPerMs: capacity / divisor, unitsPerToken: windowMs / divisor };
    },
    get storeOptions() {
      return { clock: Date.now };
    },
    lua: QUOTA_LUA,
    checkStore: checkQuotaStore,
  };
}

function datesOf(parts: readonly DatedPart[], now: number): readonly number[] {
  return parts.flatMap(({ policy, from }) =>
    policy.limits.flatMap(({ rule, fullMs }) =>
      rule === undefined ? NO_DATES : [from === undefined ? 0 : rule.dateOf(from), fullMs, ...rule.datesNear(now)],
    ),
  );
}

function faultOf(parts: readonly DatedPart[], now: number): string | undefined {
  const here = Date.now();
  const isFar = parts.some(({ policy }) => policy.limits.some(({ rule }) => {
    const [first, , , last] = rule?.datesNear(here) ?? [now, 0, 0, now];
    return now < (first as number) || now > (last as number);
  }));
  return isFar
    ? `Expected the clocks of this process and the store to be within a period, got ${dateText(here)} here and ` +
      `${dateText(now)} there. Set them; no tokens were taken`
    : undefined;
}

const NO_DATES: readonly number[] = [0, 0, 0, 0, 0, 0];

function dateText(ms: number): string {
  return Math.abs(ms) < 8.64e15 ? new Date(ms).toISOString() : String(ms);
}

/** Throws a TypeError for a store that does not count quotas, or whose clock has no dates. */
function checkQuotaStore(given: object, policy: string): void {
  if (!("clock" in given)) {
    throw new TypeError("Expected `refill`, got `renews`. A TokenBucket is a rate; for a quota use createLimiter");
  }
  const store = given as { readonly kinds?: readonly string[]; readonly clock?: { readonly name?: string } };
  if (!Array.isArray(store.kinds) || !store.kinds.includes("quota")) {
    throw new TypeError(
      `Expected a store with \`kinds\` that include "quota" for policy "${policy}", got ` +
      `${store.kinds ? "others" : "none"}. See the guide to stores, or use \`refill\``,
    );
  }
  // By its name too, because another copy of this package has a function of its own.
  if (store.clock === monotonicClock || store.clock?.name === "monotonicClock") {
    throw new TypeError(
      `Expected a clock of dates for the quota of policy "${policy}", got monotonicClock. Pass \`clock: Date.now\` to the store`,
    );
  }
}
