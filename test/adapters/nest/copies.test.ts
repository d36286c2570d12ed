// Two copies of the package in one application: such as the CommonJS copy that a library loads beside the ES module.
import { Catch, Controller, Get, HttpException, type ArgumentsHost, type ExceptionFilter } from "@nestjs/common";
import { APP_FILTER, APP_GUARD } from "@nestjs/core";
import { perHour } from "sluice";
import { RateLimit, RateLimitException, RateLimitGuard, RateLimitModule, type NestResponse } from "sluice/nest";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { limited, limits, platforms, signIn, start, startError } from "./apps.js";

let other: typeof import("sluice/nest");
beforeAll(async () => {
  vi.resetModules();
  other = await import("sluice/nest");
  expect(other.RateLimitException).not.toBe(RateLimitException);
});

@Controller()
class OneController {
  @RateLimit({ name: "one", refill: perHour(1) }) @Get("one") one(): string {
    return "one";
  }
}

/** What the guard throws, beside an exception filter of another class. */
const thrown: unknown[] = [];
class Mine extends RateLimitException {}

@Catch(RateLimitException)
class SlowDown implements ExceptionFilter {
  catch(exception: RateLimitException, host: ArgumentsHost): void {
    thrown.push(exception);
    host.switchToHttp().getResponse<NestResponse>().status(420).send(exception.refusal.code);
  }
}

@Catch(Mine)
class OfSubclass implements ExceptionFilter {
  catch(_exception: Mine, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<NestResponse>().status(599).send("not mine");
  }
}

describe.each(platforms)("on $platform", (platform) => {
  test.each(["this copy", "the other copy"])("a filter of RateLimitException catches the exception of %s", async (copy) => {
    const guard = { provide: APP_GUARD, useClass: copy === "this copy" ? RateLimitGuard : other.RateLimitGuard };
    // Nest asks the filter that was provided last first.
    const filters = [SlowDown, OfSubclass].map((useClass) => ({ provide: APP_FILTER, useClass }));
    const ask = await start(platform, { imports: [limits()], controllers: [OneController], providers: [signIn, guard, ...filters] });
    await ask("GET /one", "ann");
    thrown.length = 0;
    const response = await ask("GET /one", "ann");
    expect([response.status, await response.text()]).toEqual([420, "rate_limited"]);
    const [exception] = thrown;
    expect((exception as object).constructor).toBe((copy === "this copy" ? { RateLimitException } : other).RateLimitException);
  });
});

test("`instanceof` matches no other exception, and no class of an application", () => {
  const refusal = { status: 429, problem: { message: "Too many requests." } } as unknown as RateLimitException["refusal"];
  const make = (type: typeof RateLimitException) => new (type as unknown as new (of: typeof refusal) => RateLimitException)(refusal);
  const [mine, ours, theirs] = [Mine, RateLimitException, other.RateLimitException].map(make);
  for (const each of [mine, ours, theirs]) {
    expect([each instanceof RateLimitException, each instanceof other.RateLimitException, each instanceof HttpException]).toEqual([true, true, true]);
  }
  expect([mine, ours, theirs].map((each) => each instanceof Mine)).toEqual([true, false, false]);
  const others = [new HttpException("no", 429), new Error("no"), {}, null, undefined, "text"];
  expect(others.filter((each: unknown) => each instanceof RateLimitException)).toEqual([]);
  expect(Object.keys(ours as object)).toEqual(expect.not.arrayContaining([expect.stringContaining("sluice")]));
});

test("two modules with limits are refused, also of two copies", async () => {
  const second = other.RateLimitModule.forRoot({ policy: { name: "other", refill: perHour(3) }, key: () => "ann" });
  expect(other.RateLimitModule).not.toBe(RateLimitModule);
  expect(await startError(platforms[0], { imports: [limits(), second], providers: [limited] })).toBe(
    "Expected one RateLimitModule in the application, got 2. Write @RateLimit for other limits",
  );
});
