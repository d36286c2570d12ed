import { expected, hasOwn, memberOf } from "../core/check.js";
import { monotonicClock } from "../core/clock.js";
import { exceptInFlight } from "../core/cost.js";
import { costAt, greatestCommonDivisor, sameCosts } from "../core/limit.js";
import type { Kind, Limit, Policy, Returns } from "../core/model.js";
import type { RequestPart, DateRules, LimitDates, QuotaDates } from "../port/kind-rules.js";

// In an outage a 32nd of the local share can be taken at once, and the whole share within a period.
const QUOTA_PARTS = 32;
// A waiter looks no further ahead: more than three months of days.
const MOST_RENEWALS = 100;

/** What all limits of a policy with quotas or limits in flight do together. */
export const dateRules: DateRules = {
  datesOf,
  clockFault(parts, now) {
    const here = Date.now();
    if (parts.every(({ policy }) => policy.limits.every((limit) => isWithinPeriods(limit, now, here)))) return undefined;
    return (
      `Expected the clocks of this process and the store to be within a period, got ${dateText(here)} here and ` +
      `${dateText(now)} there. Set them; no tokens were taken`
    );
  },
  storeOptions: ({ limits }) => (limits.some(({ renews }) => renews) ? { clock: Date.now } : undefined),
  checkStore: checkStoreKinds,
  checkGiven(policy, tokens, given) {
    if (policy.inFlight === undefined || sameCosts(tokens, exceptInFlight(policy, tokens, 0))) return;
    throw new TypeError(`${expected("cost", "of rates and quotas", given)}. Work returns tokens in flight when it is done`);
  },
  evenly(limit) {
    if (limit.renews === undefined) return limit;
    const { capacity, windowSeconds = 0 } = limit;
    const windowMs = windowSeconds * 1_000;
    const divisor = greatestCommonDivisor(capacity, windowMs);
    return { capacity: capacity / QUOTA_PARTS, unitsPerMs: capacity / divisor, unitsPerToken: windowMs / divisor };
  },
  dateAfter({ kind }, date, renewals) {
    // The dates from one on, because a long line asks for them again and again.
    const known = datesAfter.get(kind);
    const dates = known?.[0] === date ? known : [date];
    if (dates !== known) datesAfter.set(kind, dates);
    const last = Math.min(renewals, MOST_RENEWALS);
    while (dates.length <= last) dates.push(kind.dateOf((dates.at(-1) as number) + 1));
    return dates[last] as number;
  },
};

const datesAfter = new WeakMap<Kind, number[]>();

function datesOf({ policy, from, moved = 0, to }: RequestPart, position: number, now: number): LimitDates | undefined {
  const limit = policy.limits[position] as Limit;
  const { kind, fullMs, renews, returns } = limit;
  if (!renews && !returns) return undefined;
  // In this order, because the script of Redis knows the JSON of a window that takes.
  const dates = { kind: (renews ?? returns).kindCode.of, fullMs, backTo: kind.backTo(from) ?? undefined };
  if (renews) return { ...dates, ...datesNear(limit, now) };
  if (hasOwn(returns, "afterMs")) return dates;
  const step = fullMs - returns.staleAfterMs + 1;
  return to === undefined ? { ...dates, step } : { ...dates, step, moved: costAt(moved, position), movedTo: kind.dateOf(to) };
}

const near = new WeakMap<Kind, QuotaDates>();

/** The dates of a quota around `now`. */
export function datesNear({ kind, fullMs }: Limit, now: number): QuotaDates {
  const known = near.get(kind);
  if (known !== undefined && now > known.dueBefore && now <= known.due) return known;
  const due = kind.dateOf(now);
  // No period is longer than `fullMs`, so that these are the dates of periods before, and the last two are found.
  const dates = [kind.dateOf(now - 2 * fullMs)];
  while ((dates.at(-1) as number) < due) dates.push(kind.dateOf((dates.at(-1) as number) + 1));
  const [first, dueBefore] = dates.slice(-3) as [number, number];
  const found = { dueFrom: first + 1, dueBefore, due, dueAfter: kind.dateOf(due + 1) };
  near.set(kind, found);
  return found;
}

