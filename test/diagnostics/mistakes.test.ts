// Common mistakes, each as people write it, and the cure in what they are told: an error, a warning, or the page of a 500.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { afterEach, describe, expect, test, vi } from "vitest";
import { freePort } from "../helpers/free-port.js";
import { messageFrom, startProcess } from "../helpers/processes.js";
import { LaterStore } from "../helpers/stores.js";
import { freshSluice } from "../helpers/warned.js";
import type { Heard } from "../warnings/cluster-child.js";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});
/** Without the variables of test runners this process looks like a server. */
const outsideOfTests = (): void => ["VITEST", "NODE_ENV"].forEach((name) => void vi.stubEnv(name, ""));

/** A fresh copy of the package, in which no warning was given. */
async function load() {
  const { given, ...fresh } = await freshSluice();
  return {
    ...fresh, given,
    ...(await import("sluice/testing")), ...(await import("sluice/redis")), ...(await import("sluice/postgres")),
    forExpress: await import("sluice/express"), forHono: await import("sluice/hono"), forNode: await import("sluice/node"), forWeb: await import("sluice/web"),
  };
}
type Sluice = Awaited<ReturnType<typeof load>>;

/** Code of JavaScript, or code whose types were silenced. */
const any = (given: unknown): never => given as never;
const policy = { name: "api", capacity: 2, refill: { tokens: 2, everyMs: 60_000 } };

type Handler = (request: never, response: never, next: () => void) => unknown;
const signIn: Handler = (request, _response, next) => (Object.assign(request, { user: { id: 1 } }), next());

interface Served {
  readonly times?: number;
  readonly path?: string;
  readonly forwarded?: string;
  readonly trust?: boolean;
  readonly isLate?: boolean;
}

/** Asks an Express app with these handlers. Returns the texts of its answers. */
async function serve(handlers: readonly unknown[], { times = 1, path = "/", forwarded = "", trust = false, isLate = false }: Served = {}): Promise<string> {
  const app = express().set("env", "test").set("trust proxy", trust);
  if (isLate) app.get("/", (_request, response) => void response.send("ok"));
  for (const handler of handlers) app.use(handler as express.Handler);
  app.get("/", (_request, response) => void response.send("ok"));
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const texts: string[] = [];
  for (let i = 0; i < times; i++) {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { headers: forwarded === "" ? {} : { "x-forwarded-for": forwarded } });
    texts.push(response.status === 500 ? (await response.text()).replaceAll("&quot;", '"') : await response.text().then(() => ""));
  }
  server.closeAllConnections();
  server.close();
  return texts.join("");
}

/** What a developer is told: the error that is thrown, the text that is returned, and the warnings. */
async function told(write: (sluice: Sluice) => unknown): Promise<string> {
  const sluice = await load();
  const lines: string[] = [];
  try {
    const answer = await write(sluice);
    if (typeof answer === "string") lines.push(answer);
  } catch (error) {
    lines.push(String(error));
  }
  return [...lines, ...sluice.given.map(({ code, message, detail }) => `${code}: ${message} ${detail}`)].filter(Boolean).join("\n");
}

interface Mistake {
  readonly what: string;
  /** The ways to write it. */
  readonly ways: Readonly<Record<string, (sluice: Sluice) => unknown>>;
  /** The cure in what is told. Null where nothing is told. */
  readonly cure: RegExp | null;
  /** Where the cure stands instead. */
  readonly elsewhere?: string;
}

const key = () => "ann";
const old = (options: object) => ({ createLimiter }: Sluice): unknown => createLimiter(any(options));
const oldGate = (options: object) => ({ forExpress }: Sluice): unknown => forExpress.rateLimit(any(options));
const gate = (options: object, served?: Served) => ({ forExpress }: Sluice): unknown => serve([forExpress.rateLimit(any({ policy, key, ...options }))], served);
const limitOf = (limit: object) => ({ createLimiter }: Sluice): unknown => createLimiter({ policy: any({ capacity: 100, ...limit }) });

