import { afterMs, createLimiter, MemoryStore, perSecond, unlimited } from "sluice";
import { createGate } from "sluice/http";
import * as forNode from "sluice/node";
import * as forWeb from "sluice/web";
import fastify from "fastify";
import * as forExpress from "sluice/express";
import * as forFastify from "sluice/fastify";
import * as forHono from "sluice/hono";
import { ManualClock } from "sluice/testing";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DOCS } from "../../src/warnings/warnings.js";
import { replacementOf } from "../../src/diagnostics/moving/misspelt.js";

const { webReader } = forWeb;
const UNREAD = "A refusal is not thrown: look at `(await limiter.consume(key)).allowed`, or write `granted(await limiter.consume(key))`.";
const policy = { capacity: 5, refill: perSecond(1) };
const key = () => "ann";

/** A message without the names of its policies: each has a new one. */
const unnamed = (message: string): string => message.replace(/name: "limit-\d+", /g, "");

/** The message of what `make` throws. */
function complaint(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    return unnamed((error as TypeError).message);
  }
  return "nothing";
}
const ofGate = (options: object) => complaint(() => createGate({ policy, key, ...options } as never, webReader));
const ofLimiter = (options: object) => complaint(() => createLimiter({ policy, ...options } as never));

describe("an option of another library", () => {
  test.each([
    ["windowMs", "policy: { refill: { tokens: 5, everyMs: 1 } }"],
    ["max", "policy: { refill: perMinute(1) }"],
    ["points", "policy: { refill: perSecond(1) }"],
    ["timeWindow", "policy: { refill: { tokens: 1_000, everyMs: 1 } }"],
    ["keyGenerator", 'key: (request) => ["user", userOf(request)]` with your own `userOf`'],
    ["keyPrefix", "a `name` in the policy"],
    ["storeClient", "store: new RedisStore(client)"],
    ["standardHeaders", 'headers: [triple(), draft11()]'],
    ["legacyHeaders", "headers: [xRateLimit()]"],
    ["addHeaders", "headers: [xRateLimit()]"],
    ["message", 'respond: ({ problem }) => ({ ...problem, message: "Slow down" })'],
    ["skipFailedRequests", "actualCost: ({ status }) => (status >= 400 ? 0 : undefined)"],
    ["skipSuccessfulRequests", "actualCost: ({ status }) => (status < 400 ? 0 : undefined)"],
    ["skipSuccessfulRequests", "guides/login.md before you limit a login"],
    ["passOnStoreError", 'onStoreError: "local"'],
    ["insuranceLimiter", 'onStoreError: "local"'],
    ["allowList", "skip: (request) => boolean"],
    ["onExceeded", "onDecision: (decision, request) => void"],
    ["handler", "`respond` with the arguments of a handler for any other answer"],
    ["blockDuration", "limiter.block(key, ms)"],
    ["ban", "limiter.block(key, ms)"],
    ["continueExceeding", "there is no such option"],
    ["delayMs", "limiter: createWaiter(limiter, { maxWaitMs: 2_000 })"],
    ["ttl", "policy: { refill: { tokens: 100"],
    ["throttlers", "policy: { limits: ["],
    ["ipv6Subnet", "addressKey(request.ip, { ipv6Prefix: 56 })"],
    ["requestPropertyName", "decisionOf(request)"],
    ["timeoutMs", "`timeoutMs` of the store"],
    ["requestWasSuccessful", "the test goes into `actualCost`"],
    ["maxQueueSize", "`maxWaitersPerKey` of `createWaiter`"],
    ["whiteList", "skip: (request) => boolean"],
    ["hook", 'hook: "preHandler"'],
    ["retryAfter", 'headers: [triple(), draft11(), retryAfterDate()]'],
  ])("%s of a gate gets the text that replaces it", (name, here) => {
    const message = ofGate({ [name]: 1 });
    expect(message).toMatch(new RegExp(`^Unknown option \`${name}\` \\(of [a-z@/, -]+\\)\\. Here: `));
    expect(message).toContain(here);
    expect(message).toMatch(/\. See https:\S+\/docs\/moving\/from-[\w-]+\.md$/);
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
  ])("%s names the guide %s", (name, guide) => {
    expect(ofGate({ [name]: 1 })).toContain(`/docs/moving/${guide}.md`);
  });

  test("of a limiter says when it belongs to a middleware", () => {
    expect(ofLimiter({ windowMs: 1_000 })).toContain("Here: `policy: { refill: perSecond(5) }`");
    expect(ofLimiter({ keyGenerator: key })).toContain("Here: in the options of a middleware, `key: (request)");
  });

  test("inside a policy gets its text too", () => {
    expect(ofLimiter({ policy: { points: 5, duration: 1 } })).toBe(
      `Unknown options \`points\` and \`duration\` (of rate-limiter-flexible). Here: \`policy: { refill: perSecond(5) }\`, or, for never more than 5 in any second, \`capacity: 5, returns: afterMs(1_000)\`. ${UNREAD} See ${DOCS}/moving/from-rate-limiter-flexible.md`,
    );
    expect(ofGate({ policy: { windowMs: 1 } })).toContain("Unknown option `windowMs` (of express-rate-limit). Here: `policy: { refill: { tokens: 5,");
  });
});

