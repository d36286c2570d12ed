import { createLimiter, perSecond } from "sluice";
import { createGate } from "sluice/http";
import { webReader } from "sluice/web";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { replacementOf } from "../../src/diagnostics/foreign-options.js";

const policy = { capacity: 5, refill: perSecond(1) };
const key = () => "ann";

/** The message of what `make` throws. */
function complaint(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    return (error as TypeError).message;
  }
  return "nothing";
}
const ofGate = (options: object) => complaint(() => createGate({ policy, key, ...options } as never, webReader));
const ofLimiter = (options: object) => complaint(() => createLimiter({ policy, ...options } as never));

describe("an option of another library", () => {
  test.each([
    ["windowMs", "policy: { capacity: 100, refill: { tokens: 100, everyMs: 900_000 } }"],
    ["max", "policy: { capacity: 100"],
    ["points", "policy: { capacity: 100"],
    ["timeWindow", "policy: { capacity: 100"],
    ["keyGenerator", 'key: (request) => ["user", request.user?.id]'],
    ["keyPrefix", "a `name` in the policy"],
    ["storeClient", "store: new RedisStore(client)"],
    ["standardHeaders", 'headers: ["triple", "draft-11"]'],
    ["legacyHeaders", "headers: [xRateLimit]"],
    ["addHeaders", "headers: [xRateLimit]"],
    ["message", 'respond: ({ problem }) => ({ ...problem, message: "Slow down" })'],
    ["skipFailedRequests", "actualCost: ({ status }) => (status >= 400 ? 0 : undefined)"],
    ["skipSuccessfulRequests", "actualCost: ({ status }) => (status < 400 ? 0 : undefined)"],
    ["passOnStoreError", 'onStoreError: "local"'],
    ["insuranceLimiter", 'onStoreError: "local"'],
    ["allowList", "skip: (request) => boolean"],
    ["onExceeded", "onDecision: (decision, request) => void"],
    ["handler", "`respond` with the arguments of a handler for any other answer"],
    ["blockDuration", "limiter.block(key, ms)"],
    ["ban", "limiter.block(key, ms)"],
    ["continueExceeding", "there is no such option"],
    ["delayMs", "limiter: createWaiter(limiter, { maxWaitMs: 2_000 })"],
    ["ttl", "policy: { capacity: 100"],
    ["throttlers", "policy: { limits: ["],
    ["ipv6Subnet", "addressKey(request.ip, { ipv6Prefix: 56 })"],
    ["requestPropertyName", "decisionOf(request)"],
    ["timeoutMs", "`timeoutMs` of the store"],
    ["requestWasSuccessful", "the test goes into `actualCost`"],
    ["maxQueueSize", "`maxWaitersPerKey` of `createWaiter`"],
    ["whiteList", "skip: (request) => boolean"],
    ["hook", 'hook: "preHandler"'],
    ["retryAfter", 'headers: ["triple", "draft-11", retryAfterDate]'],
  ])("%s of a gate gets the text that replaces it", (name, here) => {
    const message = ofGate({ [name]: 1 });
    expect(message).toMatch(new RegExp(`^Unknown option \`${name}\` \\(of [a-z@/, -]+\\)\\. Here: `));
    expect(message).toContain(here);
    expect(message).toMatch(/\. See (?:https:\S+\/docs\/moving\/from-[\w-]+\.md(?:, |$))+$/);
    expect(message).not.toContain("\n");
  });

  test.each([
    ["legacyHeaders", "from-express-rate-limit"],
    ["points", "from-rate-limiter-flexible"],
    ["timeWindow", "from-fastify-rate-limit"],
    ["binding", "from-hono-rate-limiter"],
    ["ttl", "from-nestjs-throttler"],
    ["delayAfter", "from-express-slow-down"],
    ["windowMs", "from-express-rate-limit"],
    ["windowMs", "from-hono-rate-limiter"],
  ])("%s names the guide %s", (name, guide) => {
    expect(ofGate({ [name]: 1 })).toContain(`/docs/moving/${guide}.md`);
  });

  test("of a limiter says when it belongs to a middleware", () => {
    expect(ofLimiter({ windowMs: 1 })).toContain("Here: `policy: { capacity: 100");
    expect(ofLimiter({ keyGenerator: key })).toContain("Here: in the options of a middleware, `key: (request)");
  });

  test("inside a policy gets its text too", () => {
    expect(ofLimiter({ policy: { points: 5, duration: 1 } })).toMatch(/^Unknown option `points` \(of rate-limiter-flexible\)\. Here: `policy:/);
    expect(ofGate({ policy: { windowMs: 1 } })).toContain("Unknown option `windowMs` (of express-rate-limit, hono-rate-limiter)");
    expect(ofLimiter({ policy: { limit: 5, windowMs: 1_000 } })).toMatch(/^Unknown option `limit` \(of express-rate-limit, hono-rate-limiter, @nestjs\/throttler\)/);
  });
});

test("no replacement names an option that is gone", () => {
  const text = readFileSync(new URL("../../src/diagnostics/foreign-options.ts", import.meta.url), "utf8");
  expect(text.match(/refundWhen|storeTimeoutMs|localShare|wallClock|partitionKey|draftPr|`charges|preflights|\b(?:wait|body|retryAfter|charges):|"blocked"|"unlimited"/g)).toBeNull();
});

describe("a misspelt or misplaced option", () => {
  test.each([
    ["sotre", "store"],
    ["kye", "key"],
    ["hedaers", "headers"],
    ["skp", "skip"],
    ["cots", "cost"],
    ["actualcost", "actualCost"],
    ["respnd", "respond"],
    ["onStoreErr", "onStoreError"],
  ])("%s suggests the nearest name, %s", (name, meant) => {
    expect(ofGate({ [name]: 1 })).toBe(`Unknown option \`${name}\`. Did you mean \`${meant}\`?`);
  });

  test.each(["capacity", "refill", "limits", "name"])("%s beside the policy says where it belongs", (name) => {
    expect(ofLimiter({ [name]: 1 })).toBe(`Unknown option \`${name}\`. It belongs in \`policy: { … }\``);
  });

  test("of a store says where it belongs", () => {
    expect(ofGate({ clock: () => 0 })).toBe("Unknown option `clock`. It belongs to the store, as in `new MemoryStore({ clock })`");
  });

  test("with no name near it lists all", () => {
    expect(replacementOf("nonsense", ["store", "clock"])).toBeUndefined();
    expect(ofLimiter({ nonsense: 1 })).toMatch(/^Unknown option `nonsense`\. Known options: `policy`, `store`, /);
  });
});
