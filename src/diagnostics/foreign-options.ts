import { DOCS } from "./docs.js";

const NEW_POLICY = "`policy: { capacity: 100, refill: { tokens: 100, everyMs: 900_000 } }`, a burst of 100 and 100 every 15 minutes";
const NEW_KEY = "`key: (request) => [\"user\", request.user.id]`, from the signed-in user";
const NEW_STORE = "`store: new RedisStore(client)`, from sluice/redis";
const NEW_HEADERS = '`headers: ["triple", "draft-11"]`, the default; `[]` for none';
const NEW_BODY = "`body: (problem) => ({ ...problem, message: \"Slow down\" })`; the status of a refusal is 429";
const NEW_FALLBACK = '`onStoreError: "local"`, the default, `"allow"` or `"unavailable"`';
const NEW_REFUND = "`refundWhen: (outcome) => outcome.status < 400`, which gives the tokens back after the answer";
const NEW_SKIP = "`skip: (request) => boolean`";
const NEW_OBSERVE = "`onDecision: (decision, request) => void`";

const EXPRESS = "express-rate-limit";
const FLEXIBLE = "rate-limiter-flexible";
const FASTIFY = "@fastify/rate-limit";

/** By the option's name: the libraries that have it, and what to write here. */
const FOREIGN: Readonly<Record<string, readonly [libraries: string, here: string]>> = {
  windowMs: [`${EXPRESS}, hono-rate-limiter`, NEW_POLICY],
  max: [`${EXPRESS}, ${FASTIFY}`, NEW_POLICY],
  limit: [`${EXPRESS}, hono-rate-limiter`, NEW_POLICY],
  timeWindow: [FASTIFY, NEW_POLICY],
  points: [FLEXIBLE, NEW_POLICY],
  duration: [FLEXIBLE, NEW_POLICY],
  keyGenerator: [`${EXPRESS}, ${FASTIFY}, hono-rate-limiter`, NEW_KEY],
  keyPrefix: [FLEXIBLE, "a `name` in the policy, or `prefix` of RedisStore"],
  nameSpace: [FASTIFY, "a `name` in the policy, or `prefix` of RedisStore"],
  groupId: [FASTIFY, "one policy `name` for the routes that share a budget"],
  storeClient: [FLEXIBLE, NEW_STORE],
  redis: [FASTIFY, NEW_STORE],
  binding: ["hono-rate-limiter", NEW_STORE],
  standardHeaders: [`${EXPRESS}, hono-rate-limiter`, NEW_HEADERS],
  legacyHeaders: [EXPRESS, NEW_HEADERS],
  addHeaders: [FASTIFY, NEW_HEADERS],
  addHeadersOnExceeding: [FASTIFY, NEW_HEADERS],
  enableDraftSpec: [FASTIFY, NEW_HEADERS],
  message: [`${EXPRESS}, hono-rate-limiter`, NEW_BODY],
  statusCode: [`${EXPRESS}, hono-rate-limiter`, NEW_BODY],
  handler: [`${EXPRESS}, hono-rate-limiter`, NEW_BODY],
  errorResponseBuilder: [FASTIFY, NEW_BODY],
  passOnStoreError: [EXPRESS, NEW_FALLBACK],
  skipOnError: [FASTIFY, NEW_FALLBACK],
  insuranceLimiter: [FLEXIBLE, NEW_FALLBACK],
  skipFailedRequests: [`${EXPRESS}, hono-rate-limiter`, NEW_REFUND],
  skipSuccessfulRequests: [`${EXPRESS}, hono-rate-limiter`, NEW_REFUND],
  requestWasSuccessful: [`${EXPRESS}, hono-rate-limiter`, NEW_REFUND],
  allowList: [FASTIFY, NEW_SKIP],
  onExceeding: [FASTIFY, NEW_OBSERVE],
  onExceeded: [FASTIFY, NEW_OBSERVE],
};

/**
 * What to write here instead of an option of another library, as the rest of a sentence; undefined for any other name.
 */
export function replacementOf(name: string): string | undefined {
  if (!Object.hasOwn(FOREIGN, name)) return undefined;
  const [libraries, here] = FOREIGN[name] as readonly [string, string];
  return ` (of ${libraries}). Here: ${here}. See ${DOCS}/options.md`;
}
