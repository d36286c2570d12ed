// What a decision of several limiters gives back and takes when its work has ended.
import { combine, createLimiter, definePolicy, MemoryStore, perMinute, perSecond, unlimited, type Decision, type PlainLimiter, type Store } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test, vi } from "vitest";
import { LaterStore } from "../../helpers/stores.js";
import { outage, UnsteadyStore } from "../../helpers/unsteady-store.js";
import { expectWarnings } from "../../setup/warnings.js";
import { spyOnVerb } from "../../helpers/spy-on-verb.js";

const chat = definePolicy({ name: "chat", limits: [{ name: "requests", capacity: 60, refill: perMinute(60) }, { name: "tokens", capacity: 30_000, refill: perMinute(30_000) }] });
const keys = { user: "ann", team: "red" };
const few = { capacity: 5, refill: perSecond(1) };

function world(clock = new ManualClock()) {
  const store = new MemoryStore({ clock: clock.now });
  const user = createLimiter({ policy: chat, store });
  const team = createLimiter({ policy: { name: "team", capacity: 50_000, refill: perMinute(50_000) }, store });
  const left = () => [...(user.peek("ann", 0).limits ?? []), team.peek("red", 0)].map(({ remaining }) => remaining);
  return { clock, store, user, team, both: combine({ user, team }), left };
}

const pair = <S extends Store>(first: S, second: S): { readonly user: PlainLimiter<S>; readonly team: PlainLimiter<S> } => ({
  user: createLimiter<S>({ policy: { name: "user", ...few }, store: first }),
  team: createLimiter<S>({ policy: { name: "team", ...few }, store: second }),
});
const memory = () => new MemoryStore({ clock: () => 0 });

describe("a settlement of several", () => {
  test("L19 · takes all estimates or none, and settles each limit with its actual cost, once", () => {
    const { both, left } = world();
    const cost = { user: { tokens: 20_000 }, team: 20_000 };
    const decision = both.consume(keys, { cost });
    expect([decision.allowed, left()]).toEqual([true, [59, 10_000, 30_000]]);
    expect([both.consume(keys, { cost }).allowed, left()]).toEqual([false, [59, 10_000, 30_000]]);
    expect(both.settle(keys, decision, { cost: { user: { tokens: 1_000 }, team: 1_000 } })).toBe(true);
    expect(left()).toEqual([59, 29_000, 49_000]);
    expect([both.settle(keys, decision, { cost: { user: { tokens: 5 }, team: 5 } }), both.refund(keys, decision)]).toEqual([false, false]);
    expect(left()).toEqual([59, 29_000, 49_000]);
  });

  test("L19 · leaves a member that is not named as charged, and a number is for all of them", () => {
    const { both, left } = world();
    const decision = both.consume(keys, { cost: { user: { tokens: 100 }, team: 100 } });
    expect([both.settle(keys, decision, { cost: { team: 40 } }), left()]).toEqual([true, [59, 29_900, 49_960]]);
    const { user, team } = pair(memory(), memory());
    const other = combine({ user, team });
    expect([other.settle(keys, other.consume(keys, 3), 2), user.peek("ann").remaining, team.peek("red").remaining]).toEqual([true, 3, 3]);
  });

  test("is refunded as a whole, and takes at most one capacity beyond the estimate", () => {
    const { user, both, left } = world();
    const cost = { user: { tokens: 5 }, team: 5 };
    expect([both.refund(keys, both.consume(keys, { cost })), left()]).toEqual([true, [60, 30_000, 50_000]]);
    both.settle(keys, both.consume(keys, { cost }), { cost: { user: { tokens: 1_000_000 }, team: 100 } });
    expect(left()).toEqual([59, 0, 49_900]);
    expect(user.consume("ann", { cost: { tokens: 30_000 } }).retryAfterMs).toBe(60_010);
  });

  test("L1 · is one: through the limiter that binds the decision gives back nothing, before or after", () => {
    const { user, team } = pair(memory(), memory());
    const both = combine({ user, team });
    both.consume(keys, { cost: { user: 1, team: 0 } });
    for (const order of ["together first", "by itself first"]) {
      const decision = both.consume(keys, 2);
      expect(decision.policy).toBe("user");
      if (order === "by itself first") expect(user.refund("ann", decision)).toBe(false);
      expect(both.refund(keys, decision)).toBe(true);
      expect(user.refund("ann", decision)).toBe(false);
      expect([user.peek("ann").remaining, team.peek("red").remaining]).toEqual([4, 5]);
    }
  });

  test("gives back of one limiter what its own decision took, once", () => {
    const { user, team } = pair(memory(), memory());
    const both = combine({ user, team });
    const decision = both.consume(keys, 2);
    expect(user.refund("ann", decision.decisions.user as Decision)).toBe(true);
    expect([both.refund(keys, decision), both.refund(keys, decision)]).toEqual([true, false]);
    expect([user.peek("ann").remaining, team.peek("red").remaining]).toEqual([5, 5]);
  });

  test("L1 · returns false for a copy, a peek, a refusal and another combination's decision, and changes nothing", () => {
    const { user, team } = pair(memory(), memory());
    const both = combine({ user, team });
    const decision = both.consume(keys, 2);
    const others: readonly Decision[] = [{ ...decision }, structuredClone(decision), both.peek(keys), both.consume(keys, 6), user.peek("ann"), combine({ user, team }).peek(keys)];
    for (const other of others) expect(both.settle(keys, other as typeof decision, 0)).toBe(false);
    expect(combine({ user, team }).refund(keys, decision)).toBe(false);
    expect([user.peek("ann").remaining, team.peek("red").remaining]).toEqual([3, 3]);
    expect(both.refund(keys, decision)).toBe(true);
  });

  test("settles what was charged, although a member in shadow mode would have refused", () => {
    const user = createLimiter({ policy: { name: "user", ...few }, store: memory() });
    const trial = createLimiter({ policy: { name: "trial", capacity: 1, refill: perSecond(1) }, store: memory(), shadow: true });
    const both = combine({ trial, user });
    const own = { trial: "all", user: "ann" };
    const [first, second] = [both.consume(own), both.consume(own)];
    expect([both.refund(own, second), both.refund(own, second), user.peek("ann").remaining, trial.peek("all").remaining]).toEqual([true, false, 4, 0]);
    expect([both.refund(own, first), trial.peek("all").remaining]).toEqual([true, 1]);
  });

  test("has nothing to settle when all members were let through without a charge", async () => {
    const store = new UnsteadyStore(() => 0, { breaker: false });
    const make = (name: string) => createLimiter({ policy: { name, ...few }, store, onStoreError: "allow" });
    const both = combine({ user: make("user"), team: make("team") });
    store.health = "down";
    const decision = await both.consume(keys);
    store.health = "up";
    expect([decision.allowed, decision.degraded, await both.refund(keys, decision)]).toEqual([true, true, false]);
    const { user, team } = pair(memory(), memory());
    const free = combine({ user, team });
    const none = { user: unlimited, team: unlimited };
    expect(free.refund(none, free.consume(none))).toBe(false);
  });

  test("settles in this process what was decided here, and in the store what the store decided", async () => {
    const [first, second] = [new UnsteadyStore(() => 0, { breaker: false }), new UnsteadyStore(() => 0, { breaker: false })];
    const { user, team } = pair(first, second);
    const both = combine({ user, team });
    first.health = "down";
    const decision = await both.consume(keys, 2);
    first.health = "up";
    expect([await both.settle(keys, decision, 1), (await team.peek("red")).remaining, (await user.peek("ann")).remaining]).toEqual([true, 4, 5]);
    first.health = "down"; // 2 of 5 are this process's share; one of them was given back
    expect([(await user.consume("ann")).allowed, (await user.consume("ann")).allowed]).toEqual([true, false]);
  });
});

