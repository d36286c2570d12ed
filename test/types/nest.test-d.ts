import type { ExecutionContext } from "@nestjs/common";
import { expectTypeOf } from "expect-type";
import type { Request, Response } from "express";
import { combine, createLimiter, definePolicy, MemoryStore, perMinute, unlimited, type Key } from "sluice";
import { RateLimit, RateLimitException, RateLimitModule, type NestRequest, type NestResponse, type RateLimitModuleOptions } from "sluice/nest";

const policy = definePolicy({ name: "api", refill: perMinute(100) });
const limiter = createLimiter({ policy });
const both = combine({ user: limiter, tenant: createLimiter({ policy: { name: "tenant", refill: perMinute(100) } }) });

// A policy.
RateLimitModule.forRoot({ policy, key: (request) => ["user", request.user?.id] });
RateLimitModule.forRoot({ policy, key: (request, context) => [expectTypeOf(request).toEqualTypeOf<NestRequest>() && "user", context.getHandler().name] });
RateLimitModule.forRoot({ policy: (request) => (request.user ? policy : unlimited), key: () => "ann", cost: () => 2, skip: () => false });
RateLimitModule.forRoot({ policy, key: () => "ann", respond: (_refusal, request, response) => expectTypeOf([request, response] as const).toEqualTypeOf<readonly [NestRequest, NestResponse]>() });
// @ts-expect-error a key is missing
RateLimitModule.forRoot({ policy });
// @ts-expect-error an option that does not exist
RateLimitModule.forRoot({ policy, key: () => "ann", keys: 1 });

// The types of a framework's request and response.
RateLimitModule.forRoot({ policy, key: (request: Request) => request.hostname });
RateLimitModule.forRoot({ policy, key: (request: Request, context: ExecutionContext) => [request.hostname, context.getClass().name] });
RateLimitModule.forRoot<Request, Response>({ policy, key: (request) => request.hostname, respond: (_refusal, _request, response) => response.redirect("/slow") });
RateLimitModule.forRoot<Request, Response, Key>({ limiter, key: (request) => request.hostname });
// @ts-expect-error a key is missing
RateLimitModule.forRoot<Request, Response>({ policy });

// A limiter.
RateLimitModule.forRoot({ limiter, key: (request) => request.ip });
RateLimitModule.forRoot({ limiter, key: (request: Request) => request.hostname, policy: () => policy });
RateLimitModule.forRoot({ limiter: both, key: (request) => ({ user: ["user", request.user?.id], tenant: unlimited }), cost: { user: 2 } });
// @ts-expect-error the key of a member is missing
RateLimitModule.forRoot({ limiter: both, key: () => ({ user: "ann" }) });
// @ts-expect-error a store belongs to the limiter
RateLimitModule.forRoot({ limiter, key: () => "ann", store: new MemoryStore() });

// Options that were made elsewhere.
declare const options: RateLimitModuleOptions;
declare const ofExpress: RateLimitModuleOptions<Request, Response>;
RateLimitModule.forRoot(options);
RateLimitModule.forRoot(ofExpress);
RateLimitModule.forRoot({ ...options, unidentified: "refuse" });

// Other providers.
class Settings {
  readonly perMinute = 100;
  limits(): RateLimitModuleOptions {
    return options;
  }
  async later(): Promise<RateLimitModuleOptions<Request, Response>> {
    return ofExpress;
  }
}
RateLimitModule.forRootAsync({ useFactory: () => ({ policy, key: (request) => ["user", request.user?.id] }) });
RateLimitModule.forRootAsync({ useFactory: async () => ({ limiter, key: (request) => request.ip }) });
RateLimitModule.forRootAsync({ inject: [Settings], useFactory: (settings) => settings.limits() });
RateLimitModule.forRootAsync({ inject: [Settings], useFactory: (settings) => settings.later() });
RateLimitModule.forRootAsync({ inject: [Settings], useFactory: async (settings) => ({ policy: { name: "api", refill: perMinute(settings.perMinute) }, key: (request: Request) => request.hostname }) });
RateLimitModule.forRootAsync({ inject: ["TOKEN"], useFactory: (numbers: { perMinute: number }) => ({ policy: { name: "api", refill: perMinute(numbers.perMinute) }, key: () => "ann" }) });
RateLimitModule.forRootAsync({ inject: [Settings], useFactory: ({ perMinute: many }) => (many > 1 ? { policy, key: () => "ann" } : { limiter, key: () => "ann" }) });
// @ts-expect-error a key is missing
RateLimitModule.forRootAsync({ useFactory: () => ({ policy }) });

// Decorators inherit.
RateLimit({ cost: 2 });
RateLimit({ limiter: both, key: () => ({ user: "ann", tenant: "acme" }) });
RateLimit([policy, { policy: { name: "daily", refill: perMinute(1) }, cost: 2 }]);

declare const caught: unknown;
if (caught instanceof RateLimitException) expectTypeOf(caught.refusal.status).toEqualTypeOf<400 | 401 | 429 | 503>();
