import { describe, expect, test } from "vitest";
import { createGate, draft11, triple, type GateOptions, type Outcome } from "sluice/http";
import { createLimiter, daily, definePolicy, MemoryStore, monotonicClock, perSecond, unlimited, type AsyncStore } from "sluice";
import { guard } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { shareStore } from "../../src/http/options/route-options.js";
import { answerOf, end, exhaust, open, openLater, reader, SMALL, type AnyOptions, type Ask, type Opened } from "./asking.js";
import { expectWarnings } from "../setup/warnings.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";

const later = async <T>(value: T): Promise<T> => value;

describe("order", () => {
  /** Notes in which order the options' functions run. Those in `laters` return promises. */
  const noting = (laters: ReadonlySet<string>, notes: string[]): AnyOptions => {
    const say = <T>(name: string, value: T): T | Promise<T> => {
      notes.push(name);
      return laters.has(name) ? later(value) : value;
    };
    return {
      skip: () => say("skip", false),
      key: () => say("key", "ann"),
      cost: () => say("cost", 2),
      policy: () => say("policy", SMALL),
      onDecision: () => void notes.push("onDecision"),
      headers: [triple(), draft11({ partitionKey: () => (notes.push("partitionKey"), new Uint8Array()) })],
    };
  };

  const subsets: [title: string, names: readonly string[]][] = [
    ["none", []],
    ["skip", ["skip"]],
    ["key", ["key"]],
    ["cost", ["cost"]],
    ["skip and key", ["skip", "key"]],
    ["skip and cost", ["skip", "cost"]],
    ["key and cost", ["key", "cost"]],
    ["policy", ["policy"]],
    ["cost and policy", ["cost", "policy"]],
    ["all four", ["skip", "key", "cost", "policy"]],
  ];
  test.each(subsets)("L17 · skip, key, cost, policy, decision, each once; asynchronous: %s", async (_, names) => {
    const notes: string[] = [];
    const gate = openLater(noting(new Set(names), notes));
    expect((await gate.ask()).field("RateLimit-Remaining")).toBe("1");
    expect(notes).toEqual(["skip", "key", "cost", "policy", "partitionKey", "onDecision"]);
  });

  test("no function is called after a skip or a missing key", async () => {
    for (const skip of [true, later(true)]) {
      const notes: string[] = [];
      const gate = openLater({ ...noting(new Set(), notes), skip: () => skip });
      expect((await gate.ask()).verdict).toEqual({ outcome: "skip" });
      expect(notes).toEqual([]);
    }
    for (const [unidentified, key] of [["refuse", null], ["skip", null], ["refuse", later(null)], ["skip", later(null)]] as const) {
      const notes: string[] = [];
      const gate = openLater({ ...noting(new Set(), notes), unidentified, key: () => key });
      await gate.ask();
      expect(notes).toEqual(["skip"]);
    }
  });

  test("no promise when the store and all functions are synchronous", () => {
    const gate = createGate<Ask>({ ...noting(new Set(), []), store: new MemoryStore() } as unknown as GateOptions<Ask>, reader);
    for (let i = 0; i < 4; i++) expect(gate({})).not.toBeInstanceOf(Promise);
  });

  test("a promise with an asynchronous store or one asynchronous function", async () => {
    const memory = new MemoryStore();
    const store: AsyncStore = storeOf({ sync: false, guard: guard(), clock: "server", consume: async (...asked) => callsOf(memory).consume(...asked) });
    const gates: AnyOptions[] = [{ store }, { key: () => later("ann") }, { cost: () => later(1) }, { skip: () => later(false) }, { policy: () => later(SMALL) }];
    for (const options of gates) {
      const gate = createGate<Ask>({ policy: SMALL, key: () => "ann", ...options } as unknown as GateOptions<Ask>, reader);
      const verdict = gate({});
      expect(verdict).toBeInstanceOf(Promise);
      expect(answerOf(await verdict).field("RateLimit-Remaining")).toBe("2");
    }
  });

  test("what a function throws fails the request and spends nothing before the decision", async () => {
    const fail = (): never => {
      throw new Error("mine");
    };
    for (const name of ["skip", "key", "cost", "policy"] as const) {
      expect(() => open({ [name]: fail }).ask(), name).toThrow("mine");
      await expect(openLater({ [name]: async () => fail() }).ask(), name).rejects.toThrow("mine");
    }
    let broken = true;
    const gate = open({ cost: () => (broken ? fail() : 1) });
    expect(() => gate.ask()).toThrow("mine");
    broken = false;
    expect(gate.ask().field("RateLimit-Remaining")).toBe("2");
  });
});

