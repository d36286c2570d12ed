// Stores that find the periods of quotas wrongly, or give tokens back to the wrong one, each with one mistake.
import { adjust, consume } from "../../../src/core/decide.js";
import { costAt, type Limit } from "../../../src/core/limit.js";
import type { Bucket } from "../../../src/core/bucket.js";
import type { Origin, Renewal } from "../../../src/core/model.js";
import { periodsOf } from "../../../src/limits/periods.js";
import { quotaCode } from "../../../src/limits/quota.js";
import type { Policy } from "../../../src/index.js";
import { nextTurn, right, wrongStore, type RightStore } from "./wrong-stores-base.js";
import { afterTaking, costsBut, eachQuota, onReading, onReadingLate, onWriting, quotaAt } from "./wrong-stores-dates.js";
import type { WrongStore } from "./wrong-stores.js";
import { ALL_UNITS } from "../../../src/core/bucket.js";

const GRANTS = "L2, L20 · a quota grants";
const GIVES_BACK = "L14, L20 · what a settlement";
const BERLIN = "L2, L20 · a quota grants";
const TURNS = "L6, L14, L20 · quotas and rates";
const ANY = "L6, L14, L20 · quotas and rates";
const CALENDARS = "L14, L20 · what a settlement";
const FAR = "L6, L20, L21 · dates that are too far ahead";
const MONTHS = "L14, L20 · what a settlement";
const RENEWED = "L20, L21 · renewed work";
const DAY_MS = 86_400_000;

type PeriodAt = (now: number) => readonly [first: number, last: number];

/** A copy with other members. Some members of a policy cannot be listed. */
const inheriting = <T extends object>(of: T, members: Partial<T>): T =>
  Object.create(of, Object.getOwnPropertyDescriptors(members)) as T;

const lastOf = (periodAt: PeriodAt) => (now: number): number => periodAt(now)[1];

/** Reads each quota by another calendar. */
const byCalendar = (periodsFor: (renewal: Renewal) => PeriodAt): typeof RightStore => {
  const known = new Map<Policy, Policy>();
  const copyOf = (policy: Policy): Policy => {
    const limits = policy.limits.map((limit: Limit) =>
      limit.renews ? inheriting(limit, { kind: quotaCode(limit.renews.kindCode.numbers, lastOf(periodsFor(limit.renews))).kind }) : limit);
    const copy = known.get(policy) ?? inheriting(policy, { limits: limits as never });
    known.set(policy, copy);
    return copy;
  };
  return wrongStore({
    decide(buckets, policy, costs, now) { return right.decide.call(this, buckets, copyOf(policy), costs, now); },
    change(buckets, policy, changes, now, from) { return right.change.call(this, buckets, copyOf(policy), changes, now, from); },
    foresee(policy, key, costs, now) { return right.foresee.call(this, copyOf(policy), key, costs, now); },
  });
};

const minutes = (at: string): number => Number(at.slice(0, 2)) * 60 + Number(at.slice(3));
const DAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const startOf = ({ every, day, at, timeZone }: Renewal): Parameters<typeof periodsOf>[0] => ({
  every, day: every === "week" ? DAYS.indexOf(String(day)) : Number(day ?? 0), atMs: minutes(at) * 60_000, zone: timeZone,
});

/** Gives back to a quota if `isRight` says so of the date of the record and the date of the decision. */
const givingBack = (isRight: (own: number, date: number, now: number) => boolean): typeof RightStore =>
  wrongStore({
    change(buckets, policy, changes, now, from) {
      const at = typeof from === "object" ? from.at : from;
      const dates = buckets.map(({ at: own }) => own);
      const given = costsBut(policy, changes, (change, { renews }) => (renews && change < 0 && at !== undefined ? 0 : change));
      const done = adjust(buckets, policy, given, now, from);
      if (done && at !== undefined) eachQuota(buckets, policy, now, (bucket, kind, _now, i) => {
        if (costAt(changes, i) < 0 && isRight(dates[i] as number, kind.dateOf(at), now)) bucket.spent = Math.max(0, bucket.spent + costAt(changes, i));
      });
      return done;
    },
  });

