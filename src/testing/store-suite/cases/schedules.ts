import type { Policy } from "../../../core/policy.js";
import type { StoreCall } from "../states.js";
import { HOSTILE_LIMITS, randomBlock, randomChanges, randomCosts, randomLimit, randomMove } from "../random.js";
import { edgeLimits, edgePolicy } from "../edges.js";
import type { StoreTrait } from "../setup.js";
import type { StoreCase, Trial } from "../trial.js";

/** A random history of calls: many callers with their own limits, and one clock. The oracle checks every answer. */
interface Schedule {
  readonly ticks: number;
  readonly callers: readonly ScheduledCaller[];
  /** Whether the clock can step back. Default false. */
  readonly back?: boolean;
  /** The methods to call. List a method twice to make it twice as likely. */
  readonly methods: ReadonlyArray<StoreCall["method"] | "refund" | "debit">;
  /** Concurrent calls per caller and tick. Default 1. */
  readonly concurrent?: number;
}

/** A key, and the policies of one name that apply to it in turn. */
interface ScheduledCaller {
  readonly key: string;
  readonly policies: readonly Policy[];
}

async function play(trial: Trial, { ticks, callers, back = false, methods, concurrent = 1 }: Schedule): Promise<void> {
  const { random } = trial;
  for (let tick = 0; tick < ticks; tick++) {
    const [limit] = random.pick(random.pick(callers).policies).limits;
    trial.move(randomMove(random, limit, back));
    const calls = callers.flatMap(({ key, policies }) =>
      Array.from({ length: concurrent }, (): StoreCall => {
        const policy = random.pick(policies);
        const method = random.pick(methods);
        if (method === "refund") return { method: "adjust", policy, key, tokens: randomChanges(random, policy, -1) };
        if (method === "debit") return { method: "adjust", policy, key, tokens: randomChanges(random, policy, 1) };
        if (method === "adjust") return { method, policy, key, tokens: randomChanges(random, policy, null) };
        return {
          method, policy, key,
          tokens: method === "block" ? randomBlock(random, policy.limits[0]) : randomCosts(random, policy),
        };
      }),
    );
    await trial.callAll(...calls);
  }
}

/** Callers with one limit each. All hostile limits are among them. */
function singleLimits(trial: Trial): ScheduledCaller[] {
  const { random } = trial;
  const limits = [...HOSTILE_LIMITS, ...Array.from({ length: 5 }, () => randomLimit(random))];
  return limits.map((limit, i) => ({ key: `caller ${i}`, policies: [trial.policy(`p${i}`, limit)] }));
}

/** Callers with two or three limits each, in another order than that of their names. Two have the edges of the port. */
function severalLimits(trial: Trial): ScheduledCaller[] {
  const common = Array.from({ length: 12 }, (_, i): ScheduledCaller => {
    const names = ["c", "a", "b"].slice(0, trial.random.between(2, 3));
    return { key: `caller ${i}`, policies: [manyLimits(trial, `p${i}`, names)] };
  });
  return [...common, ...["a", "b"].map((end) => ({ key: "edge", policies: [edgePolicy(trial, end, edgeLimits())] }))];
}

