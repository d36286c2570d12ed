// Settlements that fail: an observer hears of each, and the process warns of the first, also where no caller waits.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import {
  combine, createLimiter, createObserver, definePolicy, perHour, run, whenDone, type Decision, type GuardOptions, type Key, type LimiterEvent,
  type PlainLimiter, type Policy,
} from "sluice";
import { StoreError } from "sluice/redis";
import { rateLimit, reportCost } from "sluice/web";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { settleLater } from "../../src/limits/settlements.js";
import { until } from "../helpers/soon.js";
import { LaterStore } from "../helpers/stores.js";
import { outage } from "../helpers/unsteady-store.js";
import { hearWarnings } from "../helpers/warned.js";
import { expectWarnings } from "../setup/warnings.js";

const budget = definePolicy({ name: "budget", capacity: 10_000, refill: perHour(1) });
const chat = definePolicy({ name: "chat", limits: [{ name: "tokens", capacity: 1_000, refill: perHour(1) }, { name: "parallel", capacity: 20, returns: whenDone() }] });

/** A limiter over a store whose `adjust` fails with `error`, and what an observer hears of settlements and of the store. */
function failing(policy: Policy, error: unknown, options: GuardOptions = {}) {
  const store = new LaterStore(() => 0, options);
  const adjust = vi.spyOn(store, "adjust").mockRejectedValue(error);
  const heard: [event: LimiterEvent, key: Key | null][] = [];
  const observe = createObserver((event, key) => void (event.type !== "decision" && heard.push([event, key])));
  return { store, adjust, heard, observe, limiter: createLimiter({ policy, store, observe }) };
}
type World = ReturnType<typeof failing>;
type AnyLimiter = PlainLimiter<LaterStore>;

const KEY = ["user", "ann"] as const;

/** Answers a request under a gate over the limiter, and waits until its work has ended. */
async function answered(limiter: AnyLimiter, options: object, handler: (request: Request) => Response): Promise<void> {
  const limited = rateLimit({ limiter, key: () => KEY, cost: 800, ...options });
  await (await limited(handler)(new Request("http://localhost/"))).text();
  await new Promise(setImmediate);
}

/** Each way in which a decision of 800 tokens is settled, and the change that is then not made. */
const ways: Readonly<Record<string, readonly [change: number, settle: (world: World) => Promise<unknown>]>> = {
  settle: [-700, async ({ limiter }) => expect(limiter.settle(KEY, await limiter.consume(KEY, 800), 100)).rejects.toBe(outage)],
  "settle, beyond the estimate": [100, async ({ limiter }) => expect(limiter.settle(KEY, await limiter.consume(KEY, 800), 900)).rejects.toBe(outage)],
  refund: [-800, async ({ limiter }) => expect(limiter.refund(KEY, await limiter.consume(KEY, 800))).rejects.toBe(outage)],
  run: [-700, async ({ limiter }) => expect(await run(limiter, KEY, () => "done", { cost: 800, actualCost: () => 100 })).toBe("done")],
  "a gate's actualCost": [-700, ({ limiter }) => answered(limiter, { actualCost: () => 100 }, () => new Response("hello"))],
  "a gate's reportCost": [-700, ({ limiter }) => answered(limiter, {}, (request) => (reportCost(request, 100), new Response("hello")))],
  "a member of a combination": [-700, async ({ limiter }) => {
    const other = createLimiter({ policy: { ...budget, name: "other" } });
    const both = combine({ user: limiter, other });
    const keys = { user: KEY, other: "acme" };
    await expect(both.settle(keys, await both.consume(keys, 800), 100)).rejects.toBe(outage);
  }],
};

/** Refunds the decisions of several callers. Returns the codes of the errors. */
async function refundAll({ limiter }: World, count = 9): Promise<unknown[]> {
  const keys = Array.from({ length: count }, (_, i) => `caller ${i}`);
  const decisions = await Promise.all(keys.map((key) => limiter.consume(key)));
  const codes: unknown[] = [];
  for (const [i, key] of keys.entries()) await limiter.refund(key, decisions[i] as Decision).catch((error: { code: string }) => codes.push(error.code));
  return codes;
}

