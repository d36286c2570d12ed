import fc from "fast-check";
import { combine, createLimiter, createObserver, definePolicy, MemoryStore, perSecond, type AsyncStore, type Decision, type Key, type Limiter, type LimiterEvent, type Store, type SyncStore, type CombinedDecision } from "sluice";
import { guard } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { describe, expect, test, vi } from "vitest";
import { LaterStore } from "../helpers/stores.js";

const userPolicy = { name: "user", capacity: 5, refill: perSecond(1) };
const tenantPolicy = { name: "tenant", capacity: 8, refill: perSecond(2) };
const clock = new ManualClock();
const keys = [["user", "42"], ["tenant", "acme"]] as const;

/** A store without that power, so that limiters over it are charged one after another. */
function apart(now: () => number): SyncStore {
  const inner = new MemoryStore({ clock: now });
  return {
    sync: true, guard,
    clock: now,
    consume: (...asked) => inner.consume(...asked),
    peek: (...asked) => inner.peek(...asked),
    adjust: (...asked) => inner.adjust(...asked),
  };
}

/** A memory store that answers later and charges several in one step. */
class TogetherLater extends LaterStore {
  async consumeTogether(charges: Parameters<MemoryStore["consumeTogether"]>[0]): Promise<readonly Decision[]> {
    await Promise.resolve();
    return this.inner.consumeTogether(charges);
  }
}

type Kind = readonly [name: string, stores: (now: () => number) => readonly [Store, Store]];
const twice = (store: Store): readonly [Store, Store] => [store, store];
const kinds: readonly Kind[] = [
  ["one store, in one step", (now) => twice(new MemoryStore({ clock: now }))],
  ["two stores, one after another", (now) => [new MemoryStore({ clock: now }), new MemoryStore({ clock: now })]],
  ["one store without that power", (now) => twice(apart(now))],
  ["one store that answers later", (now) => twice(new TogetherLater(now))],
  ["two stores of which one answers later", (now) => [new LaterStore(now), new MemoryStore({ clock: now })]],
];

function limitersOver([a, b]: readonly [Store, Store]): readonly [user: Limiter, tenant: Limiter] {
  return [createLimiter({ policy: userPolicy, store: a }), createLimiter({ policy: tenantPolicy, store: b })];
}

describe.each(kinds)("L10 · limiters together over %s", (_, storesOf) => {
  test("L10 · charges all of them or none, as if all were asked before any was charged", async () => {
    const steps = fc.array(fc.record({ ms: fc.constantFrom(0, 0, 300, 1_000), costs: fc.tuple(fc.nat(6), fc.nat(9)) }), { minLength: 1, maxLength: 25, size: "max" });
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const [own, model] = [new ManualClock(), new ManualClock()];
        const both = combine(limitersOver(storesOf(own.now)));
        const [user, tenant] = limitersOver(twice(new MemoryStore({ clock: model.now })));
        for (const { ms, costs } of history) {
          for (const each of [own, model]) each.advance(ms);
          const decision = await both.consume(keys, costs);
          const wanted = [await user.peek(keys[0], costs[0]), await tenant.peek(keys[1], costs[1])] as const;
          const allowed = wanted.every((one) => one.allowed);
          expect(decision.allowed).toBe(allowed);
          expect(decision.retryAfterMs).toBe(Math.max(...wanted.map(({ retryAfterMs }) => retryAfterMs)));
          if (allowed) expect(decision.decisions).toEqual([await user.consume(keys[0], costs[0]), await tenant.consume(keys[1], costs[1])]);
          else expect(wanted[decision.refusedBy as number]).toMatchObject({ allowed: false, retryAfterMs: decision.retryAfterMs, policy: decision.policy });
        }
        own.advance(1);
        model.advance(1);
        const left = await both.consume(keys, 0);
        expect(left.decisions).toEqual([await user.consume(keys[0], 0), await tenant.consume(keys[1], 0)]);
      }),
      { numRuns: 60 },
    );
  });

  test("L2 · a refusal tells how long until all of them allow it, exactly", async () => {
    const own = new ManualClock();
    const both = combine(limitersOver(storesOf(own.now)));
    expect((await both.consume(keys, 5)).allowed).toBe(true);
    const refused = await both.consume(keys, [3, 8]);
    expect(refused).toMatchObject({ allowed: false, reason: "limited", policy: "user", refusedBy: 0, retryAfterMs: 3_000 });
    expect(refused.decisions.map((decision) => decision?.retryAfterMs)).toEqual([3_000, 2_500]);
    own.advance(2_999);
    expect((await both.consume(keys, [3, 8])).allowed).toBe(false);
    own.advance(1);
    expect((await both.consume(keys, [3, 8])).allowed).toBe(true);
  });

  test("L3 · after a refusal each limiter says what it would decide by itself: nothing was taken", async () => {
    const both = combine(limitersOver(storesOf(() => 1_000)));
    await both.consume(keys, [1, 5]);
    const { decisions, refusedBy } = await both.consume(keys, [3, 4]);
    expect(refusedBy).toBe(1);
    expect(decisions).toMatchObject([{ allowed: true, remaining: 4, resetMs: 1_000, cost: 3 }, { allowed: false, remaining: 3, retryAfterMs: 500 }]);
  });

  test("L10 · gives back to all what was taken from all, once, and nothing for a refusal", async () => {
    const own = new ManualClock();
    const [user, tenant] = limitersOver(storesOf(own.now));
    const both = combine([user, tenant]);
    const left = async () => [(await user.peek(keys[0])).remaining, (await tenant.peek(keys[1])).remaining];
    const decision = await both.consume(keys, 2);
    await both.consume(keys, 1);
    const refused = await both.consume(keys, [5, 1]);
    expect(await left()).toEqual([2, 5]);
    for (const one of [refused, decision, decision]) await both.refund(keys, one);
    expect(await left()).toEqual([4, 7]);
    // What they said by themselves gives back nothing either: one would have allowed it.
    for (const [i, limiter] of [user, tenant].entries()) await limiter.refund(keys[i] as Key, refused.decisions[i] as Decision);
    expect(await left()).toEqual([4, 7]);
  });
});

