import type { Policy } from "../../../core/policy.js";
import { edgeLimits, edgePolicy } from "../edges.js";
import { HOSTILE_LIMITS, randomBlock, randomChanges, randomCosts, randomLimit, randomMove } from "../random.js";
import type { StoreTrait } from "../setup.js";
import type { SuiteCall } from "../states.js";
import type { StoreCase, Trial } from "../trial.js";

/** Random calls: many callers with their own limits, and one clock. The oracle checks every answer. */
interface Schedule {
  /** The steps of the clock. The parts of a case have at most 36, so that a slow store has time for all of them. */
  readonly ticks: number;
  readonly callers: (trial: Trial) => ScheduledCaller[];
  /** Whether the clock can step back. Default false. */
  readonly back?: boolean;
  /** The methods to call, as far as the store has them. List a method twice to make it twice as likely. */
  readonly methods: readonly ScheduledMethod[];
  /** Concurrent calls per caller and tick. Default 1. */
  readonly concurrent?: number;
}

type ScheduledMethod = "consume" | "peek" | "adjust" | "refund" | "debit" | "block" | "reset";

/** A key, and the policies of one name that apply to it in turn. */
interface ScheduledCaller {
  readonly key: string;
  readonly policies: readonly Policy[];
}

async function play(trial: Trial, { ticks, callers: callersOf, back = false, methods, concurrent = 1 }: Schedule): Promise<void> {
  const { random } = trial;
  const callers = callersOf(trial);
  const known = methods.filter((method) => method === "consume" || trial.has(traitOf(method)));
  for (let tick = 0; tick < ticks; tick++) {
    const [limit] = random.pick(random.pick(callers).policies).limits;
    trial.move(randomMove(random, limit, back));
    await trial.callAll(...callers.flatMap(({ key, policies }) =>
      Array.from({ length: concurrent }, () => scheduledCall(trial, random.pick(known), random.pick(policies), key))));
  }
}

function traitOf(method: Exclude<ScheduledMethod, "consume">): StoreTrait {
  return method === "refund" || method === "debit" ? "adjust" : method;
}

function scheduledCall({ random }: Trial, method: ScheduledMethod, policy: Policy, key: string): SuiteCall {
  if (method === "refund") return { method: "adjust", policy, key, tokens: randomChanges(random, policy, -1) };
  if (method === "debit") return { method: "adjust", policy, key, tokens: randomChanges(random, policy, 1) };
  if (method === "adjust") return { method, policy, key, tokens: randomChanges(random, policy, null) };
  const tokens = method === "block" ? randomBlock(random, policy.limits[0]) : randomCosts(random, policy);
  return { method, policy, key, tokens };
}

/** Callers with one limit each. All hostile limits are among them. */
function singleLimits(trial: Trial): ScheduledCaller[] {
  const limits = [...HOSTILE_LIMITS, ...Array.from({ length: 5 }, () => randomLimit(trial.random))];
  return limits.map((limit, i) => ({ key: `caller ${i}`, policies: [trial.policy(`p${i}`, limit)] }));
}

/** Callers with two or three limits each, in another order than that of their names. One has the edges of the port. */
function severalLimits(trial: Trial): ScheduledCaller[] {
  const common = Array.from({ length: 10 }, (_, i): ScheduledCaller => {
    const names = ["c", "a", "b"].slice(0, trial.random.between(2, 3));
    return { key: `caller ${i}`, policies: [manyLimits(trial, `p${i}`, names)] };
  });
  return [...common, { key: "edge", policies: [edgePolicy(trial, "a", edgeLimits())] }];
}

/** Callers with limits that change their numbers, appear or disappear. One has longest names. */
function changingLimits(trial: Trial): ScheduledCaller[] {
  const { random } = trial;
  const edge = [0, 1, 2].map((first) => edgePolicy(trial, "c", edgeLimits(2, first)));
  const common = Array.from({ length: 14 }, (_, i) => {
    const policies = Array.from({ length: random.between(2, 3) }, (_unused, version) => {
      if (i < 8) return trial.policy(`p${i}`, { name: "only", ...randomLimit(random) });
      return manyLimits(trial, `p${i}`, [["a", "b"], ["b"], ["a", "c"]][version] as string[]);
    });
    return { key: `caller ${i}`, policies };
  });
  return [...common, { key: "edge", policies: edge }];
}

