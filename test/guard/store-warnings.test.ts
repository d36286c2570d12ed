import { perSecond, type AsyncStore, type Decision, type GuardOptions, type LimiterOptions, type SyncStore } from "sluice";
import { guard } from "sluice/store";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { freshSluice } from "../helpers/warned.js";
import { outage, UnsteadyStore } from "../helpers/unsteady-store.js";
import { storeOf } from "../helpers/store-of.js";

const policy = { name: "api", capacity: 1_000, refill: perSecond(1) };

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "performance", "Date"] }));
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** A limiter of a sluice that has warned of nothing, over a store that fails as a test says. */
async function open(guarded: GuardOptions = {}, options: Partial<LimiterOptions<UnsteadyStore>> = {}) {
  const sluice = await freshSluice();
  const store = new UnsteadyStore(() => 0, guarded);
  const limiter = sluice.createLimiter({ policy, store, ...options });
  let callers = 0;
  const ask = async (times = 1): Promise<Decision[]> => {
    const decisions: Decision[] = [];
    for (let i = 0; i < times; i++) decisions.push(await limiter.consume(`caller ${callers++}`));
    return decisions;
  };
  return { ...sluice, store, limiter, ask };
}

describe("SLUICE_STORE_UNAVAILABLE", () => {
  test.each([
    ["local", "is unavailable", "this process grants 1/2 of each limit by itself", "Set `sharedBy` of the store to the number of your processes"],
    ["allow", "is unavailable", "every request is allowed", "Pass `observe` to be told of each outage"],
    ["unavailable", "failed", "every request is refused", "Pass `observe` to be told of each outage"],
  ] as const)('says what the limiter does meanwhile, with one colon, one cause and one cure: "%s"', async (onStoreError, what, meanwhile, cure) => {
    const { store, ask, given } = await open({}, { onStoreError });
    await ask();
    store.health = "down";
    await ask(5);
    expect(given).toMatchObject([
      {
        code: "SLUICE_STORE_UNAVAILABLE",
        message: `The store of policy "api" ${what}: connection lost. Until it answers, ${meanwhile}. ${cure}.`,
        detail: expect.stringContaining("warnings.md#sluice_store_unavailable") as string,
      },
    ]);
  });

  test("is given once, also for the next outage and another limiter", async () => {
    const { store, ask, createLimiter, codes } = await open({ breaker: false });
    for (const health of ["down", "up", "down"] as const) {
      store.health = health;
      await ask(6);
    }
    const other = createLimiter({ policy: { ...policy, name: "other" }, store });
    for (let i = 0; i < 6; i++) await other.consume(`caller ${i}`);
    expect(codes()).toEqual(["SLUICE_STORE_UNAVAILABLE"]);
  });

  test("is not given to an observer, which has the event", async () => {
    const sluice = await freshSluice();
    const states: string[] = [];
    const observe = sluice.createObserver((event) => void (event.type === "store" && states.push(event.state)));
    const store = new UnsteadyStore(() => 0);
    const limiter = sluice.createLimiter({ policy, store, observe });
    await limiter.consume("ann");
    store.health = "down";
    for (let i = 0; i < 6; i++) await limiter.consume(`caller ${i}`);
    expect([states, sluice.codes()]).toEqual([["unavailable"], []]);
  });

  test("is one line, whatever the error says", async () => {
    const { store, ask, given } = await open();
    await ask();
    store.health = "down";
    store.error = new Error(`first\nsecond\x1b[2J ${"x".repeat(1_000)}`);
    await ask(5);
    expect(given[0]?.message).toMatch(/unavailable: first second \[2J x{1,200}\. Until/);
  });

  test.each([
    ["local", "down"],
    ["allow", "down"],
    ["unavailable", "down"],
    ["local", "held"],
  ] as const)("speaks at the first failure of a store that has never answered: %s, %s", async (onStoreError, health) => {
    const { store, limiter, given } = await open({}, { onStoreError });
    store.health = health;
    const asked = limiter.consume("ann");
    await pass(200);
    await asked;
    expect(given).toMatchObject([{ code: "SLUICE_STORE_UNAVAILABLE", message: expect.stringContaining('The store of policy "api" has not answered yet: ') as string }]);
    for (let i = 0; i < 20; i++) {
      const again = limiter.consume(`caller ${i}`);
      await pass(200);
      await again;
    }
    expect(given).toHaveLength(1);
  });

  test("speaks at the first failure of another verb, too", async () => {
    const { store, limiter, codes } = await open();
    store.health = "down";
    await expect(limiter.peek("ann")).rejects.toThrow();
    expect(codes()).toEqual(["SLUICE_STORE_UNAVAILABLE"]);
  });

  test("speaks before the first refusal that is due to a failure, and not for a call that was let through", async () => {
    const { store, limiter, given } = await open({}, { policy: { ...policy, capacity: 2 } });
    await limiter.consume("ann");
    store.health = "down";
    expect(await limiter.consume("ann")).toMatchObject({ allowed: true, degraded: true });
    expect(given).toEqual([]);
    expect(await limiter.consume("ann")).toMatchObject({ allowed: false, reason: "store_unavailable" });
    expect(given).toMatchObject([{ message: expect.stringContaining('The store of policy "api" failed: connection lost. Until it answers, ') as string }]);
    expect(await limiter.consume("ann")).toMatchObject({ allowed: false });
    expect(given).toHaveLength(1);
  });

  test("of a first failure does not use up the warning of a later outage", async () => {
    const { store, ask, given } = await open();
    store.health = "down";
    await ask();
    store.health = "up";
    await ask();
    store.health = "down";
    await ask(6);
    expect(given.map(({ message }) => /api" (.*?):/.exec(message)?.[1])).toEqual(["has not answered yet", "is unavailable"]);
  });

  test.each([
    ["a code without a message", Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }), "ECONNREFUSED"],
    ["a string", "gone", "gone"],
    ["nothing", undefined, "undefined"],
  ])("names %s", async (_, error, named) => {
    const { store, ask, given } = await open();
    await ask();
    store.health = "down";
    store.error = error;
    await ask(5);
    expect(given[0]?.message).toContain(`is unavailable: ${named}. Until`);
  });
});

describe("SLUICE_STORE_SLOW", () => {
  /** Asks once; the answer takes `ms`. */
  async function askFor(opened: Awaited<ReturnType<typeof open>>, ms: number): Promise<void> {
    const { store, ask } = opened;
    store.health = "held";
    const asked = ask();
    await pass(ms);
    store.health = "up";
    store.release();
    await pass(0);
    await asked;
  }

  test("tells the times of five answers in a row that came late, and the timeout", async () => {
    const opened = await open({ breaker: false });
    for (const ms of [115, 148, 120, 131]) await askFor(opened, ms);
    expect(opened.codes()).not.toContain("SLUICE_STORE_SLOW");
    await askFor(opened, 125);
    expect(opened.given.at(-1)).toMatchObject({
      code: "SLUICE_STORE_SLOW",
      message:
        'The store of policy "api" answers after the timeout: 5 answers in a row took 115 to 148 ms, and `timeoutMs` is 100. ' +
        "Raise `timeoutMs` of the store, or move the store closer.",
    });
  });

  test("is found by the probes of an open circuit breaker, too", async () => {
    const opened = await open();
    for (let second = 0; second < 12; second++) {
      await askFor(opened, 115);
      await pass(1_000);
    }
    expect(opened.codes()).toContain("SLUICE_STORE_SLOW");
  });

  test("is not given when an answer in between came in time", async () => {
    const opened = await open({ breaker: false });
    for (let i = 0; i < 20; i++) await askFor(opened, i % 4 === 3 ? 20 : 115);
    expect(opened.codes()).not.toContain("SLUICE_STORE_SLOW");
  });

  test("is not given for one pause of the server, however many calls wait for it", async () => {
    const { store, ask, codes } = await open({ breaker: false });
    store.health = "held";
    const asked = Array.from({ length: 200 }, () => ask());
    await pass(50);
    asked.push(...Array.from({ length: 200 }, () => ask()));
    await pass(400);
    store.health = "up";
    store.release();
    await pass(0);
    await Promise.all(asked);
    expect(codes()).not.toContain("SLUICE_STORE_SLOW");
  });

  test("is not given after a blocked event loop", async () => {
    const { store, ask, codes } = await open({ breaker: false });
    const turning = performance.now.bind(performance);
    let stalledMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => turning() + stalledMs);
    for (let i = 0; i < 10; i++) {
      store.health = "held";
      const asked = ask();
      await pass(10);
      stalledMs += 300;
      await pass(210);
      await asked;
      store.health = "up";
      store.release();
      await pass(0);
    }
    expect(codes()).toEqual(["SLUICE_STORE_UNAVAILABLE"]);
  });

  test("is not given when the late answers are errors", async () => {
    const { store, ask, codes } = await open({ breaker: false });
    for (let i = 0; i < 10; i++) {
      store.health = "held";
      const asked = ask();
      await pass(115);
      store.health = "down";
      store.release();
      await pass(0);
      await asked;
    }
    expect(codes()).not.toContain("SLUICE_STORE_SLOW");
  });
});

