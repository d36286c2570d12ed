// Each row of the guide from @nestjs/throttler: the old package and sluice/nest, with the same requests on real servers.
import { Controller, Get, Module, type DynamicModule, type ExecutionContext, type Type } from "@nestjs/common";
import { APP_GUARD } from "@nestjs/core";
import { SkipThrottle, Throttle, ThrottlerGuard, ThrottlerModule, ThrottlerStorageService, type ThrottlerModuleOptions } from "@nestjs/throttler";
import { createLimiter, MemoryStore } from "sluice";
import { RateLimit, RateLimitGuard, RateLimitModule, SkipRateLimit, type NestRequest, type RateLimitModuleOptions } from "sluice/nest";
import { describe, expect, test, vi } from "vitest";
import { start, stopTime, type RunningApp } from "./moving.js";

const ann = () => "ann";
const of = (tokens: number, name = "api") => ({ name, refill: { tokens, everyMs: 900_000 } });
const TTL = 900_000;
const keyOfHandler = (request: NestRequest, context: ExecutionContext) =>
  ["user", request.user?.id, context.getClass().name, context.getHandler().name];

@Controller()
class Plain {
  @Get("one") one(): string {
    return "one";
  }
  @Get("two") two(): string {
    return "two";
  }
}

/** Starts an application with one limit and its guard. */
function appOf(module: DynamicModule, guard: Type, controller: Type): Promise<RunningApp> {
  stopTime();
  @Module({ imports: [module], controllers: [controller], providers: [{ provide: APP_GUARD, useClass: guard }] })
  class AppModule {}
  return start("nest", AppModule);
}
const throttled = (options: ThrottlerModuleOptions, controller: Type = Plain): Promise<RunningApp> => appOf(ThrottlerModule.forRoot(options), ThrottlerGuard, controller);
const limited = (options: Partial<RateLimitModuleOptions>, controller: Type = Plain): Promise<RunningApp> =>
  appOf(RateLimitModule.forRoot({ policy: of(2), key: ann, ...options } as RateLimitModuleOptions), RateLimitGuard, controller);

/** The statuses of requests for these paths, one after the other. */
async function statuses(app: RunningApp, ...paths: string[]): Promise<number[]> {
  const all: number[] = [];
  for (const path of paths) all.push((await app.get(path)).status);
  return all;
}

test("a bucket of each handler: the default before, and a part of the key after", async () => {
  const asked = ["/one", "/one", "/two", "/one"];
  expect(await statuses(await throttled([{ ttl: TTL, limit: 2 }]), ...asked)).toEqual([200, 200, 200, 429]);
  expect(await statuses(await limited({}), ...asked)).toEqual([200, 200, 429, 429]);
  const key = (request: NestRequest, context: ExecutionContext) => keyOfHandler(Object.assign(request, { user: { id: "ann" } }), context);
  expect(await statuses(await limited({ key }), ...asked)).toEqual([200, 200, 200, 429]);
});

describe("decorators", () => {
  @Controller()
  @Throttle({ default: { ttl: TTL, limit: 1 } })
  class Old {
    @Get("one") one(): string {
      return "one";
    }
    @Get("two") two(): string {
      return "two";
    }
    @Throttle({ default: { ttl: TTL, limit: 3 } }) @Get("own") own(): string {
      return "own";
    }
    @SkipThrottle() @Get("free") free(): string {
      return "free";
    }
  }
  @Controller()
  @RateLimit(of(1, "class"))
  class New {
    @Get("one") one(): string {
      return "one";
    }
    @Get("two") two(): string {
      return "two";
    }
    @RateLimit(of(3, "own")) @Get("own") own(): string {
      return "own";
    }
    @SkipRateLimit() @Get("free") free(): string {
      return "free";
    }
  }

  test("the limit of a class: each handler has a bucket before, and all share one after", async () => {
    expect(await statuses(await throttled([{ ttl: TTL, limit: 9 }], Old), "/one", "/one", "/two")).toEqual([200, 429, 200]);
    expect(await statuses(await limited({}, New), "/one", "/one", "/two")).toEqual([200, 429, 429]);
  });

  test("the limit of a handler wins, and a skipped one has none", async () => {
    for (const app of [await throttled([{ ttl: TTL, limit: 9 }], Old), await limited({}, New)]) {
      expect(await statuses(app, "/own", "/own", "/own", "/own")).toEqual([200, 200, 200, 429]);
      expect(await statuses(app, ..."abcd".split("").map(() => "/free"))).toEqual([200, 200, 200, 200]);
    }
  });

  test("a handler of a skipped class is limited again", async () => {
    @Controller()
    @SkipThrottle()
    class Before {
      @SkipThrottle({ default: false }) @Get("one") one(): string {
        return "one";
      }
    }
    @Controller()
    @SkipRateLimit()
    class After {
      @RateLimit({}) @Get("one") one(): string {
        return "one";
      }
    }
    for (const app of [await throttled([{ ttl: TTL, limit: 2 }], Before), await limited({}, After)]) {
      expect(await statuses(app, "/one", "/one", "/one")).toEqual([200, 200, 429]);
    }
  });
});

