// The names of a combination: members inside members, members without a limit, and names that objects have by themselves.
import { combine, createLimiter, definePolicy, MemoryStore, perSecond, unlimited, type Store } from "sluice";
import { describe, expect, test } from "vitest";
import { partsOf } from "../../../src/limiter/parts.js";
import { spyOnVerb } from "../../helpers/spy-on-verb.js";

const few = { capacity: 5, refill: perSecond(1) };
const memory = () => new MemoryStore({ clock: () => 7 });
const make = <S extends Store>(name: string, store: S) => createLimiter<S>({ policy: { name, ...few }, store });

describe("a combination of combinations", () => {
  function world() {
    const store = memory();
    const together = spyOnVerb(store, "together");
    const [user, device, tenant] = [make("user", store), make("device", store), make("tenant", store)];
    const all = combine({ caller: combine({ user, device }), tenant });
    const left = () => [user, device, tenant].map((each, i) => each.peek(["ann", "phone", "acme"][i] as string).remaining);
    return { store, together, all, left, parts: [user, device, tenant] };
  }
  const keys = { caller: { user: "ann", device: "phone" }, tenant: "acme" };

  test("L10 · charges all members in one step, and keeps its shape in keys, costs, policies and decisions", () => {
    const { all, together, left, parts } = world();
    const pro = definePolicy({ name: "user", capacity: 50, refill: perSecond(1) });
    expect(all.parts).toEqual(parts);
    const decision = all.consume(keys, { cost: { caller: { user: 20 }, tenant: 2 }, policy: { caller: { user: pro } } });
    expect(together.mock.calls.map(([charges]) => charges.map(({ policy, cost }) => [policy.name, cost]))).toEqual([[["user", 20], ["device", 1], ["tenant", 2]]]);
    expect(decision).toMatchObject({ allowed: true, policy: "user", remaining: 30, decisions: { caller: { policy: "user", decisions: { user: { remaining: 30 }, device: { remaining: 4 } } }, tenant: { remaining: 3 } } });
    expect(decision.limits.map(({ limit }) => limit)).toEqual(["user", "device", "tenant"]);
    expect(decision.decisions.caller?.limits.map(({ limit }) => limit)).toEqual(["user", "device"]);
    expect([all.settle(keys, decision, { cost: { caller: { user: 1 }, tenant: 0 } }), all.peek(keys, 0).decisions]).toMatchObject([true, { caller: { decisions: { user: { remaining: 4 }, device: { remaining: 4 } } }, tenant: { remaining: 5 } }]);
    expect([all.consume(keys, 5).allowed, left()]).toEqual([false, [4, 4, 5]]);
  });

  test("debits, credits, blocks and resets every member by its name", () => {
    const { all, left } = world();
    all.debit(keys, { cost: { caller: { user: 3 }, tenant: 2 } });
    expect(left()).toEqual([2, 5, 3]);
    all.credit(keys, 1);
    expect(left()).toEqual([3, 5, 4]);
    all.block(keys, 1_000);
    expect(all.peek(keys)).toMatchObject({ allowed: false, retryAfterMs: 1_000, decisions: { caller: { allowed: false }, tenant: { allowed: false } } });
    all.reset(keys);
    expect([all.peek(keys).allowed, left()]).toEqual([true, [5, 5, 5]]);
  });

  test("leaves out a member inside, or all of them", () => {
    const { all, left } = world();
    expect(all.consume({ caller: { user: "ann", device: unlimited }, tenant: "acme" })).toMatchObject({ allowed: true, decisions: { caller: { decisions: { user: {}, device: null } }, tenant: {} } });
    expect(all.consume({ caller: unlimited, tenant: "acme" })).toMatchObject({ allowed: true, decisions: { caller: null, tenant: { remaining: 3 } } });
    expect(all.consume({ caller: { user: unlimited, device: unlimited }, tenant: "acme" })).toMatchObject({ allowed: true, decisions: { caller: null, tenant: { remaining: 2 } } });
    expect(all.consume(keys, { policy: { caller: { device: unlimited } } })).toMatchObject({ decisions: { caller: { decisions: { device: null } } } });
    expect(left()).toEqual([3, 5, 1]);
    for (const verb of ["debit", "credit"] as const) all[verb]({ caller: unlimited, tenant: "acme" }, 1);
    all.reset({ caller: { user: unlimited, device: "phone" }, tenant: unlimited });
    expect(left()).toEqual([3, 5, 1]);
  });
});

