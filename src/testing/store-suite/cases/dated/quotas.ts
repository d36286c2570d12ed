import type { Costs, LimitOptions } from "../../../../core/limit.js";
import type { Renewal } from "../../../../core/model.js";
import type { Policy } from "../../../../core/policy.js";
import { daily, monthly, weekly } from "../../../../limits/quota.js";
import { callsOn } from "../../bucket-calls.js";
import { LARGEST, randomLimit } from "../../random.js";
import type { StoreCase, Trial } from "../../trial.js";
import {
  dayQuota, HOUR_IN_MS, lastMsOf, moveBeforeMidnight, ONE_DAY_MS, playChargesTogether, playDated, STALE_MS,
} from "./histories.js";
import { heldKind } from "./in-flight.js";

const BERLIN = "Europe/Berlin";
const ZONES = ["UTC", BERLIN, "America/St_Johns", "Pacific/Auckland"];
const NOT_DATED =
  "A record of a quota is timed and not dated: it has its instant, instead of the last millisecond of its period.";

function randomRenewal({ random }: Trial): Renewal {
  const timeZone = random.pick(ZONES);
  const at = random.pick(["00:00", "02:30", "23:59"]);
  return random.pick([
    () => daily({ at, timeZone }), () => daily({ timeZone }),
    () => weekly({ at, timeZone, day: random.pick(["monday", "sunday"]) }),
    () => monthly({ day: random.between(1, 31), timeZone }),
  ])();
}

/** A quota most of the time, otherwise a rate. */
function randomKind(trial: Trial): LimitOptions {
  const { random } = trial;
  if (random.next() < 0.3) return randomLimit(random);
  return { capacity: random.pick([1, 2, random.between(1, 30), LARGEST]), renews: randomRenewal(trial) };
}

/** Quotas (law L20), in policies that have rates too. */
export const quotaCases: readonly StoreCase[] = [
  {
    name: "L2, L20 · a quota grants its capacity in each period of its calendar, and its wait is exact",
    cause: NOT_DATED,
    needs: ["quota"],
    async run(trial) {
      await trial.openStores("identical");
      await spendDays(trial);
      await trial.part("A period is a fixed number of milliseconds. It ends by the clock of its zone.", () =>
        spendPeriods(trial));
      await trial.part("A refusal has the wait of another limit, or charges the limit that had room.", () => spendMonth(trial));
    },
  },
  {
    name: "L14, L20 · what a settlement gives back goes to the period of its decision only, for each calendar by itself",
    cause:
      "`adjust` ignores `at`, or gives back while the period of `at` is not over. It may only change a record with " +
      "exactly the date of `at`.",
    needs: ["quota", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      await settleOneQuota(trial);
      await trial.part("One date stands for all quotas of a policy. Each limit has the date of its own calendar.", () =>
        settleThreeQuotas(trial));
      await trial.part(
        "The store gives back while a date is near or later, or to a record without a date. " +
          "Taking from a quota moves all its tokens to the later date.",
        () => settleTwoCalendars(trial),
      );
      await trial.part("A debit is taken, or answered with true, although it does not fit into 2^53 - 1 units.", async () => {
        const large = callsOn(trial, trial.policy("large", { capacity: LARGEST, renews: daily() }));
        await large.take(LARGEST);
        await large.adjust(2);
      });
    },
  },
  {
    name: "L6, L14, L20 · quotas and rates on one key are the core's under any clock, while calendars take turns",
    cause: "A record of a quota is read by the calendar of the reader. Its date is in the record.",
    needs: ["quota"],
    async run(trial) {
      await trial.openStores("mixed");
      await playDated(trial, { kindOf: randomKind, ticks: 12, versions: 3, methods: ["consume"] });
      await trial.part(`${NOT_DATED} Or a block and a quota are kept in one record.`, () =>
        playDated(trial, {
          kindOf: randomKind, ticks: 20, versions: 3, back: true, concurrent: 2,
          methods: ["consume", "consume", "consume", "settle", "settle", "adjust", "peek", "block", "reset"],
        }));
    },
  },
  {
    name: "L10, L20, L21 · several charges of rates, quotas and limits in flight are taken together or not at all",
    cause:
      "Several parts get another date than one, or dated tokens are taken although another part is refused.",
    needs: ["together"],
    async run(trial) {
      await trial.openStores("mixed");
      if (trial.has("quota")) await playChargesTogether(trial, randomKind, 16, [0, 1, 60_000, ONE_DAY_MS / 3, ONE_DAY_MS]);
      if (!trial.has("in-flight")) return;
      await trial.part("Tokens in flight are taken although another charge of the call is refused, or none of them.", () =>
        playChargesTogether(trial, heldKind, 10, [0, 1, 1_000, STALE_MS / 2, STALE_MS]));
    },
  },
];

/** Takes all of a day, is refused until its last millisecond, and takes all of the next. */
async function spendDays(trial: Trial): Promise<void> {
  const day = { name: "day", capacity: 5, renews: daily() };
  const policy = trial.policy("days", { name: "rate", capacity: 3, refill: { tokens: 1, everyMs: 1_000 } }, day);
  const bucket = callsOn(trial, policy);
  for (let turn = 0; turn < 2; turn++) {
    const last = lastMsOf(policy, trial.now);
    for (const cost of [3, 2, 1]) {
      await bucket.take(cost);
      trial.move(3_000);
    }
    trial.move(last - trial.now);
    await bucket.take();
    trial.move(1);
  }
}

