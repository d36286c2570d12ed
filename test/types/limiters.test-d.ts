// What compiles with `limiter`, over a combination, with a waiter and on top of a company's defaults, and what must not.
import type { IncomingMessage } from "node:http";
import { expectTypeOf } from "expect-type";
import { type Request as ExpressRequest } from "express";
import { fastify, type FastifyRequest } from "fastify";
import type { Context } from "hono";
import { combine, createLimiter, createWaiter, definePolicy, MemoryStore, perSecond, unlimited, type CombinedDecision, type Decision } from "sluice";
import * as forExpress from "sluice/express";
import * as forFastify from "sluice/fastify";
import * as forHono from "sluice/hono";
import * as forNode from "sluice/node";
import * as forWeb from "sluice/web";

const policy = { capacity: 30, refill: perSecond(5) };
const store = new MemoryStore();
const limiter = createLimiter({ policy, store });
const both = combine({ user: limiter, tenant: createLimiter({ policy: { ...policy, name: "tenant" }, store }) });
const PLANS = { free: definePolicy(policy), pro: definePolicy({ ...policy, capacity: 60 }), partner: unlimited };
const planOf: Record<string, (typeof PLANS)[keyof typeof PLANS] | undefined> = PLANS;
const key = () => "ann";

// Over a combination, `key` returns keys by the names of its members, and a tuple needs no `as const`.

forExpress.rateLimit({ limiter: both, key: (request) => (expectTypeOf(request).toEqualTypeOf<ExpressRequest>(), { user: ["user", request.get("x-user")], tenant: ["tenant", request.hostname] }) });
forNode.rateLimit({ limiter: both, key: (request) => (expectTypeOf(request).toEqualTypeOf<IncomingMessage>(), { user: undefined, tenant: unlimited }) });
forWeb.rateLimit({ limiter: both, key: async (request) => ({ user: ["user", request.headers.get("x-user")], tenant: "acme" }) });
forHono.rateLimit({ limiter: both, key: (c) => (expectTypeOf(c).toExtend<Context>(), { user: ["user", c.req.header("x-user")], tenant: null }) });
void fastify().register(forFastify.rateLimit, { limiter: both, key: (request) => ({ user: ["user", request.ip], tenant: "acme" }) });
fastify().get("/", { config: { rateLimit: { limiter: both, key: (request: FastifyRequest) => ({ user: ["user", request.ip], tenant: "acme" }) } } }, async () => "ok");
// @ts-expect-error -- a member without a key
forExpress.rateLimit({ limiter: both, key: () => ({ user: "ann" }) });
// @ts-expect-error -- no member of this name
forExpress.rateLimit({ limiter: both, key: () => ({ user: "ann", tenant: "acme", team: "red" }) satisfies { user: string; tenant: string } });
// @ts-expect-error -- the key of one limiter
forExpress.rateLimit({ limiter: both, key: () => "ann" });
// @ts-expect-error -- keys by names for one limiter
forExpress.rateLimit({ limiter, key: () => ({ user: "ann" }) });
// @ts-expect-error -- a policy has one key
forExpress.rateLimit({ policy, key: () => ({ user: "ann", tenant: "acme" }) });

// `policy`, `cost` and `actualCost` go by the names, too. A number is for all members.

const keys = () => ({ user: "ann", tenant: "acme" });
forExpress.rateLimit({ limiter: both, key: keys, policy: (request) => ({ user: planOf[request.path] ?? PLANS.free }) });
forExpress.rateLimit({ limiter: both, key: keys, policy: async () => ({ user: PLANS.pro, tenant: unlimited }) });
forExpress.rateLimit({ limiter: both, key: keys, cost: 2, actualCost: () => 0 });
forExpress.rateLimit({ limiter: both, key: keys, cost: { user: { tokens: 5 }, tenant: 2 }, actualCost: ({ status }) => (status === 200 ? undefined : { user: 0 }) });
forExpress.rateLimit({ limiter: both, key: keys, cost: (request) => ({ tenant: Number(request.get("x-cost")) }) });
// @ts-expect-error -- the policy of one limiter
forExpress.rateLimit({ limiter: both, key: keys, policy: () => PLANS.pro });
// @ts-expect-error -- an explicit undefined
forExpress.rateLimit({ limiter: both, key: keys, policy: (request) => ({ user: planOf[request.path] }) });
// @ts-expect-error -- no member of this name
forExpress.rateLimit({ limiter: both, key: keys, cost: { team: 2 } });

// A combination inside a combination keeps its shape.

const nested = combine({ both, service: limiter });
forWeb.rateLimit({ limiter: nested, key: (request) => ({ both: { user: ["user", request.url], tenant: unlimited }, service: "all" }), cost: { both: { user: 2 }, service: 1 } });
// @ts-expect-error
forWeb.rateLimit({ limiter: nested, key: () => ({ both: "ann", service: "all" }) });

// Its decisions have types, also where its members are not known.

