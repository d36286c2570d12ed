// Where there is no HTTP request: GraphQL, messages, and services that ask for a limiter.
import { Controller, Get, Injectable, Req, Res, type ExecutionContext } from "@nestjs/common";
import { ExecutionContextHost } from "@nestjs/core/helpers/execution-context-host.js";
import { Test } from "@nestjs/testing";
import { combine, createLimiter, MemoryStore, perHour, perMinute, whenDone, type Limiter } from "sluice";
import { decisionsOf, InjectRateLimiter, RateLimit, RateLimitException, RateLimitGuard, rateLimiterToken, SkipRateLimit } from "sluice/nest";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { create, limited, limits, platforms, signIn, start, startError } from "./apps.js";

const [express] = platforms;

/** A handler of messages, as a gateway or a microservice has. */
class Gateway {
  onMessage(): string {
    return "a message";
  }
}

function contextOf(kind: string, args: readonly unknown[] = [{}, {}]): ExecutionContext {
  const context = new ExecutionContextHost([...args], Gateway, Gateway.prototype.onMessage);
  context.setType(kind);
  return context;
}

async function guardWith(more: object): Promise<RateLimitGuard> {
  const app = await create(express, { imports: [limits(more)] });
  await app.init();
  return app.get(RateLimitGuard);
}