function manyLimits(trial: Trial, name: string, names: readonly string[]): Policy {
  return trial.policy(name, ...names.map((limit) => ({ name: limit, ...randomLimit(trial.random) })));
}

/** A case of random histories, one after another. */
function historyCase(name: string, needs: readonly StoreTrait[], cause: string, ...parts: readonly Schedule[]): StoreCase {
  return {
    name, needs, cause,
    async run(trial) {
      await trial.openStores("mixed");
      for (const part of parts) await trial.part(cause, () => play(trial, part));
    },
  };
}

const CONSUME = ["consume"] as const;

/** Random histories. */
export const historyCases: readonly StoreCase[] = [
  historyCase(
    "L6, L8 · the same history gives the core's decisions, to the last unit, also while the clock steps back or jumps ahead", [],
    "The arithmetic is not the core's: floating-point tokens, rounded numbers, or numbers that lose digits in storage. " +
      "Or the record's instant moves back with the clock. Keep the later of the two.",
    { ticks: 16, callers: singleLimits, methods: CONSUME },
    { ticks: 20, callers: singleLimits, methods: CONSUME, back: true },
  ),
  historyCase(
    "L10, L19 · the limits of a policy are charged all or none, each by its own cost", [],
    "A limit is charged although another one refuses, or not stored. Or one cost is used for all limits, a list of costs is " +
      "cut, or it is read in another order than that of the policy's limits.",
    { ticks: 28, callers: severalLimits, methods: CONSUME },
  ),
  historyCase(
    "L14 · spent tokens still count while limits change, appear and disappear, and `peek` foresees `consume`", [],
    "The record starts again under new numbers, or its units are not converted. Store it by the limit's name. " +
      "Or `peek` writes, or calculates differently from `consume`.",
    { ticks: 22, callers: changingLimits, methods: CONSUME },
    { ticks: 12, callers: changingLimits, methods: ["peek", "consume"] },
  ),
  historyCase(
    "adjust · refunds up to full, debits also missing tokens, and changes each limit by its own tokens in one step", ["adjust"],
    "A change is refused although it fits into 2^53 - 1 units, done although it does not, or goes beyond full: one number " +
      "is applied to all limits, a list of changes is cut, or some limits are changed although another cannot be.",
    { ticks: 10, callers: severalLimits, methods: ["consume", "consume", "refund"] },
    { ticks: 14, callers: changingLimits, methods: ["consume", "consume", "debit", "refund"] },
    { ticks: 12, callers: severalLimits, methods: ["consume", "adjust"], back: true, concurrent: 2 },
  ),
  historyCase(
    "reset · makes all limits full, also those that this version of the policy does not have, and ends a block", ["reset"],
    "`reset` leaves a record: of a limit, of one that today's policy does not have, or of a block. " +
      "Delete all that is stored under the policy's name and the key.",
    { ticks: 8, callers: severalLimits, methods: ["consume", "consume", "consume", "reset"] },
    { ticks: 16, callers: changingLimits, methods: ["consume", "consume", "consume", "reset"] },
    { ticks: 10, callers: severalLimits, methods: ["consume", "block", "reset"] },
  ),
  historyCase(
    "block · refuses everything until it ends, through new numbers, refunds and debits", ["block"],
    "The block is kept in a limit's units, is shortened by a later block, or ends with the buckets.",
    { ticks: 20, callers: changingLimits, methods: ["consume", "consume", "consume", "adjust", "peek", "block"] },
    { ticks: 14, callers: severalLimits, methods: ["consume", "consume", "block"], back: true },
  ),
  historyCase(
    "L8 · concurrent calls of all methods are exact under any clock", [],
    "A method reads a record and writes it later. Read, change and write in one atomic step.",
    { ticks: 10, callers: severalLimits, methods: CONSUME, concurrent: 3 },
    { ticks: 6, callers: changingLimits, methods: ["consume", "consume", "peek", "refund", "reset"], back: true, concurrent: 3 },
    {
      ticks: 10, callers: severalLimits, methods: ["consume", "consume", "adjust", "peek", "block", "reset"],
      back: true, concurrent: 3,
    },
  ),
];
