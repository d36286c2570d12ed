// Each app before and after its move, with the real packages on real servers. Time is moved by hand.
import type { ArgumentsHost, HttpException } from "@nestjs/common";
import { BaseExceptionFilter } from "@nestjs/core";
import { describe, expect, test, vi } from "vitest";
import * as expressAfter from "../moving/express-rate-limit/after.js";
import * as expressBefore from "../moving/express-rate-limit/before.js";
import * as fastifyAfter from "../moving/fastify-rate-limit/after.js";
import * as fastifyBefore from "../moving/fastify-rate-limit/before.js";
import * as honoAfter from "../moving/hono-rate-limiter/after.js";
import * as honoBefore from "../moving/hono-rate-limiter/before.js";
import * as nestAfter from "../moving/nestjs-throttler/after.js";
import * as nestBefore from "../moving/nestjs-throttler/before.js";
import { limitFields, NOON, start, stopTime, type Framework, type RunningApp } from "./moving.js";

const OTHER = "127.0.0.2";
const noonSeconds = NOON / 1_000;

interface Move {
  readonly framework: Framework;
  readonly path?: string;
  /** Makes the app. */
  before(): unknown;
  after(): unknown;
  /** How many requests are served within 100 ms before and after the edge of the old window. */
  readonly atEdge: number;
  /** Header fields of an allowed request and of a refusal, and the refusal's media type and body. */
  readonly old: { readonly allowed: object; readonly refused: object; readonly mediaType: string; readonly body: string };
  /** The media type of sluice's refusal. */
  readonly mediaType: string;
}

