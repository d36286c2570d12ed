// The facts. Each row has the library, the result that a caller expects (`right`), the result that the documentation
// states (`quoted`), and a function that measures it.
import { Duration, Effect, Semaphore } from "effect";
import { asksEffect, ofEffect } from "./effect.mjs";
import { mostIn } from "./search.mjs";
import { Redis } from "ioredis";
import { RateLimiterMemory, RateLimiterRedis, RateLimiterUnion } from "rate-limiter-flexible";
import expressRateLimit from "express-rate-limit";
import PQueue from "p-queue";
import { parseRateLimit } from "ratelimit-header-parser";
import { createLimiter, daily, MemoryStore, perDay, whenDone } from "../../src/index.ts";
import { RedisStore } from "../../src/stores/redis/redis.ts";
import { get, listening, oneByOne, pause, pipelined, tally } from "./drive.mjs";
import { withServer } from "./servers.mjs";
import { createServer } from "node:http";
import express from "express";

const EFFECT = "effect";
const QUEUE = "p-queue";
const ERL = "express-rate-limit";
const FRL = "@fastify/rate-limit";
const HRL = "hono-rate-limiter";
const RLF = "rate-limiter-flexible";
const TRIPLE = { "ratelimit-limit": "10", "ratelimit-remaining": "9", "ratelimit-reset": "1" };
const DAY = 86_400_000;

/** RLF rejects when it refuses. */
const asks = (limiter, key, cost) => limiter.consume(key, cost).then(() => "ok", (refusal) => (refusal instanceof Error ? "error" : "refused"));

async function repeated(times, ask) {
  const answers = [];
  for (let i = 0; i < times; i++) answers.push(await ask());
  return tally(answers);
}

const decide = (limiter, key, cost) => {
  try {
    return limiter.consume(key, cost).allowed ? "ok" : "refused";
  } catch {
    return "error";
  }
};

const burst = (peer) => () => withServer(peer, { limit: 2, windowMs: 60_000 }, async (port) => tally(await pipelined(port, 4)));

const apart = (peer) => () => withServer(peer, { limit: 2, windowMs: 60_000 }, async (port) => tally((await Promise.all(Array.from({ length: 4 }, () => get(port)))).map(({ status }) => String(status))));

const month = (peer) => () => withServer(peer, { limit: 1, windowMs: 30 * DAY }, async (port) => {
  const answers = [];
  // The pause is longer than the millisecond after which an overflowing timer fires.
  for (let i = 0; i < 4; i++) {
    answers.push(...(await oneByOne(port, 1)));
    await pause(20);
  }
  return tally(answers);
});

const lru = (peer, more, each = 1) => () => withServer(peer, { limit: 2, windowMs: 60_000, more }, async (port) => {
  await oneByOne(port, 3, { "x-id": "blocked" });
  for (let i = 0; i < 101; i++) await oneByOne(port, each, { "x-id": `other-${i}` });
  return (await oneByOne(port, 1, { "x-id": "blocked" }))[0];
});

const body = (peer) => () => withServer(peer, { limit: 1, windowMs: 60_000 }, async (port) => {
  await get(port);
  return (await get(port)).headers.get("content-type");
});

const quiet = (peer, more) => () => withServer(peer, { limit: 1, windowMs: 60_000, more }, async (port) => {
  await get(port);
  return (await get(port)).headers.has("retry-after") ? "sent" : "absent";
});

const ANSWER_500 = {
  [FRL]: (app) => app.setErrorHandler((_, __, reply) => reply.code(500).send("something went wrong")),
  [ERL]: (app) => app.use((_, __, response, ___) => void response.status(500).send("something went wrong")),
  [HRL]: (app) => app.onError((_, c) => c.text("something went wrong", 500)),
};
const mapped = (peer, setUp = ANSWER_500[peer]) => () =>
  withServer(peer, { limit: 1, windowMs: 60_000, setUp }, async (port) => (await oneByOne(port, 2))[1]);

