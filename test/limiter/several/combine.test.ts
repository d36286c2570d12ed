import fc from "fast-check";
import { combine, createLimiter, definePolicy, MemoryStore, perSecond, type AsyncStore, type Decision, type PlainLimiter, type Store, type SyncStore } from "sluice";
import { guard } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { describe, expect, test, vi } from "vitest";
import { LaterStore } from "../../helpers/stores.js";
import { expectWarnings } from "../../setup/warnings.js";
import { callsOf } from "../../../src/testing/store-calls.js";
import { storeOf } from "../../helpers/store-of.js";
import { spyOnVerb } from "../../helpers/spy-on-verb.js";
import type { Charge } from "sluice";

const userPolicy = { name: "user", capacity: 5, refill: perSecond(1) };
const tenantPolicy = { name: "tenant", capacity: 8, refill: perSecond(2) };
const clock = new ManualClock();
const keys = { user: ["user", "42"], tenant: ["tenant", "acme"] } as const;
const priced = (user: number, tenant: number) => ({ cost: { user, tenant } });

/** A store without that power, so that limiters over it are charged one after another. */
function apart(now: () => number): SyncStore {
  const inner = new MemoryStore({ clock: now });
  return storeOf({
    sync: true, guard: guard(),
    clock: now,
    consume: (...asked) => callsOf(inner).consume(...asked),
    peek: (...asked) => callsOf(inner).peek(...asked),
    adjust: (own, key, changes) => callsOf(inner).adjust(own, key, changes),
  });
}

/** A memory store that answers later and charges several in one step. */
class TogetherLater extends LaterStore {
  async consumeTogether(charges: readonly Charge[]): Promise<readonly Decision[]> {
    await Promise.resolve();
    return callsOf(this.inner).together(charges);
  }
}

type Kind = readonly [name: string, stores: (now: () => number) => readonly [Store, Store]];
const twice = <S extends Store>(store: S): readonly [S, S] => [store, store];
const kinds: readonly Kind[] = [
  ["one store, in one step", (now) => twice(new MemoryStore({ clock: now }))],
  ["two stores, one after another", (now) => [new MemoryStore({ clock: now }), new MemoryStore({ clock: now })]],
  ["one store without that power", (now) => twice(apart(now))],
  ["one store that answers later", (now) => twice(new TogetherLater(now))],
  ["two stores of which one answers later", (now) => [new LaterStore(now), new MemoryStore({ clock: now })]],
];

function limitersOver<S extends Store>([a, b]: readonly [S, S]): { readonly user: PlainLimiter<S>; readonly tenant: PlainLimiter<S> } {
  return { user: createLimiter<S>({ policy: userPolicy, store: a }), tenant: createLimiter<S>({ policy: tenantPolicy, store: b }) };
}