describe("all old options are named at once, with the caller's own numbers and the guide of the adapter", () => {
  const cures = "for `keyGenerator`, `key: (request) => [\"user\", request.user?.id]`, from the signed-in user; " +
    "for `standardHeaders`, `headers: [triple(), draft11()]`, the default, or `[]` for none";

  test("express-rate-limit in sluice/express", () => {
    const old = { windowMs: 60_000, limit: 5, keyGenerator: key, standardHeaders: true };
    expect(complaint(() => forExpress.rateLimit(old as never))).toBe(
      "Unknown options `windowMs`, `limit`, `keyGenerator` and `standardHeaders` (of express-rate-limit). " +
        `Here: for \`windowMs\` and \`limit\`, \`policy: { refill: perMinute(5) }\`, or, for never more than 5 in any minute, \`capacity: 5, returns: afterMs(60_000)\`; ${cures}. See ${DOCS}/moving/from-express-rate-limit.md`,
    );
  });

  test.each([
    ["express", forExpress.rateLimit, '(request) => ["user", request.user?.id]`', "addressKey(request.ip)"],
    ["fastify", (options: object) => createGate(options as never, { ...webReader, adapter: "fastify" }), '(request) => ["user", request.user?.id]`', "addressKey(request.ip)"],
    ["hono", forHono.rateLimit, '(c) => ["user", c.var.userId]`', "addressKey(getConnInfo(c).remote.address)"],
    ["node", forNode.rateLimit, '(request) => ["user", userOf(request)]` with your own `userOf`', "addressKey(address)"],
    ["web", forWeb.rateLimit, '(request) => ["user", userOf(request)]` with your own `userOf`', "addressKey(address)"],
  ])("a key is written as %s has it", (_, make, key, address) => {
    expect(complaint(() => (make as (options: object) => unknown)({ policy }))).toContain(`Write \`key: ${key}, or \`${address}\` for callers`);
    expect(complaint(() => (make as (options: object) => unknown)({ policy, keyGenerator: 1 }))).toContain(`Here: \`key: ${key}, from the signed-in user`);
  });

  test("the same options in sluice/hono are of hono-rate-limiter", () => {
    const old = { windowMs: 900_000, limit: 1_000, keyGenerator: key, standardHeaders: true };
    const message = complaint(() => forHono.rateLimit(old as never));
    expect(message).toContain("(of hono-rate-limiter). Here: for `windowMs` and `limit`, `policy: { refill: { tokens: 1_000, everyMs: 900_000 } }`, or, for never more than 1_000 in any 900_000 ms, `capacity: 1_000, returns: afterMs(900_000)`; ");
    expect(message).toMatch(/\. See \S+\/from-hono-rate-limiter\.md$/);
  });

  test.each([
    ["{ tokens: 100, everyMs: 900_000 }", "900_000 ms, `capacity: 100, returns: afterMs(900_000)", { max: 100, timeWindow: "15 minutes" }],
    ["perHour(100)", "hour, `capacity: 100, returns: afterMs(3_600_000)", { max: 100, timeWindow: "1 hour" }],
    ["perDay(100)", "day, `capacity: 100, returns: afterMs(86_400_000)", { max: 100, timeWindow: 86_400_000 }],
    ["perMinute(100)", "minute, `capacity: 100, returns: afterMs(60_000)", { max: 100 }],
  ])("@fastify/rate-limit in sluice/fastify, %s", async (refill, strict, old) => {
    const app = fastify();
    await expect(Promise.resolve(app.register(forFastify.rateLimit, old as never)).catch((error: unknown) => Promise.reject(new Error(unnamed(String(error)))))).rejects.toThrow(
      `(of @fastify/rate-limit). Here: \`policy: { refill: ${refill} }\`, or, for never more than 100 in any ${strict}\`. See ${DOCS}/moving/from-fastify-rate-limit.md`,
    );
    await app.close();
  });

  test("the package with most of the options is named in any adapter", () => {
    expect(complaint(() => forExpress.rateLimit({ points: 5, duration: 60 } as never))).toContain(`returns: afterMs(60_000)\`. ${UNREAD} See`);
    expect(ofGate({ windowMs: 1_000, max: 5, requestPropertyName: "limit" })).toContain("(of express-rate-limit)");
  });

  test.each<[numbers: string, old: object]>([
    ["refill: perMinute(n)", { windowMs: 60_000, limit: () => 5 }],
    ["refill: { tokens: n, everyMs: 90_000 }", { windowMs: 90_000, max: async () => 5 }],
    ["refill: { tokens: 5, everyMs: ms }", { timeWindow: () => 1_000, max: 5 }],
    ["refill: { tokens: n, everyMs: ms }", { timeWindow: () => 1_000, max: () => 5 }],
  ])("a limit or window that is a function becomes a function that picks the policy: %s", (numbers, old) => {
    expect(complaint(() => forExpress.rateLimit(old as never))).toContain(
      `Here: \`policy: (request) => …\`, which returns a policy made once by \`definePolicy({ ${numbers} })\`. See `,
    );
  });

  test.each([1, 2, 7, 250])("never more than %i in any minute is what its numbers serve to a caller that never stops", (count) => {
    const message = complaint(() => forExpress.rateLimit({ windowMs: 60_000, max: count } as never));
    const [, capacity, ms] = new RegExp(`, for never more than ${count} in any minute, \`capacity: (\\d+), returns: afterMs\\(([\\d_]+)\\)\``).exec(message) ?? [];
    const clock = new ManualClock();
    const policy = { name: "strict", capacity: Number(capacity), returns: afterMs(Number(ms?.replaceAll("_", ""))) };
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
    let served = 0;
    for (; clock.now() < 60_000; clock.advance(10)) while (limiter.consume("ann").allowed) served++;
    expect(served).toBe(count);
  });

  test("a limit of a wrong type has no numbers, so the text names others", () => {
    expect(complaint(() => forExpress.rateLimit({ windowMs: 60_000, limit: "5" } as never))).toContain("Here: `policy: { refill: { tokens: 100");
  });
});