const X_LIMIT = { "x-ratelimit-limit": "100" };
const moves: Readonly<Record<string, Move>> = {
  "express-rate-limit": {
    framework: "express",
    before: expressBefore.createApp,
    after: expressAfter.createApp,
    atEdge: 199,
    old: {
      allowed: { ...X_LIMIT, "x-ratelimit-remaining": "99", "x-ratelimit-reset": String(noonSeconds + 900) },
      refused: { ...X_LIMIT, "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(noonSeconds + 900), "retry-after": "900" },
      mediaType: "text/html; charset=utf-8",
      body: "Too many requests, please try again later.",
    },
    mediaType: "application/problem+json",
  },
  "@fastify/rate-limit": {
    framework: "fastify",
    before: fastifyBefore.createApp,
    after: fastifyAfter.createApp,
    atEdge: 199,
    old: {
      allowed: { ...X_LIMIT, "x-ratelimit-remaining": "99", "x-ratelimit-reset": "900" },
      refused: { ...X_LIMIT, "x-ratelimit-remaining": "0", "x-ratelimit-reset": "900", "retry-after": "900" },
      mediaType: "application/json; charset=utf-8",
      body: '{"statusCode":429,"error":"Too Many Requests","message":"Rate limit exceeded, retry in 15 minutes"}',
    },
    mediaType: "application/problem+json; charset=utf-8",
  },
  "hono-rate-limiter": {
    framework: "hono",
    before: honoBefore.createApp,
    after: honoAfter.createApp,
    atEdge: 199,
    old: {
      allowed: { "ratelimit-policy": "100;w=900", "ratelimit-limit": "100", "ratelimit-remaining": "99", "ratelimit-reset": "900" },
      refused: { "ratelimit-policy": "100;w=900", "ratelimit-limit": "100", "ratelimit-remaining": "0", "ratelimit-reset": "900", "retry-after": "900" },
      mediaType: "text/plain; charset=UTF-8",
      body: "Too many requests, please try again later.",
    },
    mediaType: "application/problem+json",
  },
  "@nestjs/throttler": {
    framework: "nest",
    path: "/hello",
    before: () => nestBefore.AppModule,
    after: () => nestAfter.AppModule,
    atEdge: 100, // its memory keeps each hit, so there is no edge
    old: {
      allowed: { ...X_LIMIT, "x-ratelimit-remaining": "99", "x-ratelimit-reset": "900" },
      refused: { "retry-after": "900" },
      mediaType: "application/json; charset=utf-8",
      body: '{"statusCode":429,"message":"ThrottlerException: Too Many Requests"}',
    },
    mediaType: "application/problem+json",
  },
};

/** Opens a window with one request, then sends 100 in its last 100 ms and 100 after its end. */
async function aroundTheEdge(app: RunningApp, path: string): Promise<number> {
  await app.get(path);
  vi.advanceTimersByTime(899_900);
  const { served } = await app.send(99, path);
  vi.advanceTimersByTime(100);
  return served + (await app.send(100, path)).served;
}

describe.each(Object.entries(moves))("%s", (_, { framework, path = "/", before, after, atEdge, old, mediaType }) => {
  const open = (make: () => unknown): Promise<RunningApp> => (stopTime(), start(framework, make()));

  test.each([["before", before], ["after", after]])("%s: 100 requests at once are served, one more is not, another address is", async (_state, make) => {
    const app = await open(make);
    expect(await app.send(100, path)).toMatchObject({ served: 100 });
    expect(await app.get(path)).toMatchObject({ status: 429 });
    expect(await app.get(path, OTHER)).toMatchObject({ status: 200 });
  });

  test("before: what is served around the edge of a window", async () => {
    expect(await aroundTheEdge(await open(before), path)).toBe(atEdge);
  });

  test("after: the same requests get one capacity, and one more each 9 s", async () => {
    const app = await open(after);
    // The token of the first request is back after 9 s, so the bucket is full at the edge.
    expect(await aroundTheEdge(app, path)).toBe(100);
    vi.advanceTimersByTime(8_900);
    expect(await app.send(2, path)).toMatchObject({ served: 1 });
  });

  test("before: its header fields and its refusal", async () => {
    const app = await open(before);
    expect(limitFields((await app.get(path)).headers)).toEqual(old.allowed);
    const { last } = await app.send(100, path);
    expect(limitFields(last.headers)).toEqual(old.refused);
    expect([last.status, last.headers["content-type"], last.body]).toEqual([429, old.mediaType, old.body]);
  });

  test("after: the fields of sluice, and a problem document", async () => {
    const app = await open(after);
    const policy = { "ratelimit-policy": '"api";q=100;w=900', "ratelimit-limit": "100" };
    expect(limitFields((await app.get(path)).headers)).toEqual({ ...policy, ratelimit: '"api";r=99;t=891', "ratelimit-remaining": "99", "ratelimit-reset": "9" });
    const { last } = await app.send(100, path);
    expect(limitFields(last.headers)).toEqual({ ...policy, ratelimit: '"api";r=0;t=9', "ratelimit-remaining": "0", "ratelimit-reset": "9", "retry-after": "9" });
    expect([last.status, last.headers["content-type"], last.headers["cache-control"]]).toEqual([429, mediaType, "no-store"]);
    expect(JSON.parse(last.body)).toMatchObject({ status: 429, code: "rate_limited", retry_after: 9, "violated-policies": ["api"] });
  });

  test("how long a refused caller waits: a window before, a token after", async () => {
    for (const [make, waitMs] of [[before, 900_000], [after, 9_000]] as const) {
      const app = await open(make);
      await app.send(101, path);
      vi.advanceTimersByTime(waitMs - 1);
      expect(await app.get(path)).toMatchObject({ status: 429 });
      vi.advanceTimersByTime(1);
      expect(await app.get(path)).toMatchObject({ status: 200 });
    }
  });
});

test("@nestjs/throttler has a budget for each route, sluice one for each policy", async () => {
  for (const [AppModule, status] of [[nestBefore.AppModule, 200], [nestAfter.AppModule, 429]] as const) {
    stopTime();
    const app = await start("nest", AppModule);
    await app.send(100, "/hello");
    expect(await app.get("/bye")).toMatchObject({ status });
  }
});

test("@nestjs/throttler and sluice tell an exception filter of a 429", async () => {
  for (const AppModule of [nestBefore.AppModule, nestAfter.AppModule]) {
    const seen: number[] = [];
    class Recording extends BaseExceptionFilter {
      override catch(exception: HttpException, host: ArgumentsHost): void {
        seen.push(exception.getStatus());
        super.catch(exception, host);
      }
    }
    const app = await start("nest", AppModule, (nest) => nest.useGlobalFilters(new Recording(nest.getHttpAdapter())));
    expect((await app.send(101, "/hello")).last).toMatchObject({ status: 429 });
    expect(seen).toEqual([429]);
  }
});
