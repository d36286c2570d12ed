// Stores that renew tokens in flight wrongly, each with one mistake.
import type { Bucket } from "../../../src/core/bucket.js";
import { adjust, renewHeld } from "../../../src/core/decide.js";
import { costAt, type Costs } from "../../../src/core/limit.js";
import { BLOCK } from "../../../src/core/records.js";
import type { Move, Policy } from "../../../src/index.js";
import { nextTurn, right, wrongStore, type RightStore } from "./wrong-stores-base.js";
import { changeDates, costsBut, eachHeld, eachQuota, moveTokens, stepOf, tokensAt } from "./wrong-stores-dates.js";
import type { WrongStore } from "./wrong-stores.js";

const RENEWS = "L21 · a renewal moves";
const ANY = "L6, L14, L21";
const MOVES = "L21 · a renewal moves";
const OVER = "L21 · a renewal moves";
const BLOCKS = "L20, L21 · renewed work";

/** Renews in another way, with the tokens that are at the old date. */
const moving = (move: (bucket: Bucket, there: number, asked: number, dates: { from: number; to: number; step: number }) => void): typeof RightStore =>
  wrongStore({
    move(buckets, policy, tokens, now, { from, to }) {
      renewHeld(buckets, policy, 0, now, { from, to });
      eachHeld(buckets, policy, now, (bucket, kind, _now, i) => {
        const dates = { from: kind.dateOf(from), to: kind.dateOf(to), step: stepOf(policy) };
        if (dates.to >= now) move(bucket, tokensAt(bucket.dates ?? [], dates.from), costAt(tokens, i), dates);
      });
    },
  });

/** Renews other tokens, or makes another move. */
const changed = (change: (policy: Policy, tokens: Costs, now: number, move: Move) => readonly [Costs, Move]): typeof RightStore =>
  wrongStore({
    move(buckets, policy, tokens, now, move) {
      const [others, to] = change(policy, tokens, now, move);
      return right.move.call(this, buckets, policy, others, now, to);
    },
  });

