import type { Policy } from "../../../../core/policy.js";
import { assert } from "../../../assert.js";
import { HOUR } from "../clock.js";
import { LARGEST } from "../../random.js";
import { withSkewedClocks } from "../../skewed-clocks.js";
import type { StoreCall } from "../../states.js";
import type { StoreCase, Trial } from "../../trial.js";
import { DATE_STEP_MS, dayQuota, heldLimit, RENEWAL_MS, datedKindOf, STALE_MS } from "./histories.js";
import { playWorks } from "./works.js";

const renewing = (policy: Policy, tokens: StoreCall["tokens"], at: number, to: number): StoreCall => ({
  method: "renew", policy, key: "caller", tokens, at, to,
});

/** Moves to the last millisecond of a date and to the first after it, and compares what is free. */
async function lookAround(trial: Trial, policy: Policy, date: number): Promise<void> {
  trial.move(date - trial.now);
  await trial.consume(policy, "caller", 0);
  trial.move(1);
  await trial.consume(policy, "caller", 0);
}

/** What stores do with the dates of tokens in flight (law L21). */
export const renewalCases: readonly StoreCase[] = [
  {
    name: "L21 · a renewal moves its own tokens of each limit from its date to the new one, and nothing else",
    cause: "`renew` moves other tokens than those of `move.from`, to another date than that of `move.to`, or another number.",
    needs: ["inFlight", "adjust", "quotas"],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy(
        "p", { ...heldLimit, name: "rate", capacity: 9 }, { ...heldLimit, name: "rate.0" },
        { name: "r", capacity: 90, refill: { tokens: 1, everyMs: 60_000 } }, { ...dayQuota, capacity: 90 },
      );
      const dateOf = (at: number): number => datedKindOf(policy)?.dateOf(at) as number;
      const first = trial.now;
      await trial.consume(policy, "caller", [3, 4, 5, 6]);
      trial.move(3 * DATE_STEP_MS);
      const second = trial.now;
      await trial.consume(policy, "caller", [1, 2, 1, 1]);
      // The beat of a process comes late, and a late renewal keeps tokens until the date that it names.
      trial.move(RENEWAL_MS);
      const to = first + RENEWAL_MS;
      await trial.callAll(renewing(policy, [1, 2, 0, 0], first, to));
      await trial.callAll(renewing(policy, [9, 1, 0, 0], second, second + RENEWAL_MS));
      // A renewal to its own date changes nothing, and one of an instant without tokens neither.
      await trial.callAll(renewing(policy, [1, 1, 0, 0], first, first));
      await trial.callAll(renewing(policy, [1, 1, 0, 0], first - 5 * DATE_STEP_MS, trial.now));
      await trial.consume(policy, "caller", 0);
      for (const at of [first, second, to, second + RENEWAL_MS, trial.now]) await lookAround(trial, policy, dateOf(at));
      // The tokens of one date and those that move from it and to it pass 2^53 together.
      const large = trial.policy("q", { ...heldLimit, capacity: LARGEST });
      await trial.consume(large, "caller", LARGEST);
      await trial.callAll(renewing(large, 2, trial.now, trial.now));
      await trial.consume(large, "caller", 1);
    },
  },
  {
    name: "L21 · a renewal from a date that is over moves nothing, and takes no tokens of others",
    cause: "`renew` finds tokens whose date is over, because later dates keep the record. Drop what is over first.",
    needs: ["inFlight", "adjust", "quotas"],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", heldLimit, dayQuota);
      const at = trial.now;
      const dateOf = (now: number): number => datedKindOf(policy)?.dateOf(now) as number;
      await trial.consume(policy, "caller", 4);
      trial.move(STALE_MS / 2);
      const later = trial.now;
      await trial.consume(policy, "caller", 2);
      trial.move(dateOf(at) - trial.now);
      await trial.callAll(renewing(policy, [1, 0], at, at + RENEWAL_MS));
      trial.move(1);
      for (const to of [at + RENEWAL_MS, later, trial.now]) await trial.callAll(renewing(policy, [2, 0], at, to));
      await trial.consume(policy, "caller", 0);
      for (const one of [at + RENEWAL_MS, later, trial.now]) await lookAround(trial, policy, dateOf(one));
      // All tokens are back, and a renewal makes none.
      await trial.callAll(renewing(policy, [2, 0], later, trial.now));
      await trial.consume(policy, "caller", 3);
      await trial.consume(policy, "caller", 7);
    },
  },
  {
    name: "L21 · tokens of 17 dates stay apart, and each comes back at its own",
    cause: "The record keeps fewer dates, and joins or drops the others. Dates of one limit are at most 18.",
    needs: ["inFlight", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", { ...heldLimit, capacity: 17 });
      trial.move(Math.ceil(trial.now / DATE_STEP_MS) * DATE_STEP_MS + 1 - trial.now);
      const first = trial.now;
      for (let taken = 0; taken < 17; taken++) {
        if (taken > 0) trial.move(DATE_STEP_MS);
        await trial.consume(policy, "caller");
      }
      const held = (datedKindOf(policy)?.dateOf(first) as number) - trial.now;
      assert(held >= 0, "Expected all 17 dates to be held, got one that is over");
      await trial.consume(policy, "caller");
      await trial.callAll({ method: "adjust", policy, key: "caller", tokens: -1, at: first + 8 * DATE_STEP_MS });
      trial.move(held);
      for (let back = 0; back < 17; back++) {
        await trial.consume(policy, "caller", 0);
        trial.move(back === 0 ? 1 : DATE_STEP_MS);
      }
      await trial.consume(policy, "caller", 17);
    },
  },
  {
    name: "L21 · own clock: tokens in flight have dates by the clock of the store, while that of the process is wrong",
    cause: "The store finds the dates of tokens in flight by the clock of the process, and not by the one that it decides by.",
    needs: ["inFlight", "adjust", "serverClock"],
    async run(trial) {
      const store = await trial.open({});
      const policy = trial.policy("p", { ...heldLimit, capacity: 1 });
      for (const skewMs of [2 * HOUR, -2 * HOUR]) {
        await withSkewedClocks(skewMs, async () => {
          const key = `caller ${skewMs}`;
          const { at, allowed, nextTokenMs } = await store.consume(policy, key, 1);
          const wanted = (datedKindOf(policy)?.dateOf(at) as number) + 1;
          assert(allowed && at + nextTokenMs === wanted, `Expected the token back at ${wanted}, got ${at + nextTokenMs}`);
          await store.renew?.(policy, key, 1, { from: at, to: at });
          const { allowed: isFree } = await store.consume(policy, key, 1);
          assert(!isFree, "Expected the token to be held, got it back");
          await store.adjust?.(policy, key, -1, { at, heldAt: at });
          const again = await store.consume(policy, key, 1);
          assert(again.allowed, "Expected the token to come back with a settlement, got a refusal");
        });
      }
    },
  },
  {
    name: "L20, L21 · work that is taken, renewed and settled, also twice and late, is the core's on any limits",
    cause:
      "`renew` or `adjust` reads or writes another date than that of the work. In `{ at, heldAt }`, quotas use `at` and " +
      "limits in flight `heldAt`.",
    needs: ["inFlight", "adjust"],
    run: (trial) => playWorks(trial, 40),
  },
];