function isWithinPeriods(limit: Limit, now: number, here: number): boolean {
  if (limit.renews === undefined) return true;
  const { dueFrom, dueAfter } = datesNear(limit, here);
  return now >= dueFrom && now <= dueAfter;
}

function dateText(ms: number): string {
  return Math.abs(ms) < 8.64e15 ? new Date(ms).toISOString() : String(ms);
}

/**
 * Throws a TypeError for a store that does not count the limits of a policy, or whose clock has no dates. Throws a
 * RangeError for limits in flight whose tokens would not be renewed together, and for windows of two lengths.
 */
function checkStoreKinds(given: object, { name, limits }: Policy, own: Policy): void {
  const store = given as {
    readonly kinds?: readonly string[]; readonly verbs?: readonly string[]; readonly clock?: { readonly name?: string };
  };
  let held: Returns | undefined;
  for (const { name: limit, renews, returns } of limits) {
    if (returns !== undefined && hasOwn(returns, "staleAfterMs")) {
      held ??= returns;
      checkSameTimes(name, held, returns);
    } else if (returns !== undefined) checkSameLength(own, `${name} ${limit}`, returns.afterMs);
    const kind = (renews ?? returns)?.kindCode.of;
    if (kind === undefined) continue;
    const kinds = memberOf(store, "kinds");
    if (!Array.isArray(kinds) || !kinds.includes(kind)) {
      throw new TypeError(
        `Expected a store with \`kinds\` that include "${kind}" for policy "${name}", got ` +
        `${kinds ? "others" : "none"}. See the guide to stores, or use \`refill\`` +
        (kind === "window" && kinds ? ". For a store made by `leased`, pass the store that it wraps" : ""),
      );
    }
    if (kind === "in-flight" && memberOf(store, "verbs")?.includes("adjust") !== true) {
      throw new TypeError(
        `Expected a store with \`verbs\` that include "adjust" for the limits in flight of policy "${name}", got others. ` +
        "Their tokens would never be given back. A store over `answerCall` has `verbs: STORE_VERBS`",
      );
    }
    // By its name too, because another copy of this package has a function of its own.
    const isMonotonic = store.clock === monotonicClock || store.clock?.name === "monotonicClock";
    if (renews && (isMonotonic || typeof store.clock === "object")) {
      const [got, cure] = isMonotonic
        ? ["monotonicClock", "`store: new MemoryStore({ clock: Date.now })`"]
        : ["two clocks", "`clock: clock.wallNow` to the store"];
      throw new TypeError(`Expected a clock of dates for the quota of policy "${name}", got ${got}. Pass ${cure}`);
    }
  }
}

// One renewal moves the tokens that one work holds of all limits.
function checkSameTimes(name: string, first: Returns, other: Returns): void {
  if (first.staleAfterMs === other.staleAfterMs && first.maxWorkMs === other.maxWorkMs) return;
  const text = ({ staleAfterMs, maxWorkMs }: Returns): string => `${staleAfterMs} and ${maxWorkMs}`;
  throw new RangeError(
    `Expected the limits in flight of policy "${name}" to have the same \`staleAfterMs\` and \`maxWorkMs\`, got ` +
    `${text(first)}, and ${text(other)}. Their tokens are renewed together: pass the same to each \`whenDone\``,
  );
}

// By the limiter's own policy: the lengths of the windows that it has charged.
const lengths = new WeakMap<Policy, Map<string, number>>();
const MOST_LENGTHS = 1_000;

// Two lengths on one record: the shorter one would bring the tokens of the longer one back too early.
function checkSameLength(own: Policy, name: string, afterMs: number): void {
  const known = lengths.get(own) ?? new Map<string, number>();
  lengths.set(own, known);
  const other = known.get(name);
  if (other === undefined && known.size < MOST_LENGTHS) known.set(name, afterMs);
  if (other === undefined || other === afterMs) return;
  const [policy, limit] = name.split(" ");
  throw new RangeError(
    `Expected the windows "${limit}" of all tiers of policy "${policy}" to have one length, got ${other} and ${afterMs} ms. ` +
    "Give a tier with another length a policy name of its own",
  );
}
