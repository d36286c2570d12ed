import type { Decision } from "../../../../core/decision.js";
import type { LimitOptions } from "../../../../core/limit.js";
import { whenDone } from "../../../../limits/in-flight.js";
import { daily } from "../../../../limits/quota.js";
import { afterMs } from "../../../../limits/window.js";
import { callsOn, type BucketCalls } from "../../bucket-calls.js";
import { LARGEST, randomLimit } from "../../random.js";
import type { StoreCall } from "../../states.js";
import type { StoreCase, Trial } from "../../trial.js";
import { playChargesTogether, playDated } from "./histories.js";

const WINDOW_MS = 18_000;
const windowLimit = { name: "window", capacity: 10, returns: afterMs(WINDOW_MS) };
const NOT_BY_AMOUNT = "The record of a window has one date, in place of the first and the last one of each amount.";

/** A window most of the time, otherwise a limit of another kind. */
function windowKind({ random, has }: Trial): LimitOptions {
  const kind = random.next();
  if (kind < 0.15) return randomLimit(random);
  const capacity = random.pick([1, 2, random.between(1, 60), LARGEST]);
  if (kind < 0.2 && has("quotas")) return { capacity, renews: daily() };
  if (kind < 0.25 && has("inFlight")) return { capacity, returns: whenDone({ staleAfterMs: 15_000, retryAfterMs: 1_000 }) };
  return { capacity, returns: afterMs(random.pick([1, 2, 17, 1_000, 15_000, WINDOW_MS, 60_000, 31_622_400_000])) };
}

