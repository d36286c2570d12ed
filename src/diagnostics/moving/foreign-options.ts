import { DOCS } from "../../warnings/warnings.js";
import { USER_KEY } from "./key-text.js";

const EXPRESS = "express-rate-limit";
export const FLEXIBLE = "rate-limiter-flexible";
const FASTIFY = "@fastify/rate-limit";
const HONO = "hono-rate-limiter";
const NEST = "@nestjs/throttler";
const SLOW = "express-slow-down";
const BOTTLENECK = "bottleneck";
const QUEUE = "p-queue";
const UPSTASH = "@upstash/ratelimit";

/**
 * Options of other packages, and the replacement in sluice. `gate` options belong to a middleware, the others to a
 * policy or limiter.
 */
export interface Replacement {
  /** The packages that have these options. */
  readonly of: readonly string[];
  /** The options, separated by spaces. */
  readonly names: string;
  readonly here: string;
  readonly gate?: boolean;
}

const NONE_TEXT = "there is no such option";
const ORDER_TEXT = `a waiter serves in order of arrival. To keep tokens for some calls, see ${DOCS}/guides/priority.md`;
export const POLICY_TEXT =
  "`policy: { name: \"limit-1\", refill: { tokens: 100, everyMs: 900_000 } }` is a burst of 100 and 100 " +
  "every 15 minutes; `capacity: 100, returns: afterMs(900_000)` is never more than 100 in any 15 minutes";
const BLOCK_TEXT = "`limiter.block(key, ms)`, after a refusal or at any time";

// Stands for a text with the numbers of the caller.
export const JOBS_TEXT = "a limiter of jobs";
const UPSTASH_TEXT =
  '`policy: { name: "limit-1", refill: { tokens: 10, everyMs: 10_000 } }` is `slidingWindow(10, "10 s")` for your callers, ' +
  "`capacity: 10, returns: afterMs(10_000)` is never more than 10 in any 10 s, and " +
  '`{ capacity: 20, refill: { tokens: 5, everyMs: 10_000 } }` is `tokenBucket(5, "10 s", 20)`';