test("L1 · by a server's clock too, a late refund gives back nothing that came back by itself", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    const [user, tenant] = limitersOver(twice(new TogetherLater(() => Math.floor(performance.now()))));
    const both = combine([user, tenant]);
    const decision = await both.consume(keys, 4);
    vi.advanceTimersByTime(3_000);
    // The tenant's are all back after 2 s, of the user's one is still out.
    await both.consume(keys, 4);
    await both.refund(keys, decision);
    expect([await user.peek(keys[0]), await tenant.peek(keys[1])]).toMatchObject([{ remaining: 1 }, { remaining: 4 }]);
  } finally {
    vi.useRealTimers();
  }
});

describe("the decision", () => {
  test("is that of the limiter that binds: the longest wait, or the fewest tokens left", () => {
    const both = combine(limitersOver(twice(new MemoryStore({ clock: () => 0 }))));
    expect(both.consume(keys, [1, 5])).toMatchObject({ allowed: true, refusedBy: null, policy: "tenant", remaining: 3, degraded: false });
    expect(both.consume(keys, [5, 4])).toMatchObject({ allowed: false, refusedBy: 0, policy: "user", cost: 5, remaining: 4, retryAfterMs: 1_000 });
    expect(both.consume(keys, [1, 9])).toMatchObject({ reason: "cost_above_capacity", refusedBy: 1, policy: "tenant", retryAfterMs: Infinity });
  });

  test("comes at once from synchronous stores, and later when one of them is not", async () => {
    const [user, tenant] = limitersOver([new MemoryStore({ clock: clock.now }), new LaterStore(clock.now)]);
    expect(combine([user]).consume([keys[0]])).not.toBeInstanceOf(Promise);
    expect(combine([user, tenant]).consume(keys)).toBeInstanceOf(Promise);
    expect((await combine([user, tenant]).consume(keys)).allowed).toBe(true);
  });

  test("can go by tiers, one for each limiter and request", () => {
    const pro = definePolicy({ name: "user", capacity: 50, refill: perSecond(10) });
    const both = combine(limitersOver(twice(new MemoryStore({ clock: () => 0 }))));
    expect(both.consume(keys, [{ policy: pro, cost: 20 }, 8])).toMatchObject({ allowed: true, decisions: [{ remaining: 30 }, { remaining: 0 }] });
    const [user, tenant] = limitersOver([new MemoryStore({ clock: () => 0 }), new MemoryStore({ clock: () => 0 })]);
    const decision = combine([user, tenant]).consume(keys, [{ policy: pro, cost: 20 }, 9]) as Decision;
    expect([decision.allowed, user.peek(keys[0], { policy: pro })]).toMatchObject([false, { remaining: 50 }]);
  });

  test("of limiters that share a policy's name tells them apart by place", () => {
    const store = new MemoryStore({ clock: () => 0 });
    const [user, device] = [createLimiter({ policy: userPolicy, store }), createLimiter({ policy: userPolicy, store })];
    const both = combine([user, device]);
    device.consume("phone", 5);
    expect(both.consume(["alice", "phone"])).toMatchObject({ refusedBy: 1, decisions: [{ allowed: true }, { allowed: false }] });
    expect(user.peek("alice").remaining).toBe(5);
  });
});

