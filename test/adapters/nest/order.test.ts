// The order of guards, which decides whether the limiter knows the user.
import { Controller, Get, Scope, UseGuards, UseInterceptors, type ModuleMetadata } from "@nestjs/common";
import { APP_INTERCEPTOR } from "@nestjs/core";
import { perHour } from "sluice";
import { RateLimit, RateLimitGuard, RateLimitInterceptor } from "sluice/nest";
import { describe, expect, test } from "vitest";
import { expectWarnings } from "../../setup/warnings.js";
import { AuthGuard, limited, limits, platforms, signIn, start, type Platform } from "./apps.js";

@Controller("own")
class OwnController {
  @UseGuards(AuthGuard) @Get() own(): string {
    return "own";
  }
}

@Controller("reports")
@UseGuards(AuthGuard, RateLimitGuard)
class ReportsController {
  @Get() reports(): string {
    return "reports";
  }
}

@Controller("late")
@UseInterceptors(RateLimitInterceptor)
@UseGuards(AuthGuard)
@RateLimit({ name: "late", refill: perHour(2) })
class LateController {
  @Get() late(): string {
    return "late";
  }
}

@Controller("bare")
class BareController {
  @Get() bare(): string {
    return "bare";
  }
}

const refuse = () => limits({ unidentified: "refuse", policy: { name: "api", refill: perHour(2) } });

async function statuses(platform: Platform, metadata: ModuleMetadata, call: string, times = 3): Promise<number[]> {
  const ask = await start(platform, { imports: [refuse()], ...metadata });
  const all: number[] = [];
  for (let i = 0; i < times; i++) all.push((await ask(call, "ann")).status);
  return all;
}

describe.each(platforms)("the order of guards of NestJS on $platform", (platform) => {
  test("a global guard that signs in comes before the limiter", async () => {
    expect(await statuses(platform, { controllers: [OwnController], providers: [signIn, limited] }, "GET /own")).toEqual([200, 200, 429]);
  });

  test("a global limiter runs before the guards of a controller", async () => {
    expect(await statuses(platform, { controllers: [OwnController], providers: [limited] }, "GET /own")).toEqual([401, 401, 401]);
  });

  test("a limiter of the controller comes after the guard that it names", async () => {
    expect(await statuses(platform, { controllers: [ReportsController] }, "GET /reports")).toEqual([200, 200, 429]);
  });

  test("a global interceptor runs after the guards of a controller", async () => {
    const late = { provide: APP_INTERCEPTOR, useClass: RateLimitInterceptor };
    expect(await statuses(platform, { controllers: [OwnController], providers: [late] }, "GET /own")).toEqual([200, 200, 429]);
    expect(await statuses(platform, { controllers: [LateController] }, "GET /late")).toEqual([200, 200, 429]);
    expect(await statuses(platform, { controllers: [LateController], providers: [late] }, "GET /late")).toEqual([200, 200, 429]);
  });
});

describe("the warning of 20 requests without a key", () => {
  const [express] = platforms;
  const FIRST = 'SLUICE_UNIDENTIFIED: All of the first 20 requests under policy "api" are unidentified: `key` returned nothing for them. They get a 401. ';

  test("names the order, where a controller has guards of its own", async () => {
    expectWarnings(`${FIRST}RateLimitGuard is an APP_GUARD and runs before the guards of OwnController. If one of those signs callers in, write`);
    await statuses(express, { controllers: [OwnController], providers: [limited] }, "GET /own", 20);
  });

  test("names the order of `providers`, where a global guard comes after the limiter", async () => {
    expectWarnings(`${FIRST}RateLimitGuard runs before AuthGuard. If that signs callers in, put RateLimitGuard after it in \`providers\``);
    await statuses(express, { controllers: [OwnController], providers: [limited, signIn] }, "GET /own", 20);
  });

  test("names a guard of the request, too", async () => {
    expectWarnings(`${FIRST}RateLimitGuard runs before AuthGuard. If`);
    await statuses(express, { controllers: [BareController], providers: [limited, { ...signIn, scope: Scope.REQUEST }] }, "GET /bare", 20);
  });

  test("is the usual one where the limiter is the last global guard", async () => {
    expectWarnings(`${FIRST}Mount the rate limit after authentication`);
    const ask = await start(express, { imports: [refuse()], controllers: [BareController], providers: [signIn, limited] });
    for (let i = 0; i < 20; i++) expect((await ask("GET /bare")).status).toBe(401);
  });

  test("is the usual one without such a guard", async () => {
    expectWarnings(`${FIRST}Mount the rate limit after authentication`);
    await statuses(express, { controllers: [BareController], providers: [limited] }, "GET /bare", 20);
  });

  test("is the usual one where the limiter is the controller's", async () => {
    expectWarnings(`${FIRST}Mount the rate limit after authentication`);
    const ask = await start(express, { imports: [refuse()], controllers: [ReportsController, OwnController] });
    for (let i = 0; i < 20; i++) expect((await ask("GET /reports")).status).toBe(401);
  });
});
