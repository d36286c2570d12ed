import { expectTypeOf } from "expect-type";
import {
  addressKey,
  afterMs,
  createLimiter,
  daily,
  definePolicy,
  MemoryStore,
  perSecond,
  silenceWarnings,
  TokenBucket,
  unlimited,
  whenDone,
  type AsyncStore,
  type Cost,
  type Decision,
  type Key,
  type Limiter,
  type MaybePromise,
  type PlainLimiter,
  type PolicyOptions,
  type Store,
  type SyncStore,
} from "sluice";
import { guard } from "sluice/store";

const policy = { capacity: 30, refill: perSecond(5) };
declare const sync: SyncStore;
declare const later: AsyncStore;
declare const either: Store;

// The type of the store says when the answer comes.
expectTypeOf(createLimiter({ policy }).consume("a")).toEqualTypeOf<Decision>();
expectTypeOf(createLimiter({ policy, store: new MemoryStore() }).consume("a")).toEqualTypeOf<Decision>();
expectTypeOf(createLimiter({ policy, store: sync }).peek("a")).toEqualTypeOf<Decision>();
expectTypeOf(createLimiter({ policy, store: sync }).reset("a")).toEqualTypeOf<void>();
expectTypeOf(createLimiter({ policy, store: later }).consume("a")).toEqualTypeOf<Promise<Decision>>();
expectTypeOf(createLimiter({ policy, store: later }).credit("a", 1)).toEqualTypeOf<Promise<void>>();
declare const made: Decision;
expectTypeOf(createLimiter({ policy }).settle("a", made, 1)).toEqualTypeOf<boolean>();
expectTypeOf(createLimiter({ policy, store: later }).settle("a", made, { cost: { tokens: 1 } })).toEqualTypeOf<Promise<boolean>>();
expectTypeOf(createLimiter({ policy, store: later }).refund("a", made)).toEqualTypeOf<Promise<boolean>>();
// @ts-expect-error -- what the work really cost
createLimiter({ policy }).settle("a", made);
// @ts-expect-error -- a policy alone says not what it cost
createLimiter({ policy }).settle("a", made, { policy: definePolicy(policy) });
createLimiter({ policy }).settle("a", made, { cost: 1, policy: definePolicy(policy) });
// @ts-expect-error -- the options are the last argument
createLimiter({ policy }).settle("a", made, 1, { policy: definePolicy(policy) });
// @ts-expect-error -- costs by name come with `cost`
createLimiter({ policy }).settle("a", made, { tokens: 1 });
// @ts-expect-error -- tokens are numbers
createLimiter({ policy }).settle("a", made, { cost: { tokens: "2" } });
expectTypeOf(createLimiter({ policy, store: either }).consume("a")).toEqualTypeOf<Decision | Promise<Decision>>();
expectTypeOf<MaybePromise<Store["sync"], void>>().toEqualTypeOf<void | Promise<void>>();

// A limiter over any store takes the place of one whose store is not known; not the other way round.
expectTypeOf(createLimiter({ policy })).toExtend<Limiter>();
expectTypeOf(createLimiter({ policy, store: later })).toExtend<Limiter>();
expectTypeOf<PlainLimiter>().not.toExtend<PlainLimiter<MemoryStore>>();

// The store that was given is the store that is there.
expectTypeOf(createLimiter({ policy }).store).toEqualTypeOf<MemoryStore>();
expectTypeOf(createLimiter({ policy, store: later }).store).toEqualTypeOf<AsyncStore>();

// A policy is one limit or several, never both and never neither.
// @ts-expect-error -- no policy
createLimiter({});
// @ts-expect-error -- nothing at all
createLimiter();
// @ts-expect-error -- no refill
createLimiter({ policy: { capacity: 5 } });
// A rate may leave its capacity out. A quota and a limit in flight say theirs.
const bare = { refill: perSecond(5) };
expectTypeOf(definePolicy(bare).limits[0].capacity).toEqualTypeOf<number>();
expectTypeOf(new TokenBucket(bare).consume()).toEqualTypeOf<Decision>();
createLimiter({ policy: { limits: [bare, { name: "day", ...bare }] } });
// @ts-expect-error -- undefined is a variable that is missing
definePolicy({ ...bare, capacity: undefined });
// @ts-expect-error -- undefined is a variable that is missing
createLimiter({ policy: { limits: [bare, { name: "day", capacity: undefined, ...bare }] } });
// @ts-expect-error -- undefined is a variable that is missing, of a quota too
definePolicy({ renews: daily(), capacity: undefined });
// @ts-expect-error -- and of a limit in flight
definePolicy({ returns: whenDone(), capacity: undefined });
// @ts-expect-error -- and of a window
definePolicy({ returns: afterMs(60_000), capacity: undefined });
// @ts-expect-error -- and in a list of limits
definePolicy({ limits: [{ name: "day", renews: daily(), capacity: undefined }] });
// @ts-expect-error -- no capacity of a quota
definePolicy({ renews: daily() });
// @ts-expect-error -- no capacity of a limit in flight
definePolicy({ returns: whenDone() });
// @ts-expect-error -- no capacity of a quota in a list
definePolicy({ limits: [bare, { renews: daily() }] });
// @ts-expect-error -- no capacity of a limit in flight in a list
createLimiter({ policy: { limits: [bare, { returns: whenDone() }] } });
// @ts-expect-error -- a name is no limit
definePolicy({ name: "api" });
// @ts-expect-error -- null is no number
definePolicy({ ...bare, capacity: null });
// @ts-expect-error -- both
definePolicy({ ...policy, limits: [policy] });
// @ts-expect-error -- a misspelt option is no option
createLimiter({ policy, onStoreErrors: "allow" });
// @ts-expect-error -- no such choice
createLimiter({ policy, onStoreError: "open" });
definePolicy({ limits: [policy, { name: "day", ...policy }] });
createLimiter({ policy: definePolicy(policy), store: undefined, onStoreError: undefined });
expectTypeOf({ limits: [policy] as const }).toExtend<PolicyOptions>();
expectTypeOf(definePolicy(policy).limits[0].capacity).toEqualTypeOf<number>();
// @ts-expect-error -- a policy is frozen
definePolicy(policy).name = "other";