describe("one step, or several", () => {
  test("those over one store are charged in one step, also when another stands between them", () => {
    const [shared, other] = [new MemoryStore({ clock: () => 0 }), new MemoryStore({ clock: () => 0 })];
    const together = vi.spyOn(shared, "consumeTogether");
    const named = (name: string, store: Store) => createLimiter({ policy: { ...userPolicy, name }, store });
    const three = combine([named("a", shared), named("b", other), named("c", shared)]);
    expect(three.consume(["k", "k", "k"])).toMatchObject({ allowed: true, decisions: [{ policy: "a" }, { policy: "b" }, { policy: "c" }] });
    expect(together.mock.calls.map(([charges]) => charges.map(({ policy }) => policy.name))).toEqual([["a", "c"]]);
  });

  test("the first that refuses keeps those after it from being charged, even for a moment", () => {
    const [user, tenant] = limitersOver([new MemoryStore({ clock: () => 0 }), new MemoryStore({ clock: () => 0 })]);
    const charged = vi.spyOn(tenant.store, "consume");
    void user.consume(keys[0], 5);
    expect((combine([user, tenant]).consume(keys) as Decision).allowed).toBe(false);
    expect(charged).not.toHaveBeenCalled();
  });

  test("a refusal in one step needs no other call, and what was taken before it is given back and peeked at", () => {
    const [shared, other] = [new MemoryStore({ clock: () => 0 }), new MemoryStore({ clock: () => 0 })];
    const calls: string[] = [];
    for (const [name, store] of [["shared", shared], ["other", other]] as const) {
      for (const method of ["consume", "consumeTogether", "adjust", "peek"] as const) {
        const real = store[method].bind(store) as (...asked: unknown[]) => never;
        vi.spyOn(store, method).mockImplementation((...asked: unknown[]) => (calls.push(`${name}.${method}`), real(...asked)));
      }
    }
    const named = (name: string, store: Store) => createLimiter({ policy: { ...userPolicy, name }, store });
    const three = combine([named("a", other), named("b", shared), named("c", shared)]);
    expect(three.consume(["k", "k", "k"], [1, 1, 6])).toMatchObject({ refusedBy: 2, decisions: [{ remaining: 5 }, { remaining: 5 }, { reason: "cost_above_capacity" }] });
    expect(calls).toEqual(["other.consume", "shared.consumeTogether", "other.adjust", "other.peek"]);
  });

  test("one that cannot tell without taking is not asked, once another refused", async () => {
    const bare = new LaterStore(clock.now);
    const cannot: AsyncStore = { sync: false, guard, clock: "server", consume: (...asked) => bare.consume(...asked) };
    const fails: AsyncStore = { ...cannot, peek: () => Promise.reject(new Error("gone")), adjust: () => Promise.resolve(true) };
    const tenant = createLimiter({ policy: tenantPolicy, store: cannot });
    const silent = createLimiter({ policy: { ...tenantPolicy, name: "silent" }, store: fails });
    const user = createLimiter({ policy: userPolicy, clock: clock.now });
    user.consume(keys[0], 5);
    const three = combine([user, silent, tenant]);
    expect(await three.consume(["x", "x", "x"], [6, 1, 1])).toMatchObject({ allowed: false, refusedBy: 0, decisions: [{ reason: "cost_above_capacity" }, null, null] });
    expect(() => combine([tenant, user])).toThrow(new TypeError("Expected the store to have `adjust`, got one without it"));
  });

  test("what cannot be given back stays taken, and the answer is the same", async () => {
    const store = new LaterStore(clock.now);
    vi.spyOn(store, "adjust").mockRejectedValue(new Error("gone"));
    const [user, tenant] = limitersOver([store, new MemoryStore({ clock: clock.now })]);
    await tenant.consume(keys[1], 8);
    expect(await combine([user, tenant]).consume(keys)).toMatchObject({ allowed: false, refusedBy: 1, retryAfterMs: 500 });
    expect((await user.peek(keys[0])).remaining).toBe(4);
  });
});