describe("a settlement that fails is told", () => {
  test.each(Object.entries(ways))("L6 · %s", async (_, [change, settle]) => {
    const warnings = hearWarnings();
    const world = failing(budget, outage, { breaker: false });
    for (let i = 0; i < 2; i++) await settle(world);
    const event = { type: "settlement", policy: "budget", changes: { budget: change }, error: outage, limiter: world.limiter };
    expect(world.heard).toStrictEqual([[event, KEY], [event, KEY]]);
    const [done, cure] = change < 0 ? [`give back ${-change}`, "Give back what is missing with `credit`"] : [`take ${change}`, "Take what is missing with `debit`"];
    expect(warnings).toEqual([
      `SLUICE_SETTLEMENT_FAILED: Expected a settlement of policy "budget" to ${done} of "budget", got an error: connection lost. It may not have been ` +
      `made, and is not made again. ${cure}. Pass \`observe\` to be told of each.`,
    ]);
  });

  test.each<[string, number | object, cures: string]>([
    ["tokens and in flight", { tokens: 100 }, "It may not have been made, and is not made again. Give back what is missing with `credit`. Tokens in flight come back by themselves. "],
    ["more tokens, and in flight", { tokens: 900 }, "It may not have been made, and is not made again. Take what is missing with `debit`. Tokens in flight come back by themselves. "],
    ["in flight alone", { tokens: 800 }, "It may not have been made, and is not made again. Tokens in flight come back by themselves. "],
  ])("L6 · the warning says what to do: %s", async (_, actual, cures) => {
    const warnings = hearWarnings();
    const { limiter } = failing(chat, outage);
    await limiter.settle(KEY, await limiter.consume(KEY, { cost: { tokens: 800 } }), { cost: actual as { tokens: number } }).catch(() => undefined);
    expect(warnings).toEqual([expect.stringContaining(`connection lost. ${cures}Pass \`observe\``)]);
  });

  test("L6 · the warning says that a settlement which an open circuit stopped can be made again", async () => {
    const world = failing(budget, outage, { breaker: { failures: 1 } });
    const [first, second] = [await world.limiter.consume(KEY), await world.limiter.consume(KEY)];
    hearWarnings();
    await world.limiter.refund(KEY, first).catch(() => undefined);
    const warnings = hearWarnings();
    await expect(world.limiter.refund(KEY, second)).rejects.toMatchObject({ code: "ERR_STORE_OPEN" });
    expect(warnings).toEqual([expect.stringMatching(/\. It was not made, so you can settle again\. Pass `observe` to be told of each\.$/)]);
  });

  test("L6 · each limit by its name, and under the policy that was charged", async () => {
    hearWarnings();
    const { limiter, heard } = failing(chat, outage);
    const large = definePolicy({ ...chat, limits: [{ name: "tokens", capacity: 5_000, refill: perHour(1) }, { name: "more", capacity: 9, refill: perHour(1) }, chat.limits[1]] } as never);
    const decision = await limiter.consume(KEY, { cost: { tokens: 4_000, more: 3 }, policy: large });
    await expect(limiter.settle(KEY, decision, { cost: { tokens: 4_000, more: 9 } })).rejects.toBe(outage);
    expect(heard).toMatchObject([[{ changes: { tokens: 0, more: 6, parallel: -1 } }, KEY]]);
  });

  test("L6 · under the name of the policy that was charged: a tier's, or one of each request", async () => {
    hearWarnings();
    const { store, observe, limiter, heard } = failing(budget, outage, { breaker: false });
    const pro = definePolicy({ name: "pro", capacity: 10_000, refill: perHour(1) });
    await limiter.refund(KEY, await limiter.consume(KEY, { cost: 800, policy: pro })).catch(() => undefined);
    const limited = rateLimit({ policy: () => pro, store, key: () => KEY, cost: 800, actualCost: () => 100, observe });
    await (await limited(() => new Response("hello"))(new Request("http://localhost/"))).text();
    await until(() => heard.length === 2);
    expect(heard).toMatchObject([[{ policy: "pro", changes: { pro: -800 } }, KEY], [{ policy: "pro", changes: { pro: -700 } }, KEY]]);
  });

  test("L6 · by an error of one record or of a call that is too old, which is no failure of the store", async () => {
    for (const code of ["ERR_STORE_TOO_LATE", "ERR_STORE_QUEUED", "ERR_STORE_FOREIGN_VALUE"] as const) {
      hearWarnings();
      const world = failing(budget, new StoreError(code, "it is told"), { breaker: { failures: 2 } });
      expect(await refundAll(world)).toEqual(Array.from({ length: 9 }, () => code));
      expect([world.heard.map(([{ type }]) => type), world.adjust.mock.calls.length]).toEqual([Array.from({ length: 9 }, () => "settlement"), 9]);
    }
    const world = failing(budget, Object.assign(outage, { code: "LOADING" }), { breaker: { failures: 2 } });
    expect((await refundAll(world)).slice(1, 3)).toEqual(["LOADING", "ERR_STORE_OPEN"]);
    expect(world.heard.map(([{ type }]) => type)).toContain("store");
  });

  test("on the channel sluice:settlement, without the key", async () => {
    hearWarnings();
    const published: unknown[] = [];
    const hear = (event: unknown): void => void published.push(event);
    const store = new LaterStore(() => 0);
    vi.spyOn(store, "adjust").mockRejectedValue(outage);
    const limiter = createLimiter({ policy: budget, store, observe: createObserver() });
    subscribe("sluice:settlement", hear);
    await limiter.refund("ann", await limiter.consume("ann", 5)).catch(() => undefined);
    unsubscribe("sluice:settlement", hear);
    expect(published).toStrictEqual([{ type: "settlement", policy: "budget", changes: { budget: -5 }, error: outage, limiter }]);
  });

  test("an observer of one's own need not listen, nor one that is not there", async () => {
    const warnings = hearWarnings();
    const own = { listens: () => false, decided: () => undefined, storeChanged: () => true };
    for (const observe of [own, undefined]) {
      const { store } = failing(budget, outage);
      const limiter = createLimiter({ policy: budget, store, observe });
      await expect(limiter.refund("ann", await limiter.consume("ann", 5))).rejects.toBe(outage);
    }
    expect(warnings).toHaveLength(1);
  });
});

