import { expectTypeOf } from "expect-type";
import type { Decision, MemoryStore, Policy } from "sluice";
import { adaptive, type Adaptive, type AdaptiveOptions } from "sluice/adaptive";
import { rateLimit as onExpress } from "sluice/express";
import { rateLimit as onFastify } from "sluice/fastify";
import { rateLimit as onHono } from "sluice/hono";
import { rateLimit as onNode } from "sluice/node";
import { RedisStore } from "sluice/redis";
import { rateLimit as onWeb } from "sluice/web";

const load = adaptive({ name: "service", least: 2, most: 500 });
expectTypeOf(load).toEqualTypeOf<Adaptive>();
expectTypeOf(adaptive()).toEqualTypeOf<Adaptive>();
expectTypeOf(load.limiter.consume("service")).toEqualTypeOf<Decision>();
expectTypeOf(load.limiter.store).toEqualTypeOf<MemoryStore>();
expectTypeOf(load.policyFor(0.7)).toEqualTypeOf<Policy>();
expectTypeOf(load.number).toEqualTypeOf<number>();
expectTypeOf<AdaptiveOptions["least"]>().toEqualTypeOf<number | undefined>();

const gate = { limiter: load.limiter, key: () => "service", policy: () => load.policyFor(0.7) };
onExpress(gate);
onHono(gate);
onNode(gate);
onWeb(gate);
onExpress({ ...gate, policy: (request) => load.policyFor(request.path === "/export" ? 0.7 : 1) });
void ((register: (plugin: typeof onFastify, options: object) => unknown) => register(onFastify, gate));

// @ts-expect-error -- a store is no option: the number is what one process can do
adaptive({ store: new RedisStore(() => Promise.resolve(null)) });
// @ts-expect-error -- a misspelt option is no option
adaptive({ max: 500 });
// @ts-expect-error -- the number is read, and not set
load.number = 5;
// @ts-expect-error -- a policy beside a limiter is a function of the request
onExpress({ limiter: load.limiter, key: () => "service", policy: load.policyFor(0.7) });
// @ts-expect-error -- a share is a number
load.policyFor("70 %");
