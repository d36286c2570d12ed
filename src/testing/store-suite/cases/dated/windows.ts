import type { LimitOptions } from "../../../../core/limit.js";
import { whenDone } from "../../../../limits/in-flight.js";
import { daily } from "../../../../limits/quota.js";
import { afterMs } from "../../../../limits/window.js";
import { callsOn, type BucketCalls } from "../../bucket-calls.js";
import { LARGEST, randomLimit } from "../../random.js";
import type { StoreCase, Trial } from "../../trial.js";
import { playChargesTogether, playDated } from "./histories.js";
import {
  dropBeforeJoining, giveBackWhatIsGone, giveBackWhatIsThere, joinAmounts, WINDOW_MS, windowLimit,
} from "./window-amounts.js";

const NOT_BY_AMOUNT = "The record of a window has one date, in place of the first and the last one of each amount.";

/** A window most of the time, otherwise a limit of another kind. */
function windowKind({ random, has }: Trial): LimitOptions {
  const kind = random.next();
  if (kind < 0.15) return randomLimit(random);
  const capacity = random.pick([1, 2, random.between(1, 60), LARGEST]);
  if (kind < 0.2 && has("quota")) return { capacity, renews: daily() };
  if (kind < 0.25 && has("in-flight")) return { capacity, returns: whenDone({ staleAfterMs: 15_000, retryAfterMs: 1_000 }) };
  return { capacity, returns: afterMs(random.pick([1, 2, 17, 1_000, 15_000, WINDOW_MS, 60_000, 31_622_400_000])) };
}