describe.each(kinds)("L10 · limiters together over %s", (_, storesOf) => {
  test("L10 · charges all of them or none, as if all were asked before any was charged", async () => {
    const steps = fc.array(fc.record({ ms: fc.constantFrom(0, 0, 300, 1_000), costs: fc.tuple(fc.nat(6), fc.nat(9)) }), { minLength: 1, maxLength: 25, size: "max" });
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const [own, model] = [new ManualClock(), new ManualClock()];
        const both = combine(limitersOver(storesOf(own.now)));
        const { user, tenant } = limitersOver(twice(new MemoryStore({ clock: model.now })));
        for (const { ms, costs } of history) {
          for (const each of [own, model]) each.advance(ms);
          const decision = await both.consume(keys, priced(...costs));
          const wanted = [user.peek(keys.user, costs[0]), tenant.peek(keys.tenant, costs[1])] as const;
          const allowed = wanted.every((one) => one.allowed);
          expect(decision.allowed).toBe(allowed);
          expect(decision.retryAfterMs).toBe(Math.max(...wanted.map(({ retryAfterMs }) => retryAfterMs)));
          if (allowed) expect(decision.decisions).toEqual({ user: user.consume(keys.user, costs[0]), tenant: tenant.consume(keys.tenant, costs[1]) });
          else expect(wanted.find(({ policy }) => policy === decision.policy)).toMatchObject({ allowed: false, retryAfterMs: decision.retryAfterMs, reason: decision.reason });
        }
        own.advance(1);
        model.advance(1);
        const left = await both.consume(keys, 0);
        expect(left.decisions).toEqual({ user: user.consume(keys.user, 0), tenant: tenant.consume(keys.tenant, 0) });
      }),
      { numRuns: 60 },
    );
  });

  test("L2 · a refusal tells how long until all of them allow it, exactly", async () => {
    const own = new ManualClock();
    const both = combine(limitersOver(storesOf(own.now)));
    expect((await both.consume(keys, 5)).allowed).toBe(true);
    const refused = await both.consume(keys, priced(3, 8));
    expect(refused).toMatchObject({ allowed: false, reason: "limited", policy: "user", retryAfterMs: 3_000 });
    expect(refused.decisions).toMatchObject({ user: { retryAfterMs: 3_000 }, tenant: { retryAfterMs: 2_500 } });
    own.advance(2_999);
    expect((await both.consume(keys, priced(3, 8))).allowed).toBe(false);
    own.advance(1);
    expect((await both.consume(keys, priced(3, 8))).allowed).toBe(true);
  });

  test("L3 · after a refusal each limiter says what it would decide by itself: nothing was taken", async () => {
    const both = combine(limitersOver(storesOf(() => 1_000)));
    await both.consume(keys, priced(1, 5));
    const { decisions, policy } = await both.consume(keys, priced(3, 4));
    expect(policy).toBe("tenant");
    expect(decisions).toMatchObject({ user: { allowed: true, remaining: 4, resetMs: 1_000, cost: 3 }, tenant: { allowed: false, remaining: 3, retryAfterMs: 500 } });
  });

  test("L10 · gives back to all what was taken from all, once, and nothing for a refusal", async () => {
    const own = new ManualClock();
    const { user, tenant } = limitersOver(storesOf(own.now));
    const both = combine({ user, tenant });
    const left = async () => [(await user.peek(keys.user)).remaining, (await tenant.peek(keys.tenant)).remaining];
    const decision = await both.consume(keys, 2);
    await both.consume(keys, 1);
    const refused = await both.consume(keys, priced(5, 1));
    expect(await left()).toEqual([2, 5]);
    const answers = [await both.refund(keys, refused), await both.refund(keys, decision), await both.refund(keys, decision)];
    expect([answers, await left()]).toEqual([[false, true, false], [4, 7]]);
    // What they said by themselves gives back nothing either: one would have allowed it.
    expect(await user.refund(keys.user, refused.decisions.user as Decision)).toBe(false);
    expect(await tenant.refund(keys.tenant, refused.decisions.tenant as Decision)).toBe(false);
    expect(await left()).toEqual([4, 7]);
  });
});

test("L1 · by a server's clock too, a late refund gives back nothing that came back by itself", async () => {
  vi.useFakeTimers({ toFake: ["performance", "Date"] });
  try {
    const { user, tenant } = limitersOver(twice(new TogetherLater(() => Math.floor(performance.now()), {}, "server")));
    const both = combine({ user, tenant });
    const decision = await both.consume(keys, 4);
    vi.advanceTimersByTime(3_000);
    // The tenant's are all back after 2 s, of the user's one is still out.
    await both.consume(keys, 4);
    await both.refund(keys, decision);
    expect([await user.peek(keys.user), await tenant.peek(keys.tenant)]).toMatchObject([{ remaining: 1 }, { remaining: 4 }]);
  } finally {
    vi.useRealTimers();
  }
});

