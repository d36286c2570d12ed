import type { Decision } from "../../core/decision.js";
import type { LimitOptions } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";
import { check } from "../adapter-suite/check.js";
import { differences } from "./oracle.js";
import { HOSTILE_LIMITS } from "./random.js";
import type { StoreCase, Trial } from "./trial.js";

const LARGEST = Number.MAX_SAFE_INTEGER;

/** One limit after another, each with a caller of its own. */
async function eachLimit(trial: Trial, limits: readonly LimitOptions[], run: (limit: LimitOptions, name: string) => Promise<void>): Promise<void> {
  for (const [i, limit] of limits.entries()) await run(limit, `p${i}`);
}

/** Spends until something is refused. Returns the refusal. */
async function spendUntilRefused(trial: Trial, policy: Policy, cost: number): Promise<Decision> {
  for (let i = 0; i < 40; i++) {
    const decision = await trial.consume(policy, "caller", cost);
    if (!decision.allowed) return decision;
  }
  throw new Error(`Expected calls of cost ${cost} at one instant to be refused at some time, got 40 allowed`);
}

/** What one caller can see at an instant that is chosen. */
export const laws: readonly StoreCase[] = [
  {
    name: "L2 · a refusal's wait is exact: refused until then, allowed at that instant",
    async run(trial) {
      await trial.tell("mixed");
      await eachLimit(trial, HOSTILE_LIMITS.slice(0, 9), async (limit, name) => {
        const policy = trial.policy(name, limit);
        for (let round = 0; round < 4; round++) {
          // Odd amounts at odd instants first: what is rounded there is missing, or too much, at the promised one.
          for (let i = 0; i < 3; i++) {
            await trial.consume(policy, "caller", trial.random.between(0, Math.ceil(limit.capacity / 3)));
            trial.move(trial.random.between(1, 1 + Math.ceil(limit.refill.everyMs / limit.refill.tokens / 3)));
          }
          const cost = Math.ceil(limit.capacity / (5 + round));
          const { retryAfterMs } = await spendUntilRefused(trial, policy, cost);
          check(retryAfterMs > 0, `Expected a refusal to have a wait, got ${retryAfterMs}`);
          const early = trial.random.between(0, retryAfterMs - 1);
          trial.move(early);
          await trial.consume(policy, "caller", cost);
          trial.move(retryAfterMs - 1 - early);
          if (retryAfterMs > 1) await trial.consume(policy, "caller", cost);
          trial.move(1);
          const { allowed } = await trial.consume(policy, "caller", cost);
          check(allowed, `Expected a cost of ${cost} to be allowed after exactly ${retryAfterMs} ms`);
        }
      });
    },
  },
  {
    name: "L3 · a denial spends nothing, at any cost",
    async run(trial) {
      await trial.tell("mixed");
      await eachLimit(trial, HOSTILE_LIMITS.slice(0, 5), async (limit, name) => {
        const policy = trial.policy(name, limit);
        const { remaining } = await trial.consume(policy, "caller", Math.ceil(limit.capacity / 2));
        const tooMuch = [remaining + 1, limit.capacity, limit.capacity + 1, LARGEST];
        for (let round = 0; round < 3; round++) {
          for (const cost of tooMuch) await trial.consume(policy, "caller", cost);
          trial.move(Math.floor(limit.refill.everyMs / limit.refill.tokens / 3));
        }
        const left = trial.oracle.foresee({ what: "consume", policy, key: "caller", tokens: 0 }, trial.now).remaining;
        const { allowed } = await trial.consume(policy, "caller", left);
        check(allowed, `Expected the ${left} tokens that are left to be there after ${3 * tooMuch.length} refusals`);
      });
    },
  },
  {
    name: "L4 · nothing is forgotten before it is full, to the millisecond, rounded up",
    async run(trial) {
      await trial.tell("mixed");
      await eachLimit(trial, HOSTILE_LIMITS.slice(0, 6), async (limit, name) => {
        const policy = trial.policy(name, limit);
        for (const cost of [1, limit.capacity]) {
          const { resetMs } = await trial.consume(policy, "caller", cost);
          trial.move(resetMs - 1);
          await others(trial, policy, 60); // what clears up with the calls of others gets its chance
          if (resetMs > 1) {
            const { allowed } = await trial.consume(policy, "caller", limit.capacity);
            check(!allowed, `Expected the bucket to be remembered 1 ms before it is full, ${resetMs - 1} ms after a cost of ${cost}`);
          }
          trial.move(1);
          const full = await trial.consume(policy, "caller", limit.capacity);
          check(full.allowed, `Expected the bucket to be full after exactly ${resetMs} ms`);
          trial.move(full.resetMs);
        }
      });
    },
  },
  {
    name: "L4 · a bucket of several limits is kept until the slowest is full",
    async run(trial) {
      await trial.tell("mixed");
      const short = { capacity: 5, refill: { tokens: 5, everyMs: 1_000 } };
      const long = { capacity: 10, refill: { tokens: 10, everyMs: 86_400_000 } };
      for (const [name, ...limits] of [["ab", { name: "a", ...short }, { name: "b", ...long }], ["ba", { name: "a", ...long }, { name: "b", ...short }]] as const) {
        const policy = trial.policy(name, ...limits);
        await trial.consume(policy, "caller", 4);
        for (const ms of [999, 2, 60_000, 3_600_000, 7_200_000]) {
          trial.move(ms);
          await others(trial, policy, 12);
          await trial.consume(policy, "caller", 10);
          await trial.consume(policy, "caller", 1);
        }
      }
    },
  },
  {
    name: "L4 · a debt is kept until all of it has come back, to the millisecond",
    needs: ["debit"],
    async run(trial) {
      await trial.tell("mixed");
      await eachLimit(trial, HOSTILE_LIMITS.slice(0, 6), async (limit, name) => {
        const policy = trial.policy(name, limit);
        await trial.consume(policy, "caller", limit.capacity);
        await trial.ask({ what: "debit", policy, key: "caller", tokens: limit.capacity });
        const { allowed, retryAfterMs } = await trial.consume(policy, "caller", limit.capacity);
        check(!allowed, "Expected whoever owes a whole capacity to be refused");
        for (const ms of [Math.ceil(retryAfterMs / 2), retryAfterMs - Math.ceil(retryAfterMs / 2) - 1]) {
          trial.move(ms);
          await others(trial, policy, 30);
          if (ms > 0) await trial.consume(policy, "caller", limit.capacity);
        }
        trial.move(1);
        const full = await trial.consume(policy, "caller", limit.capacity);
        check(full.allowed, `Expected a debt to have come back after exactly ${retryAfterMs} ms`);
      });
    },
  },
  {
    name: "L7 · a decision is a snapshot: plain data that nobody changes afterwards, and that changes nothing",
    async run(trial) {
      await trial.tell("mixed");
      const one = trial.policy("one", { capacity: 4, refill: { tokens: 1, everyMs: 1_000 } });
      const two = trial.policy("two", { name: "a", capacity: 4, refill: { tokens: 1, everyMs: 900 } }, { name: "b", capacity: 6, refill: { tokens: 2, everyMs: 1_000 } });
      const taken: Array<{ decision: Decision; copy: Decision }> = [];
      for (let i = 0; i < 24; i++) {
        const decision = await trial.consume(i % 2 === 0 ? one : two, "caller", (i % 3) + 1);
        checkPlain(decision);
        taken.push({ decision, copy: structuredClone(decision) });
        trial.move(i % 5 === 0 ? 700 : 0);
      }
      for (const { decision, copy } of taken) {
        const changed = differences(decision, copy);
        check(changed.length === 0, `Expected a decision to stay as it was answered, got ${changed.join(", ")}`);
      }
      // Whoever scribbles on an answer must not change what the next one says.
      for (const { decision } of taken) scribble(decision);
      for (let i = 0; i < 6; i++) {
        scribble(await trial.consume(i % 2 === 0 ? one : two, "caller", 1));
        trial.move(500);
      }
    },
  },
  {
    name: "L9 · a cost of 0 is allowed and takes nothing, also of an empty or overdrawn bucket",
    async run(trial) {
      await trial.tell("mixed");
      const refill = { tokens: 1, everyMs: 1_000 };
      const policies = [trial.policy("p", { name: "only", capacity: 9, refill }), trial.policy("p", { name: "only", capacity: 2, refill })] as const;
      for (const key of ["new", "caller"]) {
        for (const cost of key === "new" ? [0, 9] : [4, 0, 5, 0, 1]) await trial.consume(policies[0], key, cost);
        for (const policy of [policies[1], policies[0]]) {
          const { allowed } = await trial.consume(policy, key, 0);
          check(allowed, "Expected a cost of 0 to be allowed");
          trial.move(1_500);
        }
      }
    },
  },
  {
    name: "L9 · windows of months work",
    async run(trial) {
      await trial.tell("mixed");
      const month = 30 * 86_400_000;
      const policy = trial.policy("p", { capacity: 2, refill: { tokens: 1, everyMs: month } });
      await trial.consume(policy, "caller", 2);
      for (const ms of [1, month - 2, 1, 0, 11 * month, 0]) {
        trial.move(ms);
        await others(trial, policy, 3);
        await trial.consume(policy, "caller", 1);
      }
    },
  },
];

/** Calls by others at this instant, through every store. */
async function others(trial: Trial, policy: Policy, count: number): Promise<void> {
  const turn = trial.now;
  await trial.ask(...Array.from({ length: count }, (_, i) => ({ what: "consume", policy, key: `other ${i} ${turn}`, tokens: 1 }) as const));
}

function checkPlain(value: unknown): void {
  for (const [name, { get, value: held }] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
    check(get === undefined && typeof held !== "function", `Expected \`${name}\` of a decision to be plain data, got ${get ? "a getter" : "a function"}`);
    if (typeof held === "object" && held !== null && !Array.isArray(held)) checkPlain(held);
  }
}

function scribble(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  for (const inner of Object.values(value)) scribble(inner);
  if (!Array.isArray(value)) for (const name of Object.keys(value)) (value as Record<string, unknown>)[name] = -1;
}
