import { expectTypeOf } from "expect-type";
import { combine, createLimiter, perSecond, createWaiter, type AsyncStore, type Decision, type Limiter, type CombinedDecision } from "sluice";

const policy = { capacity: 30, refill: perSecond(5) };
declare const later: AsyncStore;
declare const either: Limiter;
const now = createLimiter({ policy });
const slow = createLimiter({ policy, store: later });

// Several as one answer at once when each does.
expectTypeOf(combine([now, now]).consume(["a", ["b", 1]])).toEqualTypeOf<CombinedDecision>();
expectTypeOf(combine([slow, slow]).consume(["a", "b"])).toEqualTypeOf<Promise<CombinedDecision>>();
expectTypeOf(combine([now, slow]).consume(["a", "b"])).toEqualTypeOf<CombinedDecision | Promise<CombinedDecision>>();
expectTypeOf(combine([either]).consume(["a"])).toEqualTypeOf<CombinedDecision | Promise<CombinedDecision>>();
expectTypeOf(combine([slow]).refund).returns.toEqualTypeOf<Promise<void>>();
expectTypeOf<CombinedDecision>().toExtend<Decision>();

// A key for each, and a cost for all or for each.
combine([now, now]).consume(["a", "b"], 2);
combine([now, now]).consume(["a", "b"], [1, { cost: 2 }]);
// @ts-expect-error -- a key is missing
combine([now, now]).consume(["a"]);
// @ts-expect-error -- a cost is missing
combine([now, now]).consume(["a", "b"], [1]);
// @ts-expect-error -- a limiter, not its policy
combine([policy]);
declare const many: Limiter[];
void combine(many).consume(many.map(() => "a"));

// Who waits gets a decision, whatever the store.
expectTypeOf(createWaiter(now).wait("a")).toEqualTypeOf<Promise<Decision>>();
expectTypeOf(createWaiter(slow).wait("a", { cost: 2, maxWaitMs: 5, signal: new AbortController().signal })).toEqualTypeOf<Promise<Decision>>();
// @ts-expect-error -- a misspelt option is no option
void createWaiter(now).wait("a", { maxWait: 5 });
// @ts-expect-error -- milliseconds are a number
createWaiter(now, { maxWaitMs: "5" });