describe("a store that fails", () => {
  const outage = new Error("connection refused");
  const away: AsyncStore = {
    sync: false,
    guard,
    clock: "server",
    consume: () => Promise.reject(outage),
    consumeTogether: () => Promise.reject(outage),
    adjust: () => Promise.reject(outage),
  };
  const over = (options: object): readonly [Limiter, Limiter] => [
    createLimiter({ policy: userPolicy, store: away, breaker: false, ...options }),
    createLimiter({ policy: tenantPolicy, store: away, breaker: false, ...options }),
  ];

  test("is replaced as each limiter has it", async () => {
    expect(await combine(over({ onStoreError: "allow" })).consume(keys)).toMatchObject({ allowed: true, degraded: true, error: outage });
    expect(await combine(over({ onStoreError: "unavailable" })).consume(keys)).toMatchObject({ allowed: false, reason: "store_unavailable", degraded: true, error: outage });
  });

  test("is replaced by a share of each limit, all or none of them", async () => {
    // 2 and 4 tokens in this process.
    const [user, tenant] = over({ onStoreError: "local" });
    const both = combine([user, tenant]);
    expect(await both.consume(keys, [1, 3])).toMatchObject({ allowed: true, degraded: true });
    expect(await both.consume(keys, [1, 2])).toMatchObject({ allowed: false, reason: "store_unavailable", refusedBy: 1 });
    // The user's share is as it was.
    expect(await both.consume(keys, [1, 1])).toMatchObject({ allowed: true, decisions: [{ remaining: 0 }, { remaining: 0 }] });
  });

  test("degrades what all allow, and not what another refuses by its own numbers", async () => {
    const [user] = over({ onStoreError: "allow" });
    const tenant = createLimiter({ policy: tenantPolicy, clock: clock.now });
    const both = combine([user, tenant]);
    expect(await both.consume(keys)).toMatchObject({ allowed: true, degraded: true, error: outage });
    tenant.consume(keys[1], 7);
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
    const store: SyncStore = {
      sync: true, guard,
      clock: () => 0,
      consume: (...asked) => unlessBroken(() => inner.consume(...asked)),
      consumeTogether: (charges) => unlessBroken(() => inner.consumeTogether(charges)),
      peek: (...asked) => (state.peeks++, unlessBroken(() => inner.peek(...asked))),
      adjust: (...asked) => unlessBroken(() => inner.adjust(...asked)),
    };
    return { state, store };
  };

  test("cannot say what it would have, at once as well as later: null", () => {
    const { state, store } = fragile();
    const [user, tenant] = limitersOver([new MemoryStore({ clock: () => 0 }), store]);
    void user.consume(keys[0], 5);
    state.broken = true;
    expect(combine([user, tenant]).consume(keys)).toMatchObject({ allowed: false, reason: "limited", refusedBy: 0, decisions: [{}, null] });
  });

  test("is reported as away by each of them, and as back", () => {
    const { state, store } = fragile();
    const seen: string[] = [];
    const observe = (event: LimiterEvent) => event.type === "store" && seen.push(`${event.policy} ${event.state}`);
    const make = (policy: typeof userPolicy, failures: number) => createLimiter({ policy, store, observe: createObserver(observe), breaker: { failures }, onStoreError: "allow" });
    const both = combine([make(userPolicy, 3), make(tenantPolicy, 5)]);
    state.broken = true;
    for (let i = 0; i < 4; i++) both.consume([`user ${i}`, `tenant ${i}`]);
    expect(seen).toEqual(["user unavailable"]);
    for (let i = 0; i < 4; i++) both.consume([`user ${i}`, `tenant ${i}`]);
    expect(seen).toEqual(["user unavailable", "tenant unavailable"]);
    state.broken = false;
    both.consume(keys);
    expect(seen.slice(2)).toEqual(["user available", "tenant available"]);
  });

  test("is waited for as long as the shortest deadline says, wherever its limiter stands", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "setImmediate", "performance"] });
    try {
      const never = () => new Promise<never>(() => {});
      const store: AsyncStore = { sync: false, guard, clock: "server", consume: never, consumeTogether: never };
      const make = (policy: typeof userPolicy, storeTimeoutMs: number) => createLimiter({ policy, store, storeTimeoutMs, onStoreError: "allow" });
      let answered = false;
      const decision = combine([make(userPolicy, 5_000), make(tenantPolicy, 50)]).consume(keys).finally(() => (answered = true));
      await vi.advanceTimersByTimeAsync(49);
      expect(answered).toBe(false);
      await vi.advanceTimersByTimeAsync(20);
      expect(answered).toBe(true);
      expect(await decision).toMatchObject({ degraded: true, error: { code: "ERR_STORE_TIMEOUT" } });
    } finally {
      vi.useRealTimers();
    }
  });

  test("and so refuses keeps nobody waiting for what the others would have said", () => {
    const [first, second] = [fragile(), fragile()];
    const user = createLimiter({ policy: userPolicy, store: first.store, onStoreError: "unavailable" });
    const tenant = createLimiter({ policy: tenantPolicy, store: second.store });
    first.state.broken = true;
    expect(combine([user, tenant]).consume(keys)).toMatchObject({ reason: "store_unavailable", refusedBy: 0, decisions: [{}, null] });
    expect(second.state.peeks).toBe(0);
  });
});

