import { BLOCK_TEXT, NONE_TEXT, POLICY_TEXT, type Replacement } from "./replacement.js";

const BOTTLENECK = "bottleneck";
const QUEUE = "p-queue";
const UPSTASH = "@upstash/ratelimit";

/** The options with the numbers of a queue: of bottleneck, and of p-queue. */
const JOB_NUMBERS = [
  "maxConcurrent minTime reservoir reservoirRefreshInterval reservoirRefreshAmount reservoirIncreaseInterval " +
  "reservoirIncreaseAmount reservoirIncreaseMaximum",
  "concurrency intervalCap interval",
] as const;

/** Stands for the text of {@link jobsText}, which has the caller's numbers. */
export const JOBS_TEXT = "a limiter of jobs";
const UPSTASH_TEXT =
  '`policy: { name: "limit-1", refill: { tokens: 10, everyMs: 10_000 } }` is `slidingWindow(10, "10 s")`, and ' +
  '`{ capacity: 20, refill: { tokens: 5, everyMs: 10_000 } }` is `tokenBucket(5, "10 s", 20)`';

/** The options of job queues, and of @upstash/ratelimit. */
export const JOB_OPTIONS: readonly Replacement[] = [
  { of: [BOTTLENECK], names: JOB_NUMBERS[0], here: JOBS_TEXT },
  { of: [QUEUE], names: JOB_NUMBERS[1], here: JOBS_TEXT },
  { of: [BOTTLENECK], names: "highWater", here: "`maxWaiters` of `createWaiter`" },
  { of: [BOTTLENECK], names: "strategy rejectOnDrop penalty", here: `${NONE_TEXT}; a full waiter refuses` },
  { of: [BOTTLENECK], names: "weight", here: "`consume(key, cost)`" },
  { of: [BOTTLENECK], names: "priority", here: `${NONE_TEXT}; a waiter serves in order of arrival` },
  { of: [BOTTLENECK], names: "expiration", here: "`longestMs` of `whenDone`" },
  { of: [QUEUE], names: "timeout throwOnTimeout", here: "`maxWaitMs` of `createWaiter`, and an `AbortSignal` for the work" },
  {
    of: [BOTTLENECK], names: "datastore clearDatastore clientOptions connection Redis heartbeatInterval trackDoneStatus",
    here: "`store: new RedisStore(client)`, from sluice/redis",
  },
  { of: [BOTTLENECK], names: "id", here: "a `name` in the policy" },
  { of: [QUEUE], names: "autoStart queueClass carryoverConcurrencyCount carryoverIntervalCount strict", here: NONE_TEXT },
  { of: [UPSTASH], names: "limiter", here: UPSTASH_TEXT },
  { of: [UPSTASH], names: "prefix", here: "`prefix` of RedisStore" },
  { of: [UPSTASH], names: "analytics", here: "`observe: createObserver((event) => …)`" },
  { of: [UPSTASH], names: "ephemeralCache", here: "`denyCacheMs` of RedisStore, on by default" },
  { of: [UPSTASH], names: "enableProtection denyListThreshold", here: BLOCK_TEXT },
  { of: [UPSTASH], names: "dynamicLimits", here: "`consume(key, { policy })`, or `policy: (request) => …` of a middleware" },
  { of: [UPSTASH], names: "tokens window", here: POLICY_TEXT },
];