// By the seconds that the first response states.
const renewal = (peer, more = {}) => () => withServer(peer, { limit: 9, windowMs: DAY, more }, async (port) => {
  const { headers } = await get(port);
  return whenOf(Number(headers.get("ratelimit-reset") ?? headers.get("x-ratelimit-reset")));
});

function whenOf(seconds) {
  const toMidnight = (DAY - (Date.now() % DAY)) / 1_000;
  return Math.abs(seconds - toMidnight) < 2 ? "midnight" : Math.abs(seconds - DAY / 1_000) < 2 ? "24 h later" : `${seconds} s later`;
}

/** The most of 20 works at once that run, where `within` runs a work or not. */
const mostAtWork = (within) => async () => {
  let [now, most] = [0, 0];
  await Promise.all(Array.from({ length: 20 }, () => within(async () => {
    most = Math.max(most, ++now);
    await pause(5);
    now -= 1;
  })));
  return String(most);
};
const withQueue = () => {
  const queue = new PQueue({ concurrency: 2 });
  return (work) => queue.add(work);
};
const withPermits = () => {
  const permits = Effect.runSync(Semaphore.make(2));
  return (work) => Effect.runPromise(permits.withPermits(1)(Effect.promise(work)));
};
// Two points that never come back by themselves.
const withPoints = () => {
  const limiter = new RateLimiterMemory({ points: 2, duration: 0 });
  return (work) => limiter.consume("k").then(async () => {
    await work();
    await limiter.reward("k");
  }, () => undefined);
};
const WITHOUT_BUDGET = { "x-ratelimit-limit": false, "x-ratelimit-remaining": false, "x-ratelimit-reset": false };
const WHILE_AT_WORK = { skipSuccessfulRequests: true, skipFailedRequests: true };

// 20 requests at once, each of which works for 0.2 s.
const atWork = (peer, more = { policy: { capacity: 2, returns: whenDone() } }) => async () => {
  let now = 0;
  let most = 0;
  const route = async () => {
    most = Math.max(most, ++now);
    await pause(200);
    now -= 1;
    return "ok";
  };
  await withServer(peer, { limit: 2, windowMs: 60_000, more, route }, (port) =>
    Promise.all(Array.from({ length: 20 }, () => get(port))));
  return String(most);
};

/** 20 requests, or calls, while the store does not answer. */
const outage = (peer, more) => () => withServer(peer, { limit: 10, windowMs: 60_000, more }, async (port) => tally(await oneByOne(port, 20)));
const deadRedis = () => new Redis({ host: "127.0.0.1", port: 1, lazyConnect: true, enableOfflineQueue: false, retryStrategy: null }).on("error", () => undefined);
const failingStore = { init: () => undefined, increment: () => Promise.reject(Object.assign(new Error("down"), { stack: "" })), decrement: () => undefined, resetKey: () => undefined };