describe("a settlement that an open circuit stops", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setTimeout", "setInterval", "setImmediate", "Date"] }));
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  /** Opens the circuit by the failures of others, and refunds one decision. What is told of the others is forgotten. */
  async function stopped() {
    const world = failing(chat, outage, { breaker: { failures: 2 } });
    const decision = await world.limiter.consume(KEY);
    await refundAll(world, 2);
    world.heard.length = 0;
    await expect(world.limiter.refund(KEY, decision)).rejects.toMatchObject({ code: "ERR_STORE_OPEN" });
    return world;
  }

  test("L21 · is made again with tokens in flight, and told only if that fails, too", async () => {
    hearWarnings();
    const { heard } = await stopped();
    expect(heard).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(heard).toMatchObject([[{ type: "settlement", changes: { tokens: -1, parallel: -1 }, error: outage }, KEY]]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(heard).toHaveLength(1);
  });

  test("is told when more than 10,000 wait and it is the oldest", async () => {
    hearWarnings();
    const { heard, store } = await stopped();
    for (let i = 0; i < 10_000; i++) settleLater(() => undefined, store);
    expect(heard).toMatchObject([[{ type: "settlement", changes: { tokens: -1, parallel: -1 }, error: { message: expect.stringContaining("10000 settlements") as string } }, KEY]]);
    await vi.advanceTimersByTimeAsync(5_000);
  });

  test("is told at once where requests share no timers, and where it has no tokens in flight", async () => {
    expectWarnings("SLUICE_SETTLEMENT_FAILED");
    vi.stubGlobal("EdgeRuntime", "edge-runtime");
    expect((await stopped()).heard).toMatchObject([[{ type: "settlement", error: { code: "ERR_STORE_OPEN" } }, KEY]]);
    vi.unstubAllGlobals();
    const world = failing(budget, outage, { breaker: { failures: 2 } });
    await refundAll(world);
    expect(world.heard.filter(([{ type }]) => type === "settlement")).toHaveLength(9);
    expect(world.heard.at(-1)).toMatchObject([{ changes: { budget: -1 }, error: { code: "ERR_STORE_OPEN" } }, "caller 8"]);
  });
});