describe("onDecision", () => {
  test("sees every decision with its request, and no skipped one", () => {
    const seen: [boolean, string | null, unknown][] = [];
    const gate = open({
      onDecision: ({ allowed, reason }, { user }) => void seen.push([allowed, reason, user]),
      skip: ({ user }) => user === "health",
    });
    for (const user of ["ann", "ann", "ann", "ann", "health", null]) gate.ask({ user });
    gate.ask({ user: "bob", cost: 4 });
    expect(seen).toEqual([
      [true, null, "ann"],
      [true, null, "ann"],
      [true, null, "ann"],
      [false, "limited", "ann"],
      [true, null, null],
      [false, "cost_above_capacity", "bob"],
    ]);
  });
});

describe("actualCost", () => {
  const ok = { status: 200, aborted: false };
  const left = (gate: Opened): string | undefined => gate.ask({ cost: 0 }).field("RateLimit-Remaining");

  test("settles the charge by the outcome, once", async () => {
    const asked: [Outcome, unknown][] = [];
    const gate = open({ actualCost: (outcome, { user }) => (asked.push([outcome, user]), outcome.status < 400 ? 1 : undefined) });
    const first = gate.ask({ user: "ann", cost: 3 });
    await end(first);
    expect(left(gate)).toBe("2");
    await end(first);
    expect(left(gate)).toBe("2");
    await end(gate.ask({ cost: 2 }), { status: 500, aborted: false });
    expect(left(gate)).toBe("0");
    expect(asked).toEqual([[ok, "ann"], [{ status: 500, aborted: false }, undefined]]);
  });

  test("0 returns all tokens, more than the estimate takes the rest, and undefined leaves the charge", async () => {
    for (const [cost, remaining] of [[0, "3"], [2, "1"], [3, "0"], [undefined, "2"]] as const) {
      const gate = open({ actualCost: () => cost });
      await end(gate.ask());
      expect(left(gate), String(cost)).toBe(remaining);
    }
  });

  test("may answer later, by the names of limits, and hears of clients that left", async () => {
    const policy = definePolicy({ name: "chat", limits: [{ name: "requests", capacity: 9, refill: perSecond(1) }, { name: "tokens", capacity: 90, refill: perSecond(1) }] });
    const gate = open({ policy, cost: { tokens: 50 } as never, actualCost: async ({ aborted }) => ({ tokens: aborted ? 20 : 40 }) });
    await end(gate.ask(), { status: 499, aborted: true });
    expect(gate.ask({}).field("RateLimit")).toBe('"chat:requests";r=7;t=7, "chat:tokens";r=20;t=20');
  });

  test("of a refusal is never asked, and without the option there is nothing to settle", async () => {
    const gate = open({ actualCost: () => 0 });
    expect(exhaust(gate).verdict).not.toHaveProperty("work");
    const { verdict } = open().ask();
    expect(verdict.outcome === "pass" && verdict.work.settles).toBe(false);
    expect(verdict.outcome === "pass" && verdict.work.end(ok)).toBeUndefined();
  });

  test.each<[what: string, actualCost: () => unknown]>([
    ["throws", () => { throw new Error("no body"); }],
    ["rejects", async () => { throw new Error("no body"); }],
    ["returns a fraction", () => 0.5],
    ["returns a name that no limit has", () => ({ tokens: 1 })],
    ["returns true", () => true],
    ["returns null", () => null],
  ])("that %s leaves the tokens spent and ends nothing", async (_, actualCost) => {
    expectWarnings("SLUICE_FUNCTION_FAILED");
    const gate = open({ actualCost: actualCost as () => number });
    await end(gate.ask());
    expect(left(gate)).toBe("2");
  });

  test("settles under the policy that was picked, and survives a store that cannot settle", async () => {
    expectWarnings("SLUICE_FUNCTION_FAILED", "SLUICE_SETTLEMENT_FAILED");
    const large = definePolicy({ name: "large", capacity: 30, refill: perSecond(1) });
    const gate = open({ policy: ({ user }) => (user === "ann" ? SMALL : large), actualCost: () => 0 });
    await end(gate.ask({ user: "bob", cost: 30 }));
    expect(gate.ask({ user: "bob" }).field("RateLimit-Remaining")).toBe("29");

    const memory = new MemoryStore();
    for (const adjust of [undefined, (): never => { throw new Error("gone"); }]) {
      const store = storeOf({ sync: true as const, clock: memory.clock, consume: callsOf(memory).consume, ...(adjust && { adjust }) });
      await end(open({ store, actualCost: () => 0 }).ask());
    }
  });
});

