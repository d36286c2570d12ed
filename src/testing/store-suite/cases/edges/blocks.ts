import { keysTogether } from "../../together.js";
import type { Decision } from "../../../../core/decision.js";
import type { Policy } from "../../../../core/policy.js";
import { assert } from "../../../assert.js";
import type { StoreCall } from "../../states.js";
import type { StoreCase, Trial } from "../../trial.js";

const BLOCK_MS = 3_600_000;

/** Cases about the end of a block, and about the mark of a decision that a block refuses. */
export const blockCases: readonly StoreCase[] = [
  ...[0, 12, 20].map((spent, turn): StoreCase => ({
    name: `block · with 0 it ends a block at once, and the limits keep what was spent (${spent} of 20)`,
    cause:
      "`block` with 0 leaves the block, or the memory of a refusal, or it changes the limits. " +
      "Delete the record of the block, and nothing else.",
    needs: ["block"],
    async run(trial) {
      await trial.openStores("mixed");
      const [slow, fast] = [1, 5].map((tokens) => {
        const wide = { name: "b", capacity: 40, refill: { tokens, everyMs: 700 } };
        return trial.policy("tier", { name: "a", capacity: 20, refill: { tokens, everyMs: 1_000 } }, wide);
      }) as [Policy, Policy];
      const call = (through: number, method: StoreCall["method"], tokens: number, policy = slow): Promise<void> =>
        trial.callThrough(through, { method, policy, key: "caller", tokens });
      await call(turn, "consume", spent);
      await call(turn, "block", 0); // there is no block
      await call(turn, "consume", 0);
      await call(turn, "block", BLOCK_MS);
      trial.move(1_300);
      await call(turn, "consume", 1);
      // Through the other process, and under numbers that the records were not counted in.
      await call(turn + 1, "block", 0, fast);
      for (const ms of turn === 1 ? [2_000, -900] : [0, -900, 900, 2_000]) {
        trial.move(ms);
        await call(turn, "consume", 1);
      }
      await call(turn, "block", 500); // the hour is over, so this end counts
      trial.move(499);
      await call(turn, "consume", 0);
      trial.move(1);
      await call(turn, "consume", 0);
      await call(turn, "block", 500, fast);
      await call(turn, "block", 0, slow);
      trial.move(1_500);
      await call(turn, "consume", 20, fast);
    },
  })),
  {
    name: "block · its end with 0 is exact beside concurrent calls, under any clock",
    cause: "A call that is under way writes the block back. Read, change and write in one atomic step.",
    needs: ["block"],
    async run(trial) {
      await trial.openStores("mixed");
      const { random } = trial;
      const policy = trial.policy("p", { capacity: 9, refill: { tokens: 1, everyMs: 300 } });
      for (let tick = 0; tick < 40; tick++) {
        trial.move(random.pick([0, 1, 300, 900, -200, 4_000]));
        const calls = Array.from({ length: 3 }, (): StoreCall => {
          const method = random.pick(["consume", "consume", "block"] as const);
          const tokens = method === "block" ? random.pick([0, 0, 5_000, 60_000]) : random.between(0, 3);
          return { method, policy, key: `caller ${tick % 2}`, tokens };
        });
        await trial.callAll(...calls);
      }
    },
  },
  {
    name: "block · own clock: with 0 it ends a block, and the limits keep what was spent",
    cause: "The code path for the own clock differs from the tested one. Use one path, and only replace the time.",
    needs: ["block"],
    async run(trial) {
      const store = await trial.open({});
      const policy = trial.policy("p", { capacity: 10, refill: { tokens: 1, everyMs: 24 * BLOCK_MS } });
      await store.consume(policy, "caller", 3);
      await store.block?.(policy, "caller", BLOCK_MS);
      await store.consume(policy, "caller", 1);
      await store.block?.(policy, "caller", 0);
      const { allowed, remaining } = await store.consume(policy, "caller", 1);
      const got = allowed ? `${remaining} left` : "a refusal";
      assert(got === "6 left", `Expected 6 tokens to be left after a block that was ended, got ${got}`);
    },
  },
  {
    name: "L10 · consumeTogether charges a key again when its block was ended with 0",
    cause: "`consumeTogether` finds the block in another place than `consume`, such as a memory of refusals.",
    needs: ["consumeTogether", "block"],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", { capacity: 9, refill: { tokens: 1, everyMs: 1_000 } });
      const keys = await keysTogether(trial, ["blocked", "free"].map((key) => ({ policy, key })));
      if (keys === null) return;
      const charges = keys.map((key) => ({ policy, key, cost: 2 }));
      const blocked = keys[0] as string;
      for (const through of [0, 1]) {
        await trial.callThrough(through, { method: "block", policy, key: blocked, tokens: BLOCK_MS });
        checkMark((await trial.consumeTogether(charges))[0] as Decision, true, "`consumeTogether`");
        await trial.callThrough(through, { method: "block", policy, key: blocked, tokens: 0 });
        const answers = await trial.consumeTogether(charges);
        const call = (key: string): StoreCall => ({ method: "consume", policy, key, tokens: 2 });
        trial.compare(charges.map(({ key }, i) => ({ call: call(key), answer: answers[i] })));
      }
      for (const { key } of charges) await trial.consume(policy, key, 1);
    },
  },
  ...["one limit", "two limits"].map((limits, i): StoreCase => ({
    name: `block · a decision that a block refuses says \`blocked: true\`, and no other does (${limits})`,
    cause:
      "The store makes the refusal itself and leaves the mark out, or marks other decisions. " +
      "Take the decision from `consumeRecords` and `peekRecords`, or keep their `blocked`.",
    needs: ["block"],
    async run(trial) {
      await trial.openStores("mixed");
      const limit = { capacity: 3, refill: { tokens: 1, everyMs: 1_000 } };
      const policy =
        i === 0 ? trial.policy("one", limit) : trial.policy("two", { ...limit, name: "a", capacity: 9 }, { ...limit, name: "b" });
      for (const cost of [3, 1, 10]) await checkMarks(trial, policy, cost, false);
      await trial.callAll({ method: "block", policy, key: "caller", tokens: 5_000 });
      for (const cost of [0, 1, 10]) await checkMarks(trial, policy, cost, true);
      trial.move(4_999);
      await checkMarks(trial, policy, 1, true);
      trial.move(1);
      for (const cost of [3, 1]) await checkMarks(trial, policy, cost, false);
    },
  })),
];

/** Consumes, and looks through the other methods, and checks the mark of each decision. */
async function checkMarks(trial: Trial, policy: Policy, cost: number, wanted: boolean): Promise<void> {
  checkMark(await trial.consume(policy, "caller", cost), wanted, "`consume`");
  if (trial.has("peek")) {
    const [peeked] = await trial.callAll({ method: "peek", policy, key: "caller", tokens: cost });
    checkMark(peeked as Decision, wanted, "`peek`");
  }
  if (!trial.has("consumeTogether")) return;
  // A cost that can never fit, so that nothing is taken.
  const [together] = await trial.consumeTogether([{ policy, key: "caller", cost: 10 }]);
  checkMark(together as Decision, wanted, "`consumeTogether`");
}

function checkMark(decision: Decision, wanted: boolean, what: string): void {
  const got = (decision as { blocked?: unknown } | null)?.blocked;
  const right = wanted ? "true during a block" : "absent without a block";
  assert(got === (wanted ? true : undefined), `Expected \`blocked\` of ${what} to be ${right}, got ${String(got)}`);
}
