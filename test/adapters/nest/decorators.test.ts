import { Controller, Get, Req, UseGuards } from "@nestjs/common";
import { combine, createLimiter, definePolicy, MemoryStore, perHour, perMinute, perSecond, unlimited, type Decision, type Policy } from "sluice";
import { decisionsOf, RateLimit, RateLimitDecision, RateLimitGuard, SkipRateLimit, type NestRequest } from "sluice/nest";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { AuthGuard, limited, limits, platforms, signIn, start } from "./apps.js";

const burst = { name: "burst", capacity: 2, refill: perMinute(2) };
const daily = { name: "daily", refill: perHour(3) };

/** The policies and remaining tokens of a decision. */
const told = (decision: Decision): object => ({ policy: decision.policy, left: decision.remaining });

@Controller("list")
@RateLimit([burst, { policy: daily, cost: 2 }])
class ListController {
  @Get() both(@RateLimitDecision() decision: Decision): object {
    const { decisions } = decision as Decision & { decisions: Record<string, Decision> };
    return Object.entries(decisions).map(([name, { remaining }]) => [name, remaining]);
  }
  @RateLimit(burst) @Get("burst") burst(@RateLimitDecision() decision: Decision): object | null {
    return told(decision);
  }
  @RateLimit(daily) @Get("daily") daily(@RateLimitDecision() decision: Decision): object | null {
    return told(decision);
  }
}

@Controller("skipped")
@SkipRateLimit()
class SkippedController {
  @Get() free(@RateLimitDecision() decision: Decision | undefined): object {
    return { decision: decision ?? null };
  }
  @RateLimit({ name: "one", refill: perHour(1) }) @Get("limited") limited(@RateLimitDecision() decision: Decision): object | null {
    return told(decision);
  }
}

class BaseController {
  @Get("inherited") inherited(@RateLimitDecision() decision: Decision): object | null {
    return told(decision);
  }
  @RateLimit({ name: "base", refill: perHour(5) }) @Get("own") own(@RateLimitDecision() decision: Decision): object | null {
    return told(decision);
  }
}

@Controller("heir")
@RateLimit({ name: "heir", refill: perHour(7) })
class HeirController extends BaseController {}