// A key is a string or a tuple of parts; what may be missing must be dealt with first.
expectTypeOf<string>().toExtend<Key>();
expectTypeOf<["user", number]>().toExtend<Key>();
expectTypeOf<readonly [string, bigint, number]>().toExtend<Key>();
expectTypeOf<number>().not.toExtend<Key>();
expectTypeOf<undefined>().not.toExtend<Key>();
expectTypeOf<[]>().not.toExtend<Key>();
expectTypeOf<string[]>().not.toExtend<Key>();
expectTypeOf<["user", string | undefined]>().not.toExtend<Key>();
expectTypeOf<[boolean]>().not.toExtend<Key>();

// Costs and tiers.
const limiter = createLimiter({ policy });
limiter.consume("a", 2);
limiter.consume("a", { cost: 2, policy: definePolicy(policy) });
// @ts-expect-error -- a tier is defined once, not for each request
limiter.consume("a", { policy });
// @ts-expect-error -- a cost is a number
limiter.consume("a", "2");
limiter.consume("a", { cost: { tokens: 2_000 } });
declare const several: readonly ["requests", "tokens"];
limiter.consume("a", { cost: Object.fromEntries(several.map((name) => [name, 2])) });
// @ts-expect-error -- tokens are numbers
limiter.consume("a", { cost: { tokens: "2" } });
// @ts-expect-error -- a number is there, or the name is not
limiter.consume("a", { cost: { tokens: undefined } });
// @ts-expect-error -- costs by name come with `cost`, or a limit called `policy` could not be told apart
limiter.consume("a", { tokens: 2 });
// @ts-expect-error -- the list is the stores' form
limiter.consume("a", { cost: [1, 2] });
// @ts-expect-error -- a limit's own cost is one number
definePolicy({ limits: [{ name: "tokens", ...policy, cost: { tokens: 2 } }] });
definePolicy({ limits: [{ name: "tokens", ...policy, cost: 0 }] });
// @ts-expect-error -- one limit takes its cost with each request
definePolicy({ ...policy, cost: 2 });
// @ts-expect-error -- a refund is of a decision
limiter.refund("a");
limiter.refund("a", limiter.consume("a"));
// @ts-expect-error -- tokens are given back with `credit`
limiter.refund("a", 2);
limiter.credit("a", { cost: { tokens: 2 }, policy: definePolicy(policy) });
// @ts-expect-error -- costs by name come with `cost`
limiter.credit("a", { tokens: 2 });
// @ts-expect-error -- the options are the last argument
limiter.credit("a", 2, { policy: definePolicy(policy) });
// @ts-expect-error -- how many
limiter.credit("a", {});
// @ts-expect-error -- tokens are numbers
limiter.credit("a", { cost: { tokens: "2" } });
// @ts-expect-error -- a decision is refunded, not credited
limiter.credit("a", limiter.consume("a"));

