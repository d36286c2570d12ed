// Stores that keep windows wrongly, each with one mistake.
import type { Bucket } from "../../../src/core/bucket.js";
import { adjust } from "../../../src/core/decide.js";
import { costAt } from "../../../src/core/limit.js";
import type { Limit } from "../../../src/core/model.js";
import { setAmounts } from "../../../src/limits/window-amounts.js";
import type { Costs, Policy } from "../../../src/index.js";
import { right, wrongStore, type RightStore } from "./wrong-stores-base.js";
import { costsBut } from "./wrong-stores-dates.js";
import type { WrongStore } from "./wrong-stores.js";

const ONE_BY_ONE = "L2, L22 · tokens of a window come back";
const JOINS = "L22 · of more than 18 amounts";
const DROPS = "L22 · amounts that are over are dropped";
const GIVES_BACK = "L22 · a give-back goes to";
const NOW = "L22 · a settlement and a debit";
const TOGETHER = "L10, L19, L22";
const LENGTHS = "L14, L22 · of two lengths";
const ANY = "L6, L14, L22 · windows";

/** An amount: the date of its last tokens, how many there are, the date of its first. */
type Amount = readonly [last: number, units: number, first: number];

const amountsOf = ({ dates = [] }: Bucket): Amount[] =>
  Array.from({ length: dates.length / 3 }, (_, i) => dates.slice(3 * i, 3 * i + 3) as unknown as Amount);

const setTo = (bucket: Bucket, amounts: readonly Amount[]): void => setAmounts(bucket, bucket, amounts.filter(([, units]) => units > 0).flat());

type ChangeWindow = (bucket: Bucket, limit: Limit, now: number, place: number) => void;

function eachWindow(buckets: readonly Bucket[], policy: Policy, now: number, change: ChangeWindow): void {
  policy.limits.forEach((limit, i) => {
    if (limit.kind.amounts && !limit.kind.isInFlight) change(buckets[i] as Bucket, limit, now, i);
  });
}

/** Changes each window that an allowed call has charged. `before` has the amounts that were there. */
const afterTaking = (change: (bucket: Bucket, before: readonly Amount[], now: number, cost: number, limit: Limit) => void): typeof RightStore =>
  wrongStore({
    decide(buckets, policy, costs, now) {
      const before = buckets.map(amountsOf);
      const decision = right.decide.call(this, buckets, policy, costs, now);
      if (decision.allowed) eachWindow(buckets, policy, now, (bucket, limit, _now, i) => change(bucket, before[i] as Amount[], now, costAt(costs, i), limit));
      return decision;
    },
  });

/** Dates the tokens of a call otherwise. */
const dating = (dateOf: (date: number, limit: Limit, before: readonly Amount[]) => number): typeof RightStore =>
  afterTaking((bucket, before, now, cost, limit) => {
    if (cost === 0) return;
    const date = dateOf(limit.kind.dateOf(now), limit, before);
    setTo(bucket, [...amountsOf(bucket).filter(([last]) => last !== limit.kind.dateOf(now)), [date, cost, date]]);
  });

/** Keeps at most `most` amounts, and joins the pair that `place` chooses into one that `join` makes. */
const joining = (
  place: (amounts: readonly Amount[]) => number, join: (a: Amount, b: Amount) => Amount = joined, most = 18,
): typeof RightStore =>
  afterTaking((bucket, before, now, cost, limit) => {
    if (cost === 0) return;
    const date = limit.kind.dateOf(now);
    const amounts: Amount[] = before.filter(([last]) => last >= now);
    const end = amounts.at(-1);
    if (end?.[0] === date) amounts[amounts.length - 1] = [date, end[1] + cost, end[2]];
    else amounts.push([date, cost, date]);
    while (amounts.length > most) {
      const at = place(amounts);
      amounts.splice(at, 2, join(amounts[at] as Amount, amounts[at + 1] as Amount));
    }
    setTo(bucket, amounts);
  });

const joined = (a: Amount, b: Amount): Amount => [b[0], a[1] + b[1], a[2]];

/** The place of the pair with the least of `measure`; of equals the earliest, or the last. */
const least = (measure: (a: Amount, b: Amount) => number, last = false) => (amounts: readonly Amount[]): number => {
  const all = amounts.slice(1).map((each, i) => measure(amounts[i] as Amount, each));
  return last ? all.lastIndexOf(Math.min(...all)) : all.indexOf(Math.min(...all));
};
const span = (a: Amount, b: Amount): number => b[0] - a[2];