test("two limits: what the longer one refuses is counted by the shorter before, and not after", async () => {
  const old = await throttled([{ name: "short", ttl: 60_000, limit: 9 }, { name: "long", ttl: TTL, limit: 1 }]);
  const refused = (await old.send(3, "/one")).last;
  expect([refused.status, refused.headers["x-ratelimit-remaining-short"]]).toEqual([429, "6"]);
  const policy = { name: "api", limits: [{ name: "short", refill: { tokens: 9, everyMs: 60_000 } }, { name: "long", refill: { tokens: 1, everyMs: TTL } }] };
  const store = new MemoryStore();
  expect((await (await limited({ policy, store })).send(3, "/one")).last.status).toBe(429);
  expect(createLimiter({ policy, store }).peek("ann").limits?.map(({ remaining }) => remaining)).toEqual([8, 0]);
});

test("skipIf, getTracker and errorMessage", async () => {
  const old = await throttled({
    throttlers: [{ ttl: TTL, limit: 1 }],
    skipIf: (context) => context.getHandler().name === "two",
    getTracker: () => "ann",
    errorMessage: "Slow down",
  });
  const now = await limited({
    policy: of(1),
    skip: (_request: unknown, context: ExecutionContext) => context.getHandler().name === "two",
    key: ann,
    respond: ({ status }: { readonly status: number }) => ({ statusCode: status, message: "Slow down" }),
  } as Partial<RateLimitModuleOptions>);
  for (const app of [old, now]) {
    expect(await statuses(app, "/two", "/two", "/one")).toEqual([200, 200, 200]);
    const refused = await app.get("/one", "127.0.0.2");
    expect([refused.status, refused.headers["content-type"], JSON.parse(refused.body)]).toEqual([429, expect.stringMatching(/^application\/json/), { statusCode: 429, message: "Slow down" }]);
  }
});

test("storage: two applications share their counts", async () => {
  const storage = new ThrottlerStorageService();
  const store = new MemoryStore();
  const open = [() => throttled({ throttlers: [{ ttl: TTL, limit: 1 }], storage }), () => limited({ policy: of(1), store })];
  for (const start of open) expect([await statuses(await start(), "/one"), await statuses(await start(), "/one")]).toEqual([[200], [429]]);
});

test("blockDuration: both refuse until the block ends, and then all is there", async () => {
  const old = await throttled([{ ttl: TTL, limit: 100, blockDuration: 60_000 }]);
  const limiter = createLimiter({ policy: of(100) });
  const now = () => limited({
    policy: undefined,
    limiter,
    onDecision: (decision: { readonly reason: unknown; readonly blocked: boolean }) => {
      if (decision.reason !== "limited" || decision.blocked) return;
      limiter.block("ann", 60_000);
      limiter.credit("ann", 100);
    },
  } as Partial<RateLimitModuleOptions>);
  const rounds = async (app: RunningApp): Promise<number[]> => {
    const told: number[] = [];
    for (const ms of [0, 59_999, 1]) {
      vi.advanceTimersByTime(ms);
      told.push((await app.send(120, "/one")).served);
    }
    return told;
  };
  expect(await rounds(old)).toEqual([100, 0, 100]);
  expect(await rounds(await now())).toEqual([100, 0, 100]);
});

test("ttl is in milliseconds: 60 is no minute", async () => {
  const app = await throttled([{ ttl: 60, limit: 1 }]);
  expect(await statuses(app, "/one", "/one")).toEqual([200, 429]);
  vi.advanceTimersByTime(60);
  expect(await statuses(app, "/one")).toEqual([200]);
});