describe("a queue of jobs has the caller's own numbers", () => {
  const jobs = (policy: string) => `Here: \`createWaiter(createLimiter({ policy: ${policy} }))\`, and \`run(waiter, key, work)\` for each job. See ${DOCS}/moving/from-bottleneck.md`;

  test.each<[of: string, old: object, policy: string]>([
    ["bottleneck", { maxConcurrent: 3 }, "{ capacity: 3, returns: whenDone() }"],
    ["bottleneck", { minTime: 333 }, "{ refill: { tokens: 1, everyMs: 333 } }"],
    ["bottleneck", { maxConcurrent: 1, minTime: 333 }, '{ limits: [{ name: "parallel", capacity: 1, returns: whenDone() }, { name: "pause", refill: { tokens: 1, everyMs: 333 } }] }'],
    ["bottleneck", { reservoir: 100, reservoirRefreshAmount: 100, reservoirRefreshInterval: 60_000 }, "{ refill: perMinute(100) }"],
    ["bottleneck", { reservoir: 40, reservoirIncreaseAmount: 2, reservoirIncreaseInterval: 1_000, reservoirIncreaseMaximum: 80 }, "{ capacity: 80, refill: perSecond(2) }"],
    ["bottleneck", { maxConcurrent: 5, minTime: 20, reservoir: 30, reservoirRefreshAmount: 30, reservoirRefreshInterval: 3_600_000 }, '{ limits: [{ name: "parallel", capacity: 5, returns: whenDone() }, { name: "pause", refill: { tokens: 1, everyMs: 20 } }, { name: "rate", refill: perHour(30) }] }'],
    ["bottleneck", { minTime: 1_000 / 3 }, "{ capacity: 1, refill: perSecond(3) }"],
    ["bottleneck", { maxConcurrent: 1, minTime: 62.5 }, '{ limits: [{ name: "parallel", capacity: 1, returns: whenDone() }, { name: "pause", capacity: 1, refill: { tokens: 2, everyMs: 125 } }] }'],
    ["bottleneck", { minTime: Math.PI * 100 }, "{ refill: { tokens: 1, everyMs: 315 } }"], // rounded up: never faster
    ["p-queue", { interval: 1_000 / 3, intervalCap: 2 }, "{ capacity: 2, refill: perSecond(6) }"],
    ["p-queue", { concurrency: 4 }, "{ capacity: 4, returns: whenDone() }"],
    ["p-queue", { interval: 1_000, intervalCap: 10 }, "{ refill: perSecond(10) }"],
    ["p-queue", { concurrency: 2, interval: 5_000, intervalCap: 10 }, '{ limits: [{ name: "parallel", capacity: 2, returns: whenDone() }, { name: "rate", refill: { tokens: 10, everyMs: 5_000 } }] }'],
    ["p-queue", { concurrency: Infinity }, '{ limits: [{ name: "parallel", capacity: 5, returns: whenDone() }, { name: "rate", refill: perSecond(10) }] }'],
  ])("of %s: %j", (of, old, text) => {
    const message = complaint(() => createLimiter(old as never));
    expect(message).toContain(`(of ${of}). ${jobs(text)}`);
  });

  test.each([
    ["bottleneck", ["highWater", "strategy", "penalty", "rejectOnDrop", "weight", "priority", "expiration", "datastore", "clearDatastore", "clientOptions", "id", "Redis", "trackDoneStatus", "heartbeatInterval"]],
    ["p-queue", ["timeout", "throwOnTimeout", "autoStart", "queueClass", "carryoverConcurrencyCount"]],
    ["@upstash/ratelimit", ["limiter", "prefix", "analytics", "ephemeralCache", "enableProtection", "denyListThreshold", "dynamicLimits"]],
  ])("each option of %s is named as its own", (of, names) => {
    for (const name of names) expect(complaint(() => createLimiter({ policy, [name]: 1 } as never))).toMatch(new RegExp(`^Unknown option \`${name}\` \\(of ${of}\\)\\. Here: .+\\. See `));
  });

  test("of @upstash/ratelimit: its limiters are told by their sense, because their numbers cannot be read", () => {
    const message = complaint(() => createLimiter({ redis: {}, limiter: () => ({}), analytics: true, prefix: "x", timeout: 1_000 } as never));
    expect(message).toContain("Unknown options `redis`, `limiter`, `analytics`, `prefix` and `timeout` (of @upstash/ratelimit). Here: ");
    expect(message).toContain("for `timeout`, `timeoutMs` of the store");
    expect(message).toContain(`. See ${DOCS}/moving/from-upstash-ratelimit.md`);
    expect(message).toContain('for `limiter`, `policy: { refill: { tokens: 10, everyMs: 10_000 } }` is `slidingWindow(10, "10 s")`');
  });
});

