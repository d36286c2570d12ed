import { DOCS } from "../core/docs.js";

const POLICY = "`policy: { capacity: 100, refill: { tokens: 100, everyMs: 900_000 } }`, a burst of 100 and 100 every 15 minutes";
const KEY = "`key: (request) => [\"user\", request.user.id]`, from the signed-in user";
const STORE = "`store: new RedisStore(client)`, from sluice/redis";
const HEADERS = '`headers: ["triple", "draft-11"]`, the default; `[]` for none';
const BODY = "`body: (problem) => ({ ...problem, message: \"Slow down\" })`; the status of a refusal is 429";
const FALLBACK = '`onStoreError: "local"`, the default, `"allow"` or `"unavailable"`';
const REFUND = "`refundWhen: (outcome) => outcome.status < 400`, which gives the tokens back after the answer";
const SKIP = "`skip: (request) => boolean`";
const OBSERVE = "`onDecision: (decision, request) => void`";

const EXPRESS = "express-rate-limit";
const FLEXIBLE = "rate-limiter-flexible";
const FASTIFY = "@fastify/rate-limit";

/** By the option's name: the libraries that have it, and what to write here. */
const FOREIGN: Readonly<Record<string, readonly [libraries: string, here: string]>> = {
  windowMs: [`${EXPRESS}, hono-rate-limiter`, POLICY],
  max: [`${EXPRESS}, ${FASTIFY}`, POLICY],
  limit: [`${EXPRESS}, hono-rate-limiter`, POLICY],
  timeWindow: [FASTIFY, POLICY],
  points: [FLEXIBLE, POLICY],
  duration: [FLEXIBLE, POLICY],
  keyGenerator: [`${EXPRESS}, ${FASTIFY}, hono-rate-limiter`, KEY],
  keyPrefix: [FLEXIBLE, "a `name` in the policy, or `prefix` of RedisStore"],
  nameSpace: [FASTIFY, "a `name` in the policy, or `prefix` of RedisStore"],
  groupId: [FASTIFY, "one policy `name` for the routes that share a budget"],
  storeClient: [FLEXIBLE, STORE],
  redis: [FASTIFY, STORE],
  binding: ["hono-rate-limiter", STORE],
  standardHeaders: [`${EXPRESS}, hono-rate-limiter`, HEADERS],
  legacyHeaders: [EXPRESS, HEADERS],
  addHeaders: [FASTIFY, HEADERS],
  addHeadersOnExceeding: [FASTIFY, HEADERS],
  enableDraftSpec: [FASTIFY, HEADERS],
  message: [`${EXPRESS}, hono-rate-limiter`, BODY],
  statusCode: [`${EXPRESS}, hono-rate-limiter`, BODY],
  handler: [`${EXPRESS}, hono-rate-limiter`, BODY],
  errorResponseBuilder: [FASTIFY, BODY],
  passOnStoreError: [EXPRESS, FALLBACK],
  skipOnError: [FASTIFY, FALLBACK],
  insuranceLimiter: [FLEXIBLE, FALLBACK],
  skipFailedRequests: [`${EXPRESS}, hono-rate-limiter`, REFUND],
  skipSuccessfulRequests: [`${EXPRESS}, hono-rate-limiter`, REFUND],
  requestWasSuccessful: [`${EXPRESS}, hono-rate-limiter`, REFUND],
  allowList: [FASTIFY, SKIP],
  onExceeding: [FASTIFY, OBSERVE],
  onExceeded: [FASTIFY, OBSERVE],
};

/**
 * What to write here instead of an option of another library, as the rest of a sentence; undefined for any other name.
 */
export function replacementOf(name: string): string | undefined {
  if (!Object.hasOwn(FOREIGN, name)) return undefined;
  const [libraries, here] = FOREIGN[name] as readonly [string, string];
  return ` (of ${libraries}). Here: ${here}. See ${DOCS}/options.md`;
}
