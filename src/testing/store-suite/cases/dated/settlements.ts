import { callsOn } from "../../bucket-calls.js";
import type { SuiteCall } from "../../states.js";
import type { StoreCase, Trial } from "../../trial.js";
import {
  DATE_STEP_MS, dayQuota, heldLimit, HOUR_IN_MS, moveBeforeMidnight, ONE_DAY_MS, RENEWAL_MS, STALE_MS,
} from "./histories.js";

const fourAtOnce = { ...heldLimit, capacity: 4 };

/**
 * Settlements of quotas and of limits in flight together, around blocks, resets and steps of the clock (laws L20 and
 * L21).
 */
export const settlementCases: readonly StoreCase[] = [
  {
    name: "L20, L21 · renewed work gives back to the period of its decision and the date of its renewal, also around a block",
    cause:
      "In `{ at, heldAt }`, the store uses `heldAt` for quotas or `at` for limits in flight, or it knows numbers alone. " +
      "Or a renewal moves a quota.",
    needs: ["quota", "in-flight", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      await settleRenewed(trial);
      if (trial.has("block")) {
        await trial.part(
          "A block replaces the other records of its key, or `renew` and `adjust` end it or do nothing while it lasts.",
          () => settleBlocked(trial),
        );
      }
      if (!trial.has("reset")) return;
      await trial.part(
        "`reset` forgets the limits of its own policy, or rates alone. It forgets all that the key has under the name.",
        () => settleAfterReset(trial),
      );
    },
  },
  {
    name: "L6, L20, L21 · dates that are too far ahead of the clock are brought to it, and tokens stay taken",
    cause: "A record that no clock can have is kept as it is, or counts as absent. Even a refusal brings it to now.",
    needs: ["quota", "in-flight", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const policies = [trial.policy("p", fourAtOnce), trial.policy("q", { ...dayQuota, capacity: 4 })] as const;
      const all = (method: SuiteCall["method"], tokens: number, at?: number): Promise<unknown> =>
        trial.callAll(...policies.map((policy): SuiteCall => ({ method, policy, key: "caller", tokens, at })));
      moveBeforeMidnight(trial, HOUR_IN_MS);
      const at = trial.now;
      await all("consume", 3);
      trial.move(-30 * ONE_DAY_MS);
      await all("consume", 2);
      trial.move(STALE_MS / 2);
      await all("consume", 2);
      await all("adjust", -1, at);
      await all("consume", 1);
      trial.move(STALE_MS / 2 + STALE_MS / 16);
      await all("consume", 3);
      trial.move(HOUR_IN_MS);
      await all("consume", 4);
      // A refusal of before midnight has brought the quota to the day that is over now.
      const other = callsOn(trial, policies[1], "other");
      await other.take(3);
      trial.move(-30 * ONE_DAY_MS - HOUR_IN_MS);
      await other.take(2);
      trial.move(HOUR_IN_MS);
      await other.take(4);
    },
  },
];

async function settleRenewed(trial: Trial): Promise<void> {
  const bucket = callsOn(trial, trial.policy("renewed", fourAtOnce, dayQuota));
  // The renewal is before midnight, and after it.
  for (const ms of [2 * RENEWAL_MS, RENEWAL_MS - 1]) {
    moveBeforeMidnight(trial, ms);
    const at = trial.now;
    const origin = { at, heldAt: at + RENEWAL_MS };
    await bucket.take([2, 5]);
    trial.move(RENEWAL_MS);
    await bucket.renew([2, 0], at, origin.heldAt);
    await bucket.adjust(-1, origin);
    // In the next day, which has tokens of its own.
    trial.move(ms === 2 * RENEWAL_MS ? RENEWAL_MS : 0);
    await bucket.take([1, 3]);
    await bucket.adjust([-1, -2], origin);
    await bucket.take(0);
    await bucket.adjust(-1, origin); // a settlement that comes twice finds nothing
    await bucket.take(0);
  }
  // The clock steps back to before midnight, and a renewal leaves the quota in the next day.
  trial.move(-2);
  await bucket.renew([1, 0], trial.now, trial.now);
  trial.move(2);
  await bucket.take(0);
}

async function settleBlocked(trial: Trial): Promise<void> {
  const bucket = callsOn(trial, trial.policy("blocked", fourAtOnce, dayQuota));
  moveBeforeMidnight(trial, 2 * STALE_MS);
  const at = trial.now;
  await bucket.take([3, 9]);
  await bucket.block(STALE_MS);
  await bucket.take();
  trial.move(RENEWAL_MS);
  await bucket.renew([2, 0], at, trial.now);
  await bucket.adjust([-1, -4], at);
  await bucket.take();
  await bucket.block(0);
  await bucket.take(0);
  trial.move(at + STALE_MS + DATE_STEP_MS - trial.now);
  await bucket.take(0);
  await bucket.adjust([-2, -1], { at, heldAt: at + RENEWAL_MS });
  await bucket.take([4, 0]);
}

async function settleAfterReset(trial: Trial): Promise<void> {
  const own = callsOn(trial, trial.policy("reset", fourAtOnce, dayQuota));
  const other = callsOn(trial, trial.policy("reset", { ...fourAtOnce, name: "others" }, { ...dayQuota, name: "d" }));
  const at = trial.now;
  for (const bucket of [own, other]) await bucket.take([3, 9]);
  await own.reset();
  for (const bucket of [own, other]) await bucket.take([2, 9]);
  // A renewal and a settlement of before the reset find the tokens of a neighbor at most.
  trial.move(RENEWAL_MS);
  await own.renew([3, 0], at, trial.now);
  await own.adjust(-3, { at, heldAt: trial.now });
  for (const bucket of [own, other]) await bucket.take([4, 0]);
}
