import "reflect-metadata";
import { Controller, Get, Module, Post } from "@nestjs/common";
import { MemoryStore, perHour, perMinute, type Decision } from "sluice";
import { RateLimit, RateLimitDecision, RateLimitModule, SkipRateLimit } from "sluice/nest";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { limited, platforms, signIn, start } from "./nest/apps.js";

class ClockService {
  readonly clock = new ManualClock();
}

@Module({ providers: [ClockService], exports: [ClockService] })
class ClockModule {}

@Controller("reports")
@RateLimit({ name: "reports", refill: perHour(3) })
class ReportsController {
  @SkipRateLimit() @Get("health") health(): string {
    return "healthy";
  }
  @Post() create(@RateLimitDecision() decision: Decision): object {
    return { policy: decision.policy, remaining: decision.remaining };
  }
  @Get() list(@RateLimitDecision() decision: Decision): object {
    return { policy: decision.policy, remaining: decision.remaining };
  }
}

@Controller()
class PlainController {
  @Get("plain") plain(@RateLimitDecision() decision: Decision | undefined): object {
    return { policy: decision?.policy ?? null, remaining: decision?.remaining ?? null };
  }
  @RateLimit({ cost: 10 }) @Get("costly") costly(@RateLimitDecision() decision: Decision): object {
    return { policy: decision.policy, remaining: decision.remaining };
  }
}

/** The limits as users write them, with time that stands still. */
const limits = () =>
  RateLimitModule.forRootAsync({
    imports: [ClockModule],
    inject: [ClockService],
    useFactory: (service) => ({
      store: new MemoryStore({ clock: service.clock }),
      policy: { name: "api", refill: perMinute(100) },
      key: (request) => ["user", request.user?.id],
      unidentified: "refuse",
    }),
  });

describe.each(platforms)("NestJS on $platform", (platform) => {
  const whole = () => ({ imports: [limits()], controllers: [ReportsController, PlainController], providers: [signIn, limited] });

  test("a handler without a decorator has the module's limit", async () => {
    const ask = await start(platform, whole());
    const response = await ask("GET /plain", "ann");
    expect([response.status, await response.json(), response.headers.get("ratelimit-remaining")]).toEqual([
      200, { policy: "api", remaining: 99 }, "99",
    ]);
  });

  test("a class's policy replaces the module's, and is one bucket over its methods", async () => {
    const ask = await start(platform, whole());
    const answers = [await ask("POST /reports", "ann"), await ask("GET /reports", "ann"), await ask("POST /reports", "ann")];
    expect(await Promise.all(answers.map((each) => each.json()))).toEqual([2, 1, 0].map((remaining) => ({ policy: "reports", remaining })));
    const refused = await ask("GET /reports", "ann");
    expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("ratelimit-remaining")]).toEqual([429, "1200", "0"]);
    expect((await ask("GET /reports", "bob")).status).toBe(200);
    expect(await (await ask("GET /plain", "ann")).json()).toEqual({ policy: "api", remaining: 99 });
  });

  test("a skipped handler of a limited class costs nothing and has no fields", async () => {
    const ask = await start(platform, whole());
    for (let i = 0; i < 4; i++) {
      const response = await ask("GET /reports/health", "ann");
      expect([response.status, response.headers.get("ratelimit")]).toEqual([200, null]);
    }
  });

  test("options of a decorator are on top of the module's", async () => {
    const ask = await start(platform, whole());
    expect(await (await ask("GET /costly", "ann")).json()).toEqual({ policy: "api", remaining: 90 });
    expect(await (await ask("GET /plain", "ann")).json()).toEqual({ policy: "api", remaining: 89 });
  });

  test("without a filter, a refusal is the standard document", async () => {
    const ask = await start(platform, whole());
    const response = await ask("GET /plain");
    const { headers } = response;
    const text = await response.text();
    expect([response.status, headers.get("content-type"), headers.get("www-authenticate"), headers.get("cache-control")]).toEqual([
      401, "application/problem+json", "Bearer", "no-store",
    ]);
    expect(headers.get("content-length")).toBe(String(text.length));
    expect(JSON.parse(text)).toMatchObject({ status: 401, code: "unidentified" });
  });
});
