import { DOCS } from "../warnings/docs.js";

/** What to write here instead, and where: `gate` options belong to a middleware, `policy` options to a policy. */
interface Replacement {
  readonly of: string;
  readonly here: string;
  readonly gate?: boolean;
}

const POLICY_TEXT = "`policy: { capacity: 100, refill: { tokens: 100, everyMs: 900_000 } }` is a burst of 100 and 100 every 15 minutes";
const KEY_TEXT = '`key: (request) => ["user", request.user?.id]`, from the signed-in user';
const NAME_TEXT = "a `name` in the policy; `prefix` of RedisStore for all of a service";
const STORE_TEXT = "`store: new RedisStore(client)`, from sluice/redis";
const X_FIELDS_TEXT = "`headers: [xRateLimit]` for X-RateLimit fields, from sluice/http";
const FIELDS_TEXT = '`headers: ["triple", "draft-11"]`, the default, or `[]` for none';
const BODY_TEXT = '`body: (problem) => ({ ...problem, message: "Slow down" })`';
const RESPOND_TEXT = "`respond: (refusal, request, response) => …`, which sends any response; the header fields are set already";
const DECISION_TEXT = "`decisionOf(request)`, from the same module";
const FALLBACK_TEXT = '`onStoreError: "local"`, the default, `"allow"` or `"unavailable"`';
const OBSERVE_TEXT = "`onDecision: (decision, request) => void`, and look at `decision.allowed`";
const NONE_TEXT = "there is no such option";

const EXPRESS = "express-rate-limit";
const FLEXIBLE = "rate-limiter-flexible";
const FASTIFY = "@fastify/rate-limit";
const HONO = "hono-rate-limiter";