expectTypeOf<CombinedDecision["decisions"][string]>().toEqualTypeOf<Decision | null>();
expectTypeOf<Awaited<ReturnType<typeof both.peek>>["decisions"]["user"]>().toEqualTypeOf<Decision | null>();

// A waiter is a limiter.

forExpress.rateLimit({ limiter: createWaiter(limiter, { maxWaitMs: 2_000 }), key: (request) => ["user", request.get("x-user")] });
forHono.rateLimit({ limiter: createWaiter(both), key: (c) => ({ user: ["user", c.req.header("x-user")], tenant: "acme" }) });
// @ts-expect-error
forExpress.rateLimit({ limiter, key, wait: createWaiter(limiter) });
// @ts-expect-error
forExpress.rateLimit({ limiter: createWaiter(both), key });

// What belongs to a limiter has no place beside one.

// @ts-expect-error
forExpress.rateLimit({ limiter, key, store });
// @ts-expect-error
forNode.rateLimit({ limiter, key, store });
// @ts-expect-error
forWeb.rateLimit({ limiter, key, onStoreError: "allow" });
// @ts-expect-error
forHono.rateLimit({ limiter, key, shadow: true });
// @ts-expect-error
forExpress.rateLimit({ limiter, key, policy });
// @ts-expect-error
void fastify().register(forFastify.rateLimit, { limiter, key, store });
// @ts-expect-error
forExpress.rateLimit({ key });

// A company's own package sets a store. Its type names no types of the framework.

export const ownNode: forNode.NodeRateLimit<"store"> = forNode.rateLimit.with({ store });
export const ownExpress: forExpress.ExpressRateLimit<"store"> = forExpress.rateLimit.with({ store });
export const ownHono: forHono.HonoRateLimit<"store"> = forHono.rateLimit.with({ store });
export const ownWeb: forWeb.WebRateLimit<"store"> = forWeb.rateLimit.with({ store });
export const ownFastify: forFastify.FastifyRateLimit<"store"> = forFastify.rateLimit.with({ store });
// @ts-expect-error
export const wrongNode = (options: forNode.NodeRateLimitOptions) => forNode.rateLimit({ store, ...options });
// @ts-expect-error
export const wrongExpress = (options: forExpress.ExpressRateLimitOptions) => forExpress.rateLimit({ store, ...options });
// @ts-expect-error
export const wrongHono = (options: forHono.HonoRateLimitOptions) => forHono.rateLimit({ store, ...options });
// @ts-expect-error
export const wrongWeb = (options: forWeb.WebRateLimitOptions) => forWeb.rateLimit({ store, ...options });

// `with`: the rest is optional only if there is a default for it, and a call may replace a default.

const ours = forExpress.rateLimit.with({ store, key: (request) => ["user", request.get("x-user")] });
ours({ policy });
ours({ policy, key: (request) => (expectTypeOf(request).toEqualTypeOf<ExpressRequest>(), request.ip), respond: (_refusal, _request, response) => response.end() });
ours({ limiter });
ours({ limiter: both, key: () => ({ user: ["user", 1], tenant: "acme" }) });
// @ts-expect-error
ours({});
// @ts-expect-error
ours({ cost: 2 });
// @ts-expect-error
ours({ limiter: both });
// @ts-expect-error
ours({ policy, capasity: 3 });
// @ts-expect-error
ours({ limiter, store });
forExpress.rateLimit.with({ policy, key })({});
forExpress.rateLimit.with({ policy, key })({ cost: 2, policy: { ...policy, name: "other" } });
forExpress.rateLimit.with({ policy })({ key });
forExpress.rateLimit.with({ policy }).with({ key })({});
// @ts-expect-error
forExpress.rateLimit.with({ policy })({});
// @ts-expect-error
forExpress.rateLimit.with({ capasity: 3 });
// @ts-expect-error
forExpress.rateLimit.with({ limiter });

forNode.rateLimit.with({ store, key })({ policy, onError: (_error, _request, response) => response.destroy() });
// @ts-expect-error
forNode.rateLimit.with({ store, key })({});
forNode.rateLimit.with({ policy, key })({});
forWeb.rateLimit.with({ store, key: (request) => request.headers.get("x-user") })({ policy });
// @ts-expect-error
forWeb.rateLimit.with({ store, key })({});
forWeb.rateLimit.with({ policy, key })({});
interface AppEnv {
  Variables: { userId: string };
}
forHono.rateLimit.with<AppEnv>({ store, key: (c) => ["user", c.var.userId] })({ policy, cost: (c) => c.var.userId.length, key });
// @ts-expect-error
forHono.rateLimit.with({ store, key })({});
forHono.rateLimit.with({ policy, key })({});
const plugin = forFastify.rateLimit.with({ store, key: (request) => ["user", request.ip], global: false });
void fastify().register(plugin, { policy, hook: "preHandler" });
void fastify().register(plugin.with({ policy }), {});
// @ts-expect-error
void fastify().register(plugin, {});
// @ts-expect-error
void fastify().register(plugin, { policy, hook: "preParsing" });
