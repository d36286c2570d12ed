import { describe, expect, test } from "vitest";
import { createGate, type GateOptions, type Outcome } from "sluice/http";
import { createLimiter, definePolicy, MemoryStore, perSecond, type AsyncStore, type Decision } from "sluice";
import { guard } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { shareStore } from "../../src/http/options/route-options.js";
import { answerOf, exhaust, open, openLater, reader, settle, SMALL, type Answer, type AnyOptions, type Ask, type Opened } from "./asking.js";

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
      policy: () => (notes.push("policy"), SMALL),
      onDecision: () => void notes.push("onDecision"),
      partitionKey: () => (notes.push("partitionKey"), new Uint8Array()),
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
    ["all three", ["skip", "key", "cost"]],
  ];
  test.each(subsets)("skip, key, cost, policy, decision; asynchronous: %s", async (_, names) => {
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
    const store: AsyncStore = { sync: false, guard, clock: "server", consume: async (...asked) => memory.consume(...asked) };
    const gates: AnyOptions[] = [{ store }, { key: () => later("ann") }, { cost: () => later(1) }, { skip: () => later(false) }];
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
      if (name !== "policy") await expect(openLater({ [name]: async () => fail() }).ask(), name).rejects.toThrow("mine");
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

describe("refundWhen", () => {
  const ok = { status: 200, aborted: false };

  test("gives tokens back by the outcome, once", async () => {
    const asked: [Outcome, unknown][] = [];
    const gate = open({ refundWhen: (outcome, { user }) => (asked.push([outcome, user]), outcome.status < 400) });
    const first = gate.ask({ user: "ann", cost: 2 });
    expect(first.field("RateLimit-Remaining")).toBe("1");
    await settle(first, ok);
    await settle(first, ok);
    expect(gate.ask().field("RateLimit-Remaining")).toBe("2");
    expect(asked).toEqual([[ok, "ann"], [ok, "ann"]]);

    const failed = gate.ask();
    await settle(failed, { status: 401, aborted: false });
    expect(gate.ask().field("RateLimit-Remaining")).toBe("0");
  });

  test("is called for clients that disconnected too, and never for refusals", async () => {
    const gate = open({ refundWhen: ({ aborted }) => aborted });
    await settle(gate.ask({ cost: 3 }), { status: 200, aborted: true });
    expect(gate.ask({ cost: 3 }).status).toBe(200);
    expect(gate.ask().verdict).not.toHaveProperty("settle");
  });

  test("only true refunds, and there is no settle without the option", async () => {
    const gate = open({ refundWhen: (() => "yes") as unknown as () => boolean });
    await settle(gate.ask(), ok);
    expect(gate.ask().field("RateLimit-Remaining")).toBe("1");
    expect(open().ask().verdict).toMatchObject({ settle: null });
  });

  test("that throws leaves the tokens spent and ends nothing", async () => {
    const gate = open({
      refundWhen: () => {
        throw new Error("no body");
      },
    });
    await settle(gate.ask(), ok);
    expect(gate.ask().field("RateLimit-Remaining")).toBe("1");
  });

  test("goes back to the policy that was picked, and survives a store that cannot refund", async () => {
    const large = definePolicy({ name: "large", capacity: 30, refill: perSecond(1) });
    const gate = open({ policy: ({ user }) => (user === "ann" ? SMALL : large), refundWhen: () => true });
    await settle(gate.ask({ user: "bob", cost: 30 }), ok);
    expect(gate.ask({ user: "bob" }).field("RateLimit-Remaining")).toBe("29");

    const memory = new MemoryStore();
    for (const refund of [undefined, (): never => { throw new Error("gone"); }]) {
      const store = { sync: true, clock: memory.clock, consume: memory.consume.bind(memory), ...(refund && { refund }) } as const;
      await settle(open({ store, refundWhen: () => true }).ask(), ok);
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
    const limiter = createLimiter({ policy: free });
    const gate = open({ limiter, policy: tierOf });
    expect(gate.ask({ headers: { "x-tier": "pro" } }).field("RateLimit-Remaining")).toBe("29");
    expect(limiter.peek("ann").remaining).toBe(2);
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
    const limiter = createLimiter({ policy: SMALL, clock: () => 0 });
    const gate = open({ limiter });
    limiter.consume("ann", 2);
    expect(gate.ask().field("RateLimit-Remaining")).toBe("0");
    expect(gate.ask().status).toBe(429);
  });
});

describe("body", () => {
  test("gets the problem, the decision and the request, and says what is sent; null without a key", () => {
    const seen: [string, Decision | null, unknown][] = [];
    const body = (problem: { code: string; detail: string }, decision: Decision | null, { user = "ann" }: Ask): object => {
      seen.push([problem.code, decision, user]);
      return { error: { code: problem.code, text: problem.detail } };
    };
    const gate = open({ body, unidentified: "refuse" });
    const refusal = exhaust(gate);
    expect(refusal.body).toEqual({ error: { code: "rate_limited", text: "Too many requests. Try again in 1 second." } });
    expect(gate.ask({ cost: 4 }).body).toMatchObject({ error: { code: "cost_too_high" } });
    expect(gate.ask({ user: null }).body).toMatchObject({ error: { code: "unidentified" } });
    expect(seen.map(([code, decision, user]) => [code, decision?.reason, user])).toEqual([
      ["rate_limited", "limited", "ann"],
      ["cost_too_high", "cost_above_capacity", "ann"],
      ["unidentified", undefined, null],
    ]);
  });

  test("of a computed cost above the capacity: 400, what is left, and no wait", () => {
    const policy = definePolicy({ name: "api", limits: [{ capacity: 9, refill: perSecond(1) }, { capacity: 5, refill: perSecond(2) }] });
    const answer = open({ policy }).ask({ cost: 6 });
    expect(answer.body).toEqual({
      type: "about:blank",
      title: "Bad Request",
      status: 400,
      detail: "This request costs 6, and the limit allows at most 5 at once. Ask for less in one request.",
      code: "cost_too_high",
      message: "This request costs 6, and the limit allows at most 5 at once. Ask for less in one request.",
    });
    expect([answer.field("RateLimit-Remaining"), answer.field("Cache-Control"), answer.field("Retry-After")]).toEqual(["5", "no-store", undefined]);
  });
});

test("shareStore gives several gates one store, and leaves a store or a limiter alone", () => {
  const options: GateOptions<Ask> = { policy: SMALL, key: () => "ann", clock: () => 0 };
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
  const clock = new ManualClock();
  const [own, same] = [{}, { body: (problem: object) => problem }].map((options) => open({ policy: many, ...options }, clock)) as [Opened, Opened];
  const seen = new Set<string>();
  for (let i = 0; i < 200; i++) {
    const [told, made] = [own, same].map((gate) => gate.ask({ cost: 1 + (i % 2) })) as [Answer, Answer];
    expect(told.verdict).toEqual(made.verdict);
    if (told.status === 429) seen.add(`${String(told.body["violated-policies"])} ${told.number("Retry-After") === 1 ? "a second" : "seconds"}`);
    clock.advance(450);
  }
  expect([...seen].toSorted()).toEqual(["many:1e21 a second", "many:1e21,many:2 seconds", "many:2 a second", "many:2 seconds"]);
});