describe("the decision", () => {
  test("is that of the limiter that binds: the longest wait, or the fewest tokens left", () => {
    const both = combine(limitersOver(twice(new MemoryStore({ clock: () => 0 }))));
    expect(both.consume(keys, priced(1, 5))).toMatchObject({ allowed: true, policy: "tenant", remaining: 3, degraded: false });
    expect(both.consume(keys, priced(5, 4))).toMatchObject({ allowed: false, policy: "user", cost: 5, remaining: 4, retryAfterMs: 1_000 });
    expect(both.consume(keys, priced(1, 9))).toMatchObject({ reason: "cost_above_capacity", policy: "tenant", retryAfterMs: Infinity });
  });

  test("comes at once from synchronous stores, and later when one of them is not", async () => {
    const user = createLimiter({ policy: userPolicy, store: new MemoryStore({ clock: clock.now }) });
    const tenant = createLimiter({ policy: tenantPolicy, store: new LaterStore(clock.now) });
    expect(combine({ user }).consume({ user: keys.user })).not.toBeInstanceOf(Promise);
    expect(combine({ user, tenant }).consume(keys)).toBeInstanceOf(Promise);
    expect((await combine({ user, tenant }).consume(keys)).allowed).toBe(true);
  });

  test("can go by tiers, one for each limiter and request", () => {
    const pro = definePolicy({ name: "user", capacity: 50, refill: perSecond(10) });
    const both = combine(limitersOver(twice(new MemoryStore({ clock: () => 0 }))));
    const asked = { ...priced(20, 8), policy: { user: pro } };
    expect(both.consume(keys, asked)).toMatchObject({ allowed: true, decisions: { user: { remaining: 30 }, tenant: { remaining: 0 } } });
    const { user, tenant } = limitersOver([new MemoryStore({ clock: () => 0 }), new MemoryStore({ clock: () => 0 })]);
    const decision = combine({ user, tenant }).consume(keys, { ...asked, ...priced(20, 9) });
    expect([decision.allowed, user.peek(keys.user, { policy: pro })]).toMatchObject([false, { remaining: 50 }]);
  });

  test("of limiters that share a policy's name tells them apart by the names of the members", () => {
    const store = new MemoryStore({ clock: () => 0 });
    const [user, device] = [createLimiter({ policy: userPolicy, store }), createLimiter({ policy: userPolicy, store })];
    const both = combine({ user, device });
    device.consume("phone", 5);
    expect(both.consume({ user: "alice", device: "phone" })).toMatchObject({ allowed: false, decisions: { user: { allowed: true }, device: { allowed: false } } });
    expect(user.peek("alice").remaining).toBe(5);
  });

  test("shows the limiter with the fewest such requests left, when each limit costs differently", () => {
    const store = new MemoryStore({ clock: () => 0 });
    const two = (name: string, requests: number, tokens: number) =>
      createLimiter({ policy: { name, limits: [{ name: "requests", capacity: requests, refill: perSecond(1) }, { name: "tokens", capacity: tokens, refill: perSecond(1) }] }, store });
    const both = combine({ ann: two("ann", 60, 10_000), red: two("red", 100, 90_000) });
    // Of ann's tokens 19 such requests are left, and of the team's requests 99: though 99 is the smaller number.
    const decision = both.consume({ ann: "ann", red: "red" }, { cost: { ann: { tokens: 500 }, red: { tokens: 500 } } });
    expect(decision).toMatchObject({ allowed: true, policy: "ann", limit: "tokens", remaining: 9_500, capacity: 10_000, cost: 500 });
    expect(decision.limits.map(({ limit, cost, remaining }) => [limit, cost, remaining])).toEqual([["requests", 1, 59], ["tokens", 500, 9_500], ["requests", 1, 99], ["tokens", 500, 89_500]]);
  });
});

