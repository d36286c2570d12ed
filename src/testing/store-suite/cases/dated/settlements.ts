import { daily, monthly } from "../../../../limits/quota.js";
import type { Policy } from "../../../../core/policy.js";
import type { Costs } from "../../../../core/limit.js";
import { assert } from "../../../assert.js";
import { withSkewedClocks } from "../../skewed-clocks.js";
import type { StoreCall } from "../../states.js";
import { chargeAndCompare, keysTogether } from "../../together.js";
import type { StoreCase } from "../../trial.js";
import { HOUR } from "../clock.js";
import { dayQuota, heldLimit, moveBeforeMidnight, ONE_DAY_MS, RENEWAL_MS, datedKindOf, STALE_MS } from "./histories.js";

const fourAtOnce = { ...heldLimit, capacity: 4 };

const adjusting = (policy: Policy, tokens: StoreCall["tokens"], at?: StoreCall["at"]): StoreCall => ({
  method: "adjust", policy, key: "caller", tokens, at,
});

/** Settlements of quotas and of limits in flight together, blocks and resets (laws L20 and L21). */
export const settlementCases: readonly StoreCase[] = [
  {
    name: "L20 · after the end of the day, a settlement gives back to the month and to no day",
    cause: "One date stands for all quotas of a policy. Each limit has the date of its own calendar.",
    needs: ["quotas", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const month = { name: "month", capacity: 90, renews: monthly() };
      // Two hours before midnight in UTC: in Berlin, the day is over soon.
      const berlin = { name: "berlin", capacity: 30, renews: daily({ zone: "Europe/Berlin" }) };
      for (const [i, limits] of [[dayQuota, month, berlin], [month, berlin, dayQuota], [berlin, dayQuota, month]].entries()) {
        const policy = trial.policy(`p${i}`, ...limits);
        moveBeforeMidnight(trial, 4 * HOUR);
        const at = trial.now;
        await trial.consume(policy, "caller", [3, 4, 5]);
        trial.move(3 * HOUR);
        await trial.consume(policy, "caller", [1, 2, 3]);
        await trial.callAll(adjusting(policy, -1, at));
        await trial.consume(policy, "caller", 0);
        trial.move(HOUR);
        await trial.consume(policy, "caller", [2, 2, 2]);
        await trial.callAll(adjusting(policy, [-2, -1, -1], at));
        await trial.callAll(adjusting(policy, [1, 2, 3], at));
        await trial.consume(policy, "caller", 0);
      }
    },
  },
  {
    name: "L14, L20 · where two calendars take turns, a settlement gives back to a record of exactly its date",
    cause: "The store gives back while a date is near or later. Taking from a quota moves all its tokens to the later date.",
    needs: ["quotas", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const berlin = trial.policy("p", { ...dayQuota, renews: daily({ zone: "Europe/Berlin" }) });
      const utc = trial.policy("p", dayQuota);
      moveBeforeMidnight(trial, 4 * HOUR);
      const at = trial.now;
      await trial.consume(berlin, "caller", 5);
      await trial.callAll(adjusting(utc, -1, at));
      await trial.callAll(adjusting(berlin, -1, at));
      await trial.consume(berlin, "caller", 0);
      await trial.consume(utc, "caller", 3);
      await trial.callAll(adjusting(berlin, -1, at));
      await trial.callAll(adjusting(utc, -1, at));
      // The day of Berlin is over, and all tokens have the date of the other calendar.
      trial.move(3 * HOUR);
      await trial.callAll(adjusting(berlin, -1, at));
      for (const policy of [berlin, utc]) await trial.consume(policy, "caller", 0);
      await trial.consume(berlin, "caller", 1);
      await trial.callAll(adjusting(utc, -1, at));
      await trial.callAll(adjusting(berlin, -1, trial.now));
      await trial.consume(berlin, "caller", 0);
    },
  },
  {
    name: "L20, L21 · renewed work gives back to the period of its decision, and to the date of its renewal",
    cause: "In `{ at, heldAt }`, the store uses `heldAt` for quotas or `at` for limits in flight, or it knows numbers alone.",
    needs: ["quotas", "inFlight", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", fourAtOnce, dayQuota);
      moveBeforeMidnight(trial, 2 * RENEWAL_MS);
      for (let i = 0; i < 2; i++) {
        const at = trial.now;
        const origin = { at, heldAt: at + RENEWAL_MS };
        await trial.consume(policy, "caller", [2, 5]);
        trial.move(RENEWAL_MS);
        await trial.callAll({ method: "renew", policy, key: "caller", tokens: [2, 0], at, to: origin.heldAt });
        await trial.callAll(adjusting(policy, [-1, -1], origin));
        await trial.consume(policy, "caller", [0, 2]);
        // In the next dayQuota, which has tokens of its own.
        trial.move(RENEWAL_MS);
        await trial.consume(policy, "caller", [1, 3]);
        await trial.callAll(adjusting(policy, [-1, -2], origin));
        await trial.consume(policy, "caller", 0);
        // A settlement that comes twice finds nothing.
        await trial.callAll(adjusting(policy, [-1, -1], origin));
        await trial.consume(policy, "caller", 0);
        moveBeforeMidnight(trial, RENEWAL_MS - 1);
      }
    },
  },
  {
    name: "L20, L21 · while a block lasts, renewals and settlements count; the block and its end free no tokens",
    cause: "A block replaces the other records of its key, or `renew` and `adjust` do nothing while it lasts.",
    needs: ["quotas", "inFlight", "adjust", "block"],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", fourAtOnce, dayQuota);
      const block = (forMs: number): StoreCall => ({ method: "block", policy, key: "caller", tokens: forMs });
      for (const end of ["by itself", "with 0"]) {
        moveBeforeMidnight(trial, 2 * STALE_MS);
        const at = trial.now;
        await trial.consume(policy, "caller", [3, 9]);
        await trial.callAll(block(STALE_MS));
        await trial.consume(policy, "caller", 1);
        trial.move(RENEWAL_MS);
        await trial.callAll({ method: "renew", policy, key: "caller", tokens: [2, 0], at, to: trial.now });
        await trial.callAll(adjusting(policy, [-1, -4], at));
        await trial.consume(policy, "caller", 1);
        if (end === "with 0") await trial.callAll(block(0));
        else trial.move(STALE_MS - RENEWAL_MS);
        await trial.consume(policy, "caller", 0);
        trial.move(at + STALE_MS + 1_000 - trial.now);
        await trial.consume(policy, "caller", 0);
        await trial.callAll(adjusting(policy, [-2, -1], { at, heldAt: at + RENEWAL_MS }));
        await trial.consume(policy, "caller", [4, 0]);
      }
    },
  },
  {
    name: "L20, L21 · a reset frees quotas and limits in flight, also those that only another version has",
    cause: "`reset` forgets the limits of its own policy, or rates alone. It forgets all that the key has under the name.",
    needs: ["quotas", "inFlight", "adjust", "reset"],
    async run(trial) {
      await trial.openStores("mixed");
      const own = trial.policy("p", fourAtOnce, dayQuota);
      const other = trial.policy("p", { ...fourAtOnce, name: "others" }, { ...dayQuota, name: "d" });
      const at = trial.now;
      for (const policy of [own, other]) await trial.consume(policy, "caller", [3, 9]);
      await trial.callAll({ method: "reset", policy: own, key: "caller", tokens: 0 });
      for (const policy of [own, other]) await trial.consume(policy, "caller", [2, 9]);
      // A renewal and a settlement of before the reset find the tokens of a neighbour at most.
      trial.move(RENEWAL_MS);
      await trial.callAll({ method: "renew", policy: own, key: "caller", tokens: [3, 0], at, to: trial.now });
      await trial.callAll(adjusting(own, [-3, -3], { at, heldAt: trial.now }));
      for (const policy of [own, other]) await trial.consume(policy, "caller", [4, 0]);
    },
  },
  {
    name: "L10, L20, L21 · of several charges of quotas and limits in flight, a refused one leaves all as they were",
    cause: "`consumeTogether` gives all charges one date, or takes dated tokens although another charge is refused.",
    needs: ["quotas", "inFlight", "adjust", "consumeTogether", "peek"],
    async run(trial) {
      await trial.openStores("mixed");
      const policies = [
        trial.policy("p", fourAtOnce, { ...dayQuota, capacity: 9 }),
        trial.policy("q", { ...dayQuota, renews: daily({ zone: "Europe/Berlin" }) }),
        trial.policy("r", { ...fourAtOnce, capacity: 2 }),
      ] as const;
      const keys = await keysTogether(trial, policies.map((policy) => ({ policy, key: "caller" })));
      if (keys === null) return;
      const look = async (): Promise<unknown> =>
        trial.callAll(...policies.map((policy, i): StoreCall => ({ method: "peek", policy, key: keys[i] as string, tokens: 1 })));
      const charge = async (...costs: readonly Costs[]): Promise<void> => {
        await chargeAndCompare(trial, policies.map((policy, i) => ({ policy, key: keys[i] as string, cost: costs[i] as Costs })));
        await look();
      };
      moveBeforeMidnight(trial, 2 * HOUR);
      await charge([1, 4], 5, 1);
      trial.move(STALE_MS / 2);
      // Refused by tokens in flight, by a quota, and by both.
      await charge([1, 1], 6, 2);
      await charge([1, 6], 7, 1);
      await charge([1, 6], 16, 2);
      await charge([2, 2], 8, 1);
      const [first, last] = [policies[0], policies[2]];
      await trial.callAll({ method: "adjust", policy: last, key: keys[2] as string, tokens: -1, at: trial.now });
      trial.move(STALE_MS / 2 + STALE_MS / 16);
      await look();
      await charge([1, 1], 1, 1);
      moveBeforeMidnight(trial, 1);
      await look();
      trial.move(1);
      await look();
      await charge([4, 9], 1, 2);
      await trial.callAll({ method: "adjust", policy: first, key: keys[0] as string, tokens: [-4, -9], at: trial.now });
      await look();
    },
  },
  {
    name: "L6, L20, L21 · dates that are too far ahead of the clock are brought to it, and tokens stay taken",
    cause: "A record that no clock can have is kept as it is, or counts as absent. Even a refusal brings it to now.",
    needs: ["quotas", "inFlight", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const policies = [trial.policy("p", fourAtOnce), trial.policy("q", { ...dayQuota, capacity: 4 })];
      const all = async (method: StoreCall["method"], tokens: number, at?: number): Promise<unknown> =>
        trial.callAll(...policies.map((policy): StoreCall => ({ method, policy, key: "caller", tokens, at })));
      moveBeforeMidnight(trial, HOUR);
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
      trial.move(HOUR);
      await all("consume", 4);
      // A refusal of before midnight has brought the quota to the day that is over now.
      await trial.consume(policies[1] as Policy, "other", 3);
      trial.move(-30 * ONE_DAY_MS - HOUR);
      await trial.consume(policies[1] as Policy, "other", 2);
      trial.move(HOUR);
      await trial.consume(policies[1] as Policy, "other", 4);
    },
  },
  {
    name: "L20 · own clock: a quota has the periods of the clock of the store, while that of the process is wrong",
    cause: "The store finds the period of a call or of a settlement by the clock of the process.",
    needs: ["quotas", "adjust", "serverClock"],
    async run(trial) {
      const store = await trial.open({});
      const { at: now } = await store.consume(trial.policy("now", dayQuota), "caller", 1);
      for (const hours of [1, -1]) {
        // The day begins within the two hours by which the clock of the process is wrong.
        const begin = new Date(now + hours * HOUR).toISOString().slice(11, 16);
        const policy = trial.policy(`p${hours}`, { capacity: 4, renews: daily({ at: begin }) });
        const key = `caller ${hours}`;
        await withSkewedClocks(2 * hours * HOUR, async () => {
          const taken = await store.consume(policy, key, 3);
          const wanted = (datedKindOf(policy)?.dateOf(taken.at) as number) + 1;
          const got = taken.at + taken.resetMs;
          assert(taken.allowed && got === wanted, `Expected the quota to renew at ${wanted}, got ${got}`);
          await store.adjust?.(policy, key, -1, taken.at);
          const { allowed } = await store.consume(policy, key, 2);
          assert(allowed, "Expected a settlement to give back to the period of its decision, got a refusal");
        });
      }
    },
  },
];
