// More rows of the guide from @nestjs/throttler, each with the old package and sluice/nest: who a caller is, header fields,
// how options are provided, and callers outside of routes.
import { Controller, Get, Headers, Inject, Injectable, Module, UseGuards, type DynamicModule, type ExecutionContext, type Provider, type Type } from "@nestjs/common";
import { APP_GUARD, ExternalContextCreator, NestFactory } from "@nestjs/core";
import { InjectThrottlerStorage, ThrottlerGuard, ThrottlerModule, type ThrottlerModuleOptions, type ThrottlerOptionsFactory, type ThrottlerStorage } from "@nestjs/throttler";
import { addressKey, type Limiter } from "sluice";
import { InjectRateLimiter, RateLimitGuard, RateLimitModule, type NestRequest, type RateLimitModuleOptions } from "sluice/nest";
import { describe, expect, onTestFinished, test } from "vitest";
import { limitFields, start, stopTime, type Answer, type RunningApp } from "./moving.js";

const TTL = 900_000;
const policy = { name: "api", refill: { tokens: 1, everyMs: TTL } };

@Controller()
class Plain {
  @Get("one") one(): string {
    return "one";
  }
}

/** Starts an application with this module, and the guard of one of the packages for all routes. */
function appOf(guard: Type, module: DynamicModule, controller: Type = Plain, providers: Provider[] = []): Promise<RunningApp> {
  stopTime();
  @Module({ imports: [module], controllers: [controller], providers: [{ provide: APP_GUARD, useClass: guard }, ...providers] })
  class AppModule {}
  // Who asks, as a proxy tells.
  return start("nest", AppModule, (app) => (app.getHttpAdapter().getInstance() as { set(name: string, value: unknown): void }).set("trust proxy", 1));
}
const throttled = (options: ThrottlerModuleOptions): Promise<RunningApp> => appOf(ThrottlerGuard, ThrottlerModule.forRoot(options));
const limited = (more: Partial<RateLimitModuleOptions>): Promise<RunningApp> =>
  appOf(RateLimitGuard, RateLimitModule.forRoot({ policy, key: () => "ann", ...more } as RateLimitModuleOptions));

const from = (app: RunningApp, address: string): Promise<Answer> => app.get("/one", undefined, undefined, { "x-forwarded-for": address });

