import { expectTypeOf } from "expect-type";
import { all, createLimiter, perSecond, waiter, type AsyncStore, type Decision, type Limiter, type TogetherDecision } from "sluice";

const policy = { capacity: 30, refill: perSecond(5) };
declare const later: AsyncStore;
declare const either: Limiter;
const now = createLimiter({ policy });
const slow = createLimiter({ policy, store: later });

// Several as one answer at once when each does.
expectTypeOf(all([now, now]).consume(["a", ["b", 1]])).toEqualTypeOf<TogetherDecision>();
expectTypeOf(all([slow, slow]).consume(["a", "b"])).toEqualTypeOf<Promise<TogetherDecision>>();
expectTypeOf(all([now, slow]).consume(["a", "b"])).toEqualTypeOf<TogetherDecision | Promise<TogetherDecision>>();
expectTypeOf(all([either]).consume(["a"])).toEqualTypeOf<TogetherDecision | Promise<TogetherDecision>>();
expectTypeOf(all([slow]).refund).returns.toEqualTypeOf<Promise<void>>();
expectTypeOf<TogetherDecision>().toExtend<Decision>();

// A key for each, and a cost for all or for each.
all([now, now]).consume(["a", "b"], 2);
all([now, now]).consume(["a", "b"], [1, { cost: 2 }]);
// @ts-expect-error -- a key is missing
all([now, now]).consume(["a"]);
// @ts-expect-error -- a cost is missing
all([now, now]).consume(["a", "b"], [1]);
// @ts-expect-error -- a limiter, not its policy
all([policy]);
declare const many: Limiter[];
void all(many).consume(many.map(() => "a"));

// Who waits gets a decision, whatever the store.
expectTypeOf(waiter(now).wait("a")).toEqualTypeOf<Promise<Decision>>();
expectTypeOf(waiter(slow).wait("a", { cost: 2, maxWaitMs: 5, signal: new AbortController().signal })).toEqualTypeOf<Promise<Decision>>();
// @ts-expect-error -- a misspelt option is no option
void waiter(now).wait("a", { maxWait: 5 });
// @ts-expect-error -- milliseconds are a number
waiter(now, { maxWaitMs: "5" });