export const facts = [
  {
    id: "F1",
    claim: "4 pipelined requests, limit 2: how many are served",
    rows: [
      { peer: ERL, right: "2 x 200, 2 x 429", quoted: "4 x 429", observe: burst(ERL) },
      { peer: FRL, right: "2 x 200, 2 x 429", quoted: "4 x 429", observe: burst(FRL) },
      { peer: HRL, right: "2 x 200, 2 x 429", quoted: "4 x 429", observe: burst(HRL) },
      {
        peer: RLF, right: "2 x ok, 2 x refused", quoted: "2 x ok, 2 x refused",
        observe: async () => {
          const limiter = new RateLimiterMemory({ points: 2, duration: 60 });
          return tally(await Promise.all([1, 2, 3, 4].map(() => asks(limiter, "k"))));
        },
      },
      {
        peer: EFFECT, right: "2 x ok, 2 x refused", quoted: "2 x ok, 2 x refused",
        observe: async () => {
          const consume = ofEffect(2, 60_000);
          return tally(await Promise.all([1, 2, 3, 4].map(() => asksEffect(consume))));
        },
      },
      ...["sluice/express", "sluice/fastify", "sluice/hono"].map((peer) => (
        { peer, right: "2 x 200, 2 x 429", quoted: "2 x 200, 2 x 429", observe: burst(peer) }
      )),
    ],
  },
  {
    id: "F1b",
    claim: "the same 4 requests on connections of their own",
    rows: [ERL, FRL, HRL, "sluice/express"].map((peer) => ({ peer, right: "2 x 200, 2 x 429", quoted: "2 x 200, 2 x 429", observe: apart(peer) })),
  },
  {
    id: "F2",
    claim: "limit 1 in 30 days, 4 requests: how many are served",
    rows: [
      { peer: ERL, right: "1 x 200, 3 x 429", quoted: "4 x 200", observe: month(ERL) },
      { peer: FRL, right: "1 x 200, 3 x 429", quoted: "1 x 200, 3 x 429", observe: month(FRL) },
      { peer: HRL, right: "1 x 200, 3 x 429", quoted: "4 x 200", observe: month(HRL) },
      {
        peer: RLF, right: "1 x ok, 3 x refused", quoted: "4 x ok",
        observe: async () => {
          const limiter = new RateLimiterMemory({ points: 1, duration: 30 * 86_400 });
          return repeated(4, async () => {
            const answer = await asks(limiter, "k");
            await pause(20);
            return answer;
          });
        },
      },
      {
        peer: EFFECT, right: "1 x ok, 3 x refused", quoted: "1 x ok, 3 x refused",
        observe: () => {
          const consume = ofEffect(1, 30 * DAY);
          return repeated(4, async () => {
            const answer = await asksEffect(consume);
            await pause(20);
            return answer;
          });
        },
      },
      { peer: "sluice/express", right: "1 x 200, 3 x 429", quoted: "1 x 200, 3 x 429", observe: month("sluice/express") },
    ],
  },
  {
    id: "F4",
    claim: "3 of 10 spent, a cost of 9 is refused: what is left",
    rows: [
      {
        peer: RLF, right: "7", quoted: "0",
        observe: async () => {
          const limiter = new RateLimiterMemory({ points: 10, duration: 60 });
          await limiter.consume("k", 3);
          await asks(limiter, "k", 9);
          return String((await limiter.get("k")).remainingPoints);
        },
      },
      {
        peer: EFFECT, right: "7", quoted: "7",
        observe: async () => {
          const consume = ofEffect(10, 60_000);
          await consume(3);
          await consume(9);
          return String((await consume(0)).remaining);
        },
      },
      {
        peer: "sluice", right: "7", quoted: "7",
        observe: () => {
          const limiter = createLimiter({ policy: { capacity: 10, refill: perDay(1) } });
          limiter.consume("k", 3);
          limiter.consume("k", 9);
          return String(limiter.peek("k").remaining);
        },
      },
    ],
  },
  {
    id: "F5",
    claim: "two limits, 1 and 100; 10 calls, 1 allowed: what the wide one was charged",
    rows: [
      {
        peer: RLF, right: "1", quoted: "10",
        observe: async () => {
          const narrow = new RateLimiterMemory({ points: 1, duration: 60, keyPrefix: "narrow" });
          const wide = new RateLimiterMemory({ points: 100, duration: 3_600, keyPrefix: "wide" });
          const both = new RateLimiterUnion(narrow, wide);
          for (let i = 0; i < 10; i++) await both.consume("k").catch(() => undefined);
          return String((await wide.get("k")).consumedPoints);
        },
      },
      ...["wide", "narrow"].map((order) => ({
        peer: `${ERL}, the ${order} one first`, right: "1", quoted: order === "narrow" ? "1" : "10",
        observe: async () => {
          const options = { keyGenerator: () => "k", validate: false };
          const wide = expressRateLimit({ ...options, windowMs: 3_600_000, limit: 100 });
          const narrow = expressRateLimit({ ...options, windowMs: 60_000, limit: 1 });
          const both = order === "narrow" ? [narrow, wide] : [wide, narrow];
          const app = express().use(...both).get("/", (_, response) => void response.send("ok"));
          await listening(createServer(app), (port) => oneByOne(port, 10));
          return String((await wide.getKey("k")).totalHits);
        },
      })),
      ...[[100, 1], [1, 100]].map((order) => ({
        peer: `sluice, two limiters, the one of ${order[0]} first`, right: "1", quoted: order[0] === 1 ? "1" : "10",
        observe: () => {
          const store = new MemoryStore({ clock: () => 0 });
          const [first, second] = order.map((capacity) => createLimiter({ policy: { name: `of-${capacity}`, capacity, refill: perDay(capacity) }, store }));
          for (let i = 0; i < 10; i++) if (first.consume("k").allowed) second.consume("k");
          const wide = order[0] === 1 ? second : first;
          return String(100 - wide.peek("k").remaining);
        },
      })),
      {
        peer: "sluice", right: "1", quoted: "1",
        observe: () => {
          const limiter = createLimiter({
            policy: { limits: [{ name: "narrow", capacity: 1, refill: perDay(1) }, { name: "wide", capacity: 100, refill: perDay(100) }] },
            store: new MemoryStore({ clock: () => 0 }),
          });
          let last;
          for (let i = 0; i < 10; i++) last = limiter.consume("k");
          return String(100 - last.limits[1].remaining);
        },
      },
    ],
  },
  {
    id: "F8",
    claim: "memory for 100 callers, one is blocked, 101 others come by: the blocked one gets",
    rows: [
      { peer: FRL, right: "429", quoted: "200", observe: lru(FRL, { cache: 100 }) },
      ...[ERL, HRL].map((peer) => ({ peer: `${peer}, which has no bound`, right: "429", quoted: "429", observe: lru(peer) })),
      { peer: "sluice/fastify", right: "429", quoted: "429", observe: lru("sluice/fastify", { store: new MemoryStore({ maxKeys: 100 }) }) },
      // Where every other caller is blocked as well, one of them is forgotten.
      { peer: "sluice/fastify, where the others are refused, too", right: "429", quoted: "200", observe: lru("sluice/fastify", { store: new MemoryStore({ maxKeys: 100 }) }, 3) },
      {
        peer: `${RLF}, which has no bound`, right: "429", quoted: "429",
        observe: async () => {
          const limiter = new RateLimiterMemory({ points: 2, duration: 60 });
          for (let i = 0; i < 3; i++) await asks(limiter, "blocked");
          for (let i = 0; i < 101; i++) await asks(limiter, `other-${i}`);
          return (await asks(limiter, "blocked")) === "ok" ? "200" : "429";
        },
      },
    ],
  },
  {
    id: "F9",
    claim: "limit 2, a cost of NaN, 10 times",
    rows: [
      {
        peer: RLF, right: "10 x error", quoted: "10 x ok",
        observe: () => {
          const limiter = new RateLimiterMemory({ points: 2, duration: 60 });
          return repeated(10, () => asks(limiter, "k", Number.NaN));
        },
      },
      {
        peer: EFFECT, right: "10 x error", quoted: "10 x ok",
        observe: () => {
          const consume = ofEffect(2, 60_000);
          return repeated(10, () => asksEffect(consume, Number.NaN));
        },
      },
      {
        peer: "sluice", right: "10 x error", quoted: "10 x error",
        observe: () => {
          const limiter = createLimiter({ policy: { capacity: 2, refill: perDay(2) } });
          return repeated(10, () => decide(limiter, "k", Number.NaN));
        },
      },
    ],
  },
  {
    id: "W",
    claim: "5 in 2 s: the most that one caller gets in 0.25 s, over many histories",
    rows: [
      ...[ERL, FRL, HRL, RLF, QUEUE].map((peer) => ({ peer, right: "5", quoted: "9", observe: () => mostIn(peer, 250) })),
      ...[EFFECT, "p-queue, strict", "sluice", "sluice, a window"].map((peer) => ({ peer, right: "5", quoted: "5", observe: () => mostIn(peer, 250) })),
    ],
  },
  {
    id: "U",
    claim: "5 in 2 s: the most that one caller gets in a span just below 2 s, over many histories",
    rows: [
      ...[ERL, FRL, HRL, RLF, QUEUE, EFFECT, "sluice"].map((peer) => ({ peer, right: "5", quoted: "9", observe: () => mostIn(peer, 2_000) })),
      ...["p-queue, strict", "sluice, a window"].map((peer) => ({ peer, right: "5", quoted: "5", observe: () => mostIn(peer, 2_000) })),
    ],
  },
  {
    id: "V",
    claim: "5 in 2 s: the most that one caller gets in 2.2 s, over many histories",
    rows: [
      ...[ERL, FRL, HRL, RLF, QUEUE].map((peer) => ({ peer, right: "10", quoted: "14", observe: () => mostIn(peer, 2_200) })),
      ...[EFFECT, "p-queue, strict", "sluice", "sluice, a window"].map((peer) => ({ peer, right: "10", quoted: "10", observe: () => mostIn(peer, 2_200) })),
    ],
  },
  {
    id: "S",
    claim: "limit 10, and the store does not answer: what 20 requests get",
    rows: [
      { peer: ERL, right: "any", quoted: "20 x 500", observe: outage(ERL, { store: failingStore }) },
      { peer: ERL, right: "any", quoted: "20 x 200", observe: outage(ERL, { store: failingStore, passOnStoreError: true }) },
      { peer: FRL, right: "any", quoted: "20 x 500", observe: outage(FRL, { redis: deadRedis() }) },
      { peer: FRL, right: "any", quoted: "20 x 200", observe: outage(FRL, { redis: deadRedis(), skipOnError: true }) },
      { peer: HRL, right: "any", quoted: "20 x 500", observe: outage(HRL, { store: failingStore }) },
      {
        peer: RLF, right: "any", quoted: "20 x error",
        observe: () => repeated(20, () => asks(new RateLimiterRedis({ storeClient: deadRedis(), points: 10, duration: 60 }), "k")),
      },
      {
        peer: RLF, right: "any", quoted: "5 x ok, 15 x refused",
        observe: () => {
          const insuranceLimiter = new RateLimiterMemory({ points: 5, duration: 60 });
          const limiter = new RateLimiterRedis({ storeClient: deadRedis(), points: 10, duration: 60, insuranceLimiter });
          return repeated(20, () => asks(limiter, "k"));
        },
      },
      { peer: "sluice/express", right: "any", quoted: "5 x 200, 15 x 503", observe: outage("sluice/express", { store: new RedisStore(deadRedis(), { sharedBy: 2 }) }) },
    ],
  },
  {
    id: "Q",
    claim: "9 a day: when the count starts again after a first request",
    rows: [
      { peer: ERL, right: "midnight", quoted: "24 h later", observe: renewal(ERL, { standardHeaders: "draft-6" }) },
      { peer: FRL, right: "midnight", quoted: "24 h later", observe: renewal(FRL) },
      { peer: HRL, right: "midnight", quoted: "24 h later", observe: renewal(HRL) },
      {
        peer: RLF, right: "midnight", quoted: "24 h later",
        observe: async () => {
          const { msBeforeNext } = await new RateLimiterMemory({ points: 9, duration: 86_400 }).consume("k");
          return whenOf(msBeforeNext / 1_000);
        },
      },
      {
        peer: `${RLF}, customDuration`, right: "midnight", quoted: "midnight",
        observe: async () => {
          const customDuration = (DAY - (Date.now() % DAY)) / 1_000;
          const { msBeforeNext } = await new RateLimiterMemory({ points: 9, duration: 86_400 }).consume("k", 1, { customDuration });
          return whenOf(msBeforeNext / 1_000);
        },
      },
      {
        peer: EFFECT, right: "midnight", quoted: "9600 s later",
        observe: async () => whenOf(Duration.toMillis((await ofEffect(9, DAY)()).resetAfter) / 1_000),
      },
      { peer: "sluice/express", right: "midnight", quoted: "midnight", observe: renewal("sluice/express", { policy: { capacity: 9, renews: daily() } }) },
    ],
  },
  {
    id: "P",
    claim: "at most 2 requests at work: how many of 20 at once are",
    rows: [
      ...[[QUEUE, withQueue], [EFFECT, withPermits], [RLF, withPoints]].map(([peer, make]) => ({ peer, right: "2", quoted: "2", observe: () => mostAtWork(make())() })),
      ...[ERL, HRL].map((peer) => ({ peer, right: "2", quoted: "2", observe: atWork(peer, WHILE_AT_WORK) })),
      ...["sluice/express", "sluice/fastify", "sluice/hono"].map((peer) => ({ peer, right: "2", quoted: "2", observe: atWork(peer) })),
    ],
  },
  {
    id: "B",
    claim: "the media type of a 429",
    rows: [
      { peer: ERL, right: "any", quoted: "text/html; charset=utf-8", observe: body(ERL) },
      { peer: FRL, right: "any", quoted: "application/json; charset=utf-8", observe: body(FRL) },
      { peer: HRL, right: "any", quoted: "text/plain; charset=UTF-8", observe: body(HRL) },
      { peer: "sluice/express", right: "any", quoted: "application/problem+json", observe: body("sluice/express") },
      // Fastify itself adds the charset.
      { peer: "sluice/fastify", right: "any", quoted: "application/problem+json; charset=utf-8", observe: body("sluice/fastify") },
      { peer: "sluice/hono", right: "any", quoted: "application/problem+json", observe: body("sluice/hono") },
    ],
  },
  {
    id: "R",
    claim: "Retry-After on a 429 when the budget fields are switched off",
    rows: [
      { peer: ERL, right: "sent", quoted: "absent", observe: quiet(ERL, { standardHeaders: false, legacyHeaders: false }) },
      { peer: HRL, right: "sent", quoted: "absent", observe: quiet(HRL, { standardHeaders: false }) },
      { peer: FRL, right: "sent", quoted: "sent", observe: quiet(FRL, { addHeaders: WITHOUT_BUDGET, addHeadersOnExceeding: WITHOUT_BUDGET }) },
      { peer: "sluice/express", right: "sent", quoted: "sent", observe: quiet("sluice/express", { headers: [] }) },
    ],
  },
  {
    id: "E",
    claim: "over the limit in an app whose error handler answers 500",
    rows: [
      { peer: FRL, right: "429", quoted: "500", observe: mapped(FRL) },
      { peer: "sluice/fastify", right: "429", quoted: "429", observe: mapped("sluice/fastify", ANSWER_500[FRL]) },
      ...[ERL, HRL].map((peer) => ({ peer, right: "429", quoted: "429", observe: mapped(peer) })),
    ],
  },
  {
    id: "H",
    claim: "what a client's parser reads as remaining, beside a valid triple, when RateLimit is of draft 8 or newer",
    rows: [
      {
        peer: "ratelimit-header-parser", right: "9", quoted: "NaN",
        observe: () => String(parseRateLimit({ headers: { ...TRIPLE, "ratelimit": '"interactive";r=9;t=1' } }).remaining),
      },
      { peer: "ratelimit-header-parser", right: "9", quoted: "9", observe: () => String(parseRateLimit({ headers: TRIPLE }).remaining) },
    ],
  },
];