describe("SLUICE_STORE_BUG", () => {
  const bugs: Error[] = [new TypeError("Cannot read properties of undefined (reading 'get')"), new RangeError("Invalid array length"), new ReferenceError("cilent is not defined")];

  test.each(bugs.map((error) => [error.name, error] as const))("a %s is a bug and no outage, and a fallback decides", async (name, error) => {
    const { store, ask, given } = await open({}, { onStoreError: "unavailable" });
    store.health = "down";
    store.error = error;
    for (const { reason, degraded, error: told } of await ask(5)) {
      expect([reason, degraded, told]).toEqual(["store_unavailable", true, error]);
    }
    expect(given).toMatchObject([
      {
        code: "SLUICE_STORE_BUG",
        message: `The store of policy "api" failed with a ${name}: ${error.message}. This is a bug of the store or its client, not an outage. Meanwhile \`onStoreError\` decides.`,
        detail: expect.stringContaining(String(error.stack)) as string,
      },
    ]);
  });

  test("an observer sees it as an unavailable store, with the error", async () => {
    const sluice = await freshSluice();
    const seen: unknown[] = [];
    const observe = sluice.createObserver((event) => void (event.type === "store" && seen.push([event.state, event.error])));
    const store = new UnsteadyStore(() => 0);
    const limiter = sluice.createLimiter({ policy, store, observe });
    [store.health, store.error] = ["down", bugs[0]];
    for (let i = 0; i < 5; i++) await limiter.consume(`caller ${i}`);
    expect([seen, sluice.codes()]).toEqual([[["unavailable", bugs[0]]], ["SLUICE_STORE_BUG"]]);
  });

  test.each([
    ["a fetch without a response", new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") })],
    ["a fetch without a response in Chrome and on Workers", new TypeError("Failed to fetch")],
    ["a fetch without a response in Deno", new TypeError("error sending request for url (http://kv/)")],
    ["a fetch without a response in Safari", new TypeError("Load failed")],
    ["the error page of a proxy, read as JSON", new SyntaxError("Unexpected token '<', \"<html>\" is not valid JSON")],
    ["a lost connection", outage],
  ])("%s is an outage", async (_, error) => {
    const { store, ask, codes } = await open();
    [store.health, store.error] = ["down", error];
    await ask(5);
    expect(codes()).toEqual(["SLUICE_STORE_UNAVAILABLE"]);
  });

  test("is given for a store in this process and for other methods, too", async () => {
    const sluice = await freshSluice();
    const fail = (): never => {
      throw bugs[0] as Error;
    };
    const now: SyncStore = storeOf({ sync: true, guard: guard(), clock: () => 0, consume: fail });
    expect(sluice.createLimiter({ policy, store: now, onStoreError: "allow" }).consume("ann").degraded).toBe(true);
    expect(sluice.codes()).toEqual(["SLUICE_STORE_BUG"]);
    const again = await freshSluice();
    const later: AsyncStore = storeOf({ sync: false, guard: guard(), clock: () => 0, consume: fail, reset: fail });
    await expect(again.createLimiter({ policy, store: later }).reset("ann")).rejects.toBe(bugs[0]);
    expect(again.codes()).toEqual(["SLUICE_STORE_BUG"]);
  });
});
