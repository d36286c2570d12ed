import { daily, monthly, weekly } from "../../../../limits/quota.js";
import type { Decision } from "../../../../core/decision.js";
import type { LimitOptions } from "../../../../core/limit.js";
import type { Renewal } from "../../../../core/model.js";
import type { Policy } from "../../../../core/policy.js";
import { assert } from "../../../assert.js";
import { LARGEST, randomLimit } from "../../random.js";
import type { StoreCall } from "../../states.js";
import type { StoreCase, Trial } from "../../trial.js";
import { callersOf, checkKindNamed, ONE_DAY_MS, playDated, datedKindOf } from "./histories.js";

const ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Auckland"];

function randomRenewal({ random }: Trial): Renewal {
  const zone = random.pick(ZONES);
  const at = random.pick(["00:00", "02:30", "23:59"]);
  return random.pick([
    () => daily({ at, zone }), () => daily({ zone }), () => weekly({ at, zone, day: random.pick(["monday", "sunday"]) }),
    () => monthly({ day: random.between(1, 31), zone }),
  ])();
}

/** A quota most of the time, otherwise a rate. */
function randomKind(trial: Trial): LimitOptions {
  const { random } = trial;
  if (random.next() < 0.3) return randomLimit(random);
  return { capacity: random.pick([1, 2, random.between(1, 30), LARGEST]), renews: randomRenewal(trial) };
}

const NOT_DATED =
  "A record of a quota is timed and not dated: it has its instant, instead of the last millisecond of its period.";

/** Checks that `limit` refuses a call until `waitMs` have passed, and that the call is allowed then. */
async function checkExactWait(trial: Trial, policy: Policy, limit: string, waitMs: number, key = "caller"): Promise<void> {
  for (const moveMs of [0, waitMs - 1]) {
    trial.move(moveMs);
    const refusal = await trial.consume(policy, key);
    const wanted = `limit "${limit}" to refuse for ${waitMs - moveMs} ms`;
    assert(
      !refusal.allowed && refusal.limit === limit && refusal.retryAfterMs === waitMs - moveMs,
      `Expected ${wanted}, got "${refusal.limit}" for ${refusal.retryAfterMs} ms`,
    );
  }
  trial.move(1);
  assert((await trial.consume(policy, key)).allowed, "Expected the call to be allowed after its wait, got a refusal");
}

