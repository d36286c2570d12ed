// What stops the start of an application, and what does not.
import { Controller, Get, Injectable, Module, SetMetadata, UseGuards, type ModuleMetadata } from "@nestjs/common";
import { APP_GUARD, NestFactory } from "@nestjs/core";
import { Test } from "@nestjs/testing";
import { daily, perHour, perMinute, whenDone } from "sluice";
import { RateLimit, RateLimitGuard, RateLimitInterceptor, SkipRateLimit } from "sluice/nest";
import { describe, expect, onTestFinished, test } from "vitest";
import { AuthGuard, create, limited, limits, platforms, startError } from "./apps.js";

const [express] = platforms;
const reports = { name: "reports", refill: perHour(3) };

@Controller()
class Limited {
  @RateLimit(reports) @Get("limited") limited(): string {
    return "limited";
  }
}

const startOf = (metadata: ModuleMetadata) => startError(express, metadata);

describe("a policy of a decorator", () => {
  test("with other numbers under one name is refused at start", async () => {
    @Controller()
    class Others {
      @RateLimit({ ...reports, refill: perHour(4) }) @Get("others") others(): string {
        return "others";
      }
    }
    const message = await startOf({ imports: [limits()], controllers: [Limited, Others], providers: [limited] });
    expect(message).toMatch(/^@RateLimit of Others\.others: Expected policy "reports" to have the same numbers/);
  });

  test("with the name of the module's and other numbers, too", async () => {
    @Controller()
    @RateLimit({ name: "api", refill: perMinute(5) })
    class Api {
      @Get("api") api(): string {
        return "api";
      }
    }
    expect(await startOf({ imports: [limits()], controllers: [Api], providers: [limited] })).toMatch(/^@RateLimit of Api: Expected policy "api"/);
  });

  test("with a wrong option is named by its place", async () => {
    @Controller()
    class Wrong {
      @RateLimit({ costs: 2 } as object) @Get("wrong") wrong(): string {
        return "wrong";
      }
    }
    expect(await startOf({ imports: [limits()], controllers: [Wrong], providers: [limited] })).toMatch(/^@RateLimit of Wrong\.wrong: Unknown option `costs`/);
  });

  test("of another kind than the module's is kept by its default store, but for dates", async () => {
    @Controller()
    class Parallel {
      @RateLimit({ name: "parallel", capacity: 1, returns: whenDone() }) @Get("parallel") parallel(): string {
        return "parallel";
      }
    }
    @Controller()
    class Quota {
      @RateLimit({ name: "quota", capacity: 1, renews: daily() }) @Get("quota") quota(): string {
        return "quota";
      }
    }
    const app = { imports: [limits({ store: undefined })], providers: [limited] };
    expect(await startOf({ ...app, controllers: [Parallel] })).toBe("it started");
    expect(await startOf({ ...app, controllers: [Quota] })).toMatch(/^@RateLimit of Quota\.quota: .* Pass `store: new MemoryStore\(\{ clock: Date\.now \}\)`$/);
  });
});