describe("policy", () => {
  const free = definePolicy({ name: "api", capacity: 3, refill: perSecond(1) });
  const pro = definePolicy({ name: "api", capacity: 30, refill: perSecond(10) });
  const tierOf = ({ headers }: Ask) => (headers?.["x-tier"] === "pro" ? pro : free);

  test("picked later, and beside a limiter that has its own", async () => {
    const later = openLater({ policy: async (ask: Ask) => tierOf(ask) });
    expect((await later.ask({ headers: { "x-tier": "pro" } })).field("RateLimit-Limit")).toBe("30");
    const limiter = createLimiter({ policy: free, store: new MemoryStore({ clock: () => 0 }) });
    const gate = open({ limiter, policy: tierOf });
    expect(gate.ask({ headers: { "x-tier": "pro" } }).field("RateLimit-Remaining")).toBe("29");
    expect(limiter.peek("ann", { policy: free }).remaining).toBe(2);
  });

  test("picked for a request: tiers of one name share the caller's bucket", () => {
    const gate = open({ policy: tierOf });
    expect(exhaust(gate).status).toBe(429);
    const raised = gate.ask({ headers: { "x-tier": "pro" } });
    expect([raised.field("RateLimit-Limit"), raised.field("RateLimit-Remaining")]).toEqual(["30", "26"]);
    expect(gate.ask().status).toBe(429);
  });

  test("picked by two gates over one store: it does not matter which tier either sees first", () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock: clock.now });
    const [one, other] = [open({ policy: tierOf, store }, clock), open({ policy: tierOf, store }, clock)];
    expect(one.ask().field("RateLimit-Remaining")).toBe("2");
    expect(other.ask({ headers: { "x-tier": "pro" } }).field("RateLimit-Remaining")).toBe("28");
  });

  test("of a limiter that is given: used outside of HTTP, it spends the same tokens", () => {
    const limiter = createLimiter({ policy: SMALL, store: new MemoryStore({ clock: () => 0 }) });
    const gate = open({ limiter });
    limiter.consume("ann", 2);
    expect(gate.ask().field("RateLimit-Remaining")).toBe("0");
    expect(gate.ask().status).toBe(429);
  });
});

describe("L18 · null and undefined as a policy are failures, and so is every other value", () => {
  const wrong: unknown[] = [undefined, null, "free", "unlimited", "blocked", "", 0, false, {}, { name: "unlimited" }, { capacity: 1, refill: perSecond(1) }];
  test.each(wrong)("%j", async (value) => {
    const message = "Expected `policy()` to be made by definePolicy, or `unlimited`, got ";
    const limiter = createLimiter({ policy: SMALL, store: new MemoryStore({ clock: () => 0 }) });
    for (const options of [{}, { limiter }]) {
      expect(() => open({ ...options, policy: () => value as never }).ask()).toThrow(message);
      await expect(openLater({ ...options, policy: async () => value as never }).ask()).rejects.toThrow(message);
    }
    expect(limiter.peek("ann", 0).remaining).toBe(3);
  });
});

describe("`unlimited`", () => {
  test.each([["at once", <T>(value: T) => value], ["later", later]] as const)("as a policy, answered %s, skips the request", async (_, answer) => {
    const plans = { free: SMALL, partner: unlimited };
    let plan: keyof typeof plans = "free";
    const limiter = createLimiter({ policy: SMALL, store: new MemoryStore({ clock: () => 0 }) });
    for (const options of [{}, { limiter }]) {
      const gate = openLater({ ...options, policy: () => answer(plans[plan]) });
      plan = "free";
      expect((await gate.ask()).field("RateLimit-Remaining")).toBe("2");
      plan = "partner";
      for (let i = 0; i < 9; i++) expect((await gate.ask()).verdict).toEqual({ outcome: "skip" });
      plan = "free";
      expect((await gate.ask()).field("RateLimit-Remaining")).toBe("1");
    }
  });

  test("`skip` and a missing key come before it", () => {
    const fail = (): never => { throw new Error("asked"); };
    expect(open({ policy: fail, skip: () => true }).ask().verdict).toEqual({ outcome: "skip" });
    expect(open({ policy: () => unlimited, unidentified: "refuse" }).ask({ user: null }).status).toBe(401);
  });

  test("L18 · as the key of a limiter with one policy is a failure", async () => {
    expect(() => open({ key: () => unlimited as never }).ask()).toThrow("Expected `key()` to be a key, got an object. Write `skip`, or `policy: () => unlimited`");
    await expect(openLater({ key: async () => unlimited as never }).ask()).rejects.toThrow(TypeError);
  });

  test("L18 · is no policy outside of a function", () => {
    expect(() => open({ policy: unlimited as never })).toThrow(TypeError);
  });
});

