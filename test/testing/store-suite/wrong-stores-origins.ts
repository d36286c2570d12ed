// Stores that are wrong about the origin of a change, each with one mistake: a member of `from`, a sign of the change, a kind of limit.
import { stillSpent } from "../../../src/core/bucket.js";
import { costAt, simplest } from "../../../src/core/limit.js";
import { sinceAt } from "../../../src/core/decide.js";
import type { Costs, Limit, Origin, Policy } from "../../../src/index.js";
import { right, wrongStore, type RightStore } from "./wrong-stores-base.js";
import type { WrongStore } from "./wrong-stores.js";

type From = number | Origin | undefined;

/** A store that changes the number of each limit before it adjusts. */
const changing = (change: (tokens: number, limit: Limit, from: From, now: number, place: number, changes: Costs) => number): typeof RightStore =>
  wrongStore({
    change(buckets, policy, changes, now, from) {
      const own = policy.limits.map((limit, i) => change(costAt(changes, i), limit, from, now, i, changes));
      return right.change.call(this, buckets, policy, simplest(own), now, from);
    },
  });

/** A store that changes the origin before it adjusts. */
const from = (change: (from: From, now: number, policy: Policy, changes: Costs) => From): typeof RightStore =>
  wrongStore({
    change(buckets, policy, changes, now, origin) {
      return right.change.call(this, buckets, policy, changes, now, change(origin, now, policy, changes));
    },
  });

const originOf = (given: From): Origin => (typeof given === "object" ? given : { at: given, heldAt: given });
/** Whole tokens of a debit that have not refilled since an instant. */
const late = (tokens: number, { refill }: Limit, since: number | undefined, now: number): number =>
  tokens > 0 && refill !== undefined && since !== undefined ? Math.max(0, tokens - Math.floor((Math.max(0, now - since) * refill.tokens) / refill.everyMs)) : tokens;
/** Whole tokens of a give-back that have not refilled since an instant, as a rate counts them. */
const lateBack = (tokens: number, limit: Limit, since: number | undefined, now: number): number =>
  tokens < 0 && since !== undefined ? Math.ceil(stillSpent(tokens * limit.unitsPerToken, limit, now - since) / limit.unitsPerToken) : tokens;

const RATES = "adjust · a debit is taken in full";
const KINDS = "L20, L21 · quotas and limits in flight read their own";
const DEBIT = /late work is free/;
const MEMBER = /reads one member of `from` for another/;
const EACH = /treats all limits as one/;

