// Bad input to a combination: all arguments of all members are checked before anything is charged, settled or reset.
import { combine, createLimiter, definePolicy, MemoryStore, perSecond, unlimited, whenDone, type AsyncStore, type Decision } from "sluice";
import { describe, expect, test } from "vitest";
import { LaterStore } from "../../helpers/stores.js";
import { storeOf } from "../../helpers/store-of.js";

const few = { capacity: 5, refill: perSecond(1) };
const chat = definePolicy({ name: "chat", limits: [{ name: "requests", ...few }, { name: "tokens", ...few }] });
const user = createLimiter({ policy: { name: "user", ...few }, store: new MemoryStore({ clock: () => 0 }) });
const team = createLimiter({ policy: chat, store: new MemoryStore({ clock: () => 0 }) });
const slow = createLimiter({ policy: { name: "slow", ...few }, store: new LaterStore(() => 0) });
const both = combine({ user, team });
const keys = { user: "ann", team: "red" };
const form = "Write { user: …, team: … }";
const left = () => [user.peek("ann").remaining, ...(team.peek("red", 0).limits ?? []).map(({ remaining }) => remaining)];

type Row = readonly [what: string, given: unknown, message: string];

const KEYS: readonly Row[] = [
  ["a tuple", ["user", "42"], `Expected \`key\` to be an object with the names of the members, got an array of 2. ${form}`],
  ["a string", "ann", `Expected \`key\` to be an object with the names of the members, got "ann". ${form}`],
  ["null", null, `Expected \`key\` to be an object with the names of the members, got null. ${form}`],
  ["nothing", undefined, `Expected \`key\` to be an object with the names of the members, got undefined. ${form}`],
  ["a Map", new Map(Object.entries(keys)), `Expected \`key\` to be an object with the names of the members, got an object. ${form}`],
  ["a missing member", { user: "ann" }, `Expected \`key\` to have a key for \`team\`, got undefined. ${form}; \`unlimited\` leaves out a member`],
  ["a member that is null", { user: "ann", team: null }, `Expected \`key\` to have a key for \`team\`, got null. ${form}; \`unlimited\` leaves out a member`],
  ["an unknown member", { ...keys, tenant: "x" }, "Unknown member `tenant` in `key`. The members: user, team"],
  ["an empty key", { user: "ann", team: "" }, "Expected `key` to be a non-empty string, got an empty one"],
  ["a part that is missing", { user: "ann", team: ["team", undefined] }, "Expected every part of `key` to be a non-empty string or an integer, got undefined"],
];

const POLICIES: readonly Row[] = [
  ["an explicit undefined", { user: undefined }, "Expected `policy.user` to be a policy, or `unlimited`, got undefined. Leave the member out to keep its own policy"],
  ["null", { user: null }, "Expected `policy` to be made by definePolicy, or `unlimited`, got null. Pass a copy to definePolicy first."],
  ["a plain object", { user: few }, "Expected `policy` to be made by definePolicy, or `unlimited`, got an object. Pass a copy to definePolicy first."],
  ["a policy for all", chat, "Unknown member `name` in `policy`. The members: user, team"],
  ["an unknown member", { tenant: chat }, "Unknown member `tenant` in `policy`. The members: user, team"],
];

const costRows = (nan = "whole number of at least 0"): readonly Row[] => [
  ["an unknown member", { tenant: 1 }, `Unknown member \`tenant\` in \`cost\`. The members: user, team`],
  ["an unknown limit", { team: { token: 1 } }, `Unknown limit \`token\` in \`cost\`. The limits of policy "chat": requests, tokens`],
  ["a member that is undefined", { user: undefined }, `Expected \`cost.user\` to be a cost, got undefined. Leave the member out instead`],
  ["a member that is null", { team: null }, `Expected \`cost\` to be a whole number of at least 0, got null`],
  ["a fraction", { user: 1, team: { tokens: 0.5 } }, `Expected \`cost.tokens\` to be a whole number of at least 0, got 0.5`],
  ["NaN for all", Number.NaN, `Expected \`cost\` to be a ${nan}, got NaN`],
  ["a string", "2", `Expected \`cost\` to be an object with the names of the members, got "2". ${form}`],
  ["a list", [1, 2], `Expected \`cost\` to be an object with the names of the members, got an array of 2. ${form}`],
];
const BARE: readonly Row[] = [
  ["nothing", undefined, `Expected \`cost\` to be a number, or an object with the names of the members, got undefined`],
  ["a number for several limits", 2, `Expected \`cost\` to be an object with the names of limits, got 2. Policy "chat" has 2 limits: write cost: { user: 2, team: { requests: 2, tokens: 2 } }`],
  ["a number for several limits of one member", { user: 1, team: 2 }, `Expected \`cost\` to be an object with the names of limits, got 2. Policy "chat" has 2 limits: write cost: { user: 1, team: { requests: 2, tokens: 2 } }`],
  ["a number for one member alone", { team: 2 }, `Expected \`cost\` to be an object with the names of limits, got 2. Policy "chat" has 2 limits: write cost: { team: { requests: 2, tokens: 2 } }`],
];