test("a computed cost above the capacity: 400, what is left, and no wait", () => {
  const policy = definePolicy({ name: "api", limits: [{ capacity: 9, refill: perSecond(1) }, { capacity: 5, refill: perSecond(2) }] });
  const answer = open({ policy }).ask({ cost: 6 });
  expect(answer.body).toEqual({
    type: "about:blank",
    title: "Bad Request",
    status: 400,
    detail: "This request costs 6, and the limit \"api:2\" allows at most 5 at once. Ask for less in one request.",
    code: "cost_above_capacity",
    message: "This request costs 6, and the limit \"api:2\" allows at most 5 at once. Ask for less in one request.",
  });
  expect([answer.field("RateLimit-Remaining"), answer.field("Cache-Control"), answer.field("Retry-After")]).toEqual(["5", "no-store", undefined]);
});

test("shareStore makes a store that counts from 1970 for a quota alone, whatever its names", () => {
  const clockOf = (policy: unknown): unknown => (shareStore({ policy }) as { store?: MemoryStore }).store?.clock;
  const rate = { capacity: 1, refill: perSecond(1) };
  const quota = { name: "day", capacity: 1, renews: daily({ timeZone: "UTC" }) };
  expect([rate, { ...rate, name: "renews-x" }, { limits: [{ ...rate, name: "renews" }] }].map(clockOf)).toEqual(Array(3).fill(monotonicClock));
  expect([quota, { limits: [quota] }, definePolicy(quota)].map(clockOf)).toEqual(Array(3).fill(Date.now));
  // What is wrong is found by the gate, which names the wrong option.
  expect([{ capacity: 0 }, () => rate, null, undefined, 5].map(clockOf)).toEqual(Array(5).fill(monotonicClock));
});

test("shareStore gives several gates one store, and leaves a store or a limiter alone", () => {
  const options: GateOptions<Ask> = { policy: SMALL, key: () => "ann" };
  const shared = shareStore(options);
  const [one, other] = [createGate(shared, reader), createGate({ ...shared, cost: 2 } as GateOptions<Ask>, reader)];
  void one({});
  expect(answerOf(other({}) as Exclude<ReturnType<typeof other>, Promise<unknown>>).field("RateLimit-Remaining")).toBe("0");
  expect(shareStore(shared)).toEqual(shared);
  const given: GateOptions<Ask> = { limiter: createLimiter({ policy: SMALL }), key: () => "ann" };
  expect(shareStore(given)).toEqual(given);
});

test("a refusal's own text is the JSON of its problem document, for any wait and any limits", () => {
  const many = definePolicy({ name: "many", limits: [{ name: "1e21", capacity: 2, refill: perSecond(1) }, { capacity: 3, refill: { tokens: 1, everyMs: 90_000 } }] });
  const gate = open({ policy: many });
  const seen = new Set<string>();
  for (let i = 0; i < 200; i++) {
    const { verdict, status, body, number } = gate.ask({ cost: 1 + (i % 2) });
    if (verdict.outcome === "refuse") {
      expect(verdict.body).toBe(JSON.stringify(body));
      expect(body).toMatchObject({ status, detail: body["message"], ...(status === 429 ? { retry_after: number("Retry-After") } : {}) });
    }
    if (status === 429) seen.add(`${String(body["violated-policies"])} ${number("Retry-After") === 1 ? "a second" : "seconds"}`);
    gate.clock.advance(450);
  }
  expect([...seen].toSorted()).toEqual(["many:1e21 a second", "many:1e21,many:2 seconds", "many:2 a second", "many:2 seconds"]);
});