describe("one step, or several", () => {
  test("those over one store are charged in one step, also when another stands between them", () => {
    const [shared, other] = [new MemoryStore({ clock: () => 0 }), new MemoryStore({ clock: () => 0 })];
    const together = spyOnVerb(shared, "together");
    const named = (name: string, store: Store) => createLimiter({ policy: { ...userPolicy, name }, store });
    const three = combine({ a: named("a", shared), b: named("b", other), c: named("c", shared) });
    expect(three.consume({ a: "k", b: "k", c: "k" })).toMatchObject({ allowed: true, decisions: { a: { policy: "a" }, b: { policy: "b" }, c: { policy: "c" } } });
    expect(together.mock.calls.map(([charges]) => charges.map(({ policy }) => policy.name))).toEqual([["a", "c"]]);
  });

  test("the first that refuses keeps those after it from being charged, even for a moment", () => {
    const { user, tenant } = limitersOver([new MemoryStore({ clock: () => 0 }), new MemoryStore({ clock: () => 0 })]);
    const charged = spyOnVerb(tenant.store, "consume");
    user.consume(keys.user, 5);
    expect(combine({ user, tenant }).consume(keys).allowed).toBe(false);
    expect(charged).not.toHaveBeenCalled();
  });

  test("a refusal in one step needs no other call, and what was taken before it is given back and peeked at", () => {
    const [shared, other] = [new MemoryStore({ clock: () => 0 }), new MemoryStore({ clock: () => 0 })];
    const calls: string[] = [];
    for (const [name, store] of [["shared", shared], ["other", other]] as const) {
      const ask = store.ask.bind(store);
      vi.spyOn(store, "ask").mockImplementation((call) => (calls.push(`${name}.${call.verb} ${call.parts.length}`), ask(call)));
    }
    const named = (name: string, store: Store) => createLimiter({ policy: { ...userPolicy, name }, store });
    const three = combine({ a: named("a", other), b: named("b", shared), c: named("c", shared) });
    expect(three.consume({ a: "k", b: "k", c: "k" }, { cost: { c: 6 } })).toMatchObject({ policy: "c", decisions: { a: { remaining: 5 }, b: { remaining: 5 }, c: { reason: "cost_above_capacity" } } });
    expect(calls).toEqual(["other.consume 1", "shared.consume 2", "other.adjust 1", "other.peek 1"]);
  });

  test("one that cannot tell without taking is not asked, once another refused", async () => {
    const bare = new LaterStore(clock.now);
    const cannot: AsyncStore = storeOf({ sync: false, guard: guard(), clock: "server", consume: (...asked) => bare.consume(...asked) });
    const fails: AsyncStore = storeOf({ ...cannot, peek: () => Promise.reject(new Error("gone")), adjust: () => Promise.resolve(true) });
    const tenant = createLimiter({ policy: tenantPolicy, store: cannot });
    const silent = createLimiter({ policy: { ...tenantPolicy, name: "silent" }, store: fails });
    const user = createLimiter({ policy: userPolicy, store: new MemoryStore({ clock: clock.now }) });
    user.consume(keys.user, 5);
    const three = combine({ user, silent, tenant });
    expect(await three.consume({ user: "x", silent: "x", tenant: "x" }, { cost: { user: 6 } })).toMatchObject({ allowed: false, policy: "user", decisions: { user: { reason: "cost_above_capacity" }, silent: null, tenant: null } });
    expect(() => combine({ tenant, user })).toThrow(/^Expected a store with `verbs` that include "adjust", got consume/);
  });

  test("what cannot be given back stays taken, and the answer is the same", async () => {
    expectWarnings("SLUICE_SETTLEMENT_FAILED");
    const store = new LaterStore(clock.now);
    vi.spyOn(store, "adjust").mockRejectedValue(new Error("gone"));
    const { user, tenant } = limitersOver<Store>([store, new MemoryStore({ clock: clock.now })]);
    await tenant.consume(keys.tenant, 8);
    expect(await combine({ user, tenant }).consume(keys)).toMatchObject({ allowed: false, policy: "tenant", retryAfterMs: 500 });
    expect((await user.peek(keys.user)).remaining).toBe(4);
  });
});

