import type { LimitOptions } from "../../../../core/limit.js";
import { whenDone } from "../../../../limits/in-flight.js";
import { daily } from "../../../../limits/quota.js";
import { assert } from "../../../assert.js";
import { callsOn } from "../../bucket-calls.js";
import { LARGEST, randomLimit } from "../../random.js";
import type { StoreCase, Trial } from "../../trial.js";
import {
  DATE_STEP_MS, dateEnd, heldLimit, lastMsOf, playDated, RENEWAL_MS, STALE_MS,
} from "./histories.js";
import { callsOf } from "../../../store-calls.js";

const NOT_BY_DATE = "The record of a limit in flight has one date, instead of one for each sixteenth of `staleAfterMs`.";

/** A limit in flight most of the time, otherwise a rate or a quota. */
export function heldKind({ random, has }: Trial): LimitOptions {
  const kind = random.next();
  if (kind < 0.25) return randomLimit(random);
  const capacity = random.pick([1, 2, random.between(1, 30), LARGEST]);
  if (kind < 0.35 && has("quota")) return { capacity, renews: daily() };
  const staleAfterMs = random.pick([1_000, 1_001, 15_000, STALE_MS]);
  return { capacity, returns: whenDone({ staleAfterMs, retryAfterMs: random.pick([1, 1_000]) }) };
}

/** Limits in flight (law L21), in policies that have rates and quotas too. */
export const inFlightCases: readonly StoreCase[] = [
  {
    name: "L2, L21 · tokens in flight come back at their date and not before, and a refusal says when",
    cause: `${NOT_BY_DATE} Or its wait is that of a rate.`,
    needs: ["in-flight"],
    async run(trial) {
      await trial.openStores("identical");
      const policy = trial.policy("p", { ...heldLimit, capacity: 2 });
      const bucket = callsOn(trial, policy);
      const first = dateEnd(policy, trial.now);
      await bucket.take();
      trial.move(5_000);
      const second = dateEnd(policy, trial.now);
      await bucket.take();
      for (const end of [first, second]) {
        await bucket.take(2);
        trial.move(end - 1 - trial.now);
        await bucket.take(2);
        trial.move(1);
        await bucket.peek(1);
        await bucket.take(0);
      }
    },
  },
  {
    name: "L21 · what was taken at one date is given back to that date only, and a refusal takes nothing",
    cause:
      "`adjust` gives tokens back to any date, ignores `from`, or takes more at that date. " +
      "Then work that is done frees another place.",
    needs: ["in-flight", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const bucket = callsOn(trial, trial.policy("p", { ...heldLimit, capacity: 4 }));
      const at = trial.now;
      await bucket.take(2);
      trial.move(STALE_MS / 2);
      await bucket.take();
      await bucket.take(2); // refused
      await bucket.adjust(-1, at);
      await bucket.take(0);
      await bucket.adjust(1, at); // a settlement that takes more takes it now
      await bucket.adjust(-3, at);
      for (let i = 0; i < 4; i++) await bucket.take();
      // Without an instant, tokens in flight stay: a credit is for rates and quotas.
      await bucket.adjust(-4);
      await bucket.take(0);
    },
  },
  {
    name: "L21 · a renewal moves its own tokens of each limit from its date to the new one, once, and nothing else",
    cause: "`renew` moves other tokens than those of `move.from`, to another date than that of `move.to`, or another number.",
    needs: ["in-flight", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      await renewTwoLimits(trial);
      await trial.part(
        "`renew` finds tokens whose date is over, because later dates keep the record. Drop what is over first.",
        () => renewWhatIsOver(trial),
      );
      await trial.part(
        "`renew` does not compare the date of `move.from` with the store's clock. Return what `answerCall` answers.",
        () => checkRenewed(trial),
      );
    },
  },
  {
    name: "L21 · tokens of 17 dates stay apart, and each comes back at its own",
    cause: "The record keeps fewer dates, and joins or drops the others. Dates of one limit are at most 18.",
    needs: ["in-flight", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", { ...heldLimit, capacity: 17 });
      const bucket = callsOn(trial, policy);
      trial.move(Math.ceil(trial.now / DATE_STEP_MS) * DATE_STEP_MS + 1 - trial.now);
      const first = trial.now;
      for (let taken = 0; taken < 17; taken++) {
        if (taken > 0) trial.move(DATE_STEP_MS);
        await bucket.take();
      }
      const held = lastMsOf(policy, first) - trial.now;
      await bucket.adjust(-1, first + 8 * DATE_STEP_MS);
      trial.move(held);
      for (let back = 0; back < 17; back++) {
        await bucket.take(0);
        trial.move(back === 0 ? 1 : DATE_STEP_MS);
      }
    },
  },
  {
    name: "L6, L14, L21 · limits in flight, rates and quotas on one key are the core's under any clock, blocks included",
    cause: NOT_BY_DATE,
    needs: ["in-flight", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      await playDated(trial, {
        kindOf: heldKind, ticks: 18, versions: 3, back: true, concurrent: 2,
        methods: ["consume", "consume", "consume", "peek", "settle", "settle", "renew", "adjust"],
      });
      await trial.part("A block and tokens in flight are kept in one record, or a reset forgets only one of them.", () =>
        playDated(trial, {
          kindOf: heldKind, ticks: 14, versions: 2, back: true, concurrent: 2,
          methods: ["consume", "consume", "consume", "settle", "renew", "peek", "block", "reset"],
        }));
    },
  },
];