describe("a decorator that no guard reads", () => {
  test("is refused at start, on a handler and on a class", async () => {
    expect(await startOf({ imports: [limits()], controllers: [Limited] })).toBe(
      "Expected RateLimitGuard to guard Limited.limited, which has a @RateLimit, got no such guard. Write { provide: APP_GUARD, " +
      "useClass: RateLimitGuard } in a module, or @UseGuards(RateLimitGuard) on the class",
    );
    @Controller()
    @UseGuards(AuthGuard)
    @RateLimit(reports)
    class Whole {
      @Get("whole") whole(): string {
        return "whole";
      }
    }
    expect(await startOf({ imports: [limits()], controllers: [Whole] })).toContain("to guard Whole.whole, which has the @RateLimit of its class");
  });

  test("is refused on a class of which the guard reaches some routes alone", async () => {
    class Base {
      @UseGuards(RateLimitGuard) @Get("guarded") guarded(): string {
        return "guarded";
      }
      @SkipRateLimit() @Get("free") free(): string {
        return "free";
      }
      @UseGuards(RateLimitGuard) @RateLimit({ cost: 2 }) @Get("own") own(): string {
        return "own";
      }
      helper(): string {
        return "helper";
      }
    }
    @Controller()
    @RateLimit(reports)
    class Some extends Base {
      @Get("open") open(): string {
        return "open";
      }
    }
    @Controller()
    @RateLimit(reports)
    class All extends Base {}
    expect(await startOf({ imports: [limits()], controllers: [Some] })).toMatch(/^Expected RateLimitGuard to guard Some\.open, which has the @RateLimit of its class, got no such guard/);
    expect(await startOf({ imports: [limits()], controllers: [Some], providers: [limited] })).toBe("it started");
    expect(await startOf({ imports: [limits()], controllers: [All] })).toBe("it started");
  });

  test("is refused on a resolver of which the guard reaches some queries alone, but fields need none", async () => {
    const query = SetMetadata("graphql:resolver_type", "Query");
    @RateLimit(reports)
    class Fields {
      @UseGuards(RateLimitGuard) @query guarded(): string {
        return "guarded";
      }
      @SetMetadata("graphql:resolve_property", true) field(): string {
        return "field";
      }
    }
    @RateLimit(reports)
    class Queries extends Fields {
      @query open(): string {
        return "open";
      }
    }
    @RateLimit(reports)
    class FieldsAlone {
      @SetMetadata("graphql:resolve_property", true) field(): string {
        return "field";
      }
    }
    expect(await startOf({ imports: [limits()], providers: [FieldsAlone] })).toContain("to guard FieldsAlone.field, which");
    expect(await startOf({ imports: [limits()], providers: [Fields] })).toBe("it started");
    expect(await startOf({ imports: [limits()], providers: [Queries] })).toContain("to guard Queries.open, which has the @RateLimit of its class");
    expect(await startOf({ imports: [limits()], providers: [Queries, limited] })).toBe("it started");
  });

  test("is refused on a method that is no route, and in a service", async () => {
    @Controller()
    class NoRoute {
      @RateLimit(reports) helper(): string {
        return "helper";
      }
    }
    expect(await startOf({ imports: [limits()], controllers: [NoRoute], providers: [limited] })).toMatch(/NoRoute\.helper.*@InjectRateLimiter/);
    @Injectable()
    class Service {
      @RateLimit(reports) work(): string {
        return "work";
      }
    }
    expect(await startOf({ imports: [limits()], providers: [limited, Service] })).toMatch(/Service\.work.*@InjectRateLimiter/);
  });

  test.each([
    ["as an APP_GUARD", { providers: [limited] }],
    ["as an existing one", { providers: [{ provide: APP_GUARD, useExisting: RateLimitGuard }] }],
    ["of a factory", { providers: [{ provide: APP_GUARD, inject: [RateLimitGuard], useFactory: (guard: RateLimitGuard) => guard }] }],
    ["of a class that extends it", { providers: [{ provide: APP_GUARD, useClass: class extends RateLimitGuard {} }] }],
  ])("is read by RateLimitGuard %s", async (_name, metadata) => {
    expect(await startOf({ imports: [limits()], controllers: [Limited], ...metadata })).toBe("it started");
  });

  test("is read by RateLimitGuard on its class, its handler, or of useGlobalGuards", async () => {
    @Controller()
    class OnHandler {
      @UseGuards(RateLimitGuard) @RateLimit(reports) @Get("handler") handler(): string {
        return "handler";
      }
    }
    @Controller()
    @UseGuards(AuthGuard, RateLimitGuard)
    @RateLimit(reports)
    class OnClass {
      @Get("class") class(): string {
        return "class";
      }
    }
    expect(await startOf({ imports: [limits()], controllers: [OnHandler, OnClass] })).toBe("it started");
    const app = await create(express, { imports: [limits()], controllers: [Limited] });
    app.useGlobalGuards(app.get(RateLimitGuard));
    await app.init();
    const late = await create(express, { imports: [limits()], controllers: [Limited] });
    late.useGlobalInterceptors(late.get(RateLimitInterceptor));
    await late.init();
  });

  test("needs no guard where a test replaces it, or where there is no server", async () => {
    const testing = await Test.createTestingModule({ imports: [limits()], controllers: [Limited], providers: [{ provide: APP_GUARD, useExisting: RateLimitGuard }] })
      .overrideProvider(RateLimitGuard).useValue({ canActivate: () => true }).compile();
    const app = testing.createNestApplication(express.adapter(), { logger: false });
    onTestFinished(() => app.close());
    await app.init();

    @Module({ imports: [limits()], controllers: [Limited] })
    class Worker {}
    const worker = await NestFactory.createApplicationContext(Worker, { logger: false, abortOnError: false });
    await worker.close();
  });

  test("is refused on a handler of messages, also where there is no server", async () => {
    @Controller()
    class Messages {
      @Get("route") @RateLimit(reports) route(): string {
        return "route";
      }
      // What @MessagePattern and @EventPattern write.
      @SetMetadata("microservices:handler_type", 1) @UseGuards(RateLimitGuard) @RateLimit(reports) onMessage(): string {
        return "a message";
      }
    }
    @Module({ imports: [limits()], controllers: [Messages], providers: [limited] })
    class Microservice {}
    const message = /^Expected RateLimitGuard to guard Messages\.onMessage, .*@RateLimit is for routes and GraphQL\. Elsewhere write @InjectRateLimiter/;
    await expect(NestFactory.createApplicationContext(Microservice, { logger: false, abortOnError: false })).rejects.toThrow(message);
    expect(await startOf({ imports: [limits()], controllers: [Messages], providers: [limited] })).toMatch(message);
  });
});