describe("members on one bucket", () => {
  test("are charged the sum of their costs, and settled with the sum of what they cost", () => {
    const store = memory();
    const both = combine({ sender: make("user", store), receiver: make("user", store) });
    const keys = { sender: "ann", receiver: "ann" };
    const decision = both.consume(keys, { cost: { sender: 1, receiver: 3 } });
    expect(decision).toMatchObject({ allowed: true, cost: 4, remaining: 1, decisions: { sender: { cost: 4 }, receiver: { cost: 4 } } });
    expect([both.settle(keys, decision, { cost: { receiver: 1 } }), both.peek(keys).decisions.sender?.remaining]).toEqual([true, 3]);
    expect(both.consume(keys, 2)).toMatchObject({ allowed: false, reason: "limited", cost: 4 });
    expect(both.consume(keys, 3)).toMatchObject({ reason: "cost_above_capacity", cost: 6 });
    expect(both.consume(keys, Number.MAX_SAFE_INTEGER).reason).toBe("cost_above_capacity");
    expect(both.settle(keys, both.consume(keys), Number.MAX_SAFE_INTEGER)).toBe(true);
    expect(both.consume({ sender: "bob", receiver: "carl" }, 5).allowed).toBe(true);
  });

  test("of two tiers are refused before anything is charged", () => {
    const store = memory();
    const other = make("other", memory());
    const both = combine({ other, sender: make("user", store), receiver: make("user", store) });
    const pro = definePolicy({ name: "user", capacity: 9, refill: perSecond(1) });
    expect(() => both.consume({ other: "x", sender: "ann", receiver: "ann" }, { policy: { receiver: pro } })).toThrow(
      new TypeError('Expected the members on one key under "user" to have the same numbers, got two tiers. Give the policies different names'),
    );
    expect(other.peek("x").remaining).toBe(5);
  });
});

describe("members without a limit", () => {
  test("all of them: an allowed decision with no limits, which charges nothing", () => {
    const both = combine({ user: make("user", memory()), tenant: make("tenant", memory()) });
    const decision = both.consume({ user: unlimited, tenant: "acme" }, { policy: { tenant: unlimited } });
    expect(decision).toStrictEqual({
      allowed: true, reason: null, policy: "user", limit: "", cost: 0, capacity: Infinity, remaining: Infinity, retryAfterMs: 0, nextTokenMs: 0, resetMs: 0,
      limits: [], at: 7, degraded: false, decisions: { user: null, tenant: null },
    });
    expect(both.peek({ user: unlimited, tenant: unlimited })).toStrictEqual(decision);
  });

  test("a copy's `unlimited` is one, and what looks like it is none", () => {
    const user = make("user", memory());
    const both = combine({ user });
    const copy = { [Symbol.for("sluice.unlimited")]: true };
    expect(both.consume({ user: copy as never }).remaining).toBe(Infinity);
    for (const wrong of [{}, 5, null, undefined, { "~unlimited": true }, structuredClone(unlimited)]) {
      expect(() => both.consume({ user: wrong as never })).toThrow(TypeError);
      expect(() => both.consume({ user: "ann" }, { policy: { user: wrong as never } })).toThrow(TypeError);
    }
    expect(user.peek("ann").remaining).toBe(5);
  });
});

describe("names that objects have by themselves", () => {
  const NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty", "isPrototypeOf"];
  const named = <T>(values: readonly T[]): Record<string, T> => Object.fromEntries(NAMES.map((name, i) => [name, values[i] as T]));

  test("are names of members like any others", () => {
    const limiters = NAMES.map((_, i) => make(`n${i}`, memory()));
    const all = combine(named(limiters));
    const keys = named(NAMES.map((_, i) => `k${i}`));
    const decision = all.consume(keys, { cost: named([2, 2, 2, 2, 3]) });
    expect(Object.keys(decision.decisions)).toEqual(NAMES);
    expect([decision.policy, NAMES.map((name) => Object.getOwnPropertyDescriptor(decision.decisions, name)?.value.remaining)]).toEqual(["n4", [3, 3, 3, 3, 2]]);
    expect([all.settle(keys, decision, { cost: named([0, 0, 0, 0, 0]) }), limiters.map((each, i) => each.peek(`k${i}`).remaining)]).toEqual([true, [5, 5, 5, 5, 5]]);
  });

  test.each(NAMES)("%s is missing where it is inherited alone", (name) => {
    const limiter = make("user", memory());
    const one = combine(Object.fromEntries([[name, limiter]]));
    expect(() => one.consume({})).toThrow(`Expected \`key\` to have a key for \`${name}\`, got undefined`);
    expect(one.consume(Object.fromEntries([[name, "k"]]), { cost: {}, policy: {} })).toMatchObject({ allowed: true, cost: 1 });
    const seen: unknown[] = [];
    partsOf(one).mapKey({}, (key) => (seen.push(key), "shared"));
    expect(seen).toEqual([undefined]);
  });

  test("mapKey changes the key of each part, and leaves `unlimited` and wrong forms alone", () => {
    const all = combine({ caller: combine({ user: make("user", memory()), device: make("device", memory()) }), tenant: make("tenant", memory()) });
    const { mapKey } = partsOf(all);
    const change = (key: unknown) => key ?? "shared";
    expect(mapKey({ caller: { user: "ann" }, tenant: unlimited }, change)).toEqual({ caller: { user: "ann", device: "shared" }, tenant: unlimited });
    expect(mapKey(undefined, change)).toEqual({ caller: { user: "shared", device: "shared" }, tenant: "shared" });
    expect([mapKey("ann", change), mapKey(["a", "b"], change)]).toEqual(["ann", ["a", "b"]]);
  });
});