export const wrongRenewals: readonly WrongStore[] = [
  ["renews all tokens of a date", moving((bucket, there, _asked, { from, to }) => moveTokens(bucket, there, from, to)), MOVES],
  ["frees one token with each renewal", moving((bucket, there, asked, { from, to }) => {
      moveTokens(bucket, Math.min(there, asked), from, to);
      if (there > 0 && asked > 0) moveTokens(bucket, 1, to, -1);
    }), RENEWS],
  ["frees what it renews", moving((bucket, there, asked, { from }) => moveTokens(bucket, Math.min(there, asked), from, -1)), RENEWS],
  ["renews a sixteenth further", moving((bucket, there, asked, { from, to, step }) => moveTokens(bucket, Math.min(there, asked), from, to + step)), MOVES],
  ["renews a sixteenth less far", moving((bucket, there, asked, { from, to, step }) => moveTokens(bucket, Math.min(there, asked), from, to - step)), RENEWS],
  ["keeps renewed tokens at both dates", moving((bucket, there, asked, { to }) => moveTokens(bucket, Math.min(there, asked), -1, to)), RENEWS],
  ["renews more tokens than are there", moving((bucket, there, asked, { from, to }) => { if (there > 0) moveTokens(bucket, asked, from, to); }), MOVES],
  ["renews nothing if fewer tokens are there", moving((bucket, there, asked, { from, to }) => { if (there >= asked) moveTokens(bucket, asked, from, to); }), MOVES],
  ["renews tokens of the earliest date", moving((bucket, _there, asked, { to }) => {
      const [first, held = 0] = bucket.dates ?? [];
      if (first !== undefined) moveTokens(bucket, Math.min(held, asked), first, to);
    }), ANY],
  ["loses tokens whose date stays the same", moving((bucket, there, asked, { from, to }) => {
      moveTokens(bucket, Math.min(there, asked), from, to);
      if (from === to) moveTokens(bucket, Math.min(there, asked), from, -1);
    }), ANY],
  ["renews to the date of its own instant", changed((_policy, tokens, now, { from }) => [tokens, { from, to: now }]), MOVES],
  ["renews from the date of its own instant", changed((_policy, tokens, now, { to }) => [tokens, { from: now, to }]), RENEWS],
  ["renews the tokens of the first limit for all", changed((_policy, tokens, _now, move) => [costAt(tokens, 0), move]), MOVES],
  ["renews the first limit in flight only", changed((policy, tokens, _now, move) => {
      const first = policy.limits.findIndex(({ returns }) => returns);
      return [costsBut(policy, tokens, (cost, _limit, i) => (i === first ? cost : 0)), move];
    }), MOVES],
  ["renews tokens whose date is over", wrongStore({
      move(buckets, policy, tokens, now, { from, to }) {
        const over = buckets.map(({ dates = [] }) => dates);
        renewHeld(buckets, policy, tokens, now, { from, to });
        eachHeld(buckets, policy, now, (bucket, kind, _now, i) => {
          const date = kind.dateOf(from);
          if (date < now && kind.dateOf(to) >= now) moveTokens(bucket, Math.min(costAt(tokens, i), tokensAt(over[i] as number[], date)), -1, kind.dateOf(to));
        });
      },
    }), OVER],
  ["takes tokens of a rate with a renewal", wrongStore({
      move(buckets, policy, tokens, now, move) {
        right.move.call(this, buckets, policy, tokens, now, move);
        adjust(buckets, policy, costsBut(policy, tokens, (cost, { renews, returns }) => (renews || returns ? 0 : Math.min(cost, 1))), now);
      },
    }), ANY],
  ["moves a quota to the period of a renewal", wrongStore({
      move(buckets, policy, tokens, now, move) {
        right.move.call(this, buckets, policy, tokens, now, move);
        eachQuota(buckets, policy, now, (bucket, kind) => { bucket.at = kind.dateOf(now); });
      },
    }), "L20, L21 · renewed work"],
  ["gives a quota back at a renewal", wrongStore({
      move(buckets, policy, tokens, now, move) {
        right.move.call(this, buckets, policy, tokens, now, move);
        eachQuota(buckets, policy, now, (bucket) => { bucket.spent = 0; });
      },
    }), ANY],
  ["renews nothing while a block lasts", wrongStore({
      async renew(policy, key, tokens, move) {
        const none = costsBut(policy, tokens, () => 0);
        return right.renew.call(this, policy, key, this.blockMs(policy, key, this.now()) > 0 ? none : tokens, move);
      },
    }), BLOCKS],
  ["ends a block at a renewal", wrongStore({
      async renew(policy, key, tokens, move) {
        this.row(policy, key)?.delete(BLOCK);
        return right.renew.call(this, policy, key, tokens, move);
      },
    }), "L20, L21 · renewed work"],
  ["reads, waits and writes at a renewal", (() => {
      // Its steps do not wait for those of others.
      const free = wrongStore({ async atomically(step) { return step(); } });
      return wrongStore({
        async renew(policy, key, tokens, move) {
          const found = this.load(policy, key, this.now());
          await nextTurn();
          const old = Object.assign(Object.create(this) as RightStore, { load: () => found });
          return free.prototype.renew.call(Object.assign(old, { atomically: free.prototype.atomically }), policy, key, tokens, move);
        },
      });
    })(), ANY],
  ["takes renewed tokens before it frees the old ones, and not beyond the capacity", wrongStore({
      move(buckets, policy, tokens, now, move) {
        const fits = buckets.every((bucket, i) => !policy.limits[i]?.kind.isInFlight || bucket.spent + costAt(tokens, i) <= (policy.limits[i]?.capacity as number));
        if (fits) right.move.call(this, buckets, policy, tokens, now, move);
      },
    }), "L21 · a renewal moves"],
  ["keeps the record until the dates that it had before a renewal", wrongStore({
      move(buckets, policy, tokens, now, move) {
        const ends = buckets.map(({ at }) => at);
        right.move.call(this, buckets, policy, tokens, now, move);
        eachHeld(buckets, policy, now, (bucket, _kind, _now, i) => changeDates(bucket, (date, held) => [date, date > (ends[i] as number) ? 0 : held]));
      },
    }), RENEWS],
];