describe("a context that is not HTTP", () => {
  test.each([
    ["ws", /a context of ws in Gateway\.onMessage, whose request is undefined\. Write @InjectRateLimiter\(name\)/],
    ["rpc", /a context of rpc in Gateway\.onMessage/],
    ["graphql", /a context of graphql .*`getRequest: \(context\) => GqlExecutionContext/],
  ])("of %s throws with the cure", async (kind, message) => {
    const guard = await guardWith({});
    await expect(guard.canActivate(contextOf(kind))).rejects.toThrow(message);
  });

  test("throws where getRequest finds no request, and asks it for GraphQL alone", async () => {
    await expect((await guardWith({ getRequest: () => "request" })).canActivate(contextOf("graphql"))).rejects.toThrow(/whose request is "request"/);
    await expect((await guardWith({ getRequest: () => null })).canActivate(contextOf("graphql"))).rejects.toThrow(/whose request is null/);
    await expect((await guardWith({ getRequest: () => ({ headers: {} }) })).canActivate(contextOf("ws"))).rejects.toThrow(/a context of ws in Gateway/);
  });

  test("charges each operation of a WebSocket, whose operations share the request of its upgrade", async () => {
    const policy = { name: "api", capacity: 2, refill: perMinute(2) };
    const getRequest = (context: ExecutionContext) => context.getArgByIndex<{ request: never }>(2).request;
    const guard = await guardWith({ getRequest, policy });
    const request = { headers: { upgrade: "websocket" }, user: { id: "ann" } };
    const told: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      const operation = { request };
      for (let field = 0; field < 2; field++) {
        const call = guard.canActivate(contextOf("graphql", [undefined, {}, operation, {}]));
        told.push(await call.catch((error: unknown) => (error as RateLimitException).getStatus()));
      }
    }
    expect(told).toEqual([true, true, true, true, 429, 429]);
    expect(decisionsOf(request).map(({ remaining }) => remaining)).toEqual([0]); // the last one: a long socket keeps no list
  });

  describe.each(platforms)("of GraphQL on $platform", (platform) => {
    test("charges a request once for all of its fields, and refuses each", async () => {
      @Controller()
      class Fields {
        constructor(readonly guard: RateLimitGuard) {}
        @SkipRateLimit() @Get("fields") async fields(@Req() request: object, @Res({ passthrough: true }) response: object): Promise<unknown> {
          const shared = { request, response };
          const call = (): Promise<unknown> => this.guard.canActivate(contextOf("graphql", [undefined, {}, shared, {}]));
          const all = await Promise.allSettled([call(), call(), call()]);
          const told = all.map((each) => (each.status === "fulfilled" ? each.value : (each.reason as RateLimitException).getStatus()));
          return { told, decisions: decisionsOf(request).map(({ remaining }) => remaining) };
        }
      }
      Reflect.defineMetadata("design:paramtypes", [RateLimitGuard], Fields);
      const getRequest = (context: ExecutionContext) => context.getArgByIndex<{ request: never }>(2).request;
      // Express's request knows its response, and Fastify's does not.
      const getResponse = platform.platform === "Express" ? undefined : (context: ExecutionContext) => context.getArgByIndex<{ response: object }>(2).response;
      const policy = { name: "api", capacity: 2, refill: perMinute(2) };
      const ask = await start(platform, { imports: [limits({ getRequest, getResponse, policy, respond: () => ({ never: "sent" }) })], controllers: [Fields], providers: [signIn, limited] });
      const answers = [await ask("GET /fields", "ann"), await ask("GET /fields", "ann"), await ask("GET /fields", "ann")];
      expect(await Promise.all(answers.map((each) => each.json()))).toEqual([
        { told: [true, true, true], decisions: [1] },
        { told: [true, true, true], decisions: [0] },
        { told: [429, 429, 429], decisions: [0] },
      ]);
      expect(answers.map(({ headers }) => headers.get("ratelimit-remaining"))).toEqual(["1", "0", "0"]);
      expect(answers.map(({ headers }) => headers.get("content-type"))).toEqual(Array(3).fill("application/json; charset=utf-8"));
    });
  });
});

describe.each(platforms)("a resolver on $platform whose response is not known", (platform) => {
  test("gives its place in flight back when the connection closes", async () => {
    const store = new MemoryStore({ clock: new ManualClock() });
    const parallel = { name: "parallel", capacity: 1, returns: whenDone() };
    const left = (): number => createLimiter({ policy: parallel, store }).peek(["user", "ann"]).remaining;
    @Controller()
    class Fields {
      constructor(readonly guard: RateLimitGuard) {}
      @SkipRateLimit() @Get("fields") async fields(@Req() request: object): Promise<unknown> {
        await this.guard.canActivate(contextOf("graphql", [undefined, {}, { request }, {}]));
        return { left: left() };
      }
    }
    Reflect.defineMetadata("design:paramtypes", [RateLimitGuard], Fields);
    const getRequest = (context: ExecutionContext) => context.getArgByIndex<{ request: never }>(2).request;
    const imports = [limits({ store, policy: parallel, getRequest, getResponse: () => undefined })];
    const ask = await start(platform, { imports, controllers: [Fields], providers: [signIn, limited] });
    expect(await (await ask("GET /fields", "ann", { connection: "close" })).json()).toEqual({ left: 0 });
    await expect.poll(left).toBe(1);
  });
});

describe("@InjectRateLimiter", () => {
  /** A service that takes tokens of two policies. */
  @Injectable()
  class Jobs {
    constructor(@InjectRateLimiter("api") readonly api: Limiter, @InjectRateLimiter("reports") readonly reports: Limiter) {}
  }

  @Controller()
  class Reports {
    @RateLimit({ name: "reports", refill: perHour(3) }) @Get("reports") reports(): string {
      return "reports";
    }
    @RateLimit({ shadow: true }) @Get("shadowed") shadowed(): string {
      return "shadowed";
    }
  }

  test("gives the limiter of a policy, which shares the buckets of the handlers", async () => {
    const app = await create(express, { imports: [limits()], controllers: [Reports], providers: [Jobs, signIn, limited] });
    await app.listen(0, "127.0.0.1");
    await fetch(`${(await app.getUrl()).replace("[::1]", "127.0.0.1")}/reports`, { headers: { "x-user": "ann" } });
    const { api, reports } = app.get(Jobs);
    expect([(await api.consume(["user", "ann"])).remaining, (await reports.consume(["user", "ann"])).remaining]).toEqual([99, 1]);
    expect(api.shadow(["user", "ann"])).toBe(false); // the module's, not that of a handler of the same policy
  });

  test("gives the limiters of a combination, and of a list", async () => {
    const store = new MemoryStore({ clock: new ManualClock() });
    const user = createLimiter({ policy: { name: "api", refill: perMinute(5) }, store });
    const tenant = createLimiter({ policy: { name: "reports", refill: perMinute(9) }, store });
    const key = () => ({ user: "ann", tenant: "acme" });
    const app = await create(express, { imports: [limits({ limiter: combine({ user, tenant }), key, policy: undefined, store: undefined } as object)], providers: [Jobs] });
    expect([app.get(Jobs).api, app.get(Jobs).reports]).toEqual([user, tenant]);

    @Controller()
    class Listed {
      @RateLimit([{ name: "reports", refill: perHour(3) }, { name: "other", refill: perHour(3) }]) @Get("listed") listed(): string {
        return "listed";
      }
    }
    const other = await create(express, { imports: [limits()], controllers: [Listed], providers: [Jobs, limited] });
    expect((await other.get(Jobs).reports.peek("ann")).capacity).toBe(3);
  });

  test("of a name without a policy stops the start, and only there", async () => {
    expect(await startError(express, { imports: [limits()], providers: [limited] })).toBe("it started");
    expect(await startError(express, { imports: [limits()], providers: [Jobs, limited] })).toBe(
      'Expected `@InjectRateLimiter` to be one of "api", got "reports". Write a policy of this name in RateLimitModule or in a ' +
      "@RateLimit. In place of a function `policy`, pass a `limiter`",
    );
  });

  test("is replaced in tests by its token", async () => {
    const testing = await Test.createTestingModule({
      providers: [Jobs, ...["api", "reports"].map((name) => ({ provide: rateLimiterToken(name), useValue: name }))],
    }).compile();
    expect(testing.get(Jobs)).toMatchObject({ api: "api", reports: "reports" });

    const app = await Test.createTestingModule({ imports: [limits()], controllers: [Reports], providers: [Jobs, limited] })
      .overrideProvider(rateLimiterToken("api")).useValue("api").compile();
    expect(app.get(Jobs)).toMatchObject({ api: "api", reports: { policy: { name: "reports" } } });
  });
});