/** Expects the message from every call, and that no member notices. */
function refuses(message: string, calls: readonly (() => unknown)[]): void {
  const before = left();
  for (const call of calls) expect(call).toThrow(message);
  expect(left()).toEqual(before);
}

describe("L9 · misuse of a combination", () => {
  const wrong = (given: unknown) => given as never;

  test.each(KEYS)("L9 · %s as keys throws, and nothing changes", (_, given, message) => {
    const decision = both.consume(keys);
    const k = wrong(given);
    refuses(message, [
      () => both.consume(k), () => both.peek(k), () => both.settle(k, decision, { cost: {} }), () => both.refund(k, decision), () => both.debit(k, { cost: { user: 1 } }),
      () => both.credit(k, { cost: { user: 1 } }), () => both.block(k, 1_000), () => both.reset(k),
    ]);
    expect(both.refund(keys, decision)).toBe(true);
  });

  test.each(POLICIES)("L9 · %s as policies throws, and nothing changes", (_, given, message) => {
    const decision = both.consume(keys);
    const options = { policy: wrong(given) };
    refuses(message, [
      () => both.consume(keys, options), () => both.peek(keys, options), () => both.settle(keys, decision, { cost: {}, ...options }), () => both.refund(keys, decision, options),
      () => both.debit(keys, { cost: { user: 1 }, ...options }), () => both.credit(keys, { cost: { user: 1 }, ...options }), () => both.block(keys, 1_000, options), () => both.reset(keys, options),
    ]);
    expect(both.refund(keys, decision)).toBe(true);
  });

  test.each(costRows())("L9 · %s as costs throws, and nothing changes", (_, given, message) => {
    const calls = [() => both.consume(keys, { cost: wrong(given) }), () => both.peek(keys, { cost: wrong(given) })];
    refuses(message, calls);
  });

  test.each([...costRows(), ...BARE])("L9 · %s as actual costs throws, and nothing is settled", (_, given, message) => {
    const decision = both.consume(keys, 2);
    refuses(message, [() => both.settle(keys, decision, { cost: wrong(given) }), () => both.settle(keys, { ...decision }, { cost: wrong(given) })]);
    expect(both.settle(keys, decision, { cost: { team: { tokens: 0 } } })).toBe(true);
    both.reset(keys);
  });

  test.each([...costRows("positive integer"), ...BARE])("L9 · %s as a cost throws, and nothing is taken or given", (_, given, message) => {
    both.consume(keys, 2);
    refuses(message, [() => both.debit(keys, { cost: wrong(given) }), () => both.credit(keys, { cost: wrong(given) })]);
    both.reset(keys);
  });

  test("L9 · a debt that no limit can hold is refused before any member pays", () => {
    refuses("Expected `cost` to be a debt of at most 2^53 - 1 units of each limit", [() => both.debit(keys, { cost: { user: 1, team: { tokens: Number.MAX_SAFE_INTEGER } } })]);
  });

  test.each<Row>([
    ["null", null, "Expected `decision` to be a decision of `consume`, got null. To give tokens back without one, write credit(key, tokens)"],
    ["a number", 2, "Expected `decision` to be a decision of `consume`, got 2. To give tokens back without one, write credit(key, tokens)"],
    ["an object", {}, "Expected `decision` to be a decision of `consume`, got an object. To give tokens back without one, write credit(key, tokens)"],
    ["a promise", Promise.resolve(), "Expected `decision` to be a decision of `consume`, got a promise. Write `await` before `consume`"],
  ])("L9 · %s as a decision throws, and rejects over a store that answers later", async (_, given, message) => {
    refuses(message, [() => both.settle(keys, wrong(given), { cost: {} }), () => both.refund(keys, wrong(given)), () => user.refund("ann", wrong(given)), () => user.settle("ann", wrong(given), 1)]);
    const mixed = combine({ user, slow });
    await expect(mixed.refund({ user: "ann", slow: "s" }, wrong(given))).rejects.toThrow(new TypeError(message));
    await expect(slow.refund("s", wrong(given))).rejects.toThrow(new TypeError(message));
  });

  test.each<Row>([
    ["null", null, "Expected `options` to be an object with cost or policy, got null"],
    ["a string", "2", "Expected `options` to be an object with cost or policy, got \"2\""],
    ["an unknown name", { costs: 1 }, "Unknown option `costs`. Did you mean `cost`?"],
  ])("L9 · %s as options throws", (_, given, message) => {
    refuses(message, [() => both.consume(keys, wrong(given)), () => both.peek(keys, wrong(given))]);
    refuses("Unknown option `cost`. Known options: `policy`", [() => both.reset(keys, wrong({ cost: 1 })), () => both.refund(keys, both.peek(keys), wrong({ cost: 1 }))]);
  });

  test("L9 · over a store that answers later misuse rejects, and never throws", async () => {
    const mixed = combine({ user, slow });
    const bad = wrong(["user", "42"]);
    const decision = {} as Decision as never;
    const calls = [mixed.consume(bad), mixed.peek(bad), mixed.settle(bad, decision, 1), mixed.refund(bad, decision), mixed.debit(bad, 1), mixed.credit(bad, 1), mixed.block(bad, 1), mixed.reset(bad)];
    for (const call of calls) await expect(call).rejects.toThrow(TypeError);
  });
});