/** Changes what a settlement, or without an instant a credit, gives back. */
const givingBack = (to: (bucket: Bucket, date: number | undefined, units: number, now: number) => void): typeof RightStore =>
  wrongStore({
    change(buckets, policy, changes, now, from) {
      const isGiven = (change: number, limit: Limit): boolean => Boolean(limit.kind.amounts) && !limit.kind.isInFlight && change < 0;
      const done = adjust(buckets, policy, costsBut(policy, changes, (change, limit) => (isGiven(change, limit) ? 0 : change)), now, from);
      if (done) eachWindow(buckets, policy, now, (bucket, limit, _now, i) => {
        const date = limit.kind.backTo(from);
        if (isGiven(costAt(changes, i), limit) && date !== null) to(bucket, date, -costAt(changes, i), now);
      });
      return done;
    },
  });

/** Takes units off amounts, one after another. */
function take(bucket: Bucket, units: number, order: (amounts: Amount[]) => Amount[]): void {
  let left = units;
  const taken = new Map(order(amountsOf(bucket)).map((amount) => {
    const part = Math.min(left, amount[1]);
    left -= part;
    return [amount[0], part] as const;
  }));
  setTo(bucket, amountsOf(bucket).map(([last, has, first]) => [last, has - (taken.get(last) ?? 0), first]));
}

const asItShould = (bucket: Bucket, date: number | undefined, units: number, now: number): void =>
  take(bucket, units, (amounts) => (date === undefined ? amounts.reverse() : amounts.filter(([last, , first]) => date >= now && first <= date && date <= last)));

const onReading = (change: ChangeWindow): typeof RightStore =>
  wrongStore({
    load(policy, key, now) {
      const buckets = right.load.call(this, policy, key, now);
      eachWindow(buckets, policy, now, change);
      return buckets;
    },
  });

const isStaleBut = (leaveOut: (limit: Limit) => boolean): typeof RightStore =>
  wrongStore({
    isStale(buckets, policy, now) {
      const kept = policy.limits.flatMap((limit, i) => (leaveOut(limit) ? [] : [i]));
      return right.isStale.call(this, kept.map((i) => buckets[i] as Bucket), { ...policy, limits: kept.map((i) => policy.limits[i]) as never }, now);
    },
  });

const isWindow = ({ kind }: Limit): boolean => kind.amounts !== undefined && !kind.isInFlight;

/** The same costs, changed for windows. */
const changing = (change: (cost: number, policy: Policy, place: number) => number) => (policy: Policy, costs: Costs): Costs =>
  costsBut(policy, costs, (cost, limit, i) => (isWindow(limit) ? change(cost, policy, i) : cost));