describe("a store that fails", () => {
  const outage = new Error("connection refused");
  const away: AsyncStore = storeOf({
    sync: false,
    guard: guard({ breaker: false }),
    clock: clock.now,
    consume: () => Promise.reject(outage),
    consumeTogether: () => Promise.reject(outage),
    adjust: () => Promise.reject(outage),
  });
  const over = (options: object) => ({
    user: createLimiter({ policy: userPolicy, store: away, ...options }),
    tenant: createLimiter({ policy: tenantPolicy, store: away, ...options }),
  });

  test("is replaced as each limiter has it", async () => {
    expect(await combine(over({ onStoreError: "allow" })).consume(keys)).toMatchObject({ allowed: true, degraded: true, error: outage });
    expect(await combine(over({ onStoreError: "unavailable" })).consume(keys)).toMatchObject({ allowed: false, reason: "store_unavailable", degraded: true, error: outage });
  });

  test("is replaced by a share of each limit, all or none of them", async () => {
    // 2 and 4 tokens in this process.
    const both = combine(over({ onStoreError: "local" }));
    expect(await both.consume(keys, priced(1, 3))).toMatchObject({ allowed: true, degraded: true });
    expect(await both.consume(keys, priced(1, 2))).toMatchObject({ allowed: false, reason: "store_unavailable", policy: "tenant" });
    // The user's share is as it was.
    expect(await both.consume(keys, priced(1, 1))).toMatchObject({ allowed: true, decisions: { user: { remaining: 0 }, tenant: { remaining: 0 } } });
  });

  test("degrades what all allow, and not what another refuses by its own numbers", async () => {
    const { user } = over({ onStoreError: "allow" });
    const tenant = createLimiter({ policy: tenantPolicy, store: new MemoryStore({ clock: clock.now }) });
    const both = combine({ user, tenant });
    expect(await both.consume(keys)).toMatchObject({ allowed: true, degraded: true, error: outage });
    tenant.consume(keys.tenant, 7);
    expect(await both.consume(keys)).toMatchObject({ allowed: false, reason: "limited", degraded: false, policy: "tenant" });
  });

  test("a clock that tells nonsense is misuse, not an outage", () => {
    const both = combine(limitersOver(twice(new MemoryStore({ clock: () => Number.NaN }))));
    expect(() => both.consume(keys)).toThrow("Expected `clock()` to be a finite number");
  });
});

describe("a store that fails under several", () => {
  const gone = new Error("disk");
  /** Works until it is told to break. */
  const fragile = () => {
    const inner = new MemoryStore({ clock: () => 0 });
    const state = { broken: false, peeks: 0 };
    const unlessBroken = <T>(make: () => T): T => {
      if (state.broken) throw gone;
      return make();
    };
    const store: SyncStore = storeOf({
      sync: true, guard: guard(),
      clock: () => 0,
      consume: (...asked) => unlessBroken(() => callsOf(inner).consume(...asked)),
      consumeTogether: (charges) => unlessBroken(() => callsOf(inner).together(charges)),
      peek: (...asked) => (state.peeks++, unlessBroken(() => callsOf(inner).peek(...asked))),
      adjust: (own, key, changes) => unlessBroken(() => callsOf(inner).adjust(own, key, changes)),
    });
    return { state, store };
  };

  test("cannot say what it would have, at once as well as later: null", () => {
    const { state, store } = fragile();
    const { user, tenant } = limitersOver<SyncStore>([new MemoryStore({ clock: () => 0 }), store]);
    user.consume(keys.user, 5);
    state.broken = true;
    expect(combine({ user, tenant }).consume(keys)).toMatchObject({ allowed: false, reason: "limited", policy: "user", decisions: { user: {}, tenant: null } });
  });

  test("and so refuses keeps nobody waiting for what the others would have said", () => {
    const [first, second] = [fragile(), fragile()];
    const user = createLimiter({ policy: userPolicy, store: first.store, onStoreError: "unavailable" });
    const tenant = createLimiter({ policy: tenantPolicy, store: second.store });
    first.state.broken = true;
    expect(combine({ user, tenant }).consume(keys)).toMatchObject({ reason: "store_unavailable", policy: "user", decisions: { user: {}, tenant: null } });
    expect(second.state.peeks).toBe(0);
  });
});