/** Quotas (law L20), in policies that have rates too. */
export const quotaCases: readonly StoreCase[] = [
  {
    name: "L20 · the store names the kinds of limits that it keeps",
    cause: "Without `kinds` a limiter refuses each policy with a quota.",
    needs: ["quotas"],
    async run(trial) {
      checkKindNamed(await trial.open({ clock: trial.clock.now }), "quota", "quotas");
    },
  },
  {
    name: "L20 · a quota grants its capacity in each period, refuses until its end, and then grants it again",
    cause: NOT_DATED,
    needs: ["quotas"],
    async run(trial) {
      await trial.openStores("identical");
      const policy = trial.policy(
        "p", { name: "rate", capacity: 3, refill: { tokens: 1, everyMs: 1_000 } },
        { name: "day", capacity: 5, renews: daily({ zone: "Europe/Berlin" }) },
      );
      for (let day = 0; day < 3; day++) {
        const date = datedKindOf(policy)?.dateOf(trial.now) as number;
        let granted = 0;
        for (let i = 0; i < 9; i++) {
          if ((await trial.consume(policy, "caller")).allowed) granted++;
          trial.move(1_000);
        }
        assert(granted === 5, `Expected 5 calls of 9 to be allowed on day ${day}, got ${granted}`);
        trial.move(date - trial.now);
        assert(
          !(await trial.consume(policy, "caller")).allowed,
          "Expected a refusal in the last millisecond of the day, got an allowed call",
        );
        trial.move(1);
      }
    },
  },
  {
    name: "L2, L20 · of 60 a minute and a million a month, the right one refuses, with its exact wait",
    cause: "A refusal has the wait of another limit, or charges the limit that had room.",
    needs: ["quotas"],
    async run(trial) {
      await trial.openStores("mixed");
      const month = { name: "month", capacity: 1_000_000, renews: monthly({ zone: "Europe/Berlin" }) };
      const policy = trial.policy("p", { name: "requests", capacity: 60, refill: { tokens: 60, everyMs: 60_000 } }, month);
      trial.move(Date.parse("2026-11-23T12:00Z") - trial.now);
      for (let call = 0; call < 2; call++) await trial.consume(policy, "caller", 30);
      await checkExactWait(trial, policy, "requests", 1_000);
      trial.move(60_000);
      await trial.consume(policy, "caller", [1, 999_939]);
      await checkExactWait(trial, policy, "month", Date.parse("2026-12-01T00:00+01:00") - trial.now);
    },
  },
  {
    name: "L20 · in Berlin a period begins at its written day and time, before and after a change of the clock",
    cause: "A period is a fixed number of milliseconds. It ends by the clock of its zone.",
    needs: ["quotas"],
    async run(trial) {
      await trial.openStores("identical");
      const zone = "Europe/Berlin";
      const [day, month, morning, week, last] = [
        daily({ zone }), monthly({ zone }), daily({ zone, at: "06:30" }), weekly({ zone, day: "sunday", at: "06:30" }),
        monthly({ zone, day: 31, at: "06:30" }),
      ].map((renews, i) => trial.policy(`p${i}`, { capacity: 2, renews })) as [Policy, Policy, Policy, Policy, Policy];
      const periods: readonly (readonly [Policy, begin: string, end: string])[] = [
        [month, "2026-03-01T00:00+01:00", "2026-04-01T00:00+02:00"],
        [day, "2026-03-29T00:00+01:00", "2026-03-30T00:00+02:00"],
        [month, "2026-10-01T00:00+02:00", "2026-11-01T00:00+01:00"],
        [day, "2026-10-25T00:00+02:00", "2026-10-26T00:00+01:00"],
        [morning, "2026-10-24T06:30+02:00", "2026-10-25T06:30+01:00"],
        [week, "2026-03-22T06:30+01:00", "2026-03-29T06:30+02:00"],
        [last, "2026-02-28T06:30+01:00", "2026-03-31T06:30+02:00"],
      ];
      for (const [i, [policy, begin, end]] of periods.entries()) {
        trial.move(Date.parse(begin) - trial.now);
        for (let call = 0; call < 2; call++) await trial.consume(policy, `caller ${i}`);
        await checkExactWait(trial, policy, policy.limits[0].name, Date.parse(end) - trial.now, `caller ${i}`);
      }
    },
  },
  {
    name: "L20 · what a settlement gives back goes to the period of its decision only",
    cause:
      "`adjust` ignores `at`, or gives back while the period of `at` is not over. It may only change a record with " +
      "exactly the date of `at`.",
    needs: ["quotas", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", { capacity: 5, renews: daily() });
      const date = datedKindOf(policy)?.dateOf(trial.now) as number;
      trial.move(date - trial.now);
      const at = trial.now;
      await trial.consume(policy, "caller", 4);
      await trial.callAll({ method: "adjust", policy, key: "caller", tokens: -1, at });
      trial.move(1);
      await trial.consume(policy, "caller", 2);
      await trial.callAll({ method: "adjust", policy, key: "caller", tokens: -3, at });
      await trial.callAll({ method: "adjust", policy, key: "caller", tokens: -1, at: trial.now });
      await trial.callAll({ method: "adjust", policy, key: "caller", tokens: 2, at });
      await trial.consume(policy, "caller", 2);
      await trial.consume(policy, "caller");
      // After a step back, tokens of the next day may not be given back for a decision of this one.
      trial.move(-1);
      await trial.callAll({ method: "adjust", policy, key: "caller", tokens: -3, at });
      await trial.consume(policy, "caller");
    },
  },
  {
    name: "L14, L20 · spent tokens still count while a rate and quotas of other calendars take turns",
    cause: "A record of a quota is read by the calendar of the reader. Its date is in the record.",
    needs: ["quotas"],
    run: (trial) =>
      playDated(trial, { kindOf: randomKind, ticks: 30, versions: 3, back: false, methods: ["consume"], concurrent: 1 }),
  },
  {
    name: "L6, L20 · quotas and rates on one key are the core's under any clock, with settlements of any age",
    cause: NOT_DATED,
    needs: ["quotas", "adjust", "peek"],
    run: (trial) =>
      playDated(trial, { kindOf: randomKind,
        ticks: 36, versions: 3, back: true,
        methods: ["consume", "consume", "consume", "peek", "settle", "settle", "adjust"], concurrent: 2,
      }),
  },
  {
    name: "L20 · concurrent calls of all methods are exact with quotas, blocks included",
    cause: "A block and a quota are kept in one record, or a refusal while blocked converts a quota by another date.",
    needs: ["quotas", "adjust", "block", "peek", "reset"],
    run: (trial) =>
      playDated(trial, { kindOf: randomKind,
        ticks: 24, versions: 2, back: true,
        methods: ["consume", "consume", "consume", "settle", "peek", "block", "reset"], concurrent: 3,
      }),
  },
  {
    name: "L10, L20 · several charges of rates and quotas are taken together or not at all",
    cause: "`consumeTogether` charges a quota by another date than `consume`, or charges it although another charge is refused.",
    needs: ["quotas", "consumeTogether", "peek"],
    async run(trial) {
      await trial.openStores("mixed");
      const { random } = trial;
      const callers = callersOf(trial, randomKind, 4, 2);
      // A client may learn of its servers with the first call.
      await trial.prepareTogether();
      for (let tick = 0; tick < 26; tick++) {
        trial.move(random.pick([0, 1, 60_000, ONE_DAY_MS / 3, ONE_DAY_MS]));
        const charges = callers
          .filter(() => random.next() < 0.7)
          .map(({ key, policies }) => ({ policy: random.pick(policies), key, cost: 1 }));
        if (charges.length === 0 || !trial.takesTogether(charges)) continue;
        const decisions = await trial.consumeTogether(charges);
        const all = decisions.every(({ allowed }) => allowed);
        charges.forEach(({ policy, key }, i) => {
          const answer = decisions[i] as Decision;
          trial.compare([{ call: { method: all || !answer.allowed ? "consume" : "peek", policy, key, tokens: 1 }, answer }]);
          // A charge that is not taken converts old records all the same.
          if (!all) trial.oracle.assume({ method: "consume", policy, key, tokens: Infinity }, trial.now);
        });
        if (tick % 2 === 0) await trial.callAll(
          ...callers.map(({ key, policies: [policy] }): StoreCall => ({
            method: "peek", policy: policy as Policy, key, tokens: 1,
          })),
        );
      }
    },
  },
  {
    name: "L20 · with its own clock, the store renews a quota at the end of the day of that clock",
    cause: "The store chooses the period by the clock of the process, and not by the one that it decides by.",
    needs: ["quotas"],
    async run(trial) {
      const store = await trial.open({});
      const policy = trial.policy("p", { capacity: 2, renews: daily() });
      for (let call = 0; call < 3; call++) {
        const answer = await store.consume(policy, "caller", 1);
        trial.compareAtItsTime({ method: "consume", policy, key: "caller", tokens: 1 }, answer);
        const end = (datedKindOf(policy)?.dateOf(answer.at) as number) + 1;
        assert(answer.at + answer.resetMs === end, `Expected the quota to renew at ${end}, got ${answer.at + answer.resetMs}`);
      }
    },
  },
];
