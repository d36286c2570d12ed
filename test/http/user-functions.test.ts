import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { perSecond, SluiceError } from "sluice";
import { contain, settleWithin } from "../../src/http/user-functions.js";
import { freshSluice } from "../helpers/warned.js";
import { answerOf, exhaust, open, openLater, reader, settle, type Ask } from "./asking.js";

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
      const gate = createGate<Ask>({ policy: { capacity: 1, refill: perSecond(1) }, key: () => "ann", onDecision: fail, body: fail }, reader);
      expect(answerOf(await gate({})).status).toBe(200);
      expect(answerOf(await gate({})).body["code"]).toBe("rate_limited");
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

  test.each(faults)("refundWhen that %s", async (_, refundWhen) => {
    const { createGate, given } = await freshSluice();
    const gate = createGate<Ask>({ policy, key: () => "ann", refundWhen: refundWhen as () => boolean }, reader);
    await settle(answerOf(await gate({})), { status: 200, aborted: false });
    expect(answerOf(await gate({})).field("RateLimit-Remaining")).toBe("1");
    expect(given).toMatchObject([{ code: "SLUICE_FUNCTION_FAILED", message: expect.stringContaining("`refundWhen`") as string }]);
  });

  test("body that never settles: the standard document after functionTimeoutMs", async () => {
    const { createGate, given } = await freshSluice();
    const gate = createGate<Ask>({ policy, key: () => "ann", functionTimeoutMs: 50, body: () => new Promise<object>(() => {}) }, reader);
    for (let i = 0; i < 3; i++) await gate({});
    const refused = gate({});
    await vi.advanceTimersByTimeAsync(51);
    expect(answerOf(await refused).body["code"]).toBe("rate_limited");
    expect(given).toMatchObject([{ code: "SLUICE_FUNCTION_FAILED", message: expect.stringContaining("`body`") as string }]);
  });

  test("body gets a copy: the standard document stays as it is", () => {
    const gate = open({
      body(problem) {
        Object.assign(problem, { code: "mine", status: 200 });
        throw new Error("after all");
      },
    });
    expect(exhaust(gate).body).toMatchObject({ code: "rate_limited", status: 429 });
  });

  test("refundWhen may answer later", async () => {
    const gate = open({ refundWhen: async ({ status }) => status === 200 });
    await settle(gate.ask(), { status: 200, aborted: false });
    await settle(gate.ask(), { status: 404, aborted: false });
    expect(gate.ask().field("RateLimit-Remaining")).toBe("1");
  });
});