describe("the members", () => {
  const limiters = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, user]));
  const cannot = (name: string): AsyncStore => {
    const { guard, consume } = new LaterStore(() => 0);
    return storeOf({ sync: false, clock: "server", guard, consume: async (...asked) => consume.call(new LaterStore(() => 0), ...asked), [name]: undefined });
  };

  test.each<Row>([
    ["a list", [user, team], "Expected `members` to be an object of limiters, got an array of 2. Write combine({ user: perUser, tenant: perTenant })"],
    ["one limiter", user, "Expected `limiter` to be made by createLimiter, combine or createWaiter, got an array of 1"],
    ["nothing", undefined, "Expected `members` to be an object of limiters, got undefined. Write combine({ user: perUser, tenant: perTenant })"],
    ["no member", {}, "Expected `members` to have 1 to 128 limiters, got 0"],
    ["too many", limiters(129), "Expected `members` to have 1 to 128 limiters, got 129"],
    ["too many inside", { a: combine(limiters(100)), b: combine(limiters(29)) }, "Expected `members` to have 1 to 128 limiters, got 129"],
    ["something else", { user, team: {} }, "Expected `limiter` to be made by createLimiter, combine or createWaiter, got an object"],
    ["a policy", { user, team: chat }, "Expected `limiter` to be made by createLimiter, combine or createWaiter, got an object"],
    ["a copy of a limiter", { user: { ...user } }, "Expected `limiter` to be made by createLimiter, combine or createWaiter, got an object"],
  ])("%s throws", (what, given, message) => {
    expect(() => combine(given as never)).toThrow(what === "one limiter" ? TypeError : new TypeError(message));
  });

  test("that cannot return tokens stand last, or alone in one step", () => {
    const bare = createLimiter({ policy: { name: "bare", ...few }, store: cannot("adjust") });
    expect(() => combine({ bare, user })).toThrow(/^Expected a store with `verbs` that include "adjust", got consume/);
    expect(combine({ user, bare }).parts).toHaveLength(2);
  });

  test("are those of the call of `combine`: a change of the object afterwards changes nothing", async () => {
    const members: Record<string, typeof user> = { user };
    const one = combine(members);
    members["other"] = user;
    expect(one.consume({ user: "zoe" }).allowed).toBe(true);
  });
});

describe("one number over several limits", () => {
  const named = (name: string, ...limits: string[]) => createLimiter({
    policy: limits.length === 0 ? { name, capacity: 50, refill: perSecond(1) } : { name, limits: limits.map((limit) => (limit === "parallel" ? { name: limit, capacity: 9, returns: whenDone() } : { name: limit, capacity: 50, refill: perSecond(1) })) },
  });
  const inner = combine({ user: named("user"), "per-team": named("team", "requests", "tokens", "parallel") });
  const outer = combine({ inner, service: named("service"), calls: named("calls", "first", "parallel") });
  const innerKeys = { user: "ann", "per-team": "blue" };
  const outerKeys = { inner: innerKeys, service: "all", calls: "all" };
  const written = (call: () => unknown): unknown => {
    try {
      return call();
    } catch (error) {
      const code = /write cost: (.*)$/.exec((error as Error).message)?.[1] ?? "";
      return JSON.parse(code.replace(/([{,] )([a-z]+):/g, '$1"$2":'));
    }
  };

  test.each<[title: string, tokens: number | object, wanted: object]>([
    ["for all members", 5, { inner: { user: 5, "per-team": { requests: 5, tokens: 5 } }, service: 5, calls: { first: 5 } }],
    ["for a combination in it", { inner: 5 }, { inner: { user: 5, "per-team": { requests: 5, tokens: 5 } } }],
    ["for one member", { calls: 5, service: 4 }, { service: 4, calls: { first: 5 } }],
  ])("%s says what to write, and that works", (_, tokens, wanted) => {
    const settled = outer.consume(outerKeys, 6);
    for (const call of [
      (given: unknown) => outer.debit(outerKeys, { cost: given as never }), (given: unknown) => outer.credit(outerKeys, { cost: given as never }), (given: unknown) => outer.settle(outerKeys, settled, { cost: given as never }),
    ]) {
      const code = written(() => call(tokens));
      expect(code).toEqual(wanted);
      expect(() => call(code)).not.toThrow();
    }
  });

  test("leaves out a member without a limit", () => {
    expect(written(() => inner.debit({ user: unlimited, "per-team": "blue" }, 5 as never))).toEqual({ "per-team": { requests: 5, tokens: 5 } });
  });
});