const FOREIGN: Readonly<Record<string, Replacement>> = {
  windowMs: { of: `${EXPRESS}, ${HONO}`, here: POLICY_TEXT },
  max: { of: `${EXPRESS}, ${FASTIFY}`, here: POLICY_TEXT },
  limit: { of: `${EXPRESS}, ${HONO}`, here: POLICY_TEXT },
  timeWindow: { of: FASTIFY, here: POLICY_TEXT },
  points: { of: FLEXIBLE, here: POLICY_TEXT },
  duration: { of: FLEXIBLE, here: POLICY_TEXT },
  keyPrefix: { of: FLEXIBLE, here: NAME_TEXT },
  nameSpace: { of: FASTIFY, here: NAME_TEXT },
  groupId: { of: FASTIFY, here: "one policy `name` for the routes that share a budget" },
  storeClient: { of: FLEXIBLE, here: STORE_TEXT },
  redis: { of: FASTIFY, here: STORE_TEXT },
  binding: { of: HONO, here: `${NONE_TEXT}; a \`store\` of your own can use a binding, see sluice/store` },
  insuranceLimiter: { of: FLEXIBLE, here: FALLBACK_TEXT },
  passOnStoreError: { of: EXPRESS, here: FALLBACK_TEXT },
  skipOnError: { of: FASTIFY, here: FALLBACK_TEXT },
  inMemoryBlockOnConsumed: { of: FLEXIBLE, here: "`denyCacheMs` of RedisStore and PostgresStore, on by default" },
  blockDuration: { of: FLEXIBLE, here: NONE_TEXT },
  execEvenly: { of: FLEXIBLE, here: "`createWaiter(limiter).wait(key)`, which waits for tokens" },
  ban: { of: FASTIFY, here: NONE_TEXT },
  cache: { of: FASTIFY, here: "`store: new MemoryStore({ maxKeys: 100_000 })`" },
  continueExceeding: { of: FASTIFY, here: `${NONE_TEXT}: a refusal never lengthens a wait` },
  keyGenerator: { of: `${EXPRESS}, ${FASTIFY}, ${HONO}`, here: KEY_TEXT, gate: true },
  ipv6Subnet: { of: EXPRESS, here: "`key`; an address is never the default key", gate: true },
  identifier: { of: EXPRESS, here: NAME_TEXT },
  requestPropertyName: { of: EXPRESS, here: DECISION_TEXT, gate: true },
  validate: { of: EXPRESS, here: "`silenceWarnings(code)`" },
  global: { of: FASTIFY, here: "`global` of the plugin in sluice/fastify, or `config: { rateLimit: false }` on the routes without a limit" },
  hook: { of: FASTIFY, here: "`hook` in sluice/fastify, for the plugin or a route" },
  standardHeaders: { of: `${EXPRESS}, ${HONO}`, here: FIELDS_TEXT, gate: true },
  enableDraftSpec: { of: FASTIFY, here: FIELDS_TEXT, gate: true },
  legacyHeaders: { of: EXPRESS, here: X_FIELDS_TEXT, gate: true },
  addHeaders: { of: FASTIFY, here: X_FIELDS_TEXT, gate: true },
  addHeadersOnExceeding: { of: FASTIFY, here: X_FIELDS_TEXT, gate: true },
  message: { of: `${EXPRESS}, ${HONO}`, here: BODY_TEXT, gate: true },
  statusCode: { of: `${EXPRESS}, ${HONO}`, here: RESPOND_TEXT, gate: true },
  handler: { of: `${EXPRESS}, ${HONO}`, here: RESPOND_TEXT, gate: true },
  errorResponseBuilder: { of: FASTIFY, here: BODY_TEXT, gate: true },
  skipFailedRequests: { of: `${EXPRESS}, ${HONO}`, here: "`refundWhen: (outcome) => outcome.status >= 400`", gate: true },
  skipSuccessfulRequests: { of: `${EXPRESS}, ${HONO}`, here: "`refundWhen: (outcome) => outcome.status < 400`", gate: true },
  requestWasSuccessful: { of: `${EXPRESS}, ${HONO}`, here: "the test goes into `refundWhen`", gate: true },
  allowList: { of: FASTIFY, here: "`skip: (request) => boolean`", gate: true },
  onExceeding: { of: FASTIFY, here: OBSERVE_TEXT, gate: true },
  onExceeded: { of: FASTIFY, here: OBSERVE_TEXT, gate: true },
};

/**
 * The text after an unknown option: what replaces an option of another library, where a misplaced one belongs, or the
 * nearest of the known names. Undefined when it has nothing to say.
 */
export function replacementOf(name: string, known: readonly string[]): string | undefined {
  if (["capacity", "refill", "limits"].includes(name)) return ". It belongs in `policy: { … }`";
  const foreign = Object.hasOwn(FOREIGN, name) ? (FOREIGN[name] as Replacement) : undefined;
  if (foreign === undefined) return nearest(name, known);
  const place = foreign.gate && !known.includes("key") ? "in the options of a middleware, " : "";
  return ` (of ${foreign.of}). Here: ${place}${foreign.here}. See ${DOCS}/options.md`;
}

function nearest(name: string, known: readonly string[]): string | undefined {
  const meant = [1, 2].flatMap((edits) => known.filter((each) => isNear(name.toLowerCase(), each.toLowerCase(), edits)))[0];
  return meant === undefined ? undefined : `. Did you mean \`${meant}\`?`;
}

/** Whether `a` becomes `b` when at most `edits` letters are changed, added, left out or swapped with the next. */
function isNear(a: string, b: string, edits: number): boolean {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  const [from, to] = [a.slice(i), b.slice(i)];
  if (from === to || edits === 0) return from === to;
  const isSwapped = from[0] === to[1] && from[1] === to[0];
  return (
    isNear(from.slice(1), to, edits - 1) || isNear(from, to.slice(1), edits - 1) || isNear(from.slice(1), to.slice(1), edits - 1) ||
    (isSwapped && isNear(from.slice(2), to.slice(2), edits - 1))
  );
}
