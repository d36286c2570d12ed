import { hasVerb } from "../../../port/store.js";
import { show, wholeNumber } from "../../../core/check.js";
import type { Decision } from "../../../core/decision.js";
import { encodeKey, type Key } from "../../../core/key.js";
import type { Policy } from "../../../core/policy.js";
import { assert, because } from "../../assert.js";
import { callsOn } from "../bucket-calls.js";
import { HOSTILE_LIMITS, LARGEST } from "../random.js";
import type { StoreHooks } from "../setup.js";
import type { SuiteCall } from "../states.js";
import { keysTogether } from "../together.js";
import type { StoreCase, Trial } from "../trial.js";
import { callsOf } from "../../store-calls.js";

/** Cases about laws that one caller can observe on a manual clock. */
export const lawCases: readonly StoreCase[] = [
  {
    name: "L2 · the wait of a refusal is exact: refused before that instant, allowed at it",
    cause:
      "Waits are rounded, a refusal restarts the wait, or tokens are counted as floating-point numbers. " +
      "Count in the limit's whole units.",
    async run(trial) {
      await trial.openStores("mixed");
      for (const [round, i] of [0, 1, 2, 3, 5, 8].entries()) {
        const limit = HOSTILE_LIMITS[i] as (typeof HOSTILE_LIMITS)[number];
        const policy = trial.policy(`p${round}`, limit);
        const bucket = callsOn(trial, policy);
        // An uneven cost at an uneven instant first: a rounding error there moves the promised instant.
        await bucket.take(trial.random.between(1, Math.ceil(limit.capacity / 2)));
        trial.move(trial.random.between(1, 1 + Math.ceil(limit.refill.everyMs / limit.refill.tokens / 3)));
        await bucket.take(leftOf(trial, policy));
        const cost = Math.ceil(limit.capacity / 5);
        const { retryAfterMs } = await bucket.take(cost);
        trial.move(retryAfterMs - 1);
        if (retryAfterMs > 1) await bucket.take(cost);
        trial.move(1);
        const cause = "`peek` still refuses at the instant when the wait ends. Compare as `consume` does.";
        if (round > 0) await because(cause, () => bucket.peek(cost));
        await bucket.take(cost);
      }
    },
  },
  {
    name: "L3 · a refusal takes no token, at any cost",
    cause: "The store writes on a refusal, or charges a part of the cost.",
    async run(trial) {
      await trial.openStores("mixed");
      for (const [i, limit] of HOSTILE_LIMITS.slice(0, 3).entries()) {
        const policy = trial.policy(`p${i}`, limit);
        const { remaining } = await trial.consume(policy, "caller", Math.ceil(limit.capacity / 2));
        const tooMuch = [remaining + 1, limit.capacity, limit.capacity + 1, LARGEST];
        for (const ms of [Math.floor(limit.refill.everyMs / limit.refill.tokens / 3), 0]) {
          await trial.callAll(...tooMuch.map((tokens): SuiteCall => ({ method: "consume", policy, key: "caller", tokens })));
          trial.move(ms);
        }
        await trial.consume(policy, "caller", leftOf(trial, policy));
      }
    },
  },
  {
    name: "L3 · a refusal writes nothing, not even the same record again (checked if the factory returns `writes`)",
    cause: "The store writes every record that it has read. Write only the records that the call has changed.",
    async run(trial) {
      const hooks = await trial.openWithHooks({ clock: trial.clock.now, empty: true });
      if (hooks.writes !== undefined) await checkWritesNothing(trial, hooks);
    },
  },
  {
    name: "L4 · no bucket is forgotten before its slowest limit is full, to the millisecond: also a month, and a debt",
    cause: "Expiry is rounded down, follows the first limit only, or assumes that a bucket owes at most its capacity.",
    async run(trial) {
      await trial.openStores("mixed");
      for (const [i, limit] of [0, 1, 3].map((place) => HOSTILE_LIMITS[place] as (typeof HOSTILE_LIMITS)[number]).entries()) {
        const policy = trial.policy(`p${i}`, limit);
        const { resetMs } = await trial.consume(policy, "caller", limit.capacity);
        await checkKeptUntil(trial, policy, resetMs, limit.capacity);
        if (!trial.has("adjust")) continue;
        await trial.callAll({ method: "adjust", policy, key: "debtor", tokens: 3 * limit.capacity });
        const { retryAfterMs } = await trial.consume(policy, "debtor", limit.capacity);
        await checkKeptUntil(trial, policy, retryAfterMs, limit.capacity, "debtor");
      }
      const short = { capacity: 5, refill: { tokens: 5, everyMs: 1_000 } };
      const long = { capacity: 10, refill: { tokens: 10, everyMs: 86_400_000 } };
      for (const [a, b] of [[short, long], [long, short]] as const) {
        const policy = trial.policy(`order-${a.capacity}`, { name: "a", ...a }, { name: "b", ...b });
        await trial.consume(policy, "caller", 4);
        for (const ms of [1_001, 3_600_000]) {
          trial.move(ms);
          await callOthers(trial, policy);
          await trial.consume(policy, "caller", 1);
        }
      }
    },
  },
  {
    name: "L1, L5 · a burst gets exactly what is there: of new buckets, later, and at the instant when they are full again",
    cause: "Two calls read the same record before either writes, or a cleanup deletes what another call has written.",
    async run(trial) {
      await trial.openStores("identical");
      const policy = trial.policy("p", { capacity: 4, refill: { tokens: 7, everyMs: 13 } });
      const burst = async (count: number): Promise<Decision[]> => (await trial.callAll(
        ...Array.from({ length: 12 * count }, (_, i): SuiteCall => ({
          method: "consume", policy, key: `caller ${Math.floor(i / count)}`, tokens: 1,
        })),
      )) as Decision[];
      for (let round = 0; round < 4; round++) {
        const decisions = await burst(9);
        for (let i = 0; i < 2; i++) await burst(1); // a late cleanup finds the new record
        trial.move(Math.max(...decisions.map(({ resetMs }) => resetMs)));
      }
      for (let round = 0; round < 6; round++) {
        await burst(trial.random.between(3, 6));
        trial.move(trial.random.pick([0, 1, 2, 4]));
      }
      // A store that is right for a few callers may give up a lock, or a round, when many wait for it.
      const wide = trial.policy("wide", { capacity: 25, refill: { tokens: 7, everyMs: 1_300 } });
      await trial.callAll(...Array<SuiteCall>(34).fill({ method: "consume", policy: wide, key: "caller", tokens: 1 }));
    },
  },
  {
    name: "L9 · a cost of 0 is allowed and takes nothing, even from an empty or overdrawn bucket",
    cause: "The store refuses whenever the bucket is empty, instead of comparing spent plus cost with the size.",
    async run(trial) {
      await trial.openStores("mixed");
      const [wide, narrow] = [9, 2].map((capacity) =>
        trial.policy("p", { name: "only", capacity, refill: { tokens: 1, everyMs: 1_000 } })) as [Policy, Policy];
      for (const key of ["new", "caller"]) {
        for (const cost of key === "new" ? [0, 9] : [4, 0, 5, 0, 1]) await trial.consume(wide, key, cost);
        for (const policy of [narrow, wide]) {
          await trial.consume(policy, key, 0);
          trial.move(1_500);
        }
      }
    },
  },
  {
    name: "L9 · bad input and copies of a policy are refused, and leave the buckets as they were",
    cause: "The store keeps state outside its buckets, or a check of the core is missing.",
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", { capacity: 5, refill: { tokens: 1, everyMs: 1_000 } });
      const store = trial.store(0);
      // A limiter checks and encodes in the same way before it calls the store.
      const consume = (key: unknown, cost: unknown): unknown =>
        callsOf(store).consume(policy, encodeKey(key as Key), wholeNumber("cost", cost));
      await trial.consume(policy, encodeKey("caller"), 2);
      for (const cost of [NaN, Infinity, -1, 0.5, 2 ** 53, "2", 1n, {}]) {
        await checkRefused(() => consume("caller", cost), `a cost of ${show(cost)}`);
      }
      for (const key of ["", [], null, undefined, 7, ["a", ""], [NaN]]) {
        await checkRefused(() => consume(key, 1), `the key ${JSON.stringify(key)}`);
      }
      await trial.consume(policy, encodeKey("caller"), 3);
      await trial.part(
        "The store counts with numbers that the copy lacks. Call `answerCall`, which throws for a copy.",
        async () => {
          for (const copy of [structuredClone(policy), JSON.parse(JSON.stringify(policy)) as Policy]) {
            for (const verb of ["consume", "peek", "adjust"] as const) {
              if (hasVerb(store, verb)) await checkRefused(() => callsOf(store)[verb](copy, "copied", 1), "a copy of a policy");
            }
          }
        },
      );
      await trial.consume(policy, "copied", 5);
    },
  },
];

