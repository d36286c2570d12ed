// Stores that date tokens in flight wrongly, or give them back wrongly, each with one mistake.
import type { Bucket } from "../../../src/core/bucket.js";
import { setDates } from "../../../src/limits/dates.js";
import { adjust } from "../../../src/core/decide.js";
import { costAt } from "../../../src/core/limit.js";
import type { Policy } from "../../../src/index.js";
import { nextTurn, right, wrongStore, type RightStore } from "./wrong-stores-base.js";
import {
  afterTaking, changeDates, costsBut, eachHeld, heldAt, moveTokens, onReading, onReadingLate, onWriting, stepOf,
} from "./wrong-stores-dates.js";
import type { WrongStore } from "./wrong-stores.js";

const GIVES_BACK = "L21 · what was taken at one date";
const BY_ITSELF = "L2, L21 · tokens in flight come back";
const ITS_DATE = "L21 · what was taken at one date";
const ANY = "L6, L14, L21";
const WAITS = "L2, L21 · tokens in flight come back";
const DATES = "L21 · tokens of 17 dates";
const FAR = "L6, L20, L21 · dates that are too far ahead";
const NAMED = "port · the store has";

/** Moves what a call took at `now` to another date. */
const dating = (dateOf: (now: number, step: number, date: number) => number): typeof RightStore =>
  afterTaking((buckets, policy, now, costs) =>
    eachHeld(buckets, policy, now, (bucket, kind, _now, i) =>
      moveTokens(bucket, costAt(costs, i), kind.dateOf(now), dateOf(now, stepOf(policy), kind.dateOf(now)))));

/** Joins or drops the earliest dates of a record that has more than `most`. */
const keepingDates = (most: number, joins: boolean): typeof RightStore =>
  onWriting((buckets, policy, now) => eachHeld(buckets, policy, now, (bucket) => {
    const { dates = [] } = bucket;
    const [dropped, kept] = [dates.slice(0, -2 * most), dates.slice(-2 * most)];
    setDates(bucket, bucket, kept);
    if (joins && dropped.length > 0) changeDates(bucket, (date, tokens) => [date, tokens + (date === kept[0] ? sumOf(dropped) : 0)]);
  }));

const sumOf = (dates: readonly number[]): number => dates.reduce((sum, each, i) => sum + (i % 2 === 1 ? each : 0), 0);

/** Changes what a settlement gives back, or where. */
const givingBack = (to: (bucket: Bucket, date: number, tokens: number, now: number) => void): typeof RightStore =>
  wrongStore({
    change(buckets, policy, changes, now, from) {
      const own = costsBut(policy, changes, (change, limit) => (limit.kind.isInFlight && change < 0 ? 0 : change));
      const done = adjust(buckets, policy, own, now, from);
      if (done && from !== undefined) eachHeld(buckets, policy, now, (bucket, kind, _now, i) => {
        const at = (typeof from === "object" ? from.heldAt : from) as number;
        if (costAt(changes, i) < 0) to(bucket, kind.dateOf(at), -costAt(changes, i), now);
      });
      return done;
    },
  });

const keyOfDates = (policy: Policy): string => String(policy.inFlight?.returns.staleAfterMs);

/** Keeps the dates of limits in flight under another name than the rest of the key's records. */
function sharingHeld(nameOf: (policy: Policy, key: string) => string): typeof RightStore {
  const kept = new WeakMap<object, Map<string, number[]>>();
  const of = (store: RightStore): Map<string, number[]> => kept.get(store.server) ?? kept.set(store.server, new Map()).get(store.server) as never;
  return wrongStore({
    load(policy, key, now) {
      const buckets = right.load.call(this, policy, key, now);
      eachHeld(buckets, policy, now, (bucket, _kind, _now, i) => setDates(bucket, bucket, of(this).get(`${nameOf(policy, key)} ${policy.limits[i]?.name}`) ?? []));
      return buckets;
    },
    save(policy, key, buckets, now) {
      eachHeld(buckets, policy, now, (bucket, _kind, _now, i) => of(this).set(`${nameOf(policy, key)} ${policy.limits[i]?.name}`, bucket.dates ?? []));
      right.save.call(this, policy, key, buckets, now);
    },
    async reset(policy, key) {
      for (const name of of(this).keys()) if (name.startsWith(`${nameOf(policy, key)} `)) of(this).delete(name);
      await right.reset.call(this, policy, key);
    },
  });
}