const withOrigin = (change: (from: number | Origin) => number | Origin | undefined): typeof RightStore =>
  wrongStore({
    change(buckets, policy, changes, now, from) {
      return right.change.call(this, buckets, policy, changes, now, from === undefined ? undefined : change(from));
    },
  });

/** Gives each quota of a charged policy the date of another. */
const sharing = (dateFor: (dates: readonly number[]) => number): typeof RightStore =>
  afterTaking((buckets, policy, now) => {
    const dates = buckets.flatMap((_bucket, i) => quotaAt(policy, i)?.dateOf(now) ?? []);
    eachQuota(buckets, policy, now, (bucket) => { bucket.at = dateFor(dates); });
  });

const forgettingAfter = (ms: number): typeof RightStore => {
  const written = new Map<string, number>();
  return wrongStore({
    save(policy, key, buckets, now) {
      written.set(this.name(policy, key), now);
      right.save.call(this, policy, key, buckets, now);
    },
    load(policy, key, now) {
      const buckets = right.load.call(this, policy, key, now);
      if (now - (written.get(this.name(policy, key)) ?? now) > ms) eachQuota(buckets, policy, now, (bucket) => { bucket.spent = 0; });
      return buckets;
    },
  });
};

export const wrongPeriods: readonly WrongStore[] = [
  ["begins each day at midnight UTC", byCalendar((renewal) => periodsOf({ ...startOf(renewal), zone: "UTC" })), BERLIN],
  ["keeps the offset of the winter", byCalendar((renewal) => {
      const periodAt = periodsOf({ ...startOf(renewal), zone: "UTC" });
      const offset = renewal.timeZone === "Europe/Berlin" ? 3_600_000 : 0;
      return (now) => periodAt(now + offset).map((t) => t - offset) as never;
    }), BERLIN],
  ["ends each period after its usual length", byCalendar((renewal) => {
      const periodAt = periodsOf(startOf(renewal));
      return (now) => { const [first] = periodAt(now); return [first, first + renewal.kindCode.numbers.windowSeconds * 1_000 - 1]; };
    }), BERLIN],
  ["begins each period at midnight", byCalendar((renewal) => periodsOf({ ...startOf(renewal), atMs: 0 })), BERLIN],
  ["begins each week on Monday", byCalendar((renewal) => periodsOf({ ...startOf(renewal), ...(renewal.every === "week" && { day: 1 }) })), BERLIN],
  ["begins each month on the 1st", byCalendar((renewal) => periodsOf({ ...startOf(renewal), ...(renewal.every === "month" && { day: 1 }) })), BERLIN],
  ["begins a period with its first call", afterTaking((buckets, policy, now) => eachQuota(buckets, policy, now, (bucket, _kind, _now, i) => { bucket.at = now + (policy.limits[i]?.windowSeconds as number) * 1_000 - 1; })), GRANTS],
  ["gives all quotas of a policy the first date", sharing((dates) => Math.min(...dates)), MONTHS],
  ["gives all quotas of a policy the last date", sharing((dates) => Math.max(...dates)), MONTHS],
  ["gives all quotas of a policy the date of the first one", sharing(([date]) => date as number), MONTHS],
  ["lets a quota renew a millisecond late", onReadingLate((buckets, policy, now) => eachQuota(buckets, policy, now, (bucket) => { if (bucket.at === now - 1) bucket.at = now; })), GRANTS],
  ["forgets a quota after a day", forgettingAfter(DAY_MS), BERLIN],
  ["forgets a quota after the longest time of a timer", forgettingAfter(2 ** 31 - 1), BERLIN],
  ["keeps the earlier date when tokens are taken", (() => {
      const dates = new WeakMap<object, number>();
      return wrongStore({
        load(policy, key, now) {
          const buckets = right.load.call(this, policy, key, now);
          for (const bucket of buckets) if (bucket.spent > 0 && bucket.at >= now) dates.set(bucket, bucket.at);
          return buckets;
        },
        decide(buckets, policy, costs, now) {
          const decision = right.decide.call(this, buckets, policy, costs, now);
          if (decision.allowed) eachQuota(buckets, policy, now, (bucket) => { bucket.at = Math.min(bucket.at, dates.get(bucket) ?? Infinity); });
          return decision;
        },
      });
    })(), TURNS],
  ["carries unused tokens over to the next period", (() => {
      const left = new WeakMap<object, Map<string, number>>();
      return wrongStore({
        load(policy, key, now) {
          const buckets = right.load.call(this, policy, key, now);
          const row = this.row(policy, key);
          const carried = left.get(this.server) ?? new Map<string, number>();
          left.set(this.server, carried);
          eachQuota(buckets, policy, now, (bucket, _kind, _now, i) => {
            const { name, capacity } = policy.limits[i] as Limit;
            const old = row?.get(name);
            if (old !== undefined && old.at < now && old.unitsPerMs === bucket.unitsPerMs && old.spent < capacity) bucket.spent -= capacity - old.spent;
          });
          return buckets;
        },
      });
    })(), ANY],
  ["carries a debt over to the next period", onReading((buckets, policy, now) => eachQuota(buckets, policy, now, (bucket, kind, _now, i) => {
      const { capacity } = policy.limits[i] as Limit;
      if (bucket.spent > capacity && bucket.at < now && bucket.at > 0) Object.assign(bucket, { spent: bucket.spent - capacity, at: kind.dateOf(now) });
    })), ANY],
  ["gives back to a later period than that of the decision", givingBack((own, date, now) => own >= date && own >= now), GIVES_BACK],
  ["gives back to an earlier period than that of the decision", givingBack((own, date, now) => own <= date && own >= now), "L14, L20 · what a settlement"],
  ["gives back to a period that ends within three hours of the right one", givingBack((own, date, now) => own >= now && Math.abs(own - date) <= 3 * 3_600_000), CALENDARS],
  ["gives back to a quota twice", wrongStore({
      change(buckets, policy, changes, now, from) {
        return right.change.call(this, buckets, policy, costsBut(policy, changes, (change, { renews }) => (renews && change < 0 ? Math.max(-(2 ** 52), 2 * change) : change)), now, from);
      },
    }), GIVES_BACK],
  ["takes an overrun from the period of the decision only", wrongStore({
      change(buckets, policy, changes, now, from) {
        const at = typeof from === "object" ? from.at : from;
        return adjust(buckets, policy, costsBut(policy, changes, (change, _limit, i) => {
          const kind = quotaAt(policy, i);
          return kind !== undefined && at !== undefined && change > 0 && kind.dateOf(at) !== kind.dateOf(now) ? 0 : change;
        }), now, from);
      },
    }), GIVES_BACK],
  ["gives a quota no credit", wrongStore({
      change(buckets, policy, changes, now, from) {
        return right.change.call(this, buckets, policy, costsBut(policy, changes, (change, { renews }) => (renews && change < 0 && from === undefined ? 0 : change)), now, from);
      },
    }), ANY],
  ["gives back by the date of the first quota", wrongStore({
      change(buckets, policy, changes, now, from) {
        const at = typeof from === "object" ? from.at : from;
        const [first] = policy.limits.flatMap((_limit, i) => quotaAt(policy, i) ?? []);
        const isOver = first !== undefined && at !== undefined && first.dateOf(at) < now;
        return adjust(buckets, policy, costsBut(policy, changes, (change, { renews }) => (renews && change < 0 && isOver ? 0 : change)), now, from);
      },
    }), MONTHS],
  ["knows only instants that are numbers", withOrigin((from) => (typeof from === "number" ? from : undefined)), RENEWED],
  ["gives a quota back to the period of the last renewal", withOrigin((from) => (typeof from === "number" ? from : { at: from.heldAt, heldAt: from.heldAt })), RENEWED],
  ["gives tokens in flight back to the date of the decision, although they were renewed", withOrigin((from) => (typeof from === "number" ? from : from.at)), RENEWED],
  ["moves the date at a credit", wrongStore({
      change(buckets, policy, changes, now, from) {
        const done = right.change.call(this, buckets, policy, changes, now, from);
        if (done) eachQuota(buckets, policy, now, (bucket, kind, _now, i) => { if (costAt(changes, i) < 0) bucket.at = kind.dateOf(now); });
        return done;
      },
    }), ANY],
  ["moves the date with a cost of 0", wrongStore({
      decide(buckets, policy, costs, now) {
        const decision = right.decide.call(this, buckets, policy, costs, now);
        if (decision.allowed) eachQuota(buckets, policy, now, (bucket, kind, _now, i) => { if (costAt(costs, i) === 0) bucket.at = kind.dateOf(now); });
        return decision;
      },
    }), ANY],
  ["dates a debit to the next period", wrongStore({
      change(buckets, policy, changes, now, from) {
        const done = right.change.call(this, buckets, policy, changes, now, from);
        if (done) eachQuota(buckets, policy, now, (bucket, kind, _now, i) => { if (costAt(changes, i) > 0) bucket.at = kind.dateOf(kind.dateOf(now) + 1); });
        return done;
      },
    }), ANY],
  ["takes a debit of a quota up to its capacity", onWriting((buckets, policy, now) => eachQuota(buckets, policy, now, (bucket, _kind, _now, i) => { bucket.spent = Math.min(bucket.spent, policy.limits[i]?.capacity as number); })), ANY],
  ["answers true for a debit beyond 2^53 - 1 of a quota", wrongStore({
      async adjust(policy, key, changes, from) { return (await right.adjust.call(this, policy, key, changes, from)) || policy.limits.some(({ renews }) => renews); },
    }), "L14, L20 · what a settlement"],
  ["fills a quota that was a rate", onReading((buckets, policy, now) => eachQuota(buckets, policy, now, (bucket) => { if (bucket.unitsPerMs !== ALL_UNITS) bucket.spent = 0; })), TURNS],
  ["fills a rate that was a quota", onReading((buckets, policy) => buckets.forEach((bucket: Bucket, i) => {
      const limit = policy.limits[i] as Limit;
      if (limit.refill && bucket.unitsPerMs === Number.MAX_SAFE_INTEGER && limit.unitsPerMs !== bucket.unitsPerMs) bucket.spent = 0;
    })), TURNS],
  ["gives back to the record of a rate by the date of a quota", wrongStore({
      change(buckets, policy, changes, now, from) {
        const wasRate = buckets.map(({ unitsPerMs }, i) => quotaAt(policy, i) !== undefined && unitsPerMs !== ALL_UNITS);
        const done = right.change.call(this, buckets, policy, changes, now, from);
        if (done && from !== undefined) buckets.forEach((bucket, i) => { if (wasRate[i] && costAt(changes, i) < 0) bucket.spent = Math.max(0, bucket.spent + costAt(changes, i)); });
        return done;
      },
    }), "L14, L20 · what a settlement"],
  ["forgets a quota that is too far ahead of its clock", onReading((buckets, policy, now) => eachQuota(buckets, policy, now, (bucket, _kind, _now, i) => { if (bucket.at - now > (policy.limits[i]?.fullMs as number)) bucket.spent = 0; })), FAR],
  ["keeps a quota that is too far ahead of its clock", wrongStore({
      isStale: (buckets, policy, now) => right.isStale(buckets.map((bucket, i) => (quotaAt(policy, i) ? { ...bucket, at: Math.min(now, bucket.at) } : bucket)), policy, now),
    }), FAR],
  ["starts a quota anew for each of the first calls of a period", wrongStore({
      async consume(policy, key, costs) {
        const now = this.now();
        const row = this.row(policy, key);
        const isOver = row !== undefined && policy.limits.some(({ name, renews }) => renews && (row.get(name)?.at ?? now) < now);
        if (!isOver) return right.consume.call(this, policy, key, costs);
        const buckets = this.load(policy, key, now);
        await nextTurn();
        const decision = consume(buckets, policy, costs, now);
        if (decision.allowed) this.save(policy, key, buckets, now);
        return decision;
      },
    }), ANY],
  ["finds the period by the clock of the process", afterTaking(function (this: RightStore, buckets, policy, now) {
      if (this.setup.clock === undefined) eachQuota(buckets, policy, now, (bucket, kind) => { bucket.at = kind.dateOf(Date.now()); });
    }), "clock · a store with the server's clock"],
  ["gives back to the period of the process's clock", wrongStore({
      change(buckets, policy, changes, now, from) {
        return right.change.call(this, buckets, policy, changes, now, this.setup.clock === undefined && from !== undefined ? Date.now() : from);
      },
    }), "clock · a store with the server's clock"],
];