describe.each(platforms)("decorators of NestJS on $platform", (platform) => {
  const app = { imports: [limits()], providers: [signIn, limited] };

  test("a list charges all of its limits, each in the bucket of its policy, and not the module's", async () => {
    const ask = await start(platform, { ...app, imports: [limits()], controllers: [ListController] });
    expect(await (await ask("GET /list", "ann")).json()).toEqual([["burst", 1], ["daily", 1]]);
    // The second limit refuses, so the first is not charged.
    expect((await ask("GET /list", "ann")).status).toBe(429);
    expect(await (await ask("GET /list/burst", "ann")).json()).toEqual({ policy: "burst", left: 0 });
    expect(await (await ask("GET /list/daily", "ann")).json()).toEqual({ policy: "daily", left: 0 });
    expect(await (await ask("GET /list", "bob")).json()).toEqual([["burst", 1], ["daily", 1]]);
  });

  test("a list asks a key that its limits share once, and waits for it", async () => {
    const asked: string[] = [];
    const key = async (request: NestRequest) => (asked.push("key"), ["user", String(request.user?.id)] as const);
    const ask = await start(platform, { ...app, imports: [limits({ key })], controllers: [ListController] });
    expect(await (await ask("GET /list", "ann")).json()).toEqual([["burst", 1], ["daily", 1]]);
    expect(asked).toEqual(["key"]);
  });

  test("limits of a list have keys, costs and behavior of their own", async () => {
    @Controller()
    class Own {
      @RateLimit([
        { policy: burst, key: () => "everyone", cost: (_request, context) => context.getHandler().name.length - 1 },
        { policy: daily, shadow: true },
      ])
      @Get("own") own(@Req() request: object): object {
        return decisionsOf(request).flatMap((each) => Object.values((each as unknown as { decisions: Record<string, Decision> }).decisions).map(told));
      }
    }
    const ask = await start(platform, { ...app, imports: [limits()], controllers: [Own] });
    expect(await (await ask("GET /own", "ann")).json()).toEqual([{ policy: "burst", left: 0 }, { policy: "daily", left: 2 }]);
    expect((await ask("GET /own", "bob")).status).toBe(429);
  });

  test("a caller without a key is unidentified in a list, too", async () => {
    const ask = await start(platform, { ...app, imports: [limits({ unidentified: "refuse" })], controllers: [ListController] });
    expect((await ask("GET /list")).status).toBe(401);
  });

  test("a handler's limit wins over a class that is skipped", async () => {
    const ask = await start(platform, { ...app, imports: [limits()], controllers: [SkippedController] });
    expect(await (await ask("GET /skipped", "ann")).json()).toEqual({ decision: null });
    expect(await (await ask("GET /skipped/limited", "ann")).json()).toEqual({ policy: "one", left: 0 });
    expect((await ask("GET /skipped/limited", "ann")).status).toBe(429);
  });

  test("inherited handlers have their own limit, or that of the class that inherits them", async () => {
    const ask = await start(platform, { ...app, imports: [limits()], controllers: [HeirController] });
    expect(await (await ask("GET /heir/inherited", "ann")).json()).toEqual({ policy: "heir", left: 6 });
    expect(await (await ask("GET /heir/own", "ann")).json()).toEqual({ policy: "base", left: 4 });
  });

  test("a limiter of a decorator replaces the module's policy, with keys by its members", async () => {
    const store = new MemoryStore({ clock: new ManualClock() });
    const user = createLimiter({ policy: { name: "user", refill: perMinute(5) }, store });
    const tenant = createLimiter({ policy: { name: "tenant", refill: perMinute(9) }, store });
    @Controller()
    class Combined {
      @RateLimit({ limiter: combine({ user, tenant }), key: (request) => ({ user: ["user", request.user?.id ?? 0], tenant: unlimited }) })
      @Get("combined") combined(@RateLimitDecision() decision: Decision): object | null {
        return told(decision);
      }
    }
    const ask = await start(platform, { ...app, imports: [limits()], controllers: [Combined] });
    expect(await (await ask("GET /combined", "ann")).json()).toEqual({ policy: "user", left: 4 });
  });

  test("a function of the module picks the policy of each request", async () => {
    @Controller()
    class Plans {
      @Get("plans") plans(@RateLimitDecision() decision: Decision): object | null {
        return told(decision);
      }
    }
    const [paid, free] = [9, 5].map((tokens) => definePolicy({ name: "plans", refill: perMinute(tokens) })) as [Policy, Policy];
    const policy = ({ user }: NestRequest) => (user?.id === "ann" ? paid : free);
    const ask = await start(platform, { ...app, imports: [limits({ policy })], controllers: [Plans] });
    expect(await (await ask("GET /plans", "ann")).json()).toEqual({ policy: "plans", left: 8 });
    expect(await (await ask("GET /plans", "bob")).json()).toEqual({ policy: "plans", left: 4 });
  });

  test("a request that reaches the guard twice is charged once", async () => {
    @Controller()
    @UseGuards(RateLimitGuard)
    class Twice {
      @UseGuards(RateLimitGuard) @Get("twice") twice(@RateLimitDecision() decision: Decision): object | null {
        return told(decision);
      }
    }
    const ask = await start(platform, { ...app, imports: [limits()], controllers: [Twice] });
    expect(await (await ask("GET /twice", "ann")).json()).toEqual({ policy: "api", left: 99 });
  });

  test("a guard of a controller runs after the one that signs in there", async () => {
    @Controller("own")
    @UseGuards(AuthGuard, RateLimitGuard)
    @RateLimit({ name: "own", refill: perSecond(1) })
    class Own {
      @Get() own(@RateLimitDecision() decision: Decision): object | null {
        return told(decision);
      }
    }
    @Controller("other")
    class Other {
      @Get() other(): string {
        return "not limited";
      }
    }
    const ask = await start(platform, { imports: [limits({ unidentified: "refuse" })], controllers: [Own, Other] });
    expect(await (await ask("GET /own", "ann")).json()).toEqual({ policy: "own", left: 0 });
    expect((await ask("GET /own", "ann")).status).toBe(429);
    expect((await ask("GET /own")).status).toBe(401);
    expect((await ask("GET /other")).status).toBe(200);
  });
});
