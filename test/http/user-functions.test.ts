import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { perSecond, SluiceError } from "sluice";
import { contain, settleWithin } from "../../src/http/user-functions.js";
import { freshSluice } from "../helpers/warned.js";
import { answerOf, end, exhaust, open, openLater, reader, type Ask } from "./asking.js";

// Law L17 over sockets, for each adapter: the adapter suite. Here: the texts, the times and the warnings.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("L17 · a function of the options", () => {
  test("throws and rejects with its own Errors, and with an Error that names it for anything else", async () => {
    const own = new Error("mine");
    const cases: [thrown: unknown, message: string][] = [
      [own, "mine"],
      [undefined, "Expected `key` to throw an Error, got undefined"],
      ["route", 'Expected `key` to throw an Error, got "route"'],
      [false, "Expected `key` to throw an Error, got false"],
      [{ status: 401 }, "Expected `key` to throw an Error, got an object"],
    ];
    for (const [thrown, message] of cases) {
      const fail = (): never => {
        throw thrown;
      };
      for (const key of [fail, async () => fail()]) {
        const error: unknown = await openLater({ key }).ask().catch((caught: unknown) => caught);
        expect(error).toMatchObject({ message });
        expect(error === thrown).toBe(thrown === own);
        if (thrown !== own) expect(error).toMatchObject({ code: "ERR_FUNCTION_FAILED", cause: thrown });
      }
    }
  });

  test.each(["key", "cost", "policy", "skip"] as const)("`%s` that never settles fails after functionTimeoutMs, 5000 by default", async (name) => {
    const asked = openLater({ [name]: () => new Promise(() => {}) }).ask().catch((caught: unknown) => caught);
    await vi.advanceTimersByTimeAsync(4_999);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    // One more turn of the loop, for a result that a blocked loop held up.
    await vi.advanceTimersByTimeAsync(1);
    const error = await asked;
    expect(error).toBeInstanceOf(SluiceError);
    expect(error).toMatchObject({
      code: "ERR_FUNCTION_TIMEOUT",
      message: `Expected \`${name}\` to settle within 5000 ms, got nothing. Raise \`functionTimeoutMs\` if it needs longer`,
    });
  });

  test("that settles leaves no timer, and none keeps the process alive", async () => {
    const timers = vi.spyOn(globalThis, "setTimeout");
    expect((await openLater({ key: async () => "ann", skip: async () => false, cost: async () => 1 }).ask()).status).toBe(200);
    expect(vi.getTimerCount()).toBe(0);
    expect(timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual([false, false, false]);
  });

  test("has all the time it needs with Infinity", async () => {
    let answer: (key: string) => void = () => {};
    const asked = openLater({ functionTimeoutMs: Infinity, key: () => new Promise<string>((resolve) => (answer = resolve)) }).ask();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(2 ** 40);
    answer("ann");
    expect((await asked).status).toBe(200);
  });

  test("whose answer is late changes nothing: no token is taken", async () => {
    let answer: (key: string) => void = () => {};
    const gate = openLater({ functionTimeoutMs: 10, key: ({ user }) => (user === "late" ? new Promise<string>((resolve) => (answer = resolve)) : "ann") });
    const asked = gate.ask({ user: "late" }).catch(() => "failed");
    await vi.advanceTimersByTimeAsync(12);
    expect(await asked).toBe("failed");
    answer("ann");
    await vi.advanceTimersByTimeAsync(1);
    expect((await gate.ask()).field("RateLimit-Remaining")).toBe("2");
  });

  test("may fail with a value that cannot be inspected", async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const unreadable = Object.defineProperty(new Error("stack"), "stack", { get: () => { throw new Error("no stack"); } });
    for (const thrown of [proxy, unreadable]) {
      const fail = async (): Promise<never> => {
        throw thrown;
      };
      const error: unknown = await openLater({ key: fail }).ask().catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(Error);
      const { createGate } = await freshSluice();
      const gate = createGate<Ask>({ policy: { capacity: 1, refill: perSecond(1) }, key: () => "ann", onDecision: fail, actualCost: fail }, reader);
      const answer = answerOf(await gate({}));
      await end(answer);
      expect([answer.status, answerOf(await gate({})).body["code"]]).toEqual([200, "rate_limited"]);
    }
    await vi.advanceTimersByTimeAsync(0);
  });

  test("that returns anything but true or a falsy value as `skip` fails the request", async () => {
    for (const skip of ["false", {}, 1, () => false]) {
      expect(() => open({ skip: () => skip as boolean }).ask()).toThrow("Expected `skip()` to be true or false, got ");
      await expect(openLater({ skip: async () => skip as boolean }).ask()).rejects.toThrow(TypeError);
    }
    expect(open({ skip: () => undefined as unknown as boolean }).ask().field("RateLimit-Remaining")).toBe("2");
  });

  test("may return any object with `then`", async () => {
    // oxlint-disable-next-line unicorn/no-thenable
    const thenable = { then: (resolve: (value: string) => void) => resolve("ann") };
    expect((await openLater({ key: () => thenable as Promise<string> }).ask()).status).toBe(200);
    // oxlint-disable-next-line unicorn/no-thenable
    const throwing = { then: () => contain("then", () => { throw new Error("then"); }, 1)(undefined) };
    await expect(settleWithin("key", throwing as unknown as Promise<string>, 10)).rejects.toThrow("then");
  });
});

