// `run` does work that was charged, and settles it; `granted` overlooks no refusal.
import { combine, createLimiter, definePolicy, granted, MemoryStore, perMinute, perSecond, RefusedError, run, SluiceError, unlimited, type Decision } from "sluice";
import { describe, expect, expectTypeOf, test, vi } from "vitest";
import { LaterStore } from "../helpers/stores.js";
import { outage, UnsteadyStore } from "../helpers/unsteady-store.js";
import { freshSluice } from "../helpers/warned.js";
import { spyOnVerb } from "../helpers/spy-on-verb.js";

const budget = { name: "tokens", capacity: 30_000, refill: perMinute(30_000) };
const memory = () => new MemoryStore({ clock: () => 0 });
const left = (limiter: { peek(key: string): Decision }) => limiter.peek("ann").remaining;

describe("run", () => {
  test("charges, works, settles with what the work really cost, and returns what it returns", async () => {
    const limiter = createLimiter({ policy: budget, store: memory() });
    const seen: number[] = [];
    const answer = await run(limiter, "ann", (decision) => {
      seen.push(decision.remaining, left(limiter));
      return { text: "hello", tokens: 1_417 };
    }, { cost: 2_000, actualCost: async ({ tokens }) => tokens });
    expect([answer.text, seen, left(limiter)]).toEqual(["hello", [28_000, 28_000], 28_583]);
  });

  test("without `actualCost`, or where it returns undefined, leaves the charge", async () => {
    const limiter = createLimiter({ policy: budget, store: memory() });
    expect(await run(limiter, "ann", () => 5)).toBe(5);
    expect([await run(limiter, "ann", async () => "x", { cost: 9, actualCost: () => undefined }), left(limiter)]).toEqual(["x", 29_990]);
  });

  test("always returns a promise: misuse and refusals reject, and the work is not begun", async () => {
    const limiter = createLimiter({ policy: budget, store: memory() });
    const work = vi.fn(() => 1);
    const calls = [
      run(limiter, "", work), run(limiter, "ann", work, { cost: -1 }), run(limiter, "ann", 5 as never), run(limiter, "ann", work, { actualCost: 5 as never }),
      run(limiter, "ann", work, { costs: 5 } as never), run(limiter, "ann", work, null as never), run({} as typeof limiter, "ann", work),
    ];
    for (const call of calls) await expect(call).rejects.toThrow(/Expected|Unknown option|is not a function/);
    const refused = run(limiter, "ann", work, { cost: 30_001 });
    await expect(refused).rejects.toThrow(RefusedError);
    expect([work.mock.calls.length, left(limiter)]).toEqual([0, 30_000]);
  });

  test("rejects with the error of the work, whose tokens stay charged", async () => {
    const limiter = createLimiter({ policy: budget, store: memory() });
    const actualCost = vi.fn(() => 0);
    const broken = new Error("the model is down");
    await expect(run(limiter, "ann", () => { throw broken; }, { cost: 100, actualCost })).rejects.toBe(broken);
    await expect(run(limiter, "ann", () => Promise.reject(broken), { cost: 100, actualCost })).rejects.toBe(broken);
    expect([actualCost.mock.calls.length, left(limiter)]).toEqual([0, 29_800]);
  });

  test("settles over a combination and under tiers, by names", async () => {
    const chat = definePolicy({ name: "chat", limits: [{ name: "requests", capacity: 60, refill: perMinute(60) }, { name: "tokens", capacity: 1_000, refill: perMinute(1_000) }] });
    const pro = definePolicy({ name: "chat", limits: [{ name: "requests", capacity: 600, refill: perMinute(600) }, { name: "tokens", capacity: 9_000, refill: perMinute(9_000) }] });
    const user = createLimiter({ policy: chat, store: memory() });
    const team = createLimiter({ policy: budget, store: new LaterStore(() => 0) });
    const both = combine({ user, team });
    const keys = { user: "ann", team: "red" };
    await run(both, keys, () => 1_417, { cost: { user: { tokens: 5_000 }, team: 5_000 }, policy: { user: pro }, actualCost: (used) => ({ user: { tokens: used }, team: used }) });
    expect(user.peek("ann", { policy: pro, cost: 0 }).limits).toMatchObject([{ remaining: 599 }, { remaining: 7_583 }]);
    expect((await team.peek("red")).remaining).toBe(28_583);
  });

  test("runs work without a limit, and work that a failed store let through", async () => {
    const limiter = createLimiter({ policy: budget, store: memory() });
    expect([await run(limiter, "ann", ({ remaining }) => remaining, { policy: unlimited, actualCost: () => 5 }), left(limiter)]).toEqual([Infinity, 30_000]);
    const store = new UnsteadyStore(() => 0, { breaker: false });
    store.health = "down";
    const away = createLimiter({ policy: budget, store, onStoreError: "allow" });
    expect(await run(away, "ann", ({ degraded }) => degraded, { actualCost: () => 5 })).toBe(true);
    expect(store.calls).toBe(1);
  });

  test("a settlement or an `actualCost` that fails leaves the charge, changes no result, and is a warning once", async () => {
    const fresh = await freshSluice();
    const store = new fresh.MemoryStore({ clock: () => 0 });
    const limiter = fresh.createLimiter({ policy: budget, store });
    const failures = [() => { throw new Error("no usage"); }, () => Promise.reject(new Error("no usage")), () => -1, () => "5" as never, () => null as never];
    for (const actualCost of failures) expect(await fresh.run(limiter, "ann", () => "done", { cost: 10, actualCost })).toBe("done");
    spyOnVerb(store, "adjust").mockImplementation(() => { throw outage; });
    expect(await fresh.run(limiter, "ann", () => "done", { cost: 10, actualCost: () => 1 })).toBe("done");
    expect(left(limiter)).toBe(29_940);
    expect(fresh.given).toMatchObject([
      { code: "SLUICE_FUNCTION_FAILED", detail: expect.stringContaining("no usage") as string },
      { code: "SLUICE_SETTLEMENT_FAILED", message: expect.stringContaining('to give back 9 of "tokens"') as string },
    ]);
  });

  test("a settlement that the store fails is no failure of `actualCost`", async () => {
    const fresh = await freshSluice();
    const store = new fresh.MemoryStore({ clock: () => 0 });
    const limiter = fresh.createLimiter({ policy: { name: "p", limits: [budget, { name: "parallel", capacity: 2, returns: fresh.whenDone() }] }, store });
    spyOnVerb(store, "adjust").mockImplementation(() => { throw outage; });
    expect(await fresh.run(limiter, "ann", () => "done")).toBe("done");
    expect(await fresh.run(limiter, "ann", () => "done", { actualCost: () => ({ tokens: 5 }) })).toBe("done");
    expect(fresh.codes()).toEqual(["SLUICE_SETTLEMENT_FAILED"]);
  });

  test("gives a signal to a limiter that waits, and to no other", async () => {
    const limiter = createLimiter({ policy: budget, store: memory() });
    const { signal } = new AbortController();
    const asked: unknown[] = [];
    const waiting = { ...limiter, waits: true, consume: (_key: string, options: unknown) => (asked.push(options), limiter.consume("ann")) };
    await run(waiting as never as typeof limiter, "ann", () => 1, { signal, cost: 2 });
    expect(asked).toEqual([{ signal, cost: 2 }]);
    expect(await run(limiter, "ann", () => 1, { signal })).toBe(1);
  });
});