export const wrongWindows: readonly WrongStore[] = [
  ["names no windows", wrongStore({ makeGuard() { Object.assign(this, { kinds: ["rate", "quota", "in-flight"] }); return right.makeGuard.call(this); } }), "port · the store has"],
  ["dates tokens of a window a millisecond early", dating((date) => date - 1), ONE_BY_ONE],
  ["dates tokens of a window a millisecond late", dating((date) => date + 1), ONE_BY_ONE],
  ["rounds dates of a window down to seconds", dating((date) => Math.floor(date / 1_000) * 1_000), ONE_BY_ONE],
  ["rounds dates of a window up to a sixteenth", dating((date, { fullMs }) => Math.ceil(date / Math.ceil(fullMs / 16)) * Math.ceil(fullMs / 16)), ONE_BY_ONE],
  ["keeps a fixed window from the first call on", dating((date, _limit, [first]) => first?.[0] ?? date), ONE_BY_ONE],
  ["starts the window of all tokens again with each call", afterTaking((bucket, _before, now, _cost, limit) =>
    setTo(bucket, [[limit.kind.dateOf(now), bucket.spent, limit.kind.dateOf(now)]])), ONE_BY_ONE],
  ["forgets a window at its first date", onReading((bucket, _limit, now) => { if ((bucket.dates?.[0] ?? now) < now) setTo(bucket, []); }), ONE_BY_ONE],
  ["expires a window a second early", onReading((bucket, _limit, now) => { if (bucket.at - 1_000 < now) setTo(bucket, []); }), ONE_BY_ONE],
  ["joins amounts at the earlier date", joining(least(span), (a, b) => [a[0], a[1] + b[1], a[2]]), JOINS],
  ["drops the tokens that it joins", joining(least(span), (a, b) => [b[0], b[1], a[2]]), JOINS],
  ["joins the two earliest amounts", joining(() => 0), JOINS],
  ["joins the two last amounts", joining((amounts) => amounts.length - 2), JOINS],
  ["joins the amounts with the fewest tokens", joining(least((a, b) => a[1] + b[1])), JOINS],
  ["joins the amounts whose last dates are nearest", joining(least((a, b) => b[0] - a[0])), JOINS],
  ["of equally short neighbors joins the last ones", joining(least(span, true)), JOINS],
  ["keeps 17 amounts of a window", joining(least(span), joined, 17), JOINS],
  ["keeps every amount of a window", joining(() => 0, joined, Infinity), JOINS],
  ["joins amounts at a refusal", wrongStore({
      refuse(buckets, policy, costs, now, blockMs) { return right.refuse.call(this, buckets, policy, costs, now, blockMs); },
      decide(buckets, policy, costs, now) {
        const decision = right.decide.call(this, buckets, policy, costs, now);
        if (!decision.allowed) eachWindow(buckets, policy, now, (bucket) => {
          const amounts = amountsOf(bucket);
          if (amounts.length > 16) setTo(bucket, [joined(amounts[0] as Amount, amounts[1] as Amount), ...amounts.slice(2)]);
        });
        return decision;
      },
      isStale(buckets, policy, now) { return right.isStale.call(this, buckets, policy, now) || buckets.some((bucket, i) => isWindow(policy.limits[i] as Limit) && amountsOf(bucket).length > 16); },
    }), JOINS],
  ["joins amounts before it drops what is over", afterTaking((bucket, before, now, cost, limit) => {
      if (cost === 0 || before.length < 18) return;
      const amounts: Amount[] = [...before, [limit.kind.dateOf(now), cost, limit.kind.dateOf(now)]];
      const at = least(span)(amounts);
      amounts.splice(at, 2, joined(amounts[at] as Amount, amounts[at + 1] as Amount));
      setTo(bucket, amounts.filter(([last]) => last >= now));
    }), DROPS],
  ["forgets the first date of joined amounts", joining(least(span), (a, b) => [b[0], a[1] + b[1], b[0]]), GIVES_BACK],
  ["gives back to the first amount that is over later", givingBack((bucket, date, units, now) =>
      date === undefined ? asItShould(bucket, date, units, now) : take(bucket, units, (amounts) => (date < now ? [] : amounts.filter(([last]) => last >= date).slice(0, 1)))), GIVES_BACK],
  ["gives back to the last amount", givingBack((bucket, _date, units) => take(bucket, units, (amounts) => amounts.slice(-1))), GIVES_BACK],
  ["gives back to the last amounts, whatever the date", givingBack((bucket, _date, units) => take(bucket, units, (amounts) => amounts.reverse())), GIVES_BACK],
  ["gives back more than the amount holds", givingBack((bucket, date, units, now) =>
      date === undefined ? asItShould(bucket, date, units, now) : take(bucket, units, (amounts) => amounts.filter(([last]) => date >= now && last >= date && amounts.some(([end, , first]) => first <= date && date <= end)))), GIVES_BACK],
  ["gives back tokens whose own date is over", givingBack((bucket, date, units, now) =>
      asItShould(bucket, date !== undefined && date < now ? bucket.dates?.[0] : date, units, now)), GIVES_BACK],
  ["gives back to an exact date only", givingBack((bucket, date, units, now) =>
      date === undefined ? asItShould(bucket, date, units, now) : take(bucket, units, (amounts) => amounts.filter(([last]) => last === date))), GIVES_BACK],
  ["gives a credit to the first amounts", givingBack((bucket, date, units, now) =>
      date === undefined ? take(bucket, units, (amounts) => amounts) : asItShould(bucket, date, units, now)), NOW],
  ["gives a credit to the last amount only", givingBack((bucket, date, units, now) =>
      date === undefined ? take(bucket, units, (amounts) => amounts.slice(-1)) : asItShould(bucket, date, units, now)), NOW],
  ["ignores a credit to a window", givingBack((bucket, date, units, now) => { if (date !== undefined) asItShould(bucket, date, units, now); }), NOW],
  ["takes no more than is there when a window gets a debit", wrongStore({
      change(buckets, policy, changes, now, at) {
        const most = changing((change, { limits }, i) => Math.min(change, Math.max(0, (limits[i] as Limit).capacity - (buckets[i] as Bucket).spent)));
        return right.change.call(this, buckets, policy, most(policy, changes), now, at);
      },
    }), NOW],
  ["keeps two windows in one record", wrongStore({
      save(policy, key, buckets, now) {
        const windows = policy.limits.map((limit, i) => (isWindow(limit) ? i : -1)).filter((i) => i >= 0);
        const last = buckets[windows.at(-1) as number];
        right.save.call(this, policy, key, buckets.map((bucket, i) => (windows.includes(i) ? (last as Bucket) : bucket)), now);
      },
    }), TOGETHER],
  ["leaves dates that are too far ahead at a refusal", isStaleBut(isWindow), LENGTHS],
  ["keeps dates that are too far ahead", onReading((bucket, limit, now) => { if (bucket.at > limit.kind.dateOf(now)) setTo(bucket, []); }), LENGTHS],
  ["keeps 32 bits of the tokens of a window", onReading((bucket) => setTo(bucket, amountsOf(bucket).map(([last, units, first]) => [last, units % 2 ** 32, first]))), ANY],
];