async function renewTwoLimits(trial: Trial): Promise<void> {
  const rate = { name: "r", capacity: 90, refill: { tokens: 1, everyMs: 60_000 } };
  const policy = trial.policy("two", { ...heldLimit, name: "rate" }, { ...heldLimit, name: "rate.0" }, rate);
  const bucket = callsOn(trial, policy);
  const first = trial.now;
  await bucket.take([3, 4, 5]);
  trial.move(3 * DATE_STEP_MS);
  const second = trial.now;
  await bucket.take([1, 2, 1]);
  // The beat of a process comes late, and a late renewal keeps tokens until the date that it names.
  trial.move(RENEWAL_MS);
  const to = first + RENEWAL_MS;
  for (let time = 0; time < 2; time++) await bucket.renew([1, 2, 0], first, to);
  await bucket.renew([9, 1, 0], second, second + RENEWAL_MS);
  // A renewal to its own date changes nothing, and one of an instant without tokens neither.
  await bucket.renew([1, 1, 0], first, first);
  await bucket.renew([1, 1, 0], first - 5 * DATE_STEP_MS, trial.now);
  for (const at of [first, second, to, second + RENEWAL_MS]) {
    for (const date of [lastMsOf(policy, at), dateEnd(policy, at)]) {
      trial.move(date - trial.now);
      await bucket.take(0);
    }
  }
  // The tokens of one date and those that move from it and to it pass 2^53 together.
  const large = callsOn(trial, trial.policy("large", { ...heldLimit, capacity: LARGEST }));
  const at = trial.now;
  await large.take(LARGEST);
  await large.renew(2, at, at);
  trial.move(RENEWAL_MS);
  await large.renew(2, at, trial.now);
  trial.move(lastMsOf(policy, at) + 1 - trial.now);
  await large.take(0);
}

async function renewWhatIsOver(trial: Trial): Promise<void> {
  const policy = trial.policy("over", heldLimit);
  const bucket = callsOn(trial, policy);
  const at = trial.now;
  await bucket.take(4);
  trial.move(STALE_MS / 2);
  const later = trial.now;
  await bucket.take(2);
  trial.move(lastMsOf(policy, at) - trial.now);
  await bucket.renew(1, at, at + RENEWAL_MS);
  trial.move(1);
  for (const to of [at + RENEWAL_MS, later, trial.now]) await bucket.renew(2, at, to);
  await bucket.take(0);
  trial.move(dateEnd(policy, later) - trial.now);
  // All tokens are back, and a renewal makes none.
  await bucket.renew(2, later, trial.now);
  await bucket.take(3);
  await bucket.take(7);
}

/** What `renew` returns: whether the date that it moves from is not over. */
async function checkRenewed(trial: Trial): Promise<void> {
  const policy = trial.policy("told", { ...heldLimit, capacity: 2 });
  const renew = async (from: number): Promise<unknown> =>
    callsOf(trial.store()).renew(policy, "caller", 1, { from, to: trial.now });
  const at = trial.now;
  await trial.consume(policy, "caller");
  trial.move(STALE_MS + STALE_MS / 8);
  await trial.consume(policy, "caller");
  const late = await renew(at);
  assert(late === false, `Expected \`renew\` to return false after the date of its tokens, got ${String(late)}`);
  const later = trial.now;
  trial.move(STALE_MS / 2);
  assert((await renew(later)) !== false, "Expected `renew` to return true before the date of its tokens, got false");
}