export const wrongOrigins: readonly WrongStore[] = [
  ["takes off what has refilled from a debit, too", changing((tokens, limit, given, now, i) => late(tokens, limit, sinceAt(given, i), now)), RATES, undefined, DEBIT],
  ["takes off what has refilled from a debit by the units", wrongStore({
      change(buckets, policy, changes, now, given) {
        const done = right.change.call(this, buckets, policy, changes, now, given);
        policy.limits.forEach((limit, i) => {
          const since = sinceAt(given, i);
          if (done && costAt(changes, i) > 0 && since !== undefined && limit.refill) Object.assign(buckets[i] as object, { spent: Math.max(0, (buckets[i]?.spent ?? 0) - limit.unitsPerMs * Math.max(0, now - since)) });
        });
        return done;
      },
    }), RATES, undefined, DEBIT],
  ["takes off what has refilled from a debit since its decision", changing((tokens, limit, given, now) => late(tokens, limit, originOf(given).at, now)), RATES, undefined, DEBIT],
  ["takes off what has refilled from a debit since the last renewal", changing((tokens, limit, given, now) => late(tokens, limit, originOf(given).heldAt, now)), RATES, undefined, DEBIT],
  ["takes off what has refilled from a debit that states a number", changing((tokens, limit, given, now) => (typeof given === "number" ? late(tokens, limit, given, now) : tokens)), RATES, undefined, DEBIT],
  ["adds to a debit what will refill until `since`", changing((tokens, limit, given, now, i) => tokens + (tokens > 0 && (sinceAt(given, i) ?? now) > now ? 1 : 0)), RATES, undefined, DEBIT],
  ["takes no debit that states an origin", changing((tokens, _limit, given) => (tokens > 0 && given !== undefined ? 0 : tokens)), RATES],
  ["takes a debit as if it were given back, if it is late", changing((tokens, _limit, given, now, i) => (tokens > 0 && (sinceAt(given, i) ?? now) < now ? -tokens : tokens)), RATES],
  ["takes the decision's instant for `since`", from((given) => ({ since: originOf(given).at, ...originOf(given) })), RATES, undefined, MEMBER],
  ["takes the last renewal for `since`", from((given) => ({ since: originOf(given).heldAt, ...originOf(given) })), RATES, undefined, MEMBER],
  ["takes a number for `since`", from((given) => (typeof given === "number" ? { since: given } : given)), RATES, undefined, MEMBER],
  ["takes off what has refilled since the decision, although `since` is later", from((given) => (typeof given === "object" && given.since !== undefined ? { ...given, since: given.at ?? given.since } : given)), RATES],
  ["ignores `since` without the decision's instant", from((given) => (typeof given === "object" && given.at === undefined ? undefined : given)), RATES],
  ["gives back more if `since` is later than now", changing((tokens, limit, given, now, i) => tokens - (tokens < 0 && limit.refill !== undefined && (sinceAt(given, i) ?? now) > now ? 1 : 0)), RATES],
  ["gives back only with an origin", changing((tokens, _limit, given) => (tokens < 0 && given === undefined ? 0 : tokens)), RATES],
  ["takes off what has refilled from all limits if the first gets something back", changing((tokens, limit, given, now, i, changes) => (tokens > 0 && costAt(changes, 0) < 0 ? late(tokens, limit, sinceAt(given, i), now) : tokens)), RATES, undefined, EACH],
  ["takes off nothing if the first limit is debited", from((given, _now, _policy, changes) => (typeof given === "object" && costAt(changes, 0) > 0 ? { ...given, since: undefined } : given)), RATES, undefined, EACH],
  ["knows one `since` alone", from((given) => (typeof given === "object" && typeof given.since === "object" ? { ...given, since: given.since[0] } : given)), RATES, undefined, EACH],
  ["knows no list of `since`", from((given) => (typeof given === "object" && typeof given.since === "object" ? { ...given, since: undefined } : given)), RATES, undefined, EACH],
  ["takes the list of `since` the other way round", from((given) => (typeof given === "object" && typeof given.since === "object" ? { ...given, since: [...given.since].reverse() } : given)), RATES, undefined, EACH],

  ["takes off what has refilled from a debit beside dates", changing((tokens, limit, given, now, i) => late(tokens, limit, sinceAt(given, i), now)), KINDS, undefined, DEBIT],
  ["debits a quota only in the period of its decision", changing((tokens, { renews, kind }, given, now) => (renews && tokens > 0 && kind.dateOf(originOf(given).at ?? now) < now ? 0 : tokens)), KINDS, undefined, DEBIT],
  ["debits a quota only in the period of the last renewal", changing((tokens, { renews, kind }, given, now) => (renews && tokens > 0 && kind.dateOf(originOf(given).heldAt ?? now) < now ? 0 : tokens)), KINDS, undefined, DEBIT],
  ["debits a quota only in the period of `since`", changing((tokens, { renews, kind }, given, now, i) => (renews && tokens > 0 && kind.dateOf(sinceAt(given, i) ?? now) < now ? 0 : tokens)), KINDS, undefined, DEBIT],
  ["dates a debit of a quota by its decision", wrongStore({
      change(buckets, policy, changes, now, given) {
        const done = right.change.call(this, buckets, policy, changes, now, given);
        const { at } = originOf(given);
        policy.limits.forEach(({ renews, kind }, i) => { if (done && renews && at !== undefined && costAt(changes, i) > 0) Object.assign(buckets[i] as object, { at: kind.dateOf(at) }); });
        return done;
      },
    }), KINDS],
  ["takes off from a quota what a rate would have refilled", changing((tokens, limit, given, now, i) => (limit.renews ? Math.min(0, tokens + Math.floor(Math.max(0, now - (sinceAt(given, i) ?? now)) / 1_000)) : tokens)), KINDS],
  ["empties what a quota gives back late", changing((tokens, { renews }, given, now, i) => (renews && tokens < 0 && (sinceAt(given, i) ?? now) < now ? 0 : tokens)), KINDS, undefined, MEMBER],
  ["gives a quota back by `since`", from((given) => (typeof given === "object" && typeof given.since === "number" ? { ...given, at: given.since } : given)), KINDS],
  ["gives a quota nothing back without the decision's instant", changing((tokens, { renews }, given) => (renews && tokens < 0 && originOf(given).at === undefined ? 0 : tokens)), KINDS, undefined, MEMBER],
  ["gives a quota back by the last renewal if the decision is unknown", from((given) => (typeof given === "object" ? { ...given, at: given.at ?? given.heldAt } : given)), KINDS],
  ["gives a quota back to any period, if it is late", from((given, now) => (typeof given === "object" && sinceAt(given, 0) !== undefined && (sinceAt(given, 0) as number) < now ? { ...given, at: undefined } : given)), KINDS],
  ["empties what is given back late to tokens in flight", changing((tokens, { returns }, given, now, i) => (returns && tokens < 0 && (sinceAt(given, i) ?? now) < now ? 0 : tokens)), KINDS, undefined, MEMBER],
  ["gives tokens in flight back by `since`", from((given, _now, policy) => (typeof given === "object" && policy.limits.some(({ returns }) => returns) ? { ...given, heldAt: sinceAt(given, 2) ?? given.heldAt } : given)), KINDS],
  ["gives tokens in flight back by the decision if they were not renewed", from((given) => (typeof given === "object" ? { ...given, heldAt: given.heldAt ?? given.at } : given)), KINDS],
  ["gives tokens in flight back at a credit", from((given, now) => (typeof given === "object" && given.at === undefined && given.heldAt === undefined ? { ...given, heldAt: now - 1 } : given)), KINDS],
  ["takes off what has refilled from a rate by whole tokens beside dates", changing((tokens, limit, given, now, i) => (limit.refill ? lateBack(tokens, limit, sinceAt(given, i), now) : tokens)), KINDS],
];
