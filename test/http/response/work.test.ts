/** What the work of a request really cost: what a handler reports, and when it is settled. */
import { combine, createLimiter, definePolicy, MemoryStore, perSecond } from "sluice";
import { createGate, reportCost, type GateOptions } from "sluice/http";
import { describe, expect, test } from "vitest";
import { answerOf, brokenStore, end, exhaust, open, reader, SMALL, type Answer, type AnyOptions, type Ask, type Opened } from "../asking.js";
import { expectWarnings } from "../../setup/warnings.js";
import { callsOf } from "../../../src/testing/store-calls.js";
import type { AsyncStore, StoreCall } from "sluice";

const CHAT = definePolicy({ name: "chat", limits: [{ name: "requests", capacity: 9, refill: perSecond(1) }, { name: "tokens", capacity: 90, refill: perSecond(1) }] });
const left = (gate: Opened): string | undefined => gate.ask({ cost: 0 }).field("RateLimit-Remaining");

/** A gate whose requests cost 2 of 3 tokens, and the first answer of it. */
function started(options: AnyOptions = {}): { gate: Opened; request: Ask; answer: Answer } {
  const [gate, request] = [open(options), { cost: 2 }];
  return { gate, request, answer: gate.ask(request) };
}

describe("reportCost", () => {
  test.each([[0, "3"], [1, "2"], [2, "1"], [3, "0"]])("of %i is settled when the work ends", async (cost, remaining) => {
    const { gate, request, answer } = started();
    reportCost(request, cost);
    expect(left(gate)).toBe("1");
    await end(answer);
    expect(left(gate)).toBe(remaining);
    await end(answer);
    expect(left(gate)).toBe(remaining);
  });

  test("the last report wins, also over `actualCost`, which is not asked then", async () => {
    let asked = 0;
    const { gate, request, answer } = started({ actualCost: () => (asked++, 3) });
    reportCost(request, 0);
    reportCost(request, 1);
    await end(answer);
    expect([left(gate), asked]).toEqual(["2", 0]);
  });

  test("after the end is settled at once, and once", async () => {
    const { gate, request, answer } = started();
    await end(answer);
    reportCost(request, 0);
    await Promise.resolve();
    expect(left(gate)).toBe("3");
    reportCost(request, 2);
    await Promise.resolve();
    expect(left(gate)).toBe("3");
  });

  test("after an `actualCost` that left the charge is settled, too", async () => {
    const { gate, request, answer } = started({ actualCost: () => undefined });
    await end(answer);
    reportCost(request, 1);
    await Promise.resolve();
    expect(left(gate)).toBe("2");
  });

  test("names limits; one that is left out stays as charged", async () => {
    const gate = open({ policy: CHAT, cost: { tokens: 50 } as never });
    const request = {};
    const answer = gate.ask(request);
    reportCost(request, { tokens: 20 });
    await end(answer);
    expect(gate.ask().field("RateLimit")).toBe('"chat:requests";r=7;t=7, "chat:tokens";r=20;t=20');
  });

  test.each<[what: string, cost: unknown, message: string]>([
    ["a fraction", 0.5, "whole number"],
    ["less than nothing", -1, "whole number"],
    ["NaN", Number.NaN, "whole number"],
    ["text", "2", "Expected `cost` to be"],
    ["nothing", undefined, "Expected `cost` to be"],
    ["null", null, "Expected `cost` to be"],
    ["a name that no limit has", { tokens: 1 }, "Unknown limit `tokens`"],
  ])("of %s throws and changes nothing, before and after the end", async (_, cost, message) => {
    const { gate, request, answer } = started();
    expect(() => reportCost(request, cost as number)).toThrow(message);
    await end(answer);
    expect(() => reportCost(request, cost as number)).toThrow(message);
    expect(left(gate)).toBe("1");
  });

  test("of a number above 0 under several limits throws", () => {
    const gate = open({ policy: CHAT, cost: { tokens: 50 } as never });
    const request = {};
    gate.ask(request);
    expect(() => reportCost(request, 1)).toThrow(TypeError);
  });

  test("does nothing for a request that no limit charged, and throws for what is no request", () => {
    const gate = open({ skip: ({ user }) => user === "health" });
    const [skipped, refused] = [{ user: "health" }, { cost: 3 }];
    gate.ask(skipped);
    exhaust(gate);
    gate.ask(refused);
    for (const request of [{}, skipped, refused]) expect(() => reportCost(request, 0)).not.toThrow();
    expect(left(gate)).toBe("0");
    for (const request of [undefined, null, "x"]) expect(() => reportCost(request as never, 0)).toThrow("Expected `request` to be the object that `key` gets");
  });

  test("goes to the gate whose decision `decisionOf` returns, the last one", async () => {
    const [first, second, request] = [open(), open(), {}];
    const answers = [first.ask(request), second.ask(request)];
    reportCost(request, 0);
    for (const answer of answers) await end(answer);
    expect([left(first), left(second)]).toEqual(["2", "3"]);
  });

  test("over a combination goes by the names of its members", async () => {
    const store = new MemoryStore({ clock: () => 0 });
    const limiter = combine({ user: createLimiter({ policy: SMALL, store }), spend: createLimiter({ policy: CHAT, store }) });
    const gate = createGate<Ask>({ limiter, key: () => ({ user: "ann", spend: "acme" }), cost: () => ({ spend: { tokens: 50 } }) } as unknown as GateOptions<Ask>, reader);
    const request = {};
    const answer = answerOf(await gate(request));
    expect(() => reportCost(request, { spent: { tokens: 1 } })).toThrow("Unknown member `spent`");
    reportCost(request, { user: 0, spend: { tokens: 20 } });
    await end(answer);
    expect([callsOf(store).peek(SMALL, "ann", 0).remaining, callsOf(store).peek(CHAT, "acme", 0).limits?.map(({ remaining }) => remaining)]).toEqual([3, [8, 70]]);
  });

  test("a store that fails changes no response and leaves no rejection", async () => {
    expectWarnings("SLUICE_SETTLEMENT_FAILED");
    const broken = brokenStore(false) as AsyncStore;
    const memory = new MemoryStore();
    const gate = createGate<Ask>({ policy: SMALL, key: () => "ann", store: { ...broken, verbs: ["consume", "adjust"], ask: async (call: StoreCall) => (call.verb === "consume" ? memory : broken).ask(call) } } as unknown as GateOptions<Ask>, reader);
    const request = {};
    const answer = answerOf(await gate(request));
    reportCost(request, 0);
    await end(answer);
    reportCost(request, 0);
    await new Promise(setImmediate);
  });
});

describe("an adapter watches for the end", () => {
  test("only once there is something to settle: an `actualCost`, or the first report", () => {
    const watched: string[] = [];
    const watch = (_: unknown, of: string): number => watched.push(of);
    const withCost = started({ actualCost: () => 0 }).answer.verdict;
    if (withCost.outcome === "pass") withCost.work.whenSettles(watch, "at once");
    expect(watched).toEqual(["at once"]);
    const { request, answer: { verdict } } = started();
    if (verdict.outcome === "pass") verdict.work.whenSettles(watch, "by report");
    expect(watched).toEqual(["at once"]);
    reportCost(request, 0);
    reportCost(request, 1);
    expect(watched).toEqual(["at once", "by report"]);
  });

  test("and not at all when the first report was wrong", () => {
    const watched: unknown[] = [];
    const { request, answer: { verdict } } = started();
    if (verdict.outcome === "pass") verdict.work.whenSettles((work) => watched.push(work), null);
    expect(() => reportCost(request, -1)).toThrow(RangeError);
    expect(watched).toEqual([]);
  });
});