/** Windows (law L22). */
export const windowCases: readonly StoreCase[] = [
  {
    name: "L2, L22 · tokens of a window come back one by one, each a window after it was taken, and a refusal says when",
    cause: `${NOT_BY_AMOUNT} Or a date is a millisecond early or late, or a call starts the window again.`,
    needs: ["window"],
    async run(trial) {
      await trial.openStores("mixed");
      const bucket = callsOn(trial, trial.policy("p", windowLimit));
      const start = trial.now;
      for (const tokens of [3, 3, 4]) {
        await bucket.take(tokens);
        trial.move(3_000);
      }
      for (const after of [0, 3_000, 6_000]) {
        for (const early of [1, 0]) {
          trial.move(start + WINDOW_MS + after - early - trial.now);
          for (const cost of [10, 4, 3]) await bucket.take(early === 1 || cost > 3 ? cost : 0);
          await bucket.peek(1);
        }
      }
      await bucket.take(10);
      trial.move(WINDOW_MS - 1);
      await bucket.take(1);
    },
  },
  {
    name: "L22 · of more than 18 amounts the two neighbors that are shortest together become one, which comes back last",
    cause:
      "The record joins other amounts, at the earlier date, or at a refusal. Of equally short ones, the earliest become one.",
    needs: ["window"],
    run: joinAmounts,
  },
  {
    name: "L22 · amounts that are over are dropped before two are joined",
    cause: "The record joins amounts, or drops one, although the first of 19 is over.",
    needs: ["window"],
    run: dropBeforeJoining,
  },
  {
    name: "L22 · a give-back goes to the amount that encloses its date, at most what that holds, or nowhere",
    cause: "`adjust` gives tokens back to the next amount, to the last one, or to any, or counts the date by another window.",
    needs: ["window", "adjust"],
    run: giveBackWhatIsThere,
  },
  {
    name: "L22 · what was taken before a reset, or longer ago than the window, is given back to nothing",
    cause: "`adjust` gives tokens back to what was taken later.",
    needs: ["window", "adjust"],
    run: giveBackWhatIsGone,
  },
  {
    name: "L22 · a settlement and a debit take tokens now, and a credit gives back what was taken last",
    cause: "A debit lasts longer than the window, or a credit gives tokens back to their first amount, or to none.",
    needs: ["window", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const bucket = callsOn(trial, trial.policy("p", windowLimit));
      const at = trial.now;
      await bucket.take(4);
      trial.move(5_000);
      await bucket.take(3);
      await bucket.adjust(2, at);
      await bucket.adjust(-4);
      await countAt(trial, bucket, [WINDOW_MS - 5_001, 1, 4_999, 1]);
      await bucket.take(6);
      await bucket.adjust(95);
      await bucket.adjust(-5); // not all that is missing
      await bucket.take(0);
      await countAt(trial, bucket, [WINDOW_MS - 1, 1]);
      for (const tokens of [2, 3]) {
        await bucket.take(tokens);
        trial.move(1_000);
      }
      await bucket.adjust(-100);
      await bucket.take(10);
    },
  },
  {
    name: "L10, L19, L22 · windows, rates and limits in flight of one policy are charged all or none, and keep their dates",
    cause: "The store keeps the amounts of two windows under one name, or writes one limit when another refuses.",
    needs: ["window", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const held = trial.has("in-flight") ? [{ name: "c", capacity: 3, returns: whenDone({ staleAfterMs: 15_000 }) }] : [];
      const bucket = callsOn(trial, trial.policy(
        "p", { ...windowLimit, name: "a" }, { name: "a.0", capacity: 40, returns: afterMs(60_000) }, ...held,
        { name: "r", capacity: 30, refill: { tokens: 1, everyMs: 1_000 } },
      ));
      const costs = (a: number, b: number): number[] => [a, b, ...held.map(() => 0), 1];
      const at = trial.now;
      await bucket.take(costs(4, 9));
      trial.move(2_000);
      await bucket.take(costs(7, 1)); // refused by the first
      await bucket.take(costs(6, 31));
      await bucket.take(costs(0, 1)); // refused by the second
      await bucket.adjust([-3, 0, ...held.map(() => 0), 0], { at, heldAt: at });
      await countAt(trial, bucket, [WINDOW_MS - 2_001, 1, 1_999, 1, 60_000]);
    },
  },
  {
    name: "L14, L22 · of two lengths under one name the shorter counts from its first call on, also from a refused one",
    cause: "A refusal leaves dates that are too far ahead, or a record in other numbers is taken for another limit's.",
    needs: ["window"],
    async run(trial) {
      await trial.openStores("mixed");
      const [long, short] = [60_000, WINDOW_MS].map((ms) =>
        callsOn(trial, trial.policy("p", { ...windowLimit, returns: afterMs(ms) })));
      for (const tokens of [2, 3, 5]) {
        await long?.take(tokens);
        trial.move(20_000);
      }
      await short?.take(9); // refused
      for (const move of [0, WINDOW_MS - 1, 1]) {
        trial.move(move);
        await long?.take(0);
        await short?.peek(1);
      }
    },
  },
  {
    name: "L6, L14, L22 · windows and limits of other kinds on one key are the core's under any clock, blocks included",
    cause: NOT_BY_AMOUNT,
    needs: ["window", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      await playDated(trial, {
        kindOf: windowKind, ticks: 24, versions: 3, back: true, concurrent: 2,
        methods: ["consume", "consume", "consume", "peek", "settle", "settle", "adjust", "renew"],
      });
      await trial.part("A block and a window are kept in one record, or a reset forgets only one of them.", () =>
        playDated(trial, {
          kindOf: windowKind, ticks: 14, versions: 2, back: true, concurrent: 2,
          methods: ["consume", "consume", "consume", "settle", "peek", "block", "reset"],
        }));
    },
  },
  {
    name: "L10, L22 · charges of several keys with windows are made all or none",
    cause: "A call of several parts takes the tokens of a window when another charge is refused.",
    needs: ["window", "together"],
    async run(trial) {
      await trial.openStores("mixed");
      await playChargesTogether(trial, windowKind, 16, [0, 1, 1_000, WINDOW_MS / 2, WINDOW_MS]);
    },
  },
];

async function countAt(trial: Trial, bucket: BucketCalls, moves: readonly number[]): Promise<void> {
  for (const ms of moves) {
    trial.move(ms);
    await bucket.take(0);
  }
}
