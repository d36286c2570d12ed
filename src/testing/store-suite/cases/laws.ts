import type { Decision } from "../../../core/decision.js";
import type { Policy } from "../../../core/policy.js";
import { assert, AssertionError, because } from "../../assert.js";
import { HOSTILE_LIMITS, LARGEST, type RateNumbers } from "../random.js";
import type { StoreCase, Trial } from "../trial.js";

const WAITED = "`peek` still refuses at the instant when the wait ends. Compare as `consume` does.";

/** Calls `run` for one limit after another, each time with another policy name. */
async function forEachLimit(
  trial: Trial, limits: readonly RateNumbers[], run: (limit: RateNumbers, name: string) => Promise<void>,
): Promise<void> {
  for (const [i, limit] of limits.entries()) await run(limit, `p${i}`);
}

/** Consumes until the first refusal, and returns it. */
async function spendUntilRefused(trial: Trial, policy: Policy, cost: number): Promise<Decision> {
  for (let i = 0; i < 40; i++) {
    const decision = await trial.consume(policy, "caller", cost);
    if (!decision.allowed) return decision;
  }
  throw new AssertionError(`Expected at least one refusal of 40 calls of cost ${cost} at one instant, got 40 allowed`);
}

/** Cases about laws that one caller can observe on a manual clock. */
export const lawCases: readonly StoreCase[] = [
  ...HOSTILE_LIMITS.slice(0, 9).map(waitCase),
  {
    name: "L3 · a refusal takes no token, at any cost",
    cause: "The store writes on a refusal, or charges a part of the cost.",
    async run(trial) {
      await trial.openStores("mixed");
      await forEachLimit(trial, HOSTILE_LIMITS.slice(0, 5), async (limit, name) => {
        const policy = trial.policy(name, limit);
        const { remaining } = await trial.consume(policy, "caller", Math.ceil(limit.capacity / 2));
        const tooMuch = [remaining + 1, limit.capacity, limit.capacity + 1, LARGEST];
        for (let round = 0; round < 3; round++) {
          await trial.callAll(...tooMuch.map((tokens) => ({ method: "consume", policy, key: "caller", tokens }) as const));
          trial.move(Math.floor(limit.refill.everyMs / limit.refill.tokens / 3));
        }
        const left = trial.oracle.foresee({ method: "consume", policy, key: "caller", tokens: 0 }, trial.now).remaining;
        const { allowed } = await trial.consume(policy, "caller", left);
        assert(allowed, `Expected ${left} tokens to be left after ${3 * tooMuch.length} refusals, got fewer`);
      });
    },
  },
  {
    name: "L4 · no bucket is forgotten before it is full, to the millisecond",
    cause: "Expiry is rounded down. Round it up.",
    async run(trial) {
      await trial.openStores("mixed");
      await forEachLimit(trial, HOSTILE_LIMITS.slice(0, 5), async (limit, name) => {
        const policy = trial.policy(name, limit);
        for (const cost of [1, limit.capacity]) {
          const { resetMs } = await trial.consume(policy, "caller", cost);
          trial.move(resetMs - 1);
          await callOthers(trial, policy, 60); // a store that cleans up during other calls does it now
          if (resetMs > 1) {
            const { allowed } = await trial.consume(policy, "caller", limit.capacity);
            assert(
              !allowed,
              `Expected a refusal 1 ms before the bucket is full, ${resetMs - 1} ms after a cost of ${cost}, got allowed`,
            );
          }
          trial.move(1);
          const full = await trial.consume(policy, "caller", limit.capacity);
          assert(full.allowed, `Expected the bucket to be full after exactly ${resetMs} ms, got refused`);
          trial.move(full.resetMs);
        }
      });
    },
  },
  {
    name: "L4 · a bucket of several limits is kept until the slowest limit is full",
    cause: "Expiry follows the first limit only. Take the longest.",
    async run(trial) {
      await trial.openStores("mixed");
      const short = { capacity: 5, refill: { tokens: 5, everyMs: 1_000 } };
      const long = { capacity: 10, refill: { tokens: 10, everyMs: 86_400_000 } };
      for (const [name, ...limits] of [
        ["ab", { name: "a", ...short }, { name: "b", ...long }],
        ["ba", { name: "a", ...long }, { name: "b", ...short }],
      ] as const) {
        const policy = trial.policy(name, ...limits);
        await trial.consume(policy, "caller", 4);
        for (const ms of [999, 2, 60_000, 3_600_000, 7_200_000]) {
          trial.move(ms);
          await callOthers(trial, policy, 12);
          await trial.consume(policy, "caller", 10);
          await trial.consume(policy, "caller", 1);
        }
      }
    },
  },
  {
    name: "L4 · a debt is kept until it is paid back, to the millisecond",
    cause: "Expiry assumes that a bucket holds at most its capacity. After a debit, spent can be more than that.",
    needs: ["adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      await forEachLimit(trial, HOSTILE_LIMITS.slice(0, 5), async (limit, name) => {
        const policy = trial.policy(name, limit);
        await trial.consume(policy, "caller", limit.capacity);
        await trial.callAll({ method: "adjust", policy, key: "caller", tokens: 2 * limit.capacity });
        const { allowed, retryAfterMs } = await trial.consume(policy, "caller", limit.capacity);
        assert(!allowed, "Expected a key that owes two whole capacities to be refused, got allowed");
        for (const ms of [Math.ceil(retryAfterMs / 2), retryAfterMs - Math.ceil(retryAfterMs / 2) - 1]) {
          trial.move(ms);
          await callOthers(trial, policy, 30);
          if (ms > 0) await trial.consume(policy, "caller", limit.capacity);
        }
        trial.move(1);
        const full = await trial.consume(policy, "caller", limit.capacity);
        assert(full.allowed, `Expected the debt to be paid back after exactly ${retryAfterMs} ms, got refused`);
      });
    },
  },
  {
    name: "L9 · a cost of 0 is allowed and takes nothing, even from an empty or overdrawn bucket",
    cause: "The store refuses whenever the bucket is empty, instead of comparing spent plus cost with the size.",
    async run(trial) {
      await trial.openStores("mixed");
      const refill = { tokens: 1, everyMs: 1_000 };
      const policies = [
        trial.policy("p", { name: "only", capacity: 9, refill }),
        trial.policy("p", { name: "only", capacity: 2, refill }),
      ] as const;
      for (const key of ["new", "caller"]) {
        for (const cost of key === "new" ? [0, 9] : [4, 0, 5, 0, 1]) await trial.consume(policies[0], key, cost);
        for (const policy of [policies[1], policies[0]]) {
          const { allowed } = await trial.consume(policy, key, 0);
          assert(allowed, "Expected a cost of 0 to be allowed, got refused");
          trial.move(1_500);
        }
      }
    },
  },
  {
    name: "L9 · windows of months work",
    cause: "A time or a number is kept in 32 bits, or a timer with an overflowing delay deletes the bucket.",
    async run(trial) {
      await trial.openStores("mixed");
      const month = 30 * 86_400_000;
      const policy = trial.policy("p", { capacity: 2, refill: { tokens: 1, everyMs: month } });
      await trial.consume(policy, "caller", 2);
      for (const ms of [1, month - 2, 1, 0, 11 * month, 0]) {
        trial.move(ms);
        await callOthers(trial, policy, 3);
        await trial.consume(policy, "caller", 1);
      }
    },
  },
];