describe("a settlement of several of which one fails", () => {
  const fail = () => {
    throw new Error("the disk is full");
  };

  test("corrects the others all the same, and tells of the failure", () => {
    expectWarnings("SLUICE_SETTLEMENT_FAILED");
    const [first, second] = [memory(), memory()];
    const { user, team } = pair(first, second);
    const both = combine({ user, team });
    const decision = both.consume(keys, 4);
    spyOnVerb(first, "adjust").mockImplementation(fail);
    expect(() => both.settle(keys, decision, 1)).toThrow("the disk is full");
    vi.restoreAllMocks();
    // The store that failed may have made the change, so it is not repeated.
    expect([team.peek("red").remaining, both.settle(keys, decision, 1), user.peek("ann").remaining]).toEqual([4, false, 1]);
  });

  test("also over stores that answer later", async () => {
    expectWarnings("SLUICE_SETTLEMENT_FAILED");
    const [first, second] = [new LaterStore(() => 0), new LaterStore(() => 0)];
    const { user, team } = pair(first, second);
    const both = combine({ user, team });
    const decision = await both.consume(keys, 4);
    vi.spyOn(first, "adjust").mockRejectedValue(new Error("Redis cannot be reached"));
    await expect(both.settle(keys, decision, 1)).rejects.toThrow("Redis cannot be reached");
    expect([(await team.peek("red")).remaining, await both.refund(keys, decision)]).toEqual([4, false]);
  });

  test("can be settled again where the store was not asked, and there alone", async () => {
    expectWarnings("SLUICE_STORE_UNAVAILABLE", "SLUICE_SETTLEMENT_FAILED");
    vi.useFakeTimers({ toFake: ["performance", "Date", "setTimeout", "setImmediate"] });
    try {
      const [first, second] = [new UnsteadyStore(() => 0, { breaker: { failures: 1 } }), new UnsteadyStore(() => 0, { breaker: false })];
      const user = createLimiter({ policy: { name: "user", ...few }, store: first });
      const team = createLimiter({ policy: { name: "team", ...few }, store: second });
      const both = combine({ user, team });
      const decision = await both.consume(keys, 4);
      first.health = "down";
      for (const key of ["bob", "carl"]) await user.consume(key);
      for (let again = 0; again < 2; again++) await expect(both.settle(keys, decision, 1)).rejects.toMatchObject({ code: "ERR_STORE_OPEN", cause: outage });
      first.health = "up";
      vi.advanceTimersByTime(1_000); // the breaker lets one call ask
      expect([await both.settle(keys, decision, 1), await both.settle(keys, decision, 1)]).toEqual([true, false]);
      expect([(await user.peek("ann")).remaining, (await team.peek("red")).remaining]).toEqual([4, 4]);
    } finally {
      vi.useRealTimers();
    }
  });
});