describe("a refund of several", () => {
  const store = () => new MemoryStore({ clock: () => 0 });

  test("L1 · is one: through the limiter that binds the decision gives back nothing, before or after", () => {
    const [user, tenant] = limitersOver(twice(store()));
    const both = combine([user, tenant]);
    void both.consume(keys, 1);
    for (const order of ["together first", "by itself first"]) {
      const decision = both.consume(keys, 2) as CombinedDecision;
      expect(decision.policy).toBe("user");
      if (order === "by itself first") void user.refund(keys[0], decision);
      void both.refund(keys, decision);
      void user.refund(keys[0], decision);
      expect([user.peek(keys[0]), tenant.peek(keys[1])]).toMatchObject([{ remaining: 4 }, { remaining: 7 }]);
    }
  });

  test("gives back of one limiter what its own decision took, once", () => {
    const [user, tenant] = limitersOver(twice(store()));
    const both = combine([user, tenant]);
    void both.consume(keys, 1);
    const decision = both.consume(keys, 2) as CombinedDecision;
    void user.refund(keys[0], decision.decisions[0] as Decision);
    void both.refund(keys, decision);
    expect([user.peek(keys[0]), tenant.peek(keys[1])]).toMatchObject([{ remaining: 4 }, { remaining: 7 }]);
  });

  test.each<[what: string, decision: unknown, got: string]>([
    ["null", null, "null"],
    ["a number", 2, "2"],
    ["an object", {}, "an object"],
  ])("of %s throws, and rejects over a store that answers later", async (_, decision, got) => {
    const message = `Expected \`decision\` to be one of this \`consume\`, got ${got}`;
    const both = combine(limitersOver(twice(store())));
    expect(() => both.refund(keys, decision as CombinedDecision)).toThrow(new TypeError(message));
    const later = combine(limitersOver(twice(new LaterStore(() => 0))));
    await expect(later.refund(keys, decision as CombinedDecision)).rejects.toThrow(new TypeError(message));
  });

  test("of a copy, or of another's decision, throws, since what was refunded is known by the decision itself", () => {
    const both = combine(limitersOver(twice(store())));
    const decision = both.consume(keys, 2) as CombinedDecision;
    expect(() => both.refund(keys, { ...decision })).toThrow(TypeError);
    expect(() => combine(limitersOver(twice(store()))).refund(keys, decision)).toThrow(TypeError);
  });
});