/** One case for each limit: all of them in one would take a slow store too long. */
function waitCase(limit: RateNumbers): StoreCase {
  const { tokens, everyMs } = limit.refill;
  const numbers = `${limit.capacity} tokens, ${tokens} in ${everyMs} ms`;
  return {
    name: `L2 · the wait of a refusal is exact: refused before that instant, allowed at it (${numbers})`,
    cause: "Waits are rounded, or tokens are counted as floating-point numbers. Count in the limit's whole units.",
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", limit);
      for (let round = 0; round < 3; round++) {
        // Uneven costs at uneven instants first: a rounding error there moves the promised instant.
        for (let i = 0; i < 3; i++) {
          await trial.consume(policy, "caller", trial.random.between(0, Math.ceil(limit.capacity / 3)));
          trial.move(trial.random.between(1, 1 + Math.ceil(everyMs / tokens / 3)));
        }
        const cost = Math.ceil(limit.capacity / (5 + round));
        const { retryAfterMs } = await spendUntilRefused(trial, policy, cost);
        assert(retryAfterMs > 0, `Expected \`retryAfterMs\` of a refusal to be at least 1, got ${retryAfterMs}`);
        const early = trial.random.between(0, retryAfterMs - 1);
        trial.move(early);
        await trial.consume(policy, "caller", cost);
        trial.move(retryAfterMs - 1 - early);
        if (retryAfterMs > 1) await trial.consume(policy, "caller", cost);
        trial.move(1);
        if (trial.store(0).peek) {
          await because(WAITED, () => trial.callAll({ method: "peek", policy, key: "caller", tokens: cost }));
        }
        const { allowed } = await trial.consume(policy, "caller", cost);
        assert(allowed, `Expected a cost of ${cost} to be allowed after exactly ${retryAfterMs} ms, got refused`);
      }
    },
  };
}

/** Consumes from `count` other keys at this instant, through every store. */
async function callOthers(trial: Trial, policy: Policy, count: number): Promise<void> {
  const turn = trial.now;
  await trial.callAll(
    ...Array.from({ length: count }, (_, i) => ({ method: "consume", policy, key: `other ${i} ${turn}`, tokens: 1 }) as const),
  );
}
