import { expectTypeOf } from "expect-type";
import { createLimiter, MemoryStore, perSecond, type AsyncStore, type Decision } from "sluice";
import { leased, type LeaseOptions } from "sluice/lease";
import { RedisStore } from "sluice/redis";

declare const store: AsyncStore;
declare const redis: RedisStore;

expectTypeOf(leased(store, { leaseMs: 100 })).toEqualTypeOf<AsyncStore>();
expectTypeOf(leased(redis, { leaseMs: 100, time: { now: () => 0, wallNow: undefined } })).toEqualTypeOf<AsyncStore>();
expectTypeOf(createLimiter({ policy: { capacity: 30, refill: perSecond(5) }, store: leased(store, { leaseMs: 100 }) }).consume("a")).toEqualTypeOf<Promise<Decision>>();
expectTypeOf<LeaseOptions["leaseMs"]>().toEqualTypeOf<number>();
// @ts-expect-error -- the bound depends on it, so it has no default
leased(store, {});
// @ts-expect-error -- no options
leased(store);
// @ts-expect-error -- a store that answers at once
leased(new MemoryStore(), { leaseMs: 100 });
// @ts-expect-error -- a misspelt option is no option
leased(store, { leaseMs: 100, lease: 1 });