describe("ipv6SubnetPrefix", () => {
  const keyOf = (ipv6Prefix: number) => limited({ key: (request: NestRequest) => addressKey(request.ip, { ipv6Prefix }) } as Partial<RateLimitModuleOptions>);
  const throttlers = [{ ttl: TTL, limit: 1 }];

  test.each([
    ["64 by default", undefined, 64, ["2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:2::1"], [200, 429, 200]],
    ["56", 56, 56, ["2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:100::1"], [200, 429, 200]],
    ["an IPv4 address in both spellings", 56, 56, ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"], [200, 429, 200]],
  ])("%s: the same callers share a bucket", async (_name, ipv6SubnetPrefix, ipv6Prefix, addresses, statuses) => {
    const old = await throttled({ throttlers, ...(ipv6SubnetPrefix !== undefined && { ipv6SubnetPrefix }) });
    for (const app of [old, await keyOf(ipv6Prefix)]) {
      const seen: number[] = [];
      for (const address of addresses) seen.push((await from(app, address)).status);
      expect(seen).toEqual(statuses);
    }
  });

  test("a prefix above 64 gives each host of one network a bucket before, and throws after", async () => {
    const old = await throttled({ throttlers, ipv6SubnetPrefix: 128 });
    expect([(await from(old, "2001:db8::1")).status, (await from(old, "2001:db8::2")).status]).toEqual([200, 200]);
    expect(() => addressKey("2001:db8::1", { ipv6Prefix: 128 })).toThrow("a whole number from 32 to 64");
  });
});

test("ignoreUserAgents: requests of a user agent cost nothing and have no fields, whoever sends it", async () => {
  const old = await throttled({ throttlers: [{ ttl: TTL, limit: 1 }], ignoreUserAgents: [/^Monitor/] });
  const now = await limited({ skip: (request: NestRequest) => String(request.headers["user-agent"]).startsWith("Monitor") } as Partial<RateLimitModuleOptions>);
  for (const app of [old, now]) {
    const as = (agent: string): Promise<Answer> => app.get("/one", undefined, undefined, { "user-agent": agent });
    for (let i = 0; i < 3; i++) expect([(await as("Monitor/1")).status, limitFields((await as("Monitor/1")).headers)]).toEqual([200, {}]);
    expect([(await as("Browser")).status, (await as("Browser")).status, (await as("Monitor/1")).status]).toEqual([200, 429, 200]);
  }
});

test("setHeaders: no fields before and after, and a refusal keeps Retry-After after alone", async () => {
  const old = await throttled({ throttlers: [{ ttl: TTL, limit: 1 }], setHeaders: false });
  const now = await limited({ headers: [] });
  for (const [app, refusal] of [[old, {}], [now, { "retry-after": "900" }]] as const) {
    expect([limitFields((await app.get("/one")).headers), limitFields((await app.get("/one")).headers)]).toEqual([{}, refusal]);
  }
});

describe("options of a class", () => {
  const one: ThrottlerModuleOptions = [{ ttl: TTL, limit: 1 }];

  @Injectable()
  class OldSettings implements ThrottlerOptionsFactory {
    createThrottlerOptions(): ThrottlerModuleOptions {
      return one;
    }
  }
  @Injectable()
  class Settings {
    limits(): RateLimitModuleOptions {
      return { policy, key: () => "ann" };
    }
  }
  @Module({ providers: [OldSettings, Settings], exports: [OldSettings, Settings] })
  class SettingsModule {}
  const useFactory = (settings: Settings): RateLimitModuleOptions => settings.limits();

  test.each([
    ["useClass", () => ThrottlerModule.forRootAsync({ useClass: OldSettings })],
    ["useExisting", () => ThrottlerModule.forRootAsync({ imports: [SettingsModule], useExisting: OldSettings })],
  ])("%s: `inject` and `useFactory` read the same class, from a module in `imports`", async (_name, module) => {
    const old = await appOf(ThrottlerGuard, module());
    const now = await appOf(RateLimitGuard, RateLimitModule.forRootAsync({ imports: [SettingsModule], inject: [Settings], useFactory }));
    for (const app of [old, now]) expect([(await app.get("/one")).status, (await app.get("/one")).status]).toEqual([200, 429]);
  });

  test("useClass provides the class too, and `inject` does not", async () => {
    @Module({ imports: [RateLimitModule.forRootAsync({ inject: [Settings], useFactory })], providers: [Settings] })
    class AppModule {}
    await expect(NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false })).rejects.toThrow(/can't resolve dependencies .*Settings/s);
  });
});

test("@InjectThrottlerStorage: a service charges by itself. The storage has keys of its own, and the limiter shares the buckets", async () => {
  @Injectable()
  class OldLogins {
    @InjectThrottlerStorage() readonly storage!: ThrottlerStorage;
    async isAllowed(user: string): Promise<boolean> {
      return !(await this.storage.increment(user, TTL, 2, TTL, "default")).isBlocked;
    }
  }
  @Injectable()
  class Logins {
    @InjectRateLimiter("api") readonly limiter!: Limiter;
    async isAllowed(user: string): Promise<boolean> {
      return (await this.limiter.consume(user)).allowed;
    }
  }
  @Injectable()
  abstract class AnyLogins {
    abstract isAllowed(user: string): Promise<boolean>;
  }
  @Controller()
  class Login {
    @Inject(AnyLogins) readonly logins!: AnyLogins;
    @Get("login") async login(@Headers("x-user") user: string): Promise<string> {
      return String(await this.logins.isAllowed(user));
    }
  }
  const getTracker = (request: Record<string, unknown>): string => String((request["headers"] as Record<string, string>)["x-user"]);
  const old = await appOf(ThrottlerGuard, ThrottlerModule.forRoot({ throttlers: [{ ttl: TTL, limit: 9 }], getTracker }), Login, [{ provide: AnyLogins, useClass: OldLogins }]);
  const now = await appOf(
    RateLimitGuard,
    RateLimitModule.forRoot({ policy: { name: "api", capacity: 5, refill: { tokens: 5, everyMs: TTL } }, key: ({ headers }) => String(headers["x-user"]) }),
    Login, [{ provide: AnyLogins, useClass: Logins }],
  );
  for (const [app, told] of [[old, ["true", "true", "false"]], [now, ["true", "true", "false"]]] as const) {
    const seen: string[] = [];
    while (seen.length < 3) seen.push((await app.get("/login", undefined, undefined, { "x-user": "ann" })).body);
    expect(seen).toEqual(told);
    expect((await app.get("/login", undefined, undefined, { "x-user": "bob" })).body).toBe("true");
  }
  // Before, the guard counts its own 3 requests of 9; after, a request and its call of the service take 2 of 5.
  const left = async (app: RunningApp, name: string) => (await app.get("/login", undefined, undefined, { "x-user": "eve" })).headers[name];
  expect([await left(old, "x-ratelimit-remaining"), await left(old, "x-ratelimit-remaining")]).toEqual(["8", "7"]);
  expect([await left(now, "ratelimit-remaining"), await left(now, "ratelimit-remaining")]).toEqual(["4", "2"]);
});