// Fines and blocks.
expectTypeOf(limiter.debit("a", 50)).toEqualTypeOf<void>();
expectTypeOf(limiter.debit("a", { cost: { tokens: 50 } })).toEqualTypeOf<void>();
declare const bareCosts: { tokens: number };
declare const anyCosts: Cost;
declare const namedCosts: Record<string, number>;
for (const costs of [bareCosts]) {
  // @ts-expect-error -- costs by name come with `cost`, also those of a variable
  limiter.debit("a", costs);
  // @ts-expect-error -- in every verb
  limiter.consume("a", costs);
  // @ts-expect-error -- in every verb
  limiter.peek("a", costs);
}
// @ts-expect-error -- a cost may be an object
limiter.debit("a", anyCosts);
// @ts-expect-error -- a number is no policy
limiter.debit("a", namedCosts);
limiter.debit("a", { cost: anyCosts });
limiter.consume("a", { cost: namedCosts });
expectTypeOf(limiter.block("a", 60_000)).toEqualTypeOf<void>();
expectTypeOf(createLimiter({ policy, store: later }).debit("a", 50)).toEqualTypeOf<Promise<void>>();
expectTypeOf(createLimiter({ policy, store: later }).block("a", 60_000)).toEqualTypeOf<Promise<void>>();
// @ts-expect-error -- how many
limiter.debit("a");
// @ts-expect-error -- costs by name come with `cost`
limiter.debit("a", { tokens: 50 });
// @ts-expect-error -- a policy is no number, so costs of limits called `cost` and `policy` do not compile
limiter.debit("a", { cost: 5, policy: 3 });
// @ts-expect-error -- the options are the last argument
limiter.debit("a", 50, { policy: definePolicy(policy) });
// @ts-expect-error -- tokens are numbers
limiter.debit("a", { cost: { tokens: "2" } });
// @ts-expect-error -- a decision is refunded, not debited
limiter.debit("a", limiter.consume("a"));
// @ts-expect-error -- for how long
limiter.block("a");

// `allowed` and `reason` tell a decision apart.
declare const decision: Decision;
if (decision.allowed) expectTypeOf(decision.reason).toEqualTypeOf<null>();
else expectTypeOf(decision.reason).toEqualTypeOf<"limited" | "cost_above_capacity" | "store_unavailable">();
if (decision.reason === null) expectTypeOf(decision.allowed).toEqualTypeOf<true>();
if (decision.reason === "limited") expectTypeOf(decision.allowed).toEqualTypeOf<false>();
expectTypeOf(decision.error).toEqualTypeOf<unknown>();
expectTypeOf(decision.limits?.[0]?.retryAfterMs).toEqualTypeOf<number | undefined>();
expectTypeOf(decision.limits?.[0]?.cost).toEqualTypeOf<number | undefined>();
// @ts-expect-error -- a decision is a snapshot
decision.remaining = 5;

// One bucket.
expectTypeOf(new TokenBucket(policy).consume()).toEqualTypeOf<Decision>();
expectTypeOf(new TokenBucket(policy).credit(2)).toEqualTypeOf<void>();
// @ts-expect-error -- one limit
new TokenBucket({ limits: [policy] });
// @ts-expect-error -- a clock is a function
new TokenBucket({ ...policy, clock: Date });

// No limit is one value, as a policy of a call. A limiter has a policy of its own.
limiter.consume("a", { policy: unlimited });
// @ts-expect-error -- a word is no policy
limiter.consume("a", { policy: "unlimited" });
// @ts-expect-error -- what looks like it is none
limiter.consume("a", { policy: {} });
// @ts-expect-error -- null never means no limit
limiter.consume("a", { policy: null });
expectTypeOf(limiter.shadow("a")).toEqualTypeOf<boolean>();
createLimiter({ policy, shadow: (key) => (expectTypeOf(key).toEqualTypeOf<Key>(), true) });
// @ts-expect-error -- it answers at once
createLimiter({ policy, shadow: async () => true });

// Warnings.
silenceWarnings("SLUICE_COUNTED_TWICE", "SLUICE_HEADERS_SENT");
// @ts-expect-error -- a code that there is not would silence nothing
silenceWarnings("SLUICE_COUNTED_TWIC");

// A store that answers later carries a guard; one that answers at once may.
const { guard: _, ...unguarded } = later;
// @ts-expect-error -- `readonly guard = guard()` from sluice/store is missing
createLimiter({ policy, store: unguarded });
expectTypeOf({ sync: true, clock: () => 0, ask: sync.ask.bind(sync) } as const).toExtend<SyncStore>();
expectTypeOf({ sync: true, guard: guard(), clock: () => 0, ask: sync.ask.bind(sync) } as const).toExtend<SyncStore>();

// Options accept `undefined`, as a computed option may be.
guard({ timeoutMs: undefined, breaker: { failures: undefined }, sharedBy: undefined });
guard({ timeoutMs: Infinity, breaker: false, sharedBy: 4 });
// @ts-expect-error
guard({ breaker: true });
// @ts-expect-error -- the function itself is no guard
({ sync: true, guard, clock: () => 0, consume: sync.consume.bind(sync) }) satisfies SyncStore;
createLimiter({ policy, store: undefined, onStoreError: undefined, observe: undefined });
// @ts-expect-error -- a plain function is no observer: createObserver makes one
createLimiter({ policy, observe: () => undefined });

// The key of an address is a key, or missing. What a framework says of an address goes in as it is.
expectTypeOf(addressKey("192.0.2.7")).toEqualTypeOf<readonly ["address", string] | undefined>();
expectTypeOf<NonNullable<ReturnType<typeof addressKey>>>().toExtend<Key>();
void [addressKey(undefined), addressKey(null, { ipv6Prefix: undefined })];
// @ts-expect-error a list of addresses is none
addressKey(["192.0.2.7"]);
// @ts-expect-error no option of this name
addressKey("::1", { prefix: 56 });