function leftOf(trial: Trial, policy: Policy): number {
  return trial.oracle.foresee({ method: "consume", policy, key: "caller", tokens: 0 }, trial.now).remaining;
}

/** Spends the whole capacity 1 ms before `fullMs`, where it is refused, and then, where it is allowed. */
async function checkKeptUntil(trial: Trial, policy: Policy, fullMs: number, capacity: number, key = "caller"): Promise<void> {
  trial.move(fullMs - 1);
  await callOthers(trial, policy);
  if (fullMs > 1) await trial.consume(policy, key, capacity);
  trial.move(1);
  await trial.consume(policy, key, capacity);
}

/** Consumes from other keys at this instant: a store that cleans up during other calls does it now. */
async function callOthers(trial: Trial, policy: Policy): Promise<void> {
  const turn = trial.now;
  await trial.callAll(
    ...Array.from({ length: 30 }, (_, i): SuiteCall => ({ method: "consume", policy, key: `other ${i} ${turn}`, tokens: 1 })),
  );
}

async function checkRefused(call: () => unknown, what: string): Promise<void> {
  let got = "no error";
  try {
    await call();
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return;
    got = String(error);
  }
  assert(false, `Expected ${what} to be refused with a TypeError or RangeError, got ${got}`);
}

async function checkWritesNothing(trial: Trial, { store, writes }: StoreHooks): Promise<void> {
  const [a, b] = [3, 9].map((capacity, i) => ({ name: `l${i}`, capacity, refill: { tokens: 1, everyMs: 1_000 } }));
  const policies = [trial.policy("one", a as never), trial.policy("two", b as never, a as never)];
  const each = (call: (policy: Policy) => unknown): Promise<unknown> => Promise.all(policies.map(call));
  let before = await writes?.();
  await each((policy) => callsOf(store).consume(policy, "caller", 3));
  let after = await writes?.();
  assert(
    Number(after) > Number(before),
    "Expected `writes` to count two charges, got the same number as before. It must count the writes of this store.",
  );
  const taken = policies.map((policy) => ["caller", "other"].map((key) => ({ policy, key })));
  const found = trial.has("together") ? await Promise.all(taken.map((buckets) => keysTogether(trial, buckets))) : [];
  const calls: Readonly<Record<string, (policy: Policy) => unknown>> = {
    "a refused consume": (policy) => callsOf(store).consume(policy, "caller", 2),
    "a consume above the capacity": (policy) => callsOf(store).consume(policy, "caller", 20),
    "a peek": (policy) => callsOf(store).peek(policy, "caller", 1),
    "a refused consume of two parts": (policy) =>
      found[0] && callsOf(store).together((found[policies.indexOf(policy)] ?? []).map((key) => ({ policy, key, cost: 2 }))),
  };
  for (const ms of [0, 400]) {
    trial.move(ms);
    for (const [name, call] of Object.entries(calls)) {
      before = await writes?.();
      await Promise.all([each(call), each(call)]);
      after = await writes?.();
      assert(after === before, `Expected 4 calls of ${name} to write nothing, got ${Number(after) - Number(before)} writes`);
    }
  }
}