describe("a limiter in shadow mode among others", () => {
  test("counts, refuses nothing, and leaves the others in one step", () => {
    const store = new MemoryStore({ clock: () => 0 });
    const together = vi.spyOn(store, "consumeTogether");
    const [user, tenant] = limitersOver(twice(store));
    const trial = createLimiter({ policy: { name: "trial", capacity: 1, refill: perSecond(1) }, store, shadow: true });
    const three = combine([trial, user, tenant]);
    const ask = () => three.consume(["all", ...keys]) as CombinedDecision;
    expect(ask()).toMatchObject({ allowed: true, policy: "user", remaining: 4 });
    const second = ask();
    expect(second).toMatchObject({ allowed: true, policy: "user", remaining: 3, decisions: [{ allowed: true, shadow: { reason: "limited" } }, {}, {}] });
    expect(second).not.toHaveProperty("shadow");
    expect(together.mock.calls.map(([charges]) => charges.length)).toEqual([2, 2]);
  });
});

test("events tell what each decided: all of them when all allowed, and otherwise those that refused", async () => {
  for (const storesOf of [kinds[0], kinds[3]].map((kind) => (kind as Kind)[1])) {
    const seen: LimiterEvent[] = [];
    const [store] = storesOf(clock.now);
    const make = (policy: typeof userPolicy) => createLimiter({ policy, store, observe: createObserver((event) => seen.push(event)) });
    const both = combine([make(userPolicy), make(tenantPolicy)]);
    await both.consume(keys, 5);
    await both.consume(keys, [1, 1]);
    expect(seen.map((event) => event.type === "decision" && [event.policy, event.outcome, event.cost])).toEqual([["user", "allowed", 5], ["tenant", "allowed", 5], ["user", "limited", 1]]);
  }
});

describe("misuse", () => {
  const [user, tenant] = limitersOver(twice(new MemoryStore({ clock: () => 0 })));

  test.each<[what: string, limiters: unknown, message: string]>([
    ["no list", user, "Expected `limiters` to be a list of 1 to 128 limiters, got an object"],
    ["an empty list", [], "Expected `limiters` to be a list of 1 to 128 limiters, got an array of 0"],
    ["too many", Array.from({ length: 129 }, () => user), "Expected `limiters` to be a list of 1 to 128 limiters, got an array of 129"],
    ["something else", [user, {}], "Expected `limiter` to be made by createLimiter, got an object"],
  ])("%s of limiters throws", (_, limiters, message) => {
    expect(() => combine(limiters as [Limiter])).toThrow(new TypeError(message));
  });

  test.each<[what: string, keys: unknown, costs: unknown, message: string]>([
    ["too few keys", [keys[0]], 1, "Expected `keys` to be a list of 2, one for each limiter, got an array of 1"],
    ["no list of keys", "alice", 1, 'Expected `keys` to be a list of 2, one for each limiter, got "alice"'],
    ["a key that is nobody", ["", "x"], 1, "Expected `key` to be a non-empty string, got an empty one"],
    ["too many costs", keys, [1, 2, 3], "Expected `costs` to be a list of 2, one for each limiter, got an array of 3"],
    ["a cost that is not whole", keys, [1, 0.5], "Expected `cost` to be a whole number of at least 0, got 0.5"],
    ["a cost for all that is not whole", keys, -1, "Expected `cost` to be a whole number of at least 0, got -1"],
  ])("%s throws, and takes nothing", (_, wrong, costs, message) => {
    expect(() => combine([user, tenant]).consume(wrong as [Key, Key], costs as number)).toThrow(message);
    expect(user.peek(keys[0])).toMatchObject({ remaining: 5 });
  });

  test("one bucket twice throws, also in a promise where a store answers later", async () => {
    const again = createLimiter({ policy: userPolicy, store: user.store });
    const error = new TypeError("Expected `keys` to name each bucket once, got one twice");
    expect(() => combine([user, again]).consume(["alice", "alice"])).toThrow(error);
    const later = createLimiter({ policy: userPolicy, store: new LaterStore(clock.now) });
    await expect(combine([later, later]).consume(["alice", "alice"])).rejects.toThrow(error);
    expect(await combine([later, later]).consume(["alice", "bob"])).toMatchObject({ allowed: true });
  });
});