export const wrongHeld: readonly WrongStore[] = [
  ["names no limits in flight", wrongStore({ makeGuard() { Object.assign(this, { kinds: ["rate", "quota"] }); return right.makeGuard.call(this); } }), NAMED],
  ["names limits in flight, and has no `renew`", wrongStore({ makeGuard() { Object.assign(this, { renew: undefined }); return right.makeGuard.call(this); } }), NAMED],
  ["dates tokens in flight a sixteenth late", dating((_now, step, date) => date + step), BY_ITSELF],
  ["dates tokens in flight a sixteenth early", dating((_now, step, date) => date - step), BY_ITSELF],
  ["dates tokens in flight to the millisecond", dating((now, step) => now + 16 * step), ANY],
  ["dates tokens in flight after half of the time", dating((_now, step, date) => date - 8 * step), BY_ITSELF],
  ["keeps whole seconds of a date", onWriting((buckets, policy, now) => eachHeld(buckets, policy, now, (bucket) => changeDates(bucket, (date, tokens) => [Math.floor(date / 1_000) * 1_000, tokens]))), ANY],
  ["keeps 32 bits of the tokens of a date", onWriting((buckets, policy, now) => eachHeld(buckets, policy, now, (bucket) => changeDates(bucket, (date, tokens) => [date, tokens % 2 ** 32]))), ANY],
  ["keeps 16 dates, and drops the earliest", keepingDates(16, false), DATES],
  ["keeps 16 dates, and joins the earliest", keepingDates(16, true), DATES],
  ["keeps 8 dates, and joins the earliest", keepingDates(8, true), DATES],
  ["forgets the record at its first date", onReading((buckets, policy, now) => eachHeld(buckets, policy, now, (bucket) => { if ((bucket.dates?.[0] ?? now) < now) setDates(bucket, bucket, []); })), BY_ITSELF],
  ["never lets tokens in flight come back by themselves", onReading((buckets, policy, now) => eachHeld(buckets, policy, now, (bucket, kind) => changeDates(bucket, (date, tokens) => [date < now ? kind.dateOf(now) : date, tokens]))), BY_ITSELF],
  ["starts the time of all tokens in flight again with each call", afterTaking((buckets, policy, now) => eachHeld(buckets, policy, now, (bucket, kind) => changeDates(bucket, (_date, tokens) => [kind.dateOf(now), tokens]))), BY_ITSELF],
  ["lets tokens come back a millisecond late", onReadingLate((buckets, policy, now) => eachHeld(buckets, policy, now, (bucket) => changeDates(bucket, (date, tokens) => [date === now - 1 ? now : date, tokens]))), WAITS],
  ["forgets tokens whose date is far ahead of its clock", onReading((buckets, policy, now) => eachHeld(buckets, policy, now, (bucket, _kind, _now, i) => changeDates(bucket, (date, tokens) => [date, date - now > (policy.limits[i]?.fullMs as number) ? 0 : tokens]))), FAR],
  ["keeps a date that is far ahead of its clock", wrongStore({
      isStale(buckets, policy, now) { return right.isStale.call(this, buckets.filter((_bucket, i) => !heldAt(policy, i)), { ...policy, limits: policy.limits.filter((_limit, i) => !heldAt(policy, i)) as never }, now); },
    }), FAR],
  ["frees all tokens in flight when `staleAfterMs` changes", (() => {
      const last = new Map<string, string>();
      return wrongStore({
        load(policy, key, now) {
          const buckets = right.load.call(this, policy, key, now);
          const name = this.name(policy, key);
          if (last.has(name) && last.get(name) !== keyOfDates(policy)) eachHeld(buckets, policy, now, (bucket) => setDates(bucket, bucket, []));
          last.set(name, keyOfDates(policy));
          return buckets;
        },
      });
    })(), ANY],
  ["keeps a rate and a limit in flight of one name in one record", wrongStore({
      save(policy, key, buckets, now) {
        right.save.call(this, policy, key, buckets, now);
        for (const { name, returns } of policy.limits) this.row(policy, key)?.delete(returns ? name : `~${name}`);
      },
    }), ANY],
  ["gives back to the first date that has tokens", givingBack((bucket, _date, tokens, now) => {
      changeDates(bucket, (date, held) => [date, date < now ? 0 : held]);
      const [first] = bucket.dates ?? [];
      if (first !== undefined) moveTokens(bucket, -tokens, first, first);
    }), ITS_DATE],
  ["gives back to the last date", givingBack((bucket, _date, tokens) => {
      const last = bucket.dates?.at(-2);
      if (last !== undefined) setDates(bucket, bucket, [...(bucket.dates as number[]).slice(0, -1), Math.max(0, (bucket.dates as number[]).at(-1) as number - tokens)]);
    }), ITS_DATE],
  ["gives back twice", givingBack((bucket, date, tokens) => moveTokens(bucket, 2 * tokens, date, -1)), GIVES_BACK],
  ["gives back tokens that are not there", givingBack((bucket, date, tokens) => {
      const { dates = [] } = bucket;
      const isThere = dates.some((each, i) => i % 2 === 0 && each === date);
      if (isThere) changeDates(bucket, (each, held) => [each, held - (each === date ? tokens : 0)]);
      else if (dates.length > 0) setDates(bucket, bucket, [...dates.slice(0, 1), Math.max(0, (dates[1] as number) - tokens), ...dates.slice(2)]);
    }), ANY],
  ["does nothing at the second settlement of one instant", (() => {
      const settled = new Map<string, Set<unknown>>();
      return wrongStore({
        async adjust(policy, key, changes, from) {
          const name = this.name(policy, key);
          const instants = settled.get(name) ?? new Set();
          settled.set(name, instants);
          if (from === undefined || !policy.limits.some(({ returns }) => returns)) return right.adjust.call(this, policy, key, changes, from);
          const at = typeof from === "object" ? from.at : from;
          if (instants.has(at)) return true;
          instants.add(at);
          return right.adjust.call(this, policy, key, changes, from);
        },
      });
    })(), "L21 · what was taken at one date"],
  ["keeps tokens in flight by the key alone, under any policy", sharingHeld((_policy, key) => key), ANY],
  ["keeps tokens in flight by the policy alone, for any key", sharingHeld((policy) => policy.name), ANY],
  ["keeps tokens in flight by the first 100 characters of a key", sharingHeld((policy, key) => `${policy.name} ${key.slice(0, 100)}`), ANY],
  ["gives back one token of several", givingBack((bucket, date, tokens) => changeDates(bucket, (each, held) => [each, each === date ? Math.max(0, held - Math.min(1, tokens)) : held])), ANY],
  ["keeps no more than a settlement charges", wrongStore({
      change(buckets, policy, changes, now, from) {
        return adjust(buckets, policy, costsBut(policy, changes, (change, limit) => (limit.kind.isInFlight && change > 0 ? 0 : change)), now, from);
      },
    }), ANY],
  ["dates what a settlement charges to the decision", wrongStore({
      change(buckets, policy, changes, now, from) {
        const done = right.change.call(this, buckets, policy, changes, now, from);
        if (done && from !== undefined) eachHeld(buckets, policy, now, (bucket, kind, _now, i) => {
          const date = kind.dateOf((typeof from === "object" ? from.heldAt : from) as number);
          if (costAt(changes, i) > 0 && date >= now) moveTokens(bucket, costAt(changes, i), kind.dateOf(now), date);
        });
        return done;
      },
    }), "L21 · what was taken at one date"],
  ["reads, waits and writes at a settlement", wrongStore({
      async adjust(policy, key, changes, from) {
        const now = this.now();
        const buckets = this.load(policy, key, now);
        await nextTurn();
        const done = this.change(buckets, policy, changes, now, from);
        if (done) this.save(policy, key, buckets, now);
        return done;
      },
    }), ANY],
  ["counts tokens in flight for the last limit only", afterTaking((buckets, policy, now, costs) => {
      const last = policy.limits.findLastIndex(({ returns }) => returns);
      eachHeld(buckets, policy, now, (bucket, kind, _now, i) => { if (i !== last) moveTokens(bucket, costAt(costs, i), kind.dateOf(now), -1); });
    }), ANY],
  ["tells a refused caller the date in place of `retryAfterMs`", wrongStore({
      decide(buckets, policy, costs, now) {
        const decision = right.decide.call(this, buckets, policy, costs, now);
        return decision.reason === "limited" && decision.inFlight ? { ...decision, retryAfterMs: Math.max(decision.retryAfterMs, decision.nextTokenMs) } : decision;
      },
    }), WAITS],
  ["dates tokens in flight by the clock of the process", afterTaking(function (this: RightStore, buckets, policy, now, costs) {
      if (this.setup.clock === undefined) eachHeld(buckets, policy, now, (bucket, kind, _now, i) => moveTokens(bucket, costAt(costs, i), kind.dateOf(now), kind.dateOf(Date.now())));
    }), "clock · a store with the server's clock"],
];
