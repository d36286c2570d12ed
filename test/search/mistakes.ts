// One mistake for each law, and those faults of November 2026 that a world of one store contains. A search must find each.
import type { Mistake } from "./real.js";

export interface Planted extends Mistake {
  /** What it is, in a few words. */
  readonly what: string;
  /** The law that the search must name. */
  readonly law: string;
  /** The worlds that contain it. */
  readonly worlds: readonly string[];
  /** How many states the search needs, if they are many. */
  readonly states?: number;
}

const BREAKERS = ["a breaker, three callers", "a breaker, calls about both buckets", "a breaker"];

export const MISTAKES: readonly Planted[] = [
  {
    what: "a late give-back gives back all", law: "L1", worlds: ["two rates"],
    in: "stillSpent", find: "Math.min(0, units + unitsPerMs * lateMs)", replace: "units",
  },
  {
    what: "a give-back ignores what has refilled", law: "L1", worlds: ["one rate", "new numbers", "one rate, credits and debits"],
    in: "refundable", find: "(resetMsOf(decision, limit) - 1 - ageMs) * limit.unitsPerMs + 1", replace: "resetMsOf(decision, limit) * limit.unitsPerMs",
  },
  {
    what: "a give-back is rounded up to one token too much", law: "L1", worlds: ["one rate", "three in two"],
    in: "refundable", find: "Math.ceil(units / limit.unitsPerToken)", replace: "Math.ceil(units / limit.unitsPerToken) + 1",
  },
  {
    what: "a settlement gives back what was used", law: "L1", worlds: ["one rate"],
    in: "correction", find: "refundable(decision, policy, i, 0 - over, ageMs)", replace: "refundable(decision, policy, i, costAt(taken, i), ageMs)",
  },
  {
    what: "a give-back that comes late loses nothing", law: "L1", worlds: ["one rate", "new numbers"],
    in: "refundableUntil", find: "decision.at + Math.max(0, resetMsOf(decision, limit) - 1 - usedMs)", replace: "decision.at + 1e9",
  },
  {
    what: "a credit gives back twice as much", law: "L1: a credit", worlds: ["one rate, credits and debits"],
    in: "adjust", find: "costAt(changes, i) * limit.unitsPerToken, limit, now - ", replace: "2 * costAt(changes, i) * limit.unitsPerToken, limit, now - ",
  },
  {
    what: "new numbers round down what is spent", law: "L14", worlds: ["new numbers"],
    in: "convert", find: "BigInt(from) - 1n) / BigInt(from)", replace: "0n) / BigInt(from)",
  },
  {
    what: "a give-back that the client sends again acts twice", law: "L1", worlds: ["one rate"],
    in: "CallMarks.markOf", find: "requests.find(({ once }) => once)?.parts[0]?.name", replace: "undefined",
  },
  {
    what: "a give-back that the client sends again acts twice, in flight", law: "L21", worlds: ["in flight, two places"],
    in: "CallMarks.markOf", find: "requests.find(({ once }) => once)?.parts[0]?.name", replace: "undefined",
  },
  {
    what: "a wait is one millisecond too short", law: "L2", worlds: ["three in two"],
    in: "answer", find: "msUntil(over, limit, from, now)", replace: "Math.max(1, msUntil(over, limit, from, now) - 1)",
  },
  {
    what: "a wait is one millisecond too long", law: "L2", worlds: ["one rate"],
    in: "msUntil", find: "from - now + Math.ceil", replace: "from - now + 1 + Math.ceil",
  },
  {
    what: "a refusal takes a token where it converts a record", law: "L3", worlds: ["new numbers"],
    in: "convertStale", find: "changeUnits(bucket, limit, now, 0)", replace: "changeUnits(bucket, limit, now, limit.unitsPerToken)",
  },
  {
    what: "a record never gets its last unit back", law: "L5", worlds: ["one rate", "two rates"],
    in: "spentAt", find: "Math.max(0, bucket.spent - refilled)", replace: "Math.max(1, bucket.spent - refilled)",
  },
  {
    what: "a full bucket has one token too many", law: "L1", worlds: ["one rate"],
    in: "unitsOver", find: "limit.size - tokens * limit.unitsPerToken", replace: "limit.size - (tokens - 1) * limit.unitsPerToken",
  },
  {
    what: "a record from before a step of the clock keeps its instant", law: "L6", worlds: ["one rate, resets and blocks"],
    in: "isImpossible", find: "bucket.at - now > limit.fullMs", replace: "false",
  },
  {
    what: "a grant takes from the first limit alone", law: "L10, L19", worlds: ["two rates"],
    in: "decideSeveral", find: "answer(buckets[i] as Bucket, policy.limits[i] as Limit, costAt(costs, i), now, taken)", replace: "answer(buckets[i] as Bucket, policy.limits[i] as Limit, costAt(costs, i), now, false)",
  },
  {
    what: "a store that works refuses as if it were away", law: "L11", worlds: ["one rate"],
    in: "decisionBy", find: '"limited"', replace: '"store_unavailable"',
  },
  {
    what: "old numbers count as new ones", law: "L14", worlds: ["new numbers"],
    in: "spentAt", find: "bucket.unitsPerToken === limit.unitsPerToken ? spent : convert(spent, bucket.unitsPerToken, limit.unitsPerToken)", replace: "spent",
  },
  {
    what: "every limit takes the cost of the first", law: "L10, L19", worlds: ["two rates"],
    in: "decideSeveral", find: "answer(buckets[i] as Bucket, policy.limits[i] as Limit, costAt(costs, i), now, taken)", replace: "answer(buckets[i] as Bucket, policy.limits[i] as Limit, costAt(costs, 0), now, taken)",
  },
  {
    what: "a settlement gives a quota back to the next period", law: "L20", worlds: ["a quota over its edge"], states: 6_000,
    in: "quotaCode", find: "taken === undefined ? undefined : dateOf(taken)", replace: "undefined",
  },
  {
    what: "tokens in flight come back early", law: "L21", worlds: ["in flight with renewals"],
    in: "inFlightCode", find: "Math.ceil((now + staleAfterMs) / step)", replace: "Math.ceil((now + staleAfterMs / 2) / step)",
  },
  {
    what: "a renewal after its date moves the tokens of others", law: "L21", worlds: ["in flight with renewals"], states: 4_000,
    in: "isHeldAt", find: "(inFlight?.kind.dateOf(from) ?? now) >= now", replace: "true",
  },
  {
    what: "a token of a window comes back a millisecond early", law: "L22", worlds: ["a window, late give-backs"],
    in: "afterMs", find: "now + length - 1", replace: "now + length - 2",
  },
  {
    what: "joined amounts come back at the earlier date", law: "L22", worlds: ["a window, late give-backs"], states: 9_000,
    in: "join", find: "list[i] = list[i + 3] as number;", replace: "",
  },
  {
    what: "joined amounts lose the tokens of the earlier one", law: "L", worlds: ["a window, late give-backs"], states: 9_000,
    in: "join", find: "(list[i + 1] as number) + (list[i + 4] as number)", replace: "list[i + 4] as number",
  },
  {
    what: "a give-back whose date is over goes to what was taken later", law: "L22", worlds: ["a window, late give-backs"], states: 9_000,
    in: "afterMs", find: "taken === undefined ? undefined : dateOf(taken)", replace: "undefined",
  },
  {
    what: "a give-back to a window that the client sends again acts twice", law: "L22", worlds: ["a window, late give-backs"],
    in: "CallMarks.markOf", find: "requests.find(({ once }) => once)?.parts[0]?.name", replace: "undefined",
  },
  {
    what: "a credit to a window gives back whole amounts", law: "L1: a credit", worlds: ["a window, credits and steps back"], states: 20_000,
    in: "giveBackNewest", find: "list.length - 3, units - given", replace: "list.length - 3, -Infinity",
  },
  {
    what: "an impossible date of a window stays", law: "L", worlds: ["a window, credits and steps back"], states: 20_000,
    in: "windowAmounts", find: "Math.min(date, limit.kind.dateOf(now))", replace: "date",
  },
  {
    what: "an open circuit sends no probe", law: "L12: an open circuit sent no call", worlds: BREAKERS,
    in: "afterAsking", find: "now < probeAt", replace: "probeAt > 0",
  },
  {
    what: "an open circuit sends every call once its time has come", law: "L12: the open circuit of", worlds: BREAKERS,
    in: "afterAsking", find: "{ probeAt: now + probeEveryMs }", replace: "{ probeAt: now }",
  },
  {
    what: "a circuit opens without a pause", law: "L12: the open circuit of", worlds: BREAKERS,
    in: "afterFailure", find: "probeAt: now + probeEveryMs", replace: "probeAt: now",
  },
  {
    what: "buckets that fail in turn are probed without a pause", law: "L12: the open circuit of all calls", worlds: BREAKERS,
    in: "afterProbe", find: "Math.max(all?.probeAt ?? 0, circuits.get(AGAIN)?.probeAt ?? 0)", replace: "all?.probeAt ?? 0",
  },
  {
    what: "an answer in time leaves the circuit of its bucket open", law: "L12: a call about a is refused", worlds: BREAKERS,
    in: "afterSuccess", find: "[ALL, AGAIN, ...buckets]", replace: "[ALL, AGAIN]",
  },
  {
    what: "an answer in time leaves the circuit of all calls open", law: "L12: a call about", worlds: BREAKERS,
    in: "afterSuccess", find: "[ALL, AGAIN, ...buckets]", replace: "buckets",
  },
  {
    what: "failures of one bucket refuse all", law: "L12: a call about b is refused", worlds: BREAKERS,
    in: "afterFailure", find: "isAll ? [ALL] : common", replace: "[ALL]",
  },
  {
    what: "the last failure alone says which bucket fails", law: "L12", worlds: BREAKERS,
    in: "afterFailure", find: "state.common.filter((name) => buckets.includes(name))", replace: "buckets",
  },
  {
    what: "an answer in time does not end a row of failures", law: "L12", worlds: BREAKERS,
    in: "afterSuccess", find: "...STEADY, isSteady: circuits.size === 0", replace: "...state, lastProbed: [], reported: null, isSteady: false",
  },
  {
    what: "a store is reported unavailable twice", law: "L12: an unavailable store is reported twice", worlds: BREAKERS,
    in: "withReport", find: "state.reported !== null", replace: "false",
  },
  {
    what: "a store that is back is not reported", law: "L12: a store that answers is not reported", worlds: BREAKERS,
    in: "afterSuccess", find: "reported && {", replace: "null && {",
  },
  {
    what: "a dead store of which one bucket is in use is not reported", law: "L12: a dead store is not reported", worlds: BREAKERS,
    in: "afterProbe", find: "open.some((name) => circuitOf(state, name).successes === state.successes)", replace: "false",
  },
  {
    what: "a store is unavailable when one bucket fails its probe", law: "L12: a store that answered before", worlds: BREAKERS,
    in: "afterProbe", find: "open.some((name) => circuitOf(state, name).successes === state.successes)", replace: "true",
  },
];
