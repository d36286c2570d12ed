// Upstash's client, which sends HTTP requests: what it sends, what it makes of replies, and a server that fails.
import { inspect } from "node:util";
import { Redis } from "ioredis";
import { createLimiter, createObserver, definePolicy, perHour, type LimiterEvent } from "sluice";
import { RedisStore } from "sluice/redis";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { fencesOf } from "../../helpers/docs-read.js";
import { printed } from "../../helpers/docs-run.js";
import { startRedis, type OwnRedis } from "../../helpers/own-redis.js";
import { describeWith } from "../../helpers/services.js";
import { startUpstash, type RestFault, type UpstashRest } from "../../helpers/upstash-rest.js";
import { unshared } from "../../helpers/unshared.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const policy = definePolicy({ name: "api", capacity: 10, refill: perHour(1) });

describeWith("redis-server", "Upstash", () => {
  let redis: OwnRedis;
  let admin: Redis;
  let server: UpstashRest;
  beforeAll(async () => {
    redis = await startRedis();
    admin = new Redis(redis.url);
    server = await startUpstash(redis.url);
  });
  beforeEach(async () => {
    await admin.flushall();
    await admin.script("FLUSH");
    server.fault = "none";
    server.requests.length = server.syncTokens.length = 0;
  });
  afterAll(async () => {
    await server.stop();
    admin.disconnect();
    await redis.stop();
  });

  /** A key whose text looks like parts of an error that the store must act on. */
  const KEY = 'me, command was: NOSCRIPT ["TRYAGAIN"]';

  test("one tick is one command, and a forgotten script is sent once more, by its text", async () => {
    const store = new RedisStore(server.connect());
    const ask = () => Promise.all(Array.from({ length: 20 }, () => callsOf(store).consume(policy, KEY, 1)));
    expect((await ask()).filter(({ allowed }) => allowed)).toHaveLength(10);
    expect(server.requests).toEqual(["POST /pipeline evalsha", "POST /pipeline eval"]);
    await callsOf(store).reset(policy, KEY);
    expect((await ask()).filter(({ allowed }) => allowed)).toHaveLength(10);
    expect(server.requests.slice(2)).toEqual(["POST /pipeline evalsha", "POST /pipeline evalsha"]);
  });

  test("commands of one tick share a request, unless the client says otherwise", async () => {
    for (const [enableAutoPipelining, requests] of [[true, ["POST /pipeline evalsha evalsha", "POST /pipeline eval eval"]], [false, ["POST / evalsha", "POST / evalsha", "POST / eval", "POST / eval"]]] as const) {
      server.requests.length = 0;
      await admin.script("FLUSH");
      const store = unshared(() => new RedisStore(server.connect({ enableAutoPipelining })));
      const key = `pipelining ${enableAutoPipelining}`;
      const [a, b] = await Promise.all([callsOf(store).consume(policy, key, 4), callsOf(store).consume(policy, key, 4)]);
      expect([a.remaining, b.remaining].sort()).toEqual([2, 6]);
      expect(server.requests.toSorted()).toEqual(requests.toSorted());
    }
  });

  test("reads its own writes: each request names the state that the last answer named", async () => {
    const store = new RedisStore(server.connect(), { denyCacheMs: 0 });
    for (const remaining of [6, 2]) expect(await callsOf(store).consume(policy, "a", 4)).toMatchObject({ remaining });
    expect(await callsOf(store).consume(policy, "a", 4)).toMatchObject({ allowed: false, remaining: 2 });
    expect(server.syncTokens[0]).toBe("");
    expect(new Set(server.syncTokens.slice(1)).size).toBe(server.syncTokens.length - 1);
  });

  const faults: ReadonlyArray<readonly [fault: RestFault, words: RegExp]> = [
    ["500 with JSON", /^ERR internal error$|Unable to parse/],
    ["500 with HTML", /^Unable to parse response body: <h1>Bad gateway/],
    ["200 with HTML", /^Unable to parse response body: <h1>Welcome/],
    ["200 without a result", /did not return a result|^Expected /],
    ["200 with a cut document", /^Unable to parse response body/],
    ["401", /^WRONGPASS/],
    ["a cut connection", /^fetch failed$/],
  ];

  test.each(faults.flatMap(([fault, words]) => [[fault, true, words] as const, [fault, false, words] as const]))(
    "L11 · %s (pipelining: %s): decided by `onStoreError`, charged nowhere, asked once, and no key in the error",
    async (fault, enableAutoPipelining, words) => {
      const events: unknown[] = [];
      const observe = (event: LimiterEvent): void => void (event.type === "store" && events.push(event.error));
      const store = new RedisStore(server.connect({ enableAutoPipelining }), { timeoutMs: 10_000 });
      const limiter = createLimiter({ policy, store, onStoreError: "unavailable", observe: createObserver(observe) });
      expect(await limiter.consume(KEY)).toMatchObject({ allowed: true, degraded: false, remaining: 9 });

      server.fault = fault;
      server.requests.length = 0;
      const decision = await limiter.consume(KEY);
      expect(decision).toMatchObject({ allowed: false, reason: "store_unavailable", degraded: true });
      expect((decision.error as Error).message).toMatch(words);
      expect(server.requests).toHaveLength(1);
      const peeked: unknown = await limiter.peek(KEY).catch((error: unknown) => error);
      expect(peeked).toBeInstanceOf(Error);
      expect(inspect([decision.error, peeked, events], { depth: Infinity, showHidden: true })).not.toContain("NOSCRIPT");

      server.fault = "none";
      expect(await limiter.consume(KEY)).toMatchObject({ allowed: true, degraded: false, remaining: 8 });
    },
  );

  test("a connection that breaks: only `retries: 0` sends a call once, `retry: false` sends it twice", async () => {
    for (const [retry, times] of [[{ retries: 0 }, 1], [false, 2]] as const) {
      server.fault = "a cut connection";
      server.requests.length = 0;
      await expect(callsOf(new RedisStore(server.connect({ retry }))).consume(policy, "a", 1)).rejects.toThrow("fetch failed");
      expect(server.requests).toHaveLength(times);
    }
  });

  test("a batch is not sent again because a key looks like an error", async () => {
    const store = new RedisStore(server.connect({ enableAutoPipelining: false }), { cluster: true, prefix: "{one}" });
    server.fault = "500 with JSON";
    const asked = await Promise.allSettled([callsOf(store).consume(policy, KEY, 1), callsOf(store).consume(policy, "b", 1)]);
    expect(asked.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(server.requests).toEqual(["POST / evalsha"]);
  });

  test("L12 · a server that hangs holds no caller up, and the client's `signal` ends the call", async () => {
    const ends = new AbortController();
    const store = new RedisStore(server.connect({ signal: () => ends.signal }), { timeoutMs: 20 });
    const limiter = createLimiter({ policy, store, onStoreError: "unavailable" });
    server.fault = "silence";
    const asked = callsOf(store).consume(policy, "a", 1);
    expect(await limiter.consume("b")).toMatchObject({ reason: "store_unavailable", degraded: true });
    ends.abort();
    await expect(asked).rejects.toMatchObject({ name: "AbortError" });
  });

  test("a `signal` that is no function makes the client invent an answer, which is refused", async () => {
    const store = new RedisStore(server.connect({ signal: AbortSignal.abort("stopped"), enableAutoPipelining: false }));
    await expect(callsOf(store).consume(policy, "a", 1)).rejects.toMatchObject({ code: "ERR_STORE_REPLY" });
    expect(server.requests).toEqual([]);
  });

  test("the page's snippet runs", async () => {
    vi.stubEnv("UPSTASH_REDIS_REST_URL", server.url).stubEnv("UPSTASH_REDIS_REST_TOKEN", server.token);
    const snippet = fencesOf("docs/stores/redis.md").find(({ text }) => text.includes("@upstash/redis"));
    expect(await printed(`${snippet?.text}\nconsole.log(decision.allowed, decision.degraded, decision.remaining);`)).toBe("true false 29");
    vi.unstubAllEnvs();
  });
});