test("a guard or an interceptor that NestJS did not make is refused with the cure", () => {
  for (const made of [RateLimitGuard, RateLimitInterceptor] as readonly unknown[] as ReadonlyArray<new () => unknown>) {
    expect(() => new made()).toThrow(/^Expected NestJS to make RateLimitGuard and RateLimitInterceptor, got `new` without limits\. Write .*app\.get\(RateLimitGuard\)/);
  }
});

describe("decorators that contradict each other", () => {
  const two = /^Expected one @RateLimit or @SkipRateLimit on twice, got two\. For two limits write a list of them/;

  test("are refused where they are written", () => {
    expect(() => {
      class Twice {
        @RateLimit(reports) @SkipRateLimit() twice(): void {}
      }
      return Twice;
    }).toThrow(two);
    expect(() => {
      @RateLimit(reports)
      @RateLimit(reports)
      class Whole {}
      return Whole;
    }).toThrow("@SkipRateLimit on Whole, got two");
    expect(() => RateLimit("reports" as never)).toThrow('Expected @RateLimit to get a policy, options or a list of them, got "reports"');
    expect(() => RateLimit(null as never)).toThrow("got null");
  });

  test("are none on a class and its heir", () => {
    @RateLimit(reports)
    class Base {}
    @SkipRateLimit()
    class Heir extends Base {}
    expect(Heir).toBeDefined();
  });
});

test.each([
  ["no", []],
  ["one", [reports, reports]],
])("a list of %s name is refused", async (_name, list) => {
  @Controller()
  class Listed {
    @RateLimit(list as never) @Get("listed") listed(): string {
      return "listed";
    }
  }
  expect(await startOf({ imports: [limits()], controllers: [Listed], providers: [limited] })).toMatch(/^@RateLimit of Listed\.listed: Expected the policies of a list/);
});

test("a list takes no function that picks a policy, and no limiter", async () => {
  @Controller()
  class Listed {
    @RateLimit([{ policy: () => reports }] as never) @Get("listed") listed(): string {
      return "listed";
    }
  }
  expect(await startOf({ imports: [limits()], controllers: [Listed], providers: [limited] })).toMatch(/an object in a list of limits.*combine/);
});

test.each(["limiter", "respond", "skip", "keys"])("a list takes no option `%s`", async (name) => {
  @Controller()
  class Listed {
    @RateLimit([{ policy: reports, [name]: () => true }] as never) @Get("listed") listed(): string {
      return "listed";
    }
  }
  const message = await startOf({ imports: [limits()], controllers: [Listed], providers: [limited] });
  expect(message).toMatch(new RegExp(`^@RateLimit of Listed\\.listed: Unknown option \`${name}\` in a list of limits\\. .*combine`));
});

test("two modules with limits are refused", async () => {
  expect(await startOf({ imports: [limits(), limits({ policy: { name: "other", refill: perHour(3) } })], providers: [limited] })).toBe(
    "Expected one RateLimitModule in the application, got 2. Write @RateLimit for other limits",
  );
});

test("an option of another library is told what to write", async () => {
  expect(await startOf({ imports: [limits({ ttl: 60_000, limit: 10 } as object)], providers: [limited] })).toContain("refill");
});