/** Callers with limits that change their numbers, appear or disappear. One has longest names. */
function changingLimits(trial: Trial): ScheduledCaller[] {
  const { random } = trial;
  const edge = [0, 1, 2].map((first) => edgePolicy(trial, "c", edgeLimits(2, first)));
  const common = Array.from({ length: 14 }, (_, i) => {
    const count = random.between(2, 3);
    const policies = Array.from({ length: count }, (_unused, version) => {
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

type ScheduleOptions = Omit<Schedule, "callers"> & {
  readonly callers: (trial: Trial) => ScheduledCaller[];
  readonly cause: string;
};

function scheduleCase(
  name: string, { callers, cause, ...schedule }: ScheduleOptions, ...needs: readonly StoreTrait[]
): StoreCase {
  return {
    name,
    cause,
    needs,
    async run(trial) {
      await trial.openStores("mixed");
      await play(trial, { ...schedule, callers: callers(trial) });
    },
  };
}

const INEXACT =
  "The arithmetic is not the core's: floating-point tokens, rounded numbers, or numbers that lose digits in storage.";
const RACE = "A method reads a record and writes it later. Read, change and write in one atomic step.";

/** Random histories. */
export const scheduleCases: readonly StoreCase[] = [
  scheduleCase("L8 · the same history gives the core's decisions, to the last unit", {
    cause: INEXACT, ticks: 30, callers: singleLimits, methods: ["consume"],
  }),
  scheduleCase("L6 · the decisions are the core's while the clock steps back or jumps ahead", {
    cause: "The record's instant moves back with the clock. Keep the later of the two.",
    ticks: 30, callers: singleLimits, back: true, methods: ["consume"],
  }),
  scheduleCase("L10 · the limits of one policy are charged all or none", {
    cause: "A limit is charged although another one refuses, or only the first limit is stored.",
    ticks: 25, callers: severalLimits, methods: ["consume"],
  }),
  scheduleCase("L19 · each limit of a policy is judged and charged by its own cost", {
    cause:
      "One cost is used for all limits, a list of costs is cut, or it is read in another order than that of the policy's limits.",
    ticks: 30, callers: severalLimits, methods: ["consume"],
  }),
  scheduleCase("L14 · spent tokens still count while limits change, appear and disappear", {
    cause: "The record starts again under new numbers, or its units are not converted. Store it by the limit's name.",
    ticks: 30, callers: changingLimits, methods: ["consume"],
  }),
  scheduleCase("L8 · concurrent calls at one instant take effect one after another", {
    cause: RACE, ticks: 12, callers: singleLimits, methods: ["consume"], concurrent: 3,
  }),
  scheduleCase("peek · returns the decision of consume, and writes nothing", {
    cause: "`peek` writes, or calculates differently from `consume`.",
    ticks: 20, callers: changingLimits, methods: ["peek", "consume"],
  }, "peek"),
  scheduleCase("refund · returns tokens, up to full and no further", {
    cause: "A refund makes spent negative, or returns another number of tokens.",
    ticks: 30, callers: severalLimits, methods: ["consume", "consume", "refund"],
  }, "adjust"),
  scheduleCase("reset · makes the bucket full", {
    cause: "`reset` leaves the record of a limit behind.",
    ticks: 20, callers: severalLimits, methods: ["consume", "consume", "consume", "reset"],
  }, "reset"),
  scheduleCase("reset · forgets limits that this version of the policy does not have", {
    cause: "`reset` deletes the records of today's limits only. Delete all that is stored under the policy's name and the key.",
    ticks: 20, callers: changingLimits, methods: ["consume", "consume", "consume", "reset"],
  }, "reset"),
  scheduleCase(
    "L8 · concurrent consume, peek, refund and reset are exact under any clock",
    {
      cause: RACE, ticks: 24, callers: severalLimits, back: true,
      methods: ["consume", "consume", "consume", "peek", "refund", "reset"], concurrent: 3,
    },
    "peek",
    "adjust",
    "reset",
  ),
  scheduleCase("debit · takes exactly the given number of tokens, even if they are missing", {
    cause: "A debit is refused or cut although the tokens fit into 2^53 - 1 units, or taken although they do not.",
    ticks: 30, callers: changingLimits, methods: ["consume", "consume", "debit", "refund"],
  }, "adjust"),
  scheduleCase("adjust · changes each limit by its own tokens, all in one step", {
    cause:
      "One number is applied to all limits, a list of changes is cut, or some limits are changed although another cannot be.",
    ticks: 30, callers: severalLimits, back: true, methods: ["consume", "adjust"], concurrent: 2,
  }, "adjust"),
  scheduleCase("block · refuses everything until it ends, through new numbers, refunds and debits", {
    cause: "The block is kept in a limit's units, is shortened by a later block, or ends with the buckets.",
    ticks: 30, callers: changingLimits, methods: ["consume", "consume", "consume", "adjust", "peek", "block"],
  }, "block", "adjust", "peek"),
  scheduleCase("reset · ends a block", {
    cause: "`reset` deletes the records of the limits only. Delete the block as well.",
    ticks: 30, callers: severalLimits, methods: ["consume", "block", "reset"],
  }, "block", "reset"),
  scheduleCase(
    "L8 · concurrent calls of all methods are exact under any clock",
    {
      cause: RACE, ticks: 24, callers: severalLimits, back: true,
      methods: ["consume", "consume", "adjust", "peek", "block", "reset"], concurrent: 3,
    },
    "adjust",
    "block",
    "peek",
    "reset",
  ),
];