describe("L17 · failures that change no response are reported once", () => {
  const policy = { name: "small", capacity: 3, refill: perSecond(1) };
  const faults: [fault: string, run: () => unknown][] = [
    ["throws", () => { throw new Error("log is down"); }],
    ["rejects", () => Promise.reject(new Error("log is down"))],
  ];

  test.each(faults)("onDecision that %s", async (_, onDecision) => {
    const { createGate, given } = await freshSluice();
    const gate = createGate<Ask>({ policy, key: () => "ann", onDecision }, reader);
    for (let i = 0; i < 3; i++) expect(answerOf(await gate({})).status).toBe(200);
    expect(answerOf(await gate({})).status).toBe(429);
    await vi.advanceTimersByTimeAsync(0);
    expect(given).toMatchObject([{ code: "SLUICE_FUNCTION_FAILED", message: expect.stringContaining("`onDecision`") as string, detail: expect.stringContaining("log is down") as string }]);
  });

  test("onDecision sees the verdict's decision when the verdict is made, and cannot change it", () => {
    const gate = open({ onDecision: (decision) => Object.assign(decision, { allowed: true, retryAfterMs: 9e9 }) });
    exhaust(gate);
    expect(gate.ask().number("Retry-After")).toBe(1);
  });

  test.each(faults)("actualCost that %s", async (_, actualCost) => {
    const { createGate, given } = await freshSluice();
    const gate = createGate<Ask>({ policy, key: () => "ann", actualCost: actualCost as () => number }, reader);
    await end(answerOf(await gate({})));
    expect(answerOf(await gate({})).field("RateLimit-Remaining")).toBe("1");
    expect(given).toMatchObject([{ code: "SLUICE_FUNCTION_FAILED", message: expect.stringContaining("`actualCost`") as string }]);
  });

  test("actualCost that never settles holds no response and no timer", async () => {
    const gate = open({ actualCost: () => new Promise<number>(() => {}) });
    void end(gate.ask());
    expect(gate.ask().field("RateLimit-Remaining")).toBe("1");
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("L17 · `respond` and an `unidentified` function", () => {
  test("are called with the refusal, when the adapter asks, and the verdict has the standard document all the same", () => {
    const seen: unknown[] = [];
    const note = (refusal: { status: number; code: string }, ...args: unknown[]) => (seen.push([refusal.status, refusal.code, args]), { own: true });
    const gate = open({ respond: note, unidentified: note });
    const refusals = [exhaust(gate), gate.ask({ cost: 4 }), gate.ask({ user: null })];
    expect(seen).toEqual([]);
    expect(refusals.map(({ body }) => body["code"])).toEqual(["rate_limited", "cost_above_capacity", "unidentified"]);
    for (const { verdict } of refusals) {
      const respond = verdict.outcome === "refuse" ? verdict.respond : null;
      expect([respond?.timeoutMs, respond?.call("framework")]).toEqual([5_000, { own: true }]);
    }
    expect(seen).toEqual([[429, "rate_limited", ["framework"]], [400, "cost_above_capacity", ["framework"]], [401, "unidentified", ["framework"]]]);
  });

  test("`respond` never answers a 401, and the function answers nothing else", () => {
    const fail = (): never => { throw new Error("asked"); };
    const { verdict } = open({ respond: fail, unidentified: "refuse" }).ask({ user: null });
    expect(verdict).toMatchObject({ outcome: "refuse", status: 401, respond: null });
    expect(exhaust(open({ unidentified: fail })).verdict).toMatchObject({ status: 429, respond: null });
  });

  test("a 401 has no decision, no budget and no wait, and a retryAfter of null", () => {
    const gate = open({ unidentified: () => undefined });
    const { verdict, names, field } = gate.ask({ user: null });
    expect(verdict).toMatchObject({ outcome: "refuse", status: 401, decision: null });
    expect([names, field("WWW-Authenticate")]).toEqual([["www-authenticate", "cache-control", "content-type", "content-length"], "Bearer"]);
    let seen: unknown;
    const { verdict: told } = open({ unidentified: (refusal: unknown) => void (seen = refusal) }).ask({ user: null });
    if (told.outcome === "refuse") told.respond?.call();
    expect(seen).toMatchObject({ status: 401, code: "unidentified", retryAfter: null, decision: null });
  });
});