/** The options of job queues, and of @upstash/ratelimit. */
const JOB_OPTIONS: readonly Replacement[] = [
  {
    of: [BOTTLENECK],
    names: "maxConcurrent minTime reservoir reservoirRefreshInterval reservoirRefreshAmount reservoirIncreaseInterval " +
      "reservoirIncreaseAmount reservoirIncreaseMaximum",
    here: JOBS_TEXT,
  },
  { of: [QUEUE], names: "concurrency intervalCap interval", here: JOBS_TEXT },
  { of: [BOTTLENECK], names: "highWater", here: "`maxWaiters` of `createWaiter`" },
  { of: [BOTTLENECK], names: "strategy rejectOnDrop penalty", here: `${NONE_TEXT}; a full waiter refuses` },
  { of: [BOTTLENECK], names: "weight", here: "`consume(key, cost)`" },
  { of: [BOTTLENECK], names: "priority", here: `${NONE_TEXT}; ${ORDER_TEXT}` },
  { of: [BOTTLENECK], names: "expiration", here: "`maxWorkMs` of `whenDone`" },
  {
    of: [QUEUE, UPSTASH], names: "timeout",
    here: "`timeoutMs` of the store for its calls, `maxWaitMs` of `createWaiter` for a wait, an `AbortSignal` for work",
  },
  { of: [QUEUE], names: "throwOnTimeout", here: "`maxWaitMs` of `createWaiter`, and an `AbortSignal` for the work" },
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

/** The guide for each package. */
export const GUIDES: Readonly<Record<string, string>> = {
  [EXPRESS]: `${DOCS}/moving/from-express-rate-limit.md`,
  [FLEXIBLE]: `${DOCS}/moving/from-rate-limiter-flexible.md`,
  [FASTIFY]: `${DOCS}/moving/from-fastify-rate-limit.md`,
  [HONO]: `${DOCS}/moving/from-hono-rate-limiter.md`,
  [NEST]: `${DOCS}/moving/from-nestjs-throttler.md`,
  [SLOW]: `${DOCS}/moving/from-express-slow-down.md`,
  [BOTTLENECK]: `${DOCS}/moving/from-bottleneck.md`,
  [QUEUE]: `${DOCS}/moving/from-bottleneck.md`,
  [UPSTASH]: `${DOCS}/moving/from-upstash-ratelimit.md`,
};

const X_FIELDS_TEXT = "`headers: [xRateLimit()]` for X-RateLimit fields, from sluice/http";
const ANSWER_TEXT =
  '`respond: ({ problem }) => ({ ...problem, message: "Slow down" })` for another object, or `respond` with the ' +
  'arguments of a handler for any other answer';
const FALLBACK_TEXT = '`onStoreError: "local"`, the default, `"allow"` or `"unavailable"`';
export const WAIT_TEXT =
  "`limiter: createWaiter(limiter, { maxWaitMs: 2_000 })` holds a request until its tokens are there; the refill sets the pace";

export const FOREIGN: readonly Replacement[] = [
  { of: [EXPRESS, HONO], names: "windowMs", here: POLICY_TEXT },
  { of: [EXPRESS, HONO, NEST], names: "limit", here: POLICY_TEXT },
  { of: [EXPRESS, FASTIFY], names: "max", here: POLICY_TEXT },
  { of: [FASTIFY], names: "timeWindow", here: POLICY_TEXT },
  { of: [FLEXIBLE], names: "points duration", here: POLICY_TEXT },
  { of: [NEST], names: "ttl", here: POLICY_TEXT },
  { of: [NEST], names: "throttlers", here: '`policy: { name: "limit-1", limits: [{ name: "short", … }, { name: "long", … }] }`' },
  { of: [FLEXIBLE], names: "keyPrefix", here: "a `name` in the policy; `prefix` of RedisStore for all of a service" },
  { of: [FASTIFY], names: "nameSpace", here: "a `name` in the policy; `prefix` of RedisStore for all of a service" },
  { of: [EXPRESS], names: "identifier", here: "a `name` in the policy" },
  { of: [FASTIFY], names: "groupId", here: "one policy `name` for the routes that share a budget" },
  { of: [FLEXIBLE], names: "storeClient", here: "`store: new RedisStore(client)`, from sluice/redis" },
  { of: [FASTIFY, "@upstash/ratelimit"], names: "redis", here: "`store: new RedisStore(client)`, from sluice/redis" },
  { of: [NEST], names: "storage", here: "`store: new RedisStore(client)`, from sluice/redis" },
  { of: [HONO], names: "binding", here: `${NONE_TEXT}; a \`store\` of your own can use a binding, see sluice/store` },
  { of: [FASTIFY], names: "cache", here: "`store: new MemoryStore({ maxKeys: 100_000 })`" },
  {
    of: [FLEXIBLE], names: "storeType dbName tableName tableCreated clearExpiredByTimeout schema schemaName",
    here: "options of a store, such as `new PostgresStore(pool, { table })`",
  },
  {
    of: [FLEXIBLE], names: "indexKeyPrefix disableIndexesCreation attrs dynamoTableOpts ttlSet",
    here: "`casStore`, from sluice/store, for a database without a store here",
  },
  {
    of: [FLEXIBLE], names: "useRedisPackage useRedis3AndLowerPackage",
    here: "`new RedisStore(client)`, which detects its client",
  },
  {
    of: [FLEXIBLE], names: "customIncrTtlLuaScript customFunction customFunctionLibName",
    here: `${NONE_TEXT}; the script is the arithmetic`,
  },
  { of: [FLEXIBLE], names: "insuranceLimiter rejectIfRedisNotReady rejectIfValkeyNotReady", here: FALLBACK_TEXT },
  { of: [EXPRESS], names: "passOnStoreError", here: FALLBACK_TEXT },
  { of: [FASTIFY], names: "skipOnError", here: FALLBACK_TEXT },
  { of: [FLEXIBLE], names: "timeoutMs", here: "`timeoutMs` of the store, 100 by default" },
  {
    of: [FLEXIBLE], names: "inMemoryBlockOnConsumed inMemoryBlockDuration",
    here: "`denyCacheMs` of RedisStore and PostgresStore, on by default",
  },
  { of: [FLEXIBLE, NEST], names: "blockDuration", here: BLOCK_TEXT },
  { of: [FLEXIBLE], names: "blockOnConsumed", here: BLOCK_TEXT },
  { of: [FASTIFY], names: "ban onBanReach", here: BLOCK_TEXT },
  {
    of: [FASTIFY], names: "continueExceeding exponentialBackoff",
    here: `${NONE_TEXT}: a refusal never lengthens a wait. For a fine, ${BLOCK_TEXT}`,
  },
  {
    of: [FLEXIBLE], names: "execEvenly execEvenlyMinDelayMs",
    here: "`createWaiter(limiter).consume(key)`, which waits for tokens",
  },
  { of: [FLEXIBLE], names: "maxQueueSize", here: "`maxWaitersPerKey` of `createWaiter`" },
  { of: [FLEXIBLE], names: "whiteList isWhiteListed", here: "`skip: (request) => boolean`", gate: true },
  {
    of: [FLEXIBLE], names: "blackList isBlackListed runActionAnyway",
    here: "an answer of your own before the limit, or `limiter.block(key, ms)`",
  },
  {
    of: [EXPRESS, FASTIFY, HONO], names: "keyGenerator",
    here: `${USER_KEY}, from the signed-in user`, gate: true,
  },
  {
    of: [NEST], names: "getTracker generateKey",
    here: `${USER_KEY}, from the signed-in user`, gate: true,
  },
  {
    of: [EXPRESS, FASTIFY], names: "ipv6Subnet",
    here: "`key: (request) => addressKey(request.ip, { ipv6Prefix: 56 })`; an address is never the default key",
    gate: true,
  },
  {
    of: [NEST], names: "ipv6SubnetPrefix",
    here: "`key: (request) => addressKey(request.ip, { ipv6Prefix: 64 })`; an address is never the default key",
    gate: true,
  },
  { of: [EXPRESS, HONO], names: "requestPropertyName", here: "`decisionOf(request)`, from the adapter", gate: true },
  {
    of: [HONO], names: "requestStorePropertyName",
    here: "`limiter: createLimiter({ policy })`, with `limiter.peek(key)` and `limiter.reset(key)` in a handler",
    gate: true,
  },
  { of: [EXPRESS], names: "validate", here: "`silenceWarnings(code)`" },
  { of: [EXPRESS], names: "logger", here: '`observe: createObserver((event) => …)` and `process.on("warning")`' },
  {
    of: [FASTIFY], names: "global",
    here: "`global` of the plugin in sluice/fastify, or `config: { rateLimit: false }` on the routes without a limit",
    gate: true,
  },
  { of: [FASTIFY], names: "hook", here: '`hook: "preHandler"` in the options of sluice/fastify', gate: true },
  {
    of: [EXPRESS, HONO], names: "standardHeaders",
    here: '`headers: [triple(), draft11()]`, the default, or `[]` for none', gate: true,
  },
  {
    of: [FASTIFY], names: "enableDraftSpec",
    here: '`headers: [triple(), draft11()]`, the default, or `[]` for none', gate: true,
  },
  { of: [EXPRESS], names: "legacyHeaders", here: X_FIELDS_TEXT, gate: true },
  { of: [FASTIFY], names: "addHeaders addHeadersOnExceeding", here: X_FIELDS_TEXT, gate: true },
  { of: [NEST], names: "setHeaders", here: X_FIELDS_TEXT, gate: true },
  {
    of: [EXPRESS],
    names: "retryAfter",
    here: `${NONE_TEXT}; the value is always the exact wait. \`headers: [triple(), draft11(), retryAfterDate()]\` ` +
      "sends it as a date",
    gate: true,
  },
  { of: [EXPRESS, HONO], names: "message statusCode handler", here: ANSWER_TEXT, gate: true },
  { of: [FASTIFY], names: "errorResponseBuilder", here: ANSWER_TEXT, gate: true },
  { of: [NEST], names: "errorMessage", here: ANSWER_TEXT, gate: true },
  {
    of: [EXPRESS, HONO], names: "skipFailedRequests",
    here: "`actualCost: ({ status }) => (status >= 400 ? 0 : undefined)`", gate: true,
  },
  {
    of: [EXPRESS, HONO], names: "skipSuccessfulRequests",
    here: "`actualCost: ({ status }) => (status < 400 ? 0 : undefined)`, " +
      `but read ${DOCS}/guides/login.md before you limit a login`,
    gate: true,
  },
  { of: [EXPRESS, HONO], names: "requestWasSuccessful", here: "the test goes into `actualCost`", gate: true },
  { of: [FASTIFY], names: "allowList", here: "`skip: (request) => boolean`", gate: true },
  { of: [NEST], names: "skipIf ignoreUserAgents", here: "`skip: (request) => boolean`", gate: true },
  {
    of: [FASTIFY], names: "onExceeding onExceeded",
    here: "`onDecision: (decision, request) => void`, and look at `decision.allowed`", gate: true,
  },
  ...JOB_OPTIONS,
  { of: [SLOW], names: "delayAfter delayMs maxDelayMs", here: WAIT_TEXT, gate: true },
];

/** What to write in place of an option of a waiter that job queues have. */
export function explainWaiting(name: string): string | undefined {
  return name === "priority" ? `: ${ORDER_TEXT}` : undefined;
}