/** Has 60 a minute and a million a month: each refuses in turn, until the millisecond of its wait. */
async function spendMonth(trial: Trial): Promise<void> {
  const month = { name: "month", capacity: 1_000_000, renews: monthly({ timeZone: BERLIN }) };
  const policy = trial.policy("both", { name: "requests", capacity: 60, refill: { tokens: 60, everyMs: 60_000 } }, month);
  const bucket = callsOn(trial, policy);
  trial.move(Date.parse("2026-11-23T12:00Z") - trial.now);
  const spend = async (costs: Costs): Promise<void> => {
    await bucket.take(costs);
    const { retryAfterMs } = await bucket.take();
    trial.move(retryAfterMs - 1);
    await bucket.take();
    trial.move(1);
    await bucket.take();
  };
  await spend(60);
  trial.move(60_000);
  await spend([1, 999_939]);
}

/** In Berlin, a period begins at its written day and time, before and after a change of the clock. */
async function spendPeriods(trial: Trial): Promise<void> {
  const timeZone = BERLIN;
  const periods: readonly (readonly [Renewal, begin: string, end: string])[] = [
    [monthly({ timeZone }), "2026-03-01T00:00+01:00", "2026-04-01T00:00+02:00"],
    [daily({ timeZone }), "2026-03-29T00:00+01:00", "2026-03-30T00:00+02:00"],
    [daily({ timeZone }), "2026-10-25T00:00+02:00", "2026-10-26T00:00+01:00"],
    [daily({ timeZone, at: "06:30" }), "2026-10-24T06:30+02:00", "2026-10-25T06:30+01:00"],
    [weekly({ timeZone, day: "sunday", at: "06:30" }), "2026-03-22T06:30+01:00", "2026-03-29T06:30+02:00"],
    [monthly({ timeZone, day: 31, at: "06:30" }), "2026-02-28T06:30+01:00", "2026-03-31T06:30+02:00"],
  ];
  for (const [i, [renews, begin, end]] of periods.entries()) {
    const bucket = callsOn(trial, trial.policy(`period-${i}`, { capacity: 2, renews }));
    trial.move(Date.parse(begin) - trial.now);
    await bucket.take(2);
    trial.move(Date.parse(end) - 1 - trial.now);
    await bucket.take();
    trial.move(1);
    await bucket.take();
  }
}

async function settleOneQuota(trial: Trial): Promise<void> {
  const policy = trial.policy("one", { capacity: 5, renews: daily() });
  const bucket = callsOn(trial, policy);
  trial.move(lastMsOf(policy, trial.now) - trial.now);
  const at = trial.now;
  await bucket.take(4);
  await bucket.adjust(-1, at);
  trial.move(1);
  await bucket.take(2);
  await bucket.adjust(-3, at);
  await bucket.adjust(-1, trial.now);
  await bucket.adjust(2, at);
  await bucket.take(2);
  // After a step back, tokens of the next day may not be given back for a decision of this one.
  trial.move(-1);
  await bucket.adjust(-3, at);
  await bucket.take();
}

/** After the end of a day, a settlement gives back to the month and to no day. */
async function settleThreeQuotas(trial: Trial): Promise<void> {
  const month = { name: "month", capacity: 90, renews: monthly() };
  // Two hours before midnight in UTC, the day of Berlin is over.
  const berlin = { name: "berlin", capacity: 30, renews: daily({ timeZone: BERLIN }) };
  const orders: readonly (readonly LimitOptions[])[] = [
    [dayQuota, month, berlin], [month, berlin, dayQuota], [berlin, dayQuota, month],
  ];
  const buckets = orders.map((limits, i) => callsOn(trial, trial.policy(`three-${i}`, ...limits)));
  const all = (call: (bucket: (typeof buckets)[number]) => Promise<unknown>): Promise<unknown> => Promise.all(buckets.map(call));
  moveBeforeMidnight(trial, 4 * HOUR_IN_MS);
  const at = trial.now;
  await all(({ take }) => take([3, 4, 5]));
  trial.move(3 * HOUR_IN_MS);
  await all(({ take }) => take([1, 2, 3]));
  await all(({ adjust }) => adjust(-1, at));
  await all(({ take }) => take(0));
  trial.move(HOUR_IN_MS);
  await all(({ take }) => take(2));
  await all(({ adjust }) => adjust([-2, -1, -1], at));
  await all(({ adjust }) => adjust([1, 2, 3], at));
  await all(({ take }) => take(0));
}

async function settleTwoCalendars(trial: Trial): Promise<void> {
  const calendars = [daily({ timeZone: BERLIN }), daily()];
  const [berlin, utc] = calendars.map((renews): Policy => trial.policy("two", { ...dayQuota, renews }));
  const [one, other] = [callsOn(trial, berlin as Policy), callsOn(trial, utc as Policy)];
  moveBeforeMidnight(trial, 4 * HOUR_IN_MS);
  const at = trial.now;
  await one.take(5);
  await other.adjust(-1, at);
  await one.adjust(-1, at);
  await other.take(3);
  await one.adjust(-1, at);
  await other.adjust(-1, at);
  // The day of Berlin is over, and all tokens have the date of the other calendar.
  trial.move(3 * HOUR_IN_MS);
  await one.adjust(-1, at);
  await other.take(0);
  await one.take(1);
  await other.adjust(-1, at);
  await one.adjust(-1, trial.now);
  await one.take(0);
  // A record of a rate has no date.
  const refill = { tokens: 1, everyMs: ONE_DAY_MS };
  const rate = callsOn(trial, trial.policy("two", { name: dayQuota.name, capacity: 20, refill }), "other");
  const now = trial.now;
  await rate.take(5);
  await callsOn(trial, utc as Policy, "other").adjust(-2, now);
  await rate.take(0);
}