describe("getRequestResponse", () => {
  class Resolver {
    @UseGuards(RateLimitGuard) query(): string {
      return "after";
    }
  }
  class GqlThrottlerGuard extends ThrottlerGuard {
    protected override getRequestResponse(context: ExecutionContext): ReturnType<ThrottlerGuard["getRequestResponse"]> {
      return context.getArgByIndex(2);
    }
  }
  class PlainResolver {
    @UseGuards(ThrottlerGuard) query(): string {
      return "before";
    }
  }
  class OldResolver {
    @UseGuards(GqlThrottlerGuard) query(): string {
      return "before";
    }
  }

  /** Calls `query` as Nest calls a resolver, with the request and the response of one context. */
  async function resolverOf(module: DynamicModule, type: Type): Promise<() => Promise<{ result: unknown; fields: Record<string, unknown> }>> {
    stopTime();
    @Module({ imports: [module], providers: [type] })
    class AppModule {}
    const app = await NestFactory.create(AppModule, { logger: false, abortOnError: false });
    onTestFinished(() => app.close());
    await app.init();
    const instance = app.get<{ query(): string }>(type);
    const call = app.get(ExternalContextCreator).create(instance, instance.query, "query", undefined, undefined, undefined, undefined, { guards: true, filters: false, interceptors: false }, "graphql");
    return async () => {
      const fields: Record<string, unknown> = {};
      const set = (name: string, value: unknown): unknown => (fields[name.toLowerCase()] = value);
      const res = { header: set, setHeader: set, getHeader: (name: string) => fields[name.toLowerCase()], getHeaders: () => fields, headersSent: false, once: () => res, on: () => res };
      const req = { headers: {}, ip: "192.0.2.1", res };
      const result: unknown = await call(undefined, {}, { req, res }, {}).then((value: unknown) => value, (error: { status?: number }) => error.status ?? error);
      return { result, fields };
    };
  }
  const key = () => "ann";
  const getRequest = (context: ExecutionContext): NestRequest => context.getArgByIndex<{ req: NestRequest }>(2).req;

  test("a guard that overrides it, and `getRequest`, limit resolvers, with the fields on the response", async () => {
    const old = await resolverOf(ThrottlerModule.forRoot([{ ttl: TTL, limit: 1 }]), OldResolver);
    const now = await resolverOf(RateLimitModule.forRoot({ policy, key, getRequest }), Resolver);
    for (const [call, served, remaining] of [[old, "before", "x-ratelimit-remaining"], [now, "after", "ratelimit-remaining"]] as const) {
      const first = await call();
      expect([first.result, String(first.fields[remaining])]).toEqual([served, "0"]);
      const second = await call();
      expect([second.result, String(second.fields["retry-after"])]).toEqual([429, "900"]);
    }
  });

  test("without either, both throw for a resolver, and sluice names the option", async () => {
    const old = await resolverOf(ThrottlerModule.forRoot([{ ttl: TTL, limit: 1 }]), PlainResolver);
    expect((await old()).result).toBeInstanceOf(TypeError);
    const now = await resolverOf(RateLimitModule.forRoot({ policy, key }), Resolver);
    expect((await now()).result).toMatchObject({ message: expect.stringContaining("Write `getRequest: (context) =>") });
  });
});
