import type { Decision } from "../../../core/decision.js";
import type { Policy } from "../../../core/policy.js";
import { assert, because } from "../../assert.js";
import { callsOn } from "../bucket-calls.js";
import type { SuiteCall } from "../states.js";
import { keysTogether } from "../together.js";
import type { StoreCase, Trial } from "../trial.js";

const BLOCK_MS = 3_600_000;

/** Cases about the end of a block, and about the mark of a decision that a block refuses. */
export const blockCases: readonly StoreCase[] = [
  {
    name: "block · of two blocks the later end counts, with 0 it ends at once, and the limits keep what was spent",
    cause: "A later block replaces an earlier one, or is added to it. Keep the later of the two ends.",
    needs: ["block"],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", { capacity: 5, refill: { tokens: 5, everyMs: 1_000 } });
      for (const [first, second] of [[10_000, 4_000], [4_000, 10_000]] as const) {
        const bucket = callsOn(trial, policy, `caller ${first}`);
        await bucket.block(first);
        trial.move(500);
        await bucket.block(second);
        const { retryAfterMs } = await bucket.take(0);
        trial.move(retryAfterMs - 1);
        await bucket.take(0);
        trial.move(1);
        await because(
          "`peek` still refuses at the instant when the block ends. " +
            "A block of 1,000 ms refuses for the last time after 999 ms, in every method.",
          () => bucket.peek(5),
        );
        await bucket.take(5);
      }
      await trial.part(
        "`block` with 0 leaves the block, or the memory of a refusal, or it changes the limits. " +
          "Delete the record of the block, and nothing else.",
        () => endBlocks(trial),
      );
    },
  },
  {
    name: "block · a decision that a block refuses says `blocked: true`, and no other does",
    cause:
      "The store makes the refusal itself and leaves the mark out, or marks other decisions. " +
      "Take the decision from `answerCall`, or keep its `blocked`.",
    needs: ["block"],
    async run(trial) {
      await trial.openStores("mixed");
      const limit = { capacity: 3, refill: { tokens: 1, everyMs: 1_000 } };
      const policies = [
        trial.policy("one", limit), trial.policy("two", { ...limit, name: "a", capacity: 9 }, { ...limit, name: "b" }),
      ];
      const all = async (wanted: boolean, ...costs: readonly number[]): Promise<void> => {
        for (const cost of costs) await Promise.all(policies.map((policy) => checkMarks(trial, policy, cost, wanted)));
      };
      await all(false, 3, 1, 10);
      await trial.callAll(...policies.map((policy): SuiteCall => ({ method: "block", policy, key: "caller", tokens: 5_000 })));
      await all(true, 0, 10);
      trial.move(4_999);
      await all(true, 1);
      trial.move(1);
      await all(false, 3, 1);
    },
  },
];

/**
 * Ends blocks with 0: one that is not there, one through the other process and under other numbers, and one after
 * another.
 */
async function endBlocks(trial: Trial): Promise<void> {
  const [slow, fast] = [1, 5].map((tokens) => {
    const wide = { name: "b", capacity: 40, refill: { tokens, everyMs: 700 } };
    return trial.policy("level", { name: "a", capacity: 20, refill: { tokens, everyMs: 1_000 } }, wide);
  }) as [Policy, Policy];
  const keys = [0, 12, 20].map((spent) => ({ spent, key: `spent ${spent}` }));
  // One key after another changes the process that it asks.
  const all = (method: SuiteCall["method"], tokens: number | null, policy = slow, other = 0, called = keys): Promise<unknown> =>
    Promise.all(called.map(({ spent, key }, i) =>
      trial.callThrough(i + other, { method, policy, key, tokens: tokens ?? spent })));
  await all("consume", null);
  await all("block", 0); // there is no block
  await all("block", BLOCK_MS);
  trial.move(1_300);
  await all("consume", 1);
  await all("block", 0, fast, 1);
  for (const ms of [0, -900, 2_900]) {
    trial.move(ms);
    await all("consume", 1, slow, 0, ms === 2_900 ? keys : keys.slice(0, 1));
  }
  await all("block", 500); // the hour is over, so this end counts
  trial.move(499);
  await all("consume", 0);
  trial.move(1);
  await all("consume", 0);
  await all("block", 500, fast);
  await all("block", 0);
  trial.move(1_500);
  await all("consume", 20, fast);
}

/** Consumes, and looks through the other methods, and checks the mark of each decision. */
async function checkMarks(trial: Trial, policy: Policy, cost: number, wanted: boolean): Promise<void> {
  checkMark(await trial.consume(policy, "caller", cost), wanted, "`consume`");
  if (trial.has("peek")) checkMark((await callsOn(trial, policy).peek(cost)) as Decision, wanted, "`peek`");
  if (!trial.has("together")) return;
  const keys = await keysTogether(trial, ["caller", "another"].map((key) => ({ policy, key })));
  if (keys?.[0] !== "caller") return;
  // A cost that can never fit, so that nothing is taken.
  const [first] = await trial.chargeTogether(keys.map((key) => ({ policy, key, cost: 10 })));
  checkMark(first as Decision, wanted, "a `consume` of two parts");
}

function checkMark(decision: Decision, wanted: boolean, what: string): void {
  const got = (decision as { blocked?: unknown } | null)?.blocked;
  const right = wanted ? "true during a block" : "absent without a block";
  assert(got === (wanted ? true : undefined), `Expected \`blocked\` of ${what} to be ${right}, got ${String(got)}`);
}
