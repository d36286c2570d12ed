// What compiles with `charges` and `wait`, and what must not.
import type { IncomingMessage } from "node:http";
import { expectTypeOf } from "expect-type";
import type { Request as ExpressRequest } from "express";
import { fastify, type FastifyRequest } from "fastify";
import type { Context } from "hono";
import { combine, createLimiter, createWaiter, definePolicy, perSecond, type Tier } from "sluice";
import * as forExpress from "sluice/express";
import * as forFastify from "sluice/fastify";
import * as forHono from "sluice/hono";
import type { BelongsToCharge, SeveralCharges } from "sluice/http";
import * as forNode from "sluice/node";
import * as forWeb from "sluice/web";

const policy = { capacity: 30, refill: perSecond(5) };
const tenant = definePolicy({ name: "tenant", capacity: 300, refill: perSecond(50) });
const limiter = createLimiter({ policy });

// The functions of every charge get the framework's own request.

forNode.rateLimit({ charges: [{ policy, key: (request) => (expectTypeOf(request).toEqualTypeOf<IncomingMessage>(), "ann") }] });
forHono.rateLimit({ charges: [{ policy, key: (c) => (expectTypeOf(c).toExtend<Context>(), "ann") }] });
forWeb.rateLimit({ charges: [{ policy, key: (request) => (expectTypeOf(request).toEqualTypeOf<Request>(), "ann") }] });
forExpress.rateLimit({
  charges: [
    { policy, key: (request) => (expectTypeOf(request).toEqualTypeOf<ExpressRequest>(), ["user", request.ip]), cost: (request) => (expectTypeOf(request).toEqualTypeOf<ExpressRequest>(), 2) },
    { policy: (request): Tier => (expectTypeOf(request).toEqualTypeOf<ExpressRequest>(), tenant), key: async () => null, cost: { tokens: 2 } },
    { policy: async () => "unlimited" as const, key: () => undefined, cost: async () => ({ tokens: 2 }) },
  ],
  skip: (request) => (expectTypeOf(request).toEqualTypeOf<ExpressRequest>(), false),
  shadow: true,
});
void fastify().register(forFastify.rateLimit, { charges: [{ policy, key: (request) => (expectTypeOf(request).toExtend<FastifyRequest>(), request.ip) }], hook: "preHandler" });
fastify().get("/", { config: { rateLimit: { charges: [{ policy, key: (request) => (expectTypeOf(request).toExtend<FastifyRequest>(), request.ip) }] } } }, async () => "ok");
forWeb.rateLimit<Request, [env: { readonly user: string }]>({ charges: [{ policy, key: (_request, env) => (expectTypeOf(env).toEqualTypeOf<{ readonly user: string }>(), env.user) }] });

// The request is known also when the policy comes from elsewhere.

const shared = { policy, clock: () => 0 };
forExpress.rateLimit({ ...shared, key: (request) => (expectTypeOf(request).toEqualTypeOf<ExpressRequest>(), "ann") });

// What a charge says has no place beside `charges`.

expectTypeOf<BelongsToCharge>().toEqualTypeOf<"belongs to a charge: write charges: [{ policy, key, cost }]">();
const charges = [{ policy, key: () => "ann" }] as const satisfies SeveralCharges<ExpressRequest>["charges"];
forExpress.rateLimit({ charges });
// @ts-expect-error
forExpress.rateLimit({ charges, policy });
// @ts-expect-error
forExpress.rateLimit({ charges, key: () => "ann" });
// @ts-expect-error
forExpress.rateLimit({ charges, cost: 2 });
// @ts-expect-error
forExpress.rateLimit({ charges, limiter });
// @ts-expect-error
forExpress.rateLimit({ charges, wait: createWaiter(limiter) });
// @ts-expect-error
forExpress.rateLimit({ charges: [{ policy }] });
// @ts-expect-error
forExpress.rateLimit({ charges: [{ policy, key: () => "ann", costs: 2 }] });
// @ts-expect-error
forExpress.rateLimit({ charges: [{ policy, key: () => ["ann", "bob"] as string[] }] });
// @ts-expect-error
forExpress.rateLimit({ key: () => "ann" });

// A waiter goes beside the limiter that it was made of.

forExpress.rateLimit({ limiter, wait: createWaiter(limiter, { maxWaitMs: 2_000 }), key: (request) => (expectTypeOf(request).toEqualTypeOf<ExpressRequest>(), "ann") });
// @ts-expect-error
forExpress.rateLimit({ limiter, wait: { maxWaitMs: 2_000 }, key: () => "ann" });
// @ts-expect-error
forExpress.rateLimit({ limiter, wait: createWaiter(combine([limiter])), key: () => "ann" });