describe("a replacement has a name of its own", () => {
  test("also where its own is none for a policy", () => {
    for (const name of ['a"b', "a b", "$&", ""]) {
      expect(ofGate({ windowMs: 60_000, limit: 5, name })).toContain("`policy: { refill: perMinute(5) }`"); // with a name that was taken out
    }
    expect(ofGate({ windowMs: 60_000, limit: 5, name: "my.api-2" })).toContain('{ name: "my.api-2", refill: perMinute(5) }');
  });

  // The names of this process, of which at most 1,000 are kept: other files may have made as many.
  const names = Symbol.for("sluice.1.policyNames");
  const all = globalThis as unknown as Record<symbol, unknown>;
  let before: unknown;
  beforeEach(() => {
    before = all[names];
    all[names] = new Set<string>();
  });
  afterEach(() => void (all[names] = before));

  const nameIn = (old: object): string => {
    try {
      createLimiter(old as never);
    } catch (error) {
      return /name: "([^"]+)"/.exec((error as Error).message)?.[1] as string;
    }
    return "none";
  };

  test("so that pasting two of them works", () => {
    const store = new MemoryStore();
    const names = [{ points: 3, duration: 60 }, { points: 3, duration: 60 }, { points: 9, duration: 1 }, { maxConcurrent: 2 }].map(nameIn);
    expect(new Set(names).size).toBe(4);
    for (const name of names) createLimiter({ policy: { name, capacity: names.indexOf(name) + 1, refill: perSecond(1) }, store });
    expect(names).not.toContain(nameIn({ points: 3 }));
  });

  test("that no policy of this process has, and the one that the caller wrote stays", () => {
    const next = Number(nameIn({ points: 1 }).slice(6)) + 1;
    createLimiter({ policy: { name: `limit-${next}`, capacity: 1, refill: perSecond(1) } });
    expect(nameIn({ points: 1 })).toBe(`limit-${next + 1}`);
    expect(nameIn({ policy: { name: "mine", points: 5, duration: 1 } })).toBe("mine");
  });
});