const MISTAKES: readonly Mistake[] = [
  { what: "`await` is forgotten", cure: /Write `await` before `consume`/, ways: {
    "over a store elsewhere": ({ createLimiter }) => (createLimiter({ policy, store: new LaterStore(() => 0) }).consume("a") as unknown as { allowed: boolean }).allowed,
  } },
  { what: "a limiter is made for each request", cure: /Make one and reuse it/, ways: {
    "in a handler": async ({ forExpress }) => (outsideOfTests(), serve([(...args: [never, never, never]) => forExpress.rateLimit({ policy, key })(...args)], { times: 100 })),
    "in a function": async ({ createLimiter }) => {
      outsideOfTests();
      for (let i = 0; i < 100; i++) await Promise.resolve(createLimiter({ policy }));
    },
  } },
  { what: "a rate in fractions", cure: /write \{ tokens: 1, everyMs: 2000 \}/, ways: {
    "perMinute(1.5)": ({ createLimiter, perMinute }) => createLimiter({ policy: { capacity: 1, refill: perMinute(1.5) } }),
    "perSecond(0.1)": ({ createLimiter, perSecond }) => createLimiter({ policy: { capacity: 1, refill: perSecond(0.1) } }),
  } },
  { what: "seconds in place of milliseconds", cure: null, elsewhere: "the names end in Ms", ways: {
    "everyMs: 60": limitOf({ refill: { tokens: 100, everyMs: 60 } }),
    "block(key, 60)": ({ createLimiter }) => createLimiter({ policy }).block("ann", 60),
  } },
  { what: "no trust in the proxy", cure: /app\.set\("trust proxy", 1\)/, ways: {
    "in Express": ({ forExpress, addressKey }) => serve([forExpress.rateLimit({ policy, key: ({ ip }) => addressKey(ip) })], { forwarded: "203.0.113.9" }),
  } },
  { what: "trust in every proxy", cure: /app\.set\("trust proxy", 1\)/, ways: {
    "in Express": ({ forExpress, addressKey }) => serve([forExpress.rateLimit({ policy, key: ({ ip }) => addressKey(ip) })], { forwarded: "203.0.113.9", trust: true }),
  } },
  { what: "`X-Forwarded-For` as the key", cure: /addressKey\(request\.ip\)/, ways: {
    "the header": gate({ key: (request: express.Request) => request.headers["x-forwarded-for"] }, { forwarded: "203.0.113.9, 198.51.100.2" }),
    "its first address": gate({ key: (request: express.Request) => String(request.headers["x-forwarded-for"]).split(",")[0] }, { forwarded: "203.0.113.9, 198.51.100.2" }),
  } },
  { what: "a key that is undefined", cure: /Mount the rate limit after authentication/, ways: {
    "the value": gate({ key: () => undefined }, { times: 20 }),
    "a part of a tuple": gate({ key: () => ["user", undefined] }, { times: 20 }),
    "not returned": gate({ key: () => {} }, { times: 20 }),
  } },
  { what: "a key with the text of no value", cure: /Write a tuple of the values, such as \["user", id\]/, ways: {
    undefined: gate({ key: () => `user:${undefined}` }), null: gate({ key: () => `user:${null}` }), NaN: gate({ key: () => ["user", String(Number("x"))] }), object: gate({ key: () => `user:${Object.prototype.toString.call({})}` }),
  } },
  { what: "a key of another kind", cure: /`key: \(request\) => \["user", request\.user\?\.id\]`|tuple such as \["user", 42\]/, ways: {
    "a string": gate({ key: "ip" }), missing: gate({ key: undefined }), "an object": gate({ key: () => ({ user: "ann" }) }),
  } },
  { what: "options of another limiter for HTTP", cure: /Here: .*`policy: \{ name: "limit-\d+", refill: /, ways: {
    "express-rate-limit": oldGate({ windowMs: 900_000, limit: 100, standardHeaders: true, keyGenerator: () => "a" }),
    "rate-limiter-flexible": old({ points: 5, duration: 1, blockDuration: 10 }),
    "@fastify/rate-limit": oldGate({ max: 100, timeWindow: "1 minute" }),
    "@nestjs/throttler": oldGate({ ttl: 60_000, limit: 10 }),
    "express-slow-down": oldGate({ windowMs: 900_000, delayAfter: 5, delayMs: 500 }),
    "in the policy": limitOf({ limit: 100, window: "1m" }),
  } },
  { what: "options of a queue, or of @upstash/ratelimit", cure: /of (?:bottleneck|p-queue|@upstash\/ratelimit)\)\. Here: .*policy: \{ name: "limit-\d+"/, ways: {
    bottleneck: old({ maxConcurrent: 1, minTime: 333, reservoir: 5 }), "p-queue": old({ concurrency: 2, interval: 1_000, intervalCap: 5 }), "@upstash/ratelimit": old({ redis: {}, limiter: () => 0, analytics: true }),
  } },
  { what: "mounted after the routes", cure: null, elsewhere: "docs/adapters/express.md", ways: { "in Express": gate({}, { times: 20, isLate: true }) } },
  { what: "mounted before authentication", cure: /Mount the rate limit after authentication/, ways: {
    share: ({ forExpress }) => serve([forExpress.rateLimit({ policy, key: (request) => ["user", (request as { user?: { id: number } }).user?.id] }), signIn], { times: 20 }),
    refuse: ({ forExpress }) => serve([forExpress.rateLimit({ policy, unidentified: "refuse", key: (request) => ["user", (request as { user?: { id: number } }).user?.id] }), signIn], { times: 20 }),
  } },
  { what: "Redis is down at the start", cure: /ECONNREFUSED.*Set `sharedBy`/s, ways: {
    ioredis: async ({ createLimiter, RedisStore }) => {
      const client = new Redis({ host: "127.0.0.1", port: await freePort(), retryStrategy: () => 20 }).on("error", () => undefined);
      await createLimiter({ policy, store: new RedisStore(client) }).consume("a");
      client.disconnect();
    },
  } },
  { what: "node-redis is not connected", cure: /write `await client\.connect\(\)`/, ways: {
    "a client": ({ createLimiter, RedisStore }) => createLimiter({ policy, store: new RedisStore(createClient()) }).consume("a").then(() => undefined),
  } },
  { what: "two limiters of one name with other numbers", cure: /give it another name/, ways: {
    "on one store": ({ createLimiter, MemoryStore }) => {
      const store = new MemoryStore();
      for (const capacity of [2, 9]) createLimiter({ policy: { ...policy, capacity }, store });
    },
  } },
  { what: "a limit twice on one route", cure: /two rate limits see it\. Keep one of them/, ways: {
    "the same": ({ forExpress }) => {
      const limited = forExpress.rateLimit({ policy, key });
      return serve([limited, limited], { times: 2 });
    },
    "with a memory store each": ({ forExpress }) => serve([forExpress.rateLimit({ policy, key }), forExpress.rateLimit({ policy, key })], { times: 2 }),
  } },
  { what: "a refill of another form", cure: /such as perSecond\(5\)|called, as in perMinute\(100\)|or perMinute\(5\)/, ways: {
    "a text": limitOf({ refill: "100/min" }), "a number": limitOf({ refill: 100 }), "not called": ({ perMinute, ...sluice }) => limitOf({ refill: perMinute })({ perMinute, ...sluice }), per: limitOf({ refill: { tokens: 5, per: "minute" } }), missing: limitOf({}),
  } },
  { what: "a quota of another form", cure: /made by (?:monthly|whenDone)\(\), got (?:"monthly"|a function)$|only one of `\w+` and `\w+`, got 2/, ways: {
    "a text": limitOf({ renews: "monthly" }), "not called": (sluice) => limitOf({ renews: sluice.monthly })(sluice), "in flight, not called": (sluice) => limitOf({ returns: sluice.whenDone })(sluice),
    "beside a refill": (sluice) => limitOf({ refill: sluice.perMinute(5), renews: sluice.monthly() })(sluice), "beside a return": (sluice) => limitOf({ returns: sluice.whenDone(), renews: sluice.monthly() })(sluice),
  } },
  { what: "a quota on a clock without dates", cure: /Pass `store: new MemoryStore\(\{ clock: Date\.now \}\)`/, ways: {
    monotonicClock: ({ createLimiter, monthly, MemoryStore, monotonicClock }) => createLimiter({ policy: { capacity: 100, renews: monthly() }, store: new MemoryStore({ clock: monotonicClock }) }),
  } },
  { what: "a quota on a clock of one's own without dates", cure: null, elsewhere: "docs/guides/rate-window-quota.md", ways: {
    "performance.now": ({ createLimiter, daily, MemoryStore }) => createLimiter({ policy: { capacity: 2, renews: daily() }, store: new MemoryStore({ clock: () => performance.now() }) }).consume("a"),
  } },
  { what: "work in flight that is never settled", cure: /Write run\(limiter, key, work\).*or settle\(key, decision, 0\) in a `finally`/, ways: {
    "by consume": ({ createLimiter, ManualClock, MemoryStore, whenDone }) => {
      const clock = new ManualClock(1_800_000_000_000);
      const limiter = createLimiter({ policy: { name: "parallel", capacity: 2, returns: whenDone() }, store: new MemoryStore({ clock: clock.now }) });
      limiter.consume("ann");
      clock.advance(60_000);
      limiter.consume("ann");
    },
  } },
  { what: "another framework's adapter, or one that is not called", cure: /from "sluice\/express"/, ways: {
    node: ({ forNode }) => serve([forNode.rateLimit({ policy, key })]), hono: ({ forHono }) => serve([forHono.rateLimit({ policy, key })]), web: ({ forWeb }) => serve([forWeb.rateLimit({ policy, key })]),
    "not called": ({ forExpress }) => serve([forExpress.rateLimit]),
  } },
  { what: "a client, a URL or a class as the store", cure: /[Ww]rite `new RedisStore\(|`new Redis\(url\)`|new `?PostgresStore\(|`new Pool\(\{ connectionString \}\)`|such as `new MemoryStore\(\)`/, ways: {
    client: ({ createLimiter }) => createLimiter({ policy, store: any(new Redis({ lazyConnect: true })) }), "a URL": ({ createLimiter }) => createLimiter({ policy, store: any("redis://localhost") }), "a URL of Postgres": ({ createLimiter }) => createLimiter({ policy, store: any("postgres://localhost/db") }),
    "a class": ({ createLimiter, MemoryStore }) => createLimiter({ policy, store: any(MemoryStore) }), "a URL for RedisStore": ({ RedisStore }) => new RedisStore(any("redis://localhost")), "a URL for PostgresStore": ({ PostgresStore }) => new PostgresStore(any("postgres://localhost")),
  } },
  { what: "a capacity that is no number", cure: /Policy "reports": Expected `capacity` to be a positive integer, got (?:"100"|NaN|undefined)/, ways: {
    "a text": limitOf({ name: "reports", capacity: "100", refill: policy.refill }), NaN: limitOf({ name: "reports", capacity: Number("x"), refill: policy.refill }), "no variable": limitOf({ name: "reports", capacity: process.env["SLUICE_NOT_SET"], refill: policy.refill }),
  } },
  { what: "a settlement under another key", cure: /Pass the key of its `consume`/, ways: {
    settle: ({ createLimiter }) => {
      const limiter = createLimiter({ policy });
      limiter.settle("bob", limiter.consume("ann"), 0);
    },
    refund: ({ createLimiter }) => {
      const limiter = createLimiter({ policy });
      limiter.refund("bob", limiter.consume("ann"));
    },
  } },
  { what: "a settlement with a copy of the decision", cure: null, elsewhere: "settle returns false", ways: {
    spread: ({ createLimiter }) => {
      const limiter = createLimiter({ policy });
      expect(limiter.settle("ann", { ...limiter.consume("ann") }, 0)).toBe(false);
    },
  } },
  { what: "a refusal that is never looked at", cure: null, elsewhere: "docs/moving/from-rate-limiter-flexible.md, and the hint for that library's options", ways: {
    "try and catch": ({ createLimiter }) => void createLimiter({ policy }).consume("ann"),
  } },
  { what: "a policy function that returns none", cure: /Return a policy for a plan that you do not know|Pass a copy to definePolicy first/, ways: { undefined: gate({ policy: () => undefined }), "a plain object": gate({ policy: () => policy }) } },
  { what: "half of two clocks as the clock", cure: /or \{ now, wallNow \}/, ways: { performance: ({ MemoryStore }) => new MemoryStore({ clock: any(performance) }) } },
  { what: "memory where each process has its own", cure: /SLUICE_MEMORY_IN_CLUSTER|Use RedisStore or PostgresStore/, ways: {
    "in a cluster": async () => {
      const primary = await startProcess("test/warnings/cluster-child.ts", []);
      const heard = await messageFrom<Heard>(primary);
      primary.kill();
      return String(heard["memory"]);
    },
    "on Vercel": ({ createLimiter }) => {
      for (const name of ["CI", "VERCEL_ENV"]) vi.stubEnv(name, "");
      vi.stubEnv("VERCEL", "1");
      createLimiter({ policy });
      vi.unstubAllEnvs();
    },
  } },
  { what: "a list of the client as the key", cure: /Write `\["client", String\(value\)\]`/, ways: { "?client=1&client=2": gate({ key: (request: express.Request) => request.query["client"] }, { path: "/?client=1&client=2" }) } },
  { what: "`respond` that answers nothing", cure: /Expected `respond` to send a response within 20 ms/, ways: {
    "in Express": gate({ policy: { ...policy, capacity: 1 }, functionTimeoutMs: 20, respond: () => undefined }, { times: 2 }),
  } },
];

describe.each(MISTAKES)("$what", ({ ways, cure, elsewhere }) => {
  test.each(Object.entries(ways))("written as %s", async (_, write) => {
    const text = await told(write);
    if (cure === null) expect([text, elsewhere]).toEqual(["", expect.any(String)]);
    else expect(text).toMatch(cure);
  });
});

test("29 of 34 mistakes are told with their cure", () => {
  expect([MISTAKES.filter(({ cure }) => cure !== null).length, MISTAKES.length]).toEqual([29, 34]);
});
