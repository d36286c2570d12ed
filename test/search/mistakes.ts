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

export const MISTAKES: readonly Planted[] = [
  {
    what: "a late give-back gives back all", law: "L1", worlds: ["one rate", "two rates"], states: 200_000,
    in: "stillSpent", find: "Math.min(0, units + unitsPerMs * lateMs)", replace: "units",
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
    in: "answer", find: "msUntil(over, limit, from, now)", replace: "msUntil(over, limit, from, now) - 1",
  },
  {
    what: "a wait is one millisecond too long", law: "L2", worlds: ["one rate"],
    in: "msUntil", find: "from - now + Math.ceil", replace: "from - now + 1 + Math.ceil",
  },
  {
    what: "a refusal takes a token where it converts a record", law: "L3", worlds: ["new numbers"],
    in: "convertStale", find: "charge(bucket, limit, now, 0)", replace: "charge(bucket, limit, now, limit.unitsPerToken)",
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
    in: "answer", find: '"limited"', replace: '"store_unavailable"',
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
    what: "a settlement gives a quota back to the next period", law: "L20", worlds: ["a quota over its edge"],
    in: "quotaDating", find: "taken === undefined ? undefined : dateOf(taken)", replace: "undefined",
  },
  {
    what: "tokens in flight come back early", law: "L21", worlds: ["in flight with renewals"],
    in: "inFlightDating", find: "Math.ceil((now + staleAfterMs) / step)", replace: "Math.ceil((now + staleAfterMs / 2) / step)",
  },
  {
    what: "a renewal after its date moves the tokens of others", law: "L21", worlds: ["in flight with renewals"],
    in: "isHeldAt", find: "(inFlight?.kind.dateOf(from) ?? now) >= now", replace: "true",
  },
];