test("no replacement names an option that is gone", () => {
  const text = readFileSync(new URL("../../src/diagnostics/moving/foreign-options.ts", import.meta.url), "utf8");
  expect(text.match(/refundWhen|storeTimeoutMs|localShare|wallClock|partitionKey|draftPr|`charges|preflights|\b(?:wait|body|retryAfter|charges):|"blocked"|"unlimited"/g)).toBeNull();
});

test("`unlimited` in place of a policy says what to write", () => {
  const expectation = "Expected `policy` to be an object with `refill`, or with `limits`, got `unlimited`. ";
  expect(ofGate({ policy: unlimited })).toBe(`${expectation}Write \`skip\`, or \`policy: () => unlimited\``);
  expect(ofLimiter({ policy: unlimited })).toBe(`${expectation}Write \`consume(key, { policy: unlimited })\``);
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

  test.each<[page: string, here: string, names: string]>([
    ["rate-window-quota", "`capacity: 100, returns: afterMs(60_000)` is a sliding window", "slidingWindow fixedWindow sliding-window SLIDING_WINDOW"],
    ["rate-window-quota", "A quota carries nothing over", "carryOver rollover carryOverTokens"],
    ["waiting", "limiter: createWaiter(limiter, { maxWaitMs: 2_000 })", "slowDown delay"],
    ["in-flight", "`capacity: 4, returns: whenDone()`", "concurrent maxConcurrency maxConcurrentRequests maxInFlight"],
    ["priority", "To keep tokens for some calls", "reserve reserved"],
    ["fines-and-blocks", "`limiter.block(key, ms)`", "block blockFor banFor banDuration"],
    ["recipes", "`skip: (request) => boolean`", "allowlist whitelist allow"],
    ["recipes", "`limiter.block(key, ms)`", "denyList blocklist blacklist deny"],
    ["changing-limits", "No limit adapts by itself", "adaptive adaptiveLimit"],
  ])("what users ask for by name gets the page %s: %s", (page, here, names) => {
    for (const name of names.split(" ")) {
      for (const message of [ofGate({ [name]: 1 }), ofLimiter({ [name]: 1 }), ofLimiter({ policy: { ...policy, [name]: 1 } })]) {
        expect(message).toMatch(new RegExp(`^Unknown option \`${name}\`\\. .+ See ${DOCS}/guides/${page}\\.md`));
        expect(message).toContain(here);
      }
    }
  });

  test.each([
    ["priority", "guides/priority.md"], ["concurrency", "returns: whenDone()"], ["ban", "limiter.block(key, ms)"],
    ["allowList", "skip: (request) => boolean"], ["skipSuccessfulRequests", "guides/login.md"],
  ])("%s, which another package has, gets its hint everywhere, too", (name, here) => {
    for (const message of [ofGate({ [name]: 1 }), ofLimiter({ [name]: 1 }), ofLimiter({ policy: { ...policy, [name]: 1 } })]) expect(message).toContain(here);
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
