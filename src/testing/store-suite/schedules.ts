import type { Policy } from "../../core/policy.js";
import type { StoreTrait } from "./store-suite.js";
import type { Call } from "./oracle.js";
import { HOSTILE_LIMITS, someCost, someLimit, someMove } from "./random.js";
import type { StoreCase, Trial } from "./trial.js";

/** A random schedule: many callers with limits of their own, one clock, every answer compared with the core's. */
interface Schedule {
  readonly ticks: number;
  readonly lanes: readonly Lane[];
  readonly back?: boolean;
  /** By turns as likely as they are often listed. */
  readonly calls: ReadonlyArray<Call["what"]>;
  /** Calls that one caller makes at once. Default 1. */
  readonly atOnce?: number;
}

/** A caller, and the policies of one name that it is under. */
interface Lane {
  readonly key: string;
  readonly policies: readonly Policy[];
}

async function play(trial: Trial, { ticks, lanes, back = false, calls, atOnce = 1 }: Schedule): Promise<void> {
  const { random } = trial;
  for (let tick = 0; tick < ticks; tick++) {
    const [limit] = random.pick(random.pick(lanes).policies).limits;
    trial.move(someMove(random, limit, back));
    const asked = lanes.flatMap(({ key, policies }) =>
      Array.from({ length: atOnce }, (): Call => {
        const policy = random.pick(policies);
        const what = random.pick(calls);
        const cost = someCost(random, random.pick(policy.limits));
        return { what, policy, key, tokens: what === "refund" || what === "debit" ? Math.max(1, cost) : cost };
      }),
    );
    await trial.ask(...asked);
  }
}

/** Callers under one limit each, every hostile limit among them. */
function single(trial: Trial): Lane[] {
  const { random } = trial;
  const limits = [...HOSTILE_LIMITS, ...Array.from({ length: 5 }, () => someLimit(random))];
  return limits.map((limit, i) => ({ key: `caller ${i}`, policies: [trial.policy(`p${i}`, limit)] }));
}

/** Callers under two or three limits. */
function several(trial: Trial): Lane[] {
  return Array.from({ length: 12 }, (_, i) => ({ key: `caller ${i}`, policies: [manyLimits(trial, `p${i}`, ["a", "b", "c"].slice(0, trial.random.between(2, 3)))] }));
}

/** Callers whose limits change in numbers, or come and go. */
function changing(trial: Trial): Lane[] {
  const { random } = trial;
  return Array.from({ length: 14 }, (_, i) => {
    const count = random.between(2, 3);
    const policies = Array.from({ length: count }, (_unused, version) => {
      if (i < 8) return trial.policy(`p${i}`, { name: "only", ...someLimit(random) });
      return manyLimits(trial, `p${i}`, [["a", "b"], ["b"], ["a", "c"]][version] as string[]);
    });
    return { key: `caller ${i}`, policies };
  });
}

function manyLimits(trial: Trial, name: string, names: readonly string[]): Policy {
  return trial.policy(name, ...names.map((limit) => ({ name: limit, ...someLimit(trial.random) })));
}

type Made = Omit<Schedule, "lanes"> & { readonly lanes: (trial: Trial) => Lane[] };

function scheduleCase(name: string, { lanes, ...schedule }: Made, ...needs: readonly StoreTrait[]): StoreCase {
  return {
    name,
    needs,
    async run(trial) {
      await trial.tell("mixed");
      await play(trial, { ...schedule, lanes: lanes(trial) });
    },
  };
}

/** Histories that nobody thought of. */
export const schedules: readonly StoreCase[] = [
  scheduleCase("L8 · the same history gives the core's decisions, to the last unit", { ticks: 30, lanes: single, calls: ["consume"] }),
  scheduleCase("L6 · so it does under a clock that steps back or jumps ahead", { ticks: 40, lanes: single, back: true, calls: ["consume"] }),
  scheduleCase("L10 · limits of one policy are charged all or none", { ticks: 25, lanes: several, calls: ["consume"] }),
  scheduleCase("L14 · what was spent stays spent while numbers change and limits come and go", { ticks: 30, lanes: changing, calls: ["consume"] }),
  scheduleCase("L8 · calls at one instant take effect in some order, one after another", { ticks: 12, lanes: single, calls: ["consume"], atOnce: 3 }),
  scheduleCase("peek · tells what consume would answer, and writes nothing", { ticks: 20, lanes: changing, calls: ["peek", "consume"] }, "peek"),
  scheduleCase("refund · gives back, up to full and no further", { ticks: 40, lanes: several, calls: ["consume", "consume", "refund"] }, "refund"),
  scheduleCase("reset · makes the bucket full", { ticks: 20, lanes: several, calls: ["consume", "consume", "consume", "reset"] }, "reset"),
  scheduleCase(
    "L8 · all powers at once, in any order, under any clock",
    { ticks: 24, lanes: several, back: true, calls: ["consume", "consume", "consume", "peek", "refund", "reset"], atOnce: 3 },
    "peek",
    "refund",
    "reset",
  ),
  scheduleCase("debit · takes what is not there, up to twice the capacity and no further", { ticks: 40, lanes: changing, calls: ["consume", "consume", "debit"] }, "debit"),
  scheduleCase(
    "L8 · debts among all other powers, in any order, under any clock",
    { ticks: 24, lanes: several, back: true, calls: ["consume", "consume", "debit", "peek", "refund", "reset"], atOnce: 3 },
    "debit",
    "peek",
    "refund",
    "reset",
  ),
];
