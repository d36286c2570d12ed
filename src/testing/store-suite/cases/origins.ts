import type { Costs } from "../../../core/limit.js";
import type { Origin } from "../../../core/model.js";
import type { Policy } from "../../../core/policy.js";
import type { SuiteCall } from "../states.js";
import type { StoreCase, Trial } from "../trial.js";
import { dayQuota, heldLimit, moveBeforeMidnight, RENEWAL_MS } from "./dated/histories.js";

const DEBIT =
  "`adjust` takes off what has refilled from a debit, or drops a debit of an earlier date. Then late work is free. " +
  "Take a change above 0 in full and now, whatever `from` says.";
const GIVE_BACK =
  "`adjust` reads one member of `from` for another, or needs one that is absent. A rate takes off what has refilled from " +
  "`since` on. A quota gives back to the period of `at`, and a limit in flight to the date of `heldAt`.";
const BY_LIMIT =
  "`adjust` treats all limits as one of them. Each has its own sign, and its own instant if `since` is a list.";

/** The origin of a change, for each sign and each kind of limit. */
export const originCases: readonly StoreCase[] = [
  {
    name: "adjust · a debit is taken in full, and a rate gives back less by `since` alone",
    cause: DEBIT,
    needs: ["adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const fast = { capacity: 100, refill: { tokens: 7, everyMs: 13 } };
      const slow = { capacity: 100, refill: { tokens: 1, everyMs: 9 } };
      const one = (): Policy => trial.policy("one", fast);
      const two = (): Policy => trial.policy("two", { name: "a", ...fast }, { name: "b", ...slow });
      await trial.part(DEBIT, () => changeLate(trial, one(), 30, 45));
      await trial.part(DEBIT, () => changeLate(trial, two(), [40, 30], 45));
      await trial.part(GIVE_BACK, () => changeLate(trial, one(), -30, 45));
      await trial.part(BY_LIMIT, () => changeLate(trial, two(), [-40, 30], 45));
      await trial.part(BY_LIMIT, () => changeLate(trial, two(), [40, -30], 45));
      await trial.part(BY_LIMIT, () => changeLate(trial, two(), [-40, -30], 45));
    },
  },
  {
    name: "L20, L21 · quotas and limits in flight read their own member of `from`, also beside a rate",
    cause: GIVE_BACK,
    needs: ["adjust", "quota", "in-flight"],
    async run(trial) {
      await trial.openStores("mixed");
      const rate = { name: "rate", capacity: 100, refill: { tokens: 1, everyMs: 1_000 } };
      const kinds = (): Policy => trial.policy("kinds", rate, { ...dayQuota, capacity: 100 }, { ...heldLimit, capacity: 100 });
      for (const [cause, changes] of [[DEBIT, [30, 20, 0]], [GIVE_BACK, -20], [BY_LIMIT, [30, -20, -9]]] as const) {
        // In the period of the decision, and in the next one.
        for (const ms of [2 * RENEWAL_MS, RENEWAL_MS]) {
          moveBeforeMidnight(trial, ms);
          await trial.part(cause, () => changeLate(trial, kinds(), changes, RENEWAL_MS));
        }
      }
    },
  },
];

/**
 * Takes tokens under several keys, of each another number. Changes all keys by the same number `ms` later, each with
 * another origin, and looks at what is left.
 */
async function changeLate(trial: Trial, policy: Policy, changes: Costs, ms: number): Promise<void> {
  const origins = originsOf(trial.now, ms, policy.limits.length);
  const all = (method: SuiteCall["method"], tokens: (place: number) => Costs, froms?: typeof origins): Promise<unknown> =>
    trial.callAll(...origins.map((_, i) => ({ method, policy, key: `caller ${i}`, tokens: tokens(i), at: froms?.[i] })));
  await all("consume", (i) => 30 + i);
  trial.move(1);
  await all("consume", () => 50);
  trial.move(ms - 1);
  await all("consume", () => 7);
  await all("adjust", () => changes, origins);
  await all("consume", () => 1);
}

/** What `from` may say of a decision `at`, `ms` later. */
function originsOf(at: number, ms: number, limits: number): readonly (number | Origin | undefined)[] {
  const decided = { at, heldAt: at };
  const others = [at, at + ms / 3, at + ms + 5].map(Math.floor);
  const since = Array.from({ length: limits }, (_, i) => others[i] as number);
  return [
    undefined, at, { at }, { heldAt: at }, { at: at + ms, heldAt: at }, { since: at }, { since: at + ms }, decided,
    { ...decided, since: at }, { ...decided, since: at + ms + 5 },
    ...(limits > 1 ? [{ ...decided, since }, { ...decided, since: [...since].reverse() }] : []),
  ];
}
