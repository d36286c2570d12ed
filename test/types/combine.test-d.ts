import { expectTypeOf } from "expect-type";
import { combine, createLimiter, definePolicy, granted, perSecond, run, unlimited, type Allowed, type AsyncStore, type CombinedDecision, type Decision, type Key, type Limiter, type Store } from "sluice";
import * as forExpress from "sluice/express";

const policy = { capacity: 30, refill: perSecond(5) };
declare const later: AsyncStore;
declare const any: Store;
const now = createLimiter({ policy });
const slow = createLimiter({ policy, store: later });
const either = createLimiter({ policy, store: any });
const pro = definePolicy(policy);
const keys = { user: ["user", 1], tenant: "acme" } as const;

// Several answer at once when each does, and later when one does.
const both = combine({ user: now, tenant: now });
const mixed = combine({ user: now, tenant: slow });
expectTypeOf(both.consume(keys)).toExtend<Decision>();
expectTypeOf(both.consume(keys).decisions.user).toEqualTypeOf<Decision | null>();
expectTypeOf(both.refund(keys, both.consume(keys))).toEqualTypeOf<boolean>();
expectTypeOf(both.debit(keys, 1)).toEqualTypeOf<void>();
expectTypeOf(mixed.consume(keys)).resolves.toExtend<Decision>();
expectTypeOf(mixed.refund).returns.toEqualTypeOf<Promise<boolean>>();
expectTypeOf(mixed.reset(keys)).toEqualTypeOf<Promise<void>>();
expectTypeOf(combine({ user: slow, tenant: either }).reset(keys)).toEqualTypeOf<Promise<void>>();
expectTypeOf(combine({ user: now, tenant: either }).reset(keys)).toEqualTypeOf<void | Promise<void>>();
expectTypeOf<CombinedDecision>().toExtend<Decision>();
expectTypeOf(both.parts[0]?.policy.name).toEqualTypeOf<string | undefined>();

// A key for each member, by its name.
both.consume({ user: "ann", tenant: unlimited });
// @ts-expect-error -- a tuple is the key of one limiter
both.consume(["user", "42"]);
// @ts-expect-error -- a string is the key of one limiter
both.consume("ann");
// @ts-expect-error -- a key is missing
both.consume({ user: "ann" });
// @ts-expect-error -- a key may be missing
both.consume({ user: "ann", tenant: undefined });
// @ts-expect-error -- no such member
both.consume({ user: "ann", tenant: "acme", device: "d" });

// One cost for all, or costs by name. Policies by name.
both.consume(keys, 2);
both.consume(keys, { cost: 2 });
both.consume(keys, { cost: { user: { tokens: 5 }, tenant: 2 }, policy: { user: pro, tenant: unlimited } });
both.consume(keys, { cost: { tenant: 2 } });
// @ts-expect-error -- no such member
both.consume(keys, { cost: { device: 2 } });
// @ts-expect-error -- the costs come with `cost`
both.consume(keys, { user: 2 });
// @ts-expect-error -- a list has no names
both.consume(keys, { cost: [1, 2] });
// @ts-expect-error -- a policy for each member
both.consume(keys, { policy: pro });
// @ts-expect-error -- a plan that was not found
both.consume(keys, { policy: { user: undefined } });
// @ts-expect-error -- a policy is defined once
both.consume(keys, { policy: { user: policy } });

// Settlements by name.
const decision = both.consume(keys);
both.settle(keys, decision, { cost: { user: 1 } });
both.settle(keys, decision, { cost: 0, policy: { user: pro } });
both.settle(keys, decision, { cost: { user: { tokens: 1 } } });
both.credit(keys, { cost: { user: { tokens: 1 }, tenant: 2 } });
// @ts-expect-error -- the costs come with `cost`
both.settle(keys, decision, { user: 1 });
// @ts-expect-error -- the costs come with `cost`
both.debit(keys, { user: 1, tenant: 2 });
// @ts-expect-error -- the costs come with `cost`
both.credit(keys, { tenant: { tokens: 1 } });
// @ts-expect-error -- the options are the last argument
both.debit(keys, 1, { policy: { user: pro } });
// @ts-expect-error -- no such member
both.debit(keys, { cost: { users: 5 } });
// @ts-expect-error -- what it really cost
both.settle(keys, decision);
// @ts-expect-error -- a decision of one limiter
both.settle(keys, now.consume("ann"), 1);
// @ts-expect-error -- a promise of a decision
void mixed.settle(keys, mixed.consume(keys), 1);
// @ts-expect-error -- the options are the last argument
both.settle(keys, decision, 1, { cost: 1 });

// Combinations inside combinations keep their shape.
const nested = combine({ caller: both, service: slow });
expectTypeOf<Parameters<(typeof now)["reset"]>[0]>().toEqualTypeOf<Key>();
const inner = { caller: keys, service: "api" } as const;
expectTypeOf(nested.consume(inner)).resolves.toHaveProperty("decisions");
expectTypeOf(nested.consume(inner).then((made) => made.decisions.caller?.decisions.user)).resolves.toEqualTypeOf<Decision | null | undefined>();
void nested.consume({ caller: unlimited, service: "api" });
void nested.consume({ caller: { user: unlimited, tenant: "acme" }, service: unlimited }, { cost: { caller: { user: 2 } }, policy: { caller: { tenant: pro } } });
// @ts-expect-error -- the names of the members inside are missing
void nested.consume({ caller: "ann", service: "api" });
// @ts-expect-error -- no such member inside
void nested.consume(inner, { cost: { caller: { device: 2 } } });

// Members are limiters by name.
// @ts-expect-error -- a list
combine([now, now]);
// @ts-expect-error -- a policy is no limiter
combine({ user: policy });

// `run` and `granted` take any limiter.
expectTypeOf(run(both, keys, (made) => (expectTypeOf(made.allowed).toEqualTypeOf<true>(), 5), { cost: { user: 2 }, actualCost: (result) => (expectTypeOf(result).toEqualTypeOf<number>(), { user: result }) })).toEqualTypeOf<Promise<number>>();
expectTypeOf(run(slow, "ann", async () => "x")).toEqualTypeOf<Promise<string>>();
// @ts-expect-error -- keys by name
void run(both, "ann", () => 5);
// @ts-expect-error -- no such member
void run(both, keys, () => 5, { actualCost: () => ({ device: 1 }) });
expectTypeOf(granted(now.consume("ann"))).toExtend<Allowed>();
expectTypeOf(granted(both.consume(keys)).decisions.user).toEqualTypeOf<Decision | null>();
declare const plain: Limiter;
expectTypeOf(run(plain, "ann", () => 1)).toEqualTypeOf<Promise<number>>();

// A gate over a combination has keys, costs and policies by the same names.
forExpress.rateLimit({ limiter: both, key: (request) => ({ user: ["user", request.ip ?? "none"], tenant: "acme" }), cost: { user: 2 } });
