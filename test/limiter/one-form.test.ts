// The last argument of every verb is its options, and a number is short for `{ cost }`. Costs by name in that place
// are refused with the cure, whatever the limits are called.
import { combine, createLimiter, createWaiter, definePolicy, MemoryStore, perSecond, run, type Decision } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";

const clock = new ManualClock(1_000);
const few = { capacity: 100, refill: perSecond(1) };
const limiterOf = (name: string, ...limits: string[]) =>
  createLimiter({ policy: { name, limits: limits.map((each) => ({ name: each, ...few })) }, store: new MemoryStore({ clock }) });
const got = (cure: string) => new TypeError(`Expected options, got costs by name. Write \`${cure}\``);
const left = (decision: Decision) => decision.limits?.map(({ remaining }) => remaining) ?? decision.remaining;

/** Every verb that takes a cost, of a limiter, a combination or a waiter. */
function verbsOf(limiter: ReturnType<typeof limiterOf>, key: string, asked: unknown): Array<() => unknown> {
  const decision = limiter.consume(key);
  const given = asked as never;
  return [
    () => limiter.consume(key, given), () => limiter.peek(key, given), () => limiter.settle(key, decision, given),
    () => limiter.debit(key, given), () => limiter.credit(key, given),
  ];
}

describe("L9 · costs by name in place of options", () => {
  const chat = limiterOf("chat", "requests", "tokens");
  const named = limiterOf("named", "cost", "policy");
  const one = limiterOf("one", "cost");
  const pro = definePolicy({ name: "chat", limits: [{ name: "requests", ...few }, { name: "units", ...few }] });

  test.each(([
    [{ tokens: 5 }, "{ cost: { tokens: 5 } }", chat],
    [{ requests: 1, tokens: 5 }, "{ cost: { requests: 1, tokens: 5 } }", chat],
    [{ units: 2, policy: pro }, "{ cost: { units: 2 }, policy }", chat],
    [{ tokens: 5, cost: { requests: 1 } }, "{ cost: { tokens: 5 }, cost }", chat],
    [{ cost: 5 }, "{ cost: { cost: 5 } }", named],
    [{ cost: 5, policy: undefined }, "{ cost: { cost: 5 } }", named],
    [{ policy: 5 }, "{ cost: { policy: 5 } }", named],
    [{ cost: 5, policy: 3 }, "{ cost: { cost: 5, policy: 3 } }", named],
    [{ cost: 5 }, "{ cost: { cost: 5 } }", one],
  ] as ReadonlyArray<[asked: object, cure: string, limiter: ReturnType<typeof limiterOf>]>).map(([asked, cure, limiter]) => [cure, asked, limiter] as const))("write %s", (cure, asked, limiter) => {
    const before = limiter.peek("ann");
    for (const call of verbsOf(limiter, "bob", asked)) expect(call).toThrow(got(cure));
    expect(limiter.peek("ann")).toEqual(before);
  });

  test("of a waiter and of a combination, at any depth", async () => {
    const both = combine({ user: chat, cost: named });
    const keys = { user: "ann", cost: "blue" };
    const decision = both.consume(keys);
    for (const [asked, cure] of [
      [{ user: { tokens: 5 } }, "{ cost: { user: … } }"],
      [{ cost: 5 }, "{ cost: { cost: 5 } }"],
      [{ cost: 5, user: 1 }, "{ cost: { cost: 5, user: 1 } }"],
    ] as ReadonlyArray<[unknown, string]> as ReadonlyArray<[never, string]>) {
      for (const call of [
        () => both.consume(keys, asked), () => both.peek(keys, asked), () => both.settle(keys, decision, asked),
        () => both.debit(keys, asked), () => both.credit(keys, asked),
      ]) expect(call).toThrow(got(cure));
      await expect(createWaiter(both).consume(keys, asked)).rejects.toThrow(got(cure));
      await expect(createWaiter(both).debit(keys, asked)).rejects.toThrow(got(cure));
    }
    await expect(createWaiter(chat).consume("ann", { tokens: 5, maxWaitMs: 60_000 } as never)).rejects.toThrow(got("{ cost: { tokens: 5 }, maxWaitMs }"));
    await expect(createWaiter(chat).consume("ann", { cost: 5, maxWaitMs: 60_000 })).resolves.toMatchObject({ allowed: true });
  });

  test("under limits of the names `cost` and `policy` the options work", async () => {
    const limiter = limiterOf("options", "cost", "policy");
    limiter.consume("ann", { cost: { cost: 5 } });
    expect(left(limiter.peek("ann"))).toEqual([95, 99]);
    limiter.debit("ann", { cost: { policy: 9 }, policy: limiter.policy });
    expect(left(limiter.consume("ann", { cost: 2, policy: limiter.policy }))).toEqual([93, 88]);
    expect(left(limiter.consume("ann", 3))).toEqual([90, 85]);
    await run(limiter, "ann", () => 1, { cost: 10, actualCost: () => ({ cost: 0 }) });
    expect(left(limiter.peek("ann"))).toEqual([90, 75]);
    const both = combine({ one: limiter });
    both.consume({ one: "ann" }, { cost: { one: 5 } });
    expect(left(both.peek({ one: "ann" }, { cost: { one: { policy: 1 } } }).decisions.one as Decision)).toEqual([85, 70]);
  });
});

describe("L9 · the form of before", () => {
  const limiter = limiterOf("before", "tokens");

  test.each<[verb: string, call: (options: never) => unknown, cure: string]>([
    ["settle", (options) => (limiter.settle as (...all: unknown[]) => unknown)("ann", limiter.consume("ann"), 1, options), "settle(key, decision, { cost, policy })"],
    ["debit", (options) => (limiter.debit as (...all: unknown[]) => unknown)("ann", 1, options), "debit(key, { cost, policy })"],
    ["credit", (options) => (limiter.credit as (...all: unknown[]) => unknown)("ann", 1, options), "credit(key, { cost, policy })"],
  ])("%s with options after the cost", (_, call, cure) => {
    expect(() => call({ policy: limiter.policy } as never)).toThrow(new TypeError(`Expected options as the last argument, got one after the cost. Write \`${cure}\``));
  });
});

test.each([1, 5])("a number is short for `{ cost }` in every verb: %d", (cost) => {
  const [short, long] = [limiterOf("short", "tokens"), limiterOf("long", "tokens")];
  const told = [short, long].map((limiter) => {
    const asked = limiter === short ? cost : { cost };
    const first = limiter.consume("ann", asked);
    const done = limiter.settle("ann", limiter.consume("ann", 9), asked);
    limiter.debit("ann", limiter === short ? 20 : { cost: 20 });
    limiter.credit("ann", asked);
    return [left(first), done, left(limiter.peek("ann", asked)), left(limiter.peek("ann", 0))];
  });
  expect(told[0]).toEqual(told[1]);
  expect(told[0]?.[3]).toBe(100 - cost - cost - 20 + cost);
});