/** Windows (law L22). */
export const windowCases: readonly StoreCase[] = [
  {
    name: "L2, L22 · tokens of a window come back one by one, each a window after it was taken, and a refusal says when",
    cause: `${NOT_BY_AMOUNT} Or a date is a millisecond early or late, or a call starts the window again.`,
    needs: ["windows"],
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
    cause: "The record joins other amounts, at the earlier date, or at a refusal. Of equally short ones, the earliest become one.",
    needs: ["windows"],
    run: joinAmounts,
  },
  {
    name: "L22 · amounts that are over are dropped before two are joined",
    cause: "The record joins amounts, or drops one, although the first of 19 is over.",
    needs: ["windows"],
    run: dropBeforeJoining,
  },
  {
    name: "L22 · a give-back goes to the amount that encloses its date, at most what that holds, or nowhere",
    cause: "`adjust` gives tokens back to the next amount, to the last one, or to any, or counts the date by another window.",
    needs: ["windows", "adjust"],
    run: giveBackWhatIsThere,
  },
  {
    name: "L22 · what was taken before a reset, or longer ago than the window, is given back to nothing",
    cause: "`adjust` gives tokens back to what was taken later.",
    needs: ["windows", "adjust"],
    run: giveBackWhatIsGone,
  },
  {
    name: "L22 · a settlement and a debit take tokens now, and a credit gives back what was taken last",
    cause: "A debit lasts longer than the window, or a credit gives tokens back to their first amount, or to none.",
    needs: ["windows", "adjust"],
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
    needs: ["windows", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const held = trial.has("inFlight") ? [{ name: "c", capacity: 3, returns: whenDone({ staleAfterMs: 15_000 }) }] : [];
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
    needs: ["windows"],
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
    needs: ["windows", "adjust"],
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
    cause: "`consumeTogether` takes the tokens of a window when another charge is refused.",
    needs: ["windows", "consumeTogether"],
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

/** Callers with one history. A store may be slow, so all of them call at once, and one look reads all dates. */
function twinsOf(trial: Trial, capacity: number) {
  const policy = trial.policy("twins", { ...windowLimit, capacity });
  const keys = Array.from({ length: capacity }, (_, i) => `twin ${i}`);
  const callAs = (one: Pick<StoreCall, "method" | "tokens" | "at">): StoreCall[] => keys.map((key) => ({ ...one, policy, key }));
  return {
    take: (tokens = 1): Promise<unknown> => trial.callAll(...callAs({ method: "consume", tokens })),
    /** Takes one token, and is refused beside it: before or after. */
    takeBesideRefusal: (): Promise<unknown> => trial.callAll(
      ...callAs({ method: "consume", tokens: 1 }), ...callAs({ method: "consume", tokens: capacity + 1 }),
    ),
    adjust: (tokens: number, at?: StoreCall["at"]): Promise<unknown> => trial.callAll(...callAs({ method: "adjust", tokens, at })),
    left: async (): Promise<number> => ((await trial.callAll(...callAs({ method: "consume", tokens: 0 })))[0] as Decision).remaining,
    /** Asks for more than is left: each twin for another cost, so that the waits tell when each token comes back. */
    look: (left: number): Promise<unknown> =>
      trial.callAll(...callAs({ method: "consume", tokens: 0 }).slice(left).map((call, i) => ({ ...call, tokens: left + i + 1 }))),
  };
}

async function joinAmounts(trial: Trial): Promise<void> {
  await trial.openStores("mixed");
  const twins = twinsOf(trial, 24);
  // All gaps are different but two, which are the shortest. Behind the first of these is another short one: together
  // they are longer than most.
  const gaps = [900, 400, 700, 350, 360, 500, 350, 1_000, 600, 450, 1_100, 650, 550, 750, 950, 850, 1_050, 1_200];
  await twins.take();
  for (const gap of gaps) {
    trial.move(gap);
    await twins.takeBesideRefusal();
  }
  await twins.look(5);
  // Each join from here on follows the one before it.
  for (const gap of [100, 50, 600, 1_300, 1_400]) {
    trial.move(gap);
    await twins.take();
  }
  await twins.look(0);
}

async function dropBeforeJoining(trial: Trial): Promise<void> {
  await trial.openStores("mixed");
  const twins = twinsOf(trial, 19);
  const first = trial.now;
  for (let i = 0; i < 18; i++) {
    await twins.take();
    trial.move(300 + 20 * ((7 * i) % 11));
  }
  trial.move(first + WINDOW_MS - trial.now);
  await twins.take();
  await twins.look(1);
}

async function giveBackWhatIsThere(trial: Trial): Promise<void> {
  await trial.openStores("mixed");
  const twins = twinsOf(trial, 40);
  const takes: number[] = [];
  for (let i = 0; i < 20; i++) {
    takes.push(trial.now);
    await twins.take(1 + (i % 3));
    trial.move(300 + 100 * ((5 * i) % 7));
  }
  // Twice, as from a copy; more than is there; from an instant without a take, in an amount and between two.
  for (const [i, tokens] of [[4, 1], [4, 9], [10, 2], [10, 1], [19, 1], [0, 1]] as const) await twins.adjust(-tokens, takes[i]);
  for (const [i, later] of [[5, 1], [6, 7], [18, 1]] as const) await twins.adjust(-1, { at: (takes[i] as number) + later });
  await twins.look(await twins.left());
  for (const i of [0, 4, 9]) {
    trial.move(Math.max(0, (takes[i] as number) + WINDOW_MS - trial.now));
    await twins.adjust(-1, takes[i]); // its own date is over
  }
  await twins.look(await twins.left());
}

async function giveBackWhatIsGone(trial: Trial): Promise<void> {
  await trial.openStores("mixed");
  const bucket = callsOn(trial, trial.policy("gone", windowLimit));
  const first = trial.now;
  await bucket.take(10);
  trial.move(WINDOW_MS);
  await bucket.take(10);
  await bucket.adjust(-10, first);
  await bucket.take(1);
  if (!trial.has("reset")) return;
  const second = trial.now;
  await bucket.reset();
  trial.move(100);
  const third = trial.now;
  await bucket.take(8);
  await bucket.adjust(-10, second);
  await bucket.take(3);
  await bucket.adjust(-5, third - 1);
  await bucket.adjust(-5, third + 1);
  await bucket.take(0);
}