describe("granted", () => {
  test("returns an allowed decision as it is, and throws for a refusal, with the decision and the cure", () => {
    const limiter = createLimiter({ policy: { name: "mail", capacity: 5, refill: perSecond(5) }, store: memory() });
    const decision = limiter.consume("ann", 5);
    expect(granted(decision)).toBe(decision);
    expectTypeOf(granted(decision).allowed).toEqualTypeOf<true>();
    for (const [cost, message] of [[2, 'Expected policy "mail" to allow the call, got a refusal (limited). Try again in 400 ms'], [6, 'Expected policy "mail" to allow the call, got a refusal (cost_above_capacity). Waiting does not help']] as const) {
      const refused = limiter.consume("ann", cost);
      try {
        granted(refused);
        expect.unreachable();
      } catch (error) {
        expect(error).toBeInstanceOf(RefusedError);
        expect(error).toBeInstanceOf(SluiceError);
        expect(error).toMatchObject({ name: "RefusedError", code: "ERR_REFUSED", message, decision: refused });
        expect((error as RefusedError).decision).toBe(refused);
        expect(error).not.toHaveProperty("cause");
      }
    }
  });

  test("names the limit of several that refuses, but not for a block", () => {
    const limits = [{ name: "burst", capacity: 5, refill: perSecond(5) }, { name: "day", capacity: 3, refill: perMinute(1) }];
    const limiter = createLimiter({ policy: { name: "mail", limits }, store: memory() });
    limiter.consume("ann", 3);
    expect(() => granted(limiter.consume("ann"))).toThrow('Expected limit "day" of policy "mail" to allow the call, got a refusal (limited). Try again in 60000 ms');
    expect(() => granted(limiter.consume("bob", 4))).toThrow('Expected limit "day" of policy "mail" to allow the call, got a refusal (cost_above_capacity). Waiting does not help');
    limiter.block("bob", 1_000);
    expect(() => granted(limiter.consume("bob"))).toThrow('Expected policy "mail" to allow the call');
  });

  test("names the store's error as the cause of a refusal without the store", async () => {
    const store = new UnsteadyStore(() => 0, { breaker: false });
    store.health = "down";
    const limiter = createLimiter({ policy: budget, store, onStoreError: "unavailable" });
    await expect(run(limiter, "ann", () => 1)).rejects.toMatchObject({ code: "ERR_REFUSED", cause: outage, decision: { reason: "store_unavailable" } });
  });
});
