// No option has a name that was lost on purpose. `test/public-face.test.ts` shows that each is an error.
import { expectTypeOf } from "expect-type";
import type { Limiter, LimiterOptions, MemoryStoreOptions, PlainLimiter, Policy, TokenBucket, WaiterOptions } from "sluice";
import type * as forExpress from "sluice/express";
import type * as forFastify from "sluice/fastify";
import type * as forHono from "sluice/hono";
import type { GateOptions } from "sluice/http";
import type * as forNode from "sluice/node";
import type { PostgresStoreOptions } from "sluice/postgres";
import type { RedisStoreOptions } from "sluice/redis";
import type { GuardOptions } from "sluice/store";
import type * as forWeb from "sluice/web";

type LostEverywhere = "storeTimeoutMs" | "localShare" | "processes" | "retryAfter" | "refundWhen" | "charges" | "preflights";
type LostOfGates = LostEverywhere | "wait" | "body" | "partitionKey" | "wallClock" | "breaker" | "clock";

/** The names among the options, in any form of them. */
type NamesIn<Options, Names> = Options extends unknown ? Extract<keyof Options, Names> : never;

type OptionsOfGates =
  | GateOptions<Request>
  | forExpress.ExpressRateLimitOptions
  | forFastify.FastifyRateLimitOptions
  | Exclude<forFastify.RouteRateLimit, false>
  | forHono.HonoRateLimitOptions
  | forNode.NodeRateLimitOptions
  | forWeb.WebRateLimitOptions;
expectTypeOf<NamesIn<OptionsOfGates | LimiterOptions, LostOfGates>>().toEqualTypeOf<never>();

type OptionsOfOthers = GuardOptions | RedisStoreOptions | PostgresStoreOptions | MemoryStoreOptions | WaiterOptions;
expectTypeOf<NamesIn<OptionsOfOthers, LostEverywhere>>().toEqualTypeOf<never>();

// A `policy` function returns no text: the tiers were "unlimited" and "blocked".
type Chosen = OptionsOfGates extends infer Options ? (Options extends { policy: infer P } ? P : never) : never;
type Returned = Chosen extends infer P ? (P extends (...args: never) => infer R ? Awaited<R> : never) : never;
expectTypeOf<Extract<Returned, string>>().toEqualTypeOf<never>();
expectTypeOf<Policy>().toExtend<Returned>();

expectTypeOf<NamesIn<Limiter | PlainLimiter | TokenBucket, "adjust">>().toEqualTypeOf<never>();

// A planted one is found.
expectTypeOf<NamesIn<{ policy: Policy; charges?: never } | { limiter: Limiter }, LostOfGates>>().toEqualTypeOf<"charges">();
