import { combine, createLimiter, createObserver, definePolicy, MemoryStore, perSecond, unlimited, type Limiter, type LimiterEvent, type LimiterOptions, type Policy, type Store } from "sluice";
import { createGate, decisionOf, decisionsOf, draft11, triple, type GateOptions, type PassVerdict } from "sluice/http";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { answerOf, brokenStore, end, reader, type Answer } from "./asking.js";
import { expectWarnings } from "../setup/warnings.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";

/** A request of a user for a tenant. A member that is absent has its default, "ann" and "acme". */
interface Asked {
  readonly user?: unknown;
  readonly tenant?: unknown;
  readonly cost?: unknown;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const USER = definePolicy({ name: "user", capacity: 3, refill: perSecond(1) });
const TENANT = definePolicy({ name: "tenant", capacity: 4, refill: { tokens: 1, everyMs: 5_000 } });
const userOf = (asked: Asked): unknown => ("user" in asked ? asked.user : "ann");
const tenantOf = (asked: Asked): unknown => ("tenant" in asked ? asked.tenant : "acme");
const keysOf = (asked: Asked): unknown => ({ user: userOf(asked), tenant: tenantOf(asked) });

type Options = { readonly [Name in keyof GateOptions<Asked> | "unidentified" | "respond"]?: unknown };
type Behavior = Partial<Omit<LimiterOptions<Store>, "policy" | "store">>;

/** Two limiters over one memory store. */
function members(store: Store, user: Behavior = {}, tenant: Behavior = user): { user: Limiter; tenant: Limiter } {
  return { user: createLimiter<Store>({ policy: USER, store, ...user }), tenant: createLimiter<Store>({ policy: TENANT, store, ...tenant }) };
}

/** A gate over a user and a tenant, in a memory store, and what is left there. */
function open(options: Options = {}, user: Behavior = {}, tenant: Behavior = user) {
  const clock = new ManualClock(1_000_000);
  const store = new MemoryStore({ clock: clock.now });
  const gate = gateOver(combine(members(store, user, tenant)), options);
  const left = (policy: Policy, key: string): number => callsOf(store).peek(policy, key, 0).remaining;
  return { clock, store, ...gate, left, lefts: () => [left(USER, "ann"), left(TENANT, "acme")] };
}

function gateOver(limiter: unknown, options: Options = {}) {
  const gate = createGate<Asked>({ limiter, key: keysOf, ...options } as unknown as GateOptions<Asked>, reader);
  return { gate, ask: async (asked: Asked = {}): Promise<Answer> => answerOf(await gate(asked)) };
}

/** The memory store as a store that answers later. */
function later(store: MemoryStore): Store {
  return storeOf({
    sync: false, clock: store.clock, guard: brokenStore(false).guard as never,
    consume: async (...asked) => callsOf(store).consume(...asked),
    consumeTogether: async (charges) => callsOf(store).together(charges),
    adjust: async (policy, key, changes) => callsOf(store).adjust(policy, key, changes),
  });
}

describe.each(["synchronous", "asynchronous"])("L10 · a combination over a %s store", (kind) => {
  const made = (options: Options = {}) => {
    const memory = new MemoryStore({ clock: () => 1_000_000 });
    const left = () => [callsOf(memory).peek(USER, "ann", 0).remaining, callsOf(memory).peek(TENANT, "acme", 0).remaining];
    return { left, ...gateOver(combine(members(kind === "synchronous" ? memory : later(memory))), options) };
  };

  test("is charged together", async () => {
    const { ask, left, gate } = made();
    expect((await ask()).status).toBe(200);
    expect(left()).toEqual([2, 3]);
    expect(gate({}) instanceof Promise).toBe(kind === "asynchronous");
  });

  test("is not charged at all when one member refuses", async () => {
    const { ask, left } = made();
    for (let i = 0; i < 3; i++) await ask();
    for (let i = 0; i < 9; i++) expect((await ask()).status).toBe(429);
    expect(left()).toEqual([0, 1]);
    expect((await ask({ user: "bob" })).status).toBe(200);
    expect((await ask({ user: "eve" })).status).toBe(429);
    expect((await ask({ user: "eve", tenant: "other" })).status).toBe(200);
  });

  test("is settled together by `actualCost`, once, by the names of its members", async () => {
    const { ask, left } = made({ actualCost: () => ({ user: 0 }) });
    const answer = await ask();
    expect(left()).toEqual([2, 3]);
    for (let i = 0; i < 2; i++) {
      await end(answer);
      expect(left()).toEqual([3, 3]);
    }
    const free = made({ actualCost: () => 0 });
    await end(await free.ask());
    expect(free.left()).toEqual([3, 4]);
  });
});

test("asynchronous functions answer by the names of members", async () => {
  const { ask, lefts } = open({ key: async (asked: Asked) => keysOf(asked), cost: async ({ cost }: Asked) => cost, policy: async () => ({ user: USER }) });
  expect((await ask({ cost: { user: 2, tenant: 3 } })).status).toBe(200);
  expect(lefts()).toEqual([1, 1]);
});

test("functions get what the framework gives a handler besides the request", async () => {
  const limiter = combine(members(new MemoryStore({ clock: () => 0 })));
  const options = { limiter, key: (_: Asked, env: { user: string }) => ({ user: env.user, tenant: "acme" }), cost: (_: Asked, env: { user: string }) => ({ tenant: env.user.length }) };
  const gate = createGate<Asked, [env: { readonly user: string }], { user: string; tenant: string }>(options as never, reader);
  expect(await gate({}, [{ user: "ann" }])).toMatchObject({ outcome: "pass", decision: { decisions: { user: { remaining: 2 }, tenant: { cost: 3, remaining: 1 } } } });
});

describe("`unlimited`", () => {
  const TENANT_ONLY = '"tenant";q=4;w=20';
  test.each<[what: string, options: Options]>([
    ["as a key", { key: (asked: Asked) => ({ user: unlimited, tenant: tenantOf(asked) }) }],
    ["as a policy", { policy: () => ({ user: unlimited }) }],
    ["as a policy, later", { policy: async () => ({ user: unlimited, tenant: TENANT }) }],
  ])("%s leaves out its member, which shows no fields", async (_, options) => {
    const { ask, lefts } = open(options);
    const { field, status } = await ask();
    expect([status, field("RateLimit-Policy"), field("RateLimit"), field("RateLimit-Limit")]).toEqual([200, TENANT_ONLY, '"tenant";r=3;t=15', "4"]);
    expect(lefts()).toEqual([3, 3]);
  });

  test.each<[what: string, options: Options]>([
    ["keys", { key: () => ({ user: unlimited, tenant: unlimited }) }],
    ["policies", { policy: () => ({ user: unlimited, tenant: unlimited }) }],
    ["a policy for all", { policy: () => unlimited }],
    ["a key and a policy", { key: () => ({ user: unlimited, tenant: "acme" }), policy: () => ({ tenant: unlimited }) }],
  ])("as all %s passes without fields and charges nothing", async (_, options) => {
    const { ask, lefts } = open(options);
    for (let i = 0; i < 9; i++) expect((await ask()).verdict).toEqual({ outcome: "skip" });
    expect(lefts()).toEqual([3, 4]);
  });

  test("L18 · in place of the keys is a failure", async () => {
    const { ask, lefts } = open({ key: () => unlimited });
    await expect(ask()).rejects.toThrow("Expected `key()` to be a key, got an object");
    expect(lefts()).toEqual([3, 4]);
  });
});

describe("a caller without one of the keys", () => {
  const nobody = { user: null };

  test('shares a bucket with "share"', async () => {
    expectWarnings("SLUICE_UNIDENTIFIED");
    const { ask, left } = open();
    for (let i = 0; i < 3; i++) expect((await ask(nobody)).status).toBe(200);
    expect([(await ask(nobody)).status, left(TENANT, "acme")]).toEqual([429, 1]);
  });

  test('gets a 401 with "refuse" or a function, and nothing is charged', async () => {
    for (const unidentified of ["refuse", () => undefined]) {
      for (const asked of [nobody, { tenant: "" }, { user: undefined, tenant: [null] }]) {
        const { ask, lefts } = open({ unidentified });
        const { status, body, verdict } = await ask(asked);
        expect([status, body["code"], lefts()]).toEqual([401, "unidentified", [3, 4]]);
        expect(verdict.outcome === "refuse" && verdict.respond?.name).toBe(typeof unidentified === "function" ? "unidentified" : undefined);
      }
    }
  });

  test('goes without this member with "skip", and without a limit if no key is there', async () => {
    const { ask, left } = open({ unidentified: "skip" });
    expect([(await ask(nobody)).field("RateLimit-Policy"), left(TENANT, "acme")]).toEqual(['"tenant";q=4;w=20', 3]);
    expect((await ask({ user: "", tenant: [] })).verdict).toEqual({ outcome: "skip" });
  });

  test("has no key at all: the same for null and undefined in place of the keys", async () => {
    for (const keys of [null, undefined]) {
      expect((await open({ key: () => keys }).ask()).field("RateLimit")).toContain('"user";r=2');
      expect((await open({ key: () => keys, unidentified: "refuse" }).ask()).status).toBe(401);
      expect((await open({ key: () => keys, unidentified: "skip" }).ask()).verdict).toEqual({ outcome: "skip" });
    }
  });

  test("L9 · is not mistaken for a wrong name: this is the framework's error, whatever `unidentified` says", async () => {
    for (const unidentified of ["share", "refuse", "skip", () => undefined]) {
      const { ask, lefts } = open({ unidentified, key: () => ({ usr: "ann", tenant: "acme" }) });
      await expect(ask()).rejects.toThrow("Unknown member `usr` in `key`. The members: user, tenant");
      expect(lefts()).toEqual([3, 4]);
    }
  });
});

describe("wrong names and forms are the framework's error and charge nothing", () => {
  const wrong: ReadonlyArray<[name: string, options: Options, message: string]> = [
    ["a key instead of keys", { key: () => "ann" }, "Expected `key` to be an object with the names of the members"],
    ["a list of keys", { key: () => ["ann", "acme"] }, "Expected `key` to be an object with the names of the members"],
    ["an unknown member in `key`", { key: () => ({ user: "ann", tenant: "acme", team: "x" }) }, "Unknown member `team` in `key`"],
    ["an unknown member in `cost`", { cost: () => ({ users: 2 }) }, "Unknown member `users` in `cost`"],
    ["an unknown limit in `cost`", { cost: () => ({ user: { tokens: 2 } }) }, "Unknown limit `tokens` in `cost`"],
    ["a cost that is not whole", { cost: () => ({ tenant: 0.5 }) }, "Expected `cost` to be a whole number"],
    ["a cost that is NaN", { cost: () => Number.NaN }, "Expected `cost()` to be a whole number"],
    ["a cost of null", { cost: () => null }, "Expected `cost()` to be a whole number"],
    ["an unknown member in `policy`", { policy: () => ({ users: USER }) }, "Unknown member `users` in `policy`"],
    ["a policy that is undefined", { policy: () => ({ user: undefined }) }, "Expected `policy.user` to be a policy, or `unlimited`, got undefined. Leave the member out to keep its own policy"],
    ["a policy that is null", { policy: () => ({ user: null }) }, "Expected `policy` to be"],
    ["a policy that is a word", { policy: () => ({ user: "free" }) }, "Expected `policy` to be"],
    ["numbers instead of a policy", { policy: () => ({ user: { capacity: 1, refill: perSecond(1) } }) }, "Expected `policy` to be made by definePolicy"],
    ["no policies", { policy: () => undefined }, "Expected `policy()` to be made by definePolicy, or `unlimited`, got undefined"],
    ["null instead of policies", { policy: () => null }, "Expected `policy()` to be made by definePolicy, or `unlimited`, got null"],
    ["one policy for all", { policy: () => USER }, "`policy`"],
    ["a bad key", { key: () => ({ user: 42, tenant: "acme" }) }, "Expected `key` to be a non-empty string or a tuple"],
  ];
  test.each(wrong)("%s", async (_, options, message) => {
    const { ask, lefts } = open(options);
    await expect(ask()).rejects.toThrow(message);
    expect(lefts()).toEqual([3, 4]);
  });

  test.each(["key", "cost", "policy"])("L17 · `%s` that throws or rejects", async (name) => {
    for (const broken of [() => { throw new Error("broken"); }, async () => { throw new Error("broken"); }]) {
      const { ask, lefts } = open({ [name]: broken });
      await expect(ask()).rejects.toThrow("broken");
      expect(lefts()).toEqual([3, 4]);
    }
  });
});

describe("L9 · what is wrong is refused when the gate is made", () => {
  const wrong: ReadonlyArray<[name: string, options: Options, message: string]> = [
    ["a cost above a capacity", { cost: { tenant: 5 } }, "Expected `cost` to be at most the capacity, 4, got 5"],
    ["a cost for all above a capacity", { cost: 4 }, "Expected `cost` to be at most the capacity, 3, got 4"],
    ["an unknown member in `cost`", { cost: { users: 1 } }, "Unknown member `users` in `cost`"],
    ["a limiter that is a list", { limiter: [] }, "Expected `limiter` to be made by createLimiter, combine or createWaiter, got an array of 0"],
    ["its members", { limiter: members(new MemoryStore()) }, "For several limiters write `limiter: combine({ user, tenant })`"],
    ["shadow beside it", { shadow: true }, "Expected `shadow` beside `limiter` to be left out, got both. Pass `shadow` to createLimiter"],
    ["policies beside it", { policy: { user: USER } }, "Expected `policy` beside `limiter` to be left out, got both"],
    ["a wait that no header field holds", { limiter: combine({ user: createLimiter({ policy: { name: "slow", capacity: 2, refill: { tokens: 1, everyMs: 2_000_000_000_000 } } }) }) }, "the longest Retry-After that clients read"],
  ];
  test.each(wrong)("%s", (_, options, message) => expect(() => open(options)).toThrow(message));

  test("a polluted prototype adds no key, cost or policy", async () => {
    Object.assign(Object.prototype, { cost: 3, user: "mallory", policy: 1 });
    try {
      const { ask, left } = open({ key: () => ({ tenant: "acme" }) });
      expect((await ask()).status).toBe(200);
      expect([left(USER, "mallory"), left(TENANT, "acme")]).toEqual([3, 3]);
    } finally {
      for (const name of ["cost", "user", "policy"]) Reflect.deleteProperty(Object.prototype, name);
    }
  });
});

describe("costs", () => {
  const TOKENS = definePolicy({ name: "tokens", limits: [{ name: "requests", capacity: 3, refill: perSecond(1) }, { name: "tokens", capacity: 100, refill: perSecond(10) }] });

  test("by the names of members and limits; above a capacity is a 400 that takes nothing", async () => {
    const store = new MemoryStore({ clock: () => 0 });
    const both = combine({ user: createLimiter({ policy: USER, store }), spend: createLimiter({ policy: TOKENS, store }) });
    const { ask } = gateOver(both, { key: () => ({ user: "ann", spend: "acme" }), cost: ({ cost }: Asked) => cost });
    expect((await ask({ cost: { spend: { tokens: 60 } } })).status).toBe(200);
    expect(callsOf(store).peek(TOKENS, "acme", 0).limits?.map(({ remaining }) => remaining)).toEqual([2, 40]);
    const refused = await ask({ cost: { spend: { tokens: 60 } } });
    expect([refused.status, refused.body["violated-policies"]]).toEqual([429, ["tokens:tokens"]]);
    const { status, body, field } = await ask({ cost: { spend: { tokens: 101 } } });
    expect([status, body["code"], field("Retry-After"), callsOf(store).peek(USER, "ann", 0).remaining]).toEqual([400, "cost_above_capacity", undefined, 2]);
    expect(body["detail"]).toContain('This request costs 101, and the limit "tokens:tokens" allows at most 100 at once.');
    expect((await ask({ cost: { user: 2, spend: { tokens: 40 } } })).status).toBe(200);
  });

  test("of one bucket are one charge of both", async () => {
    const store = new MemoryStore({ clock: () => 0 });
    const [from, to] = [createLimiter({ policy: USER, store }), createLimiter({ policy: USER, store })];
    const { ask } = gateOver(combine({ from, to }), { key: (asked: Asked) => ({ from: userOf(asked), to: tenantOf(asked) }), cost: () => ({ from: 1, to: 2 }) });
    expect((await ask({ tenant: "ann" })).field("RateLimit")).toBe('"user";r=0;t=1');
    expect((await ask({ tenant: "ann" })).status).toBe(429);
    expect((await ask({ user: null, tenant: null })).field("RateLimit-Remaining")).toBe("0");
    expect((await ask({ user: "bob" })).status).toBe(200);
    expect(["ann", "bob", "acme"].map((key) => callsOf(store).peek(USER, key, 0).remaining)).toEqual([0, 2, 1]);
  });
});

describe("the response", () => {
  const listed = (answer: Answer, name: string): string[] | undefined => answer.field(name)?.split(", ").toSorted();

  test("lists every limit; fields with one value are those of the limit that binds", async () => {
    const answer = await open().ask();
    expect(listed(answer, "RateLimit-Policy")).toEqual(['"tenant";q=4;w=20', '"user";q=3;w=3']);
    expect(listed(answer, "RateLimit")).toEqual(['"tenant";r=3;t=15', '"user";r=2;t=2']);
    expect(["Limit", "Remaining", "Reset"].map((name) => answer.field(`RateLimit-${name}`))).toEqual(["3", "2", "1"]);
  });

  test("2, 35 · to a refused request has the longest wait, once, and names all that refuse", async () => {
    const { ask, clock, store } = open();
    for (let i = 0; i < 3; i++) await ask();
    const one = await ask();
    expect([one.field("Retry-After"), one.field("RateLimit-Reset"), one.body["violated-policies"]]).toEqual(["1", "1", ["user"]]);
    callsOf(store).consume(TENANT, "acme", 1);
    const refused = await ask();
    expect([refused.status, refused.body["violated-policies"], refused.body["retry_after"]]).toEqual([429, ["user", "tenant"], 5]);
    expect(["Retry-After", "RateLimit-Reset", "RateLimit-Limit"].map(refused.field)).toEqual(["5", "5", "4"]);
    expect(listed(refused, "RateLimit")).toEqual(['"tenant";r=0;t=5', '"user";r=0']);
    clock.advance(4_999);
    expect((await ask()).status).toBe(429);
    clock.advance(1);
    expect((await ask()).status).toBe(200);
  });

  test("16, 42 · has a partition key for each member, made before anything is charged", async () => {
    const headers = (make: (key: unknown) => Uint8Array) => ({ headers: [triple(), draft11({ partitionKey: make })] });
    const answer = await open(headers((key) => new TextEncoder().encode(String(key)))).ask();
    expect(listed(answer, "RateLimit")).toEqual([`"tenant";r=3;t=15;pk=:${btoa("acme")}:`, `"user";r=2;t=2;pk=:${btoa("ann")}:`]);
    const { ask, lefts } = open(headers((key) => new Uint8Array(key === "ann" ? 1 : 129)));
    await expect(ask()).rejects.toThrow("Expected `partitionKey()` to have at most 128 bytes, got 129. Shorten it with a hash");
    expect(lefts()).toEqual([3, 4]);
  });

  test("of two members under one policy shows the stricter one, in either order, and both with a partition key", async () => {
    for (const names of [["from", "to"], ["to", "from"]] as const) {
      const store = new MemoryStore({ clock: () => 0 });
      const limiters = Object.fromEntries(names.map((name) => [name, createLimiter({ policy: USER, store })]));
      callsOf(store).consume(USER, "acme", 1);
      const options = { key: () => ({ from: "ann", to: "acme" }) };
      const first = await gateOver(combine(limiters), options).ask();
      expect([first.field("RateLimit"), first.field("RateLimit-Policy")]).toEqual(['"user";r=1;t=1', '"user";q=3;w=3']);
      const partitioned = await gateOver(combine(limiters), { ...options, headers: [draft11({ partitionKey: (key) => new TextEncoder().encode(String(key)) })] }).ask();
      expect(listed(partitioned, "RateLimit")).toEqual([`"user";r=0;t=1;pk=:${btoa("acme")}:`, `"user";r=1;t=1;pk=:${btoa("ann")}:`]);
      callsOf(store).consume(USER, "ann", 1);
      expect((await gateOver(combine(limiters), options).ask()).body["violated-policies"]).toEqual(["user"]);
    }
  });
});

test("`onDecision` is called once with the combined decision, which is the request's only one", async () => {
  const seen: unknown[] = [];
  const { ask } = open({ onDecision: (decision: unknown) => seen.push(decision) });
  const asked: Asked = {};
  await ask(asked);
  expect(decisionOf(asked)).toMatchObject({ policy: "user", allowed: true, decisions: { user: { remaining: 2 }, tenant: { remaining: 3 } } });
  expect(seen).toEqual([decisionOf(asked)]);
  await ask(asked); // the gate sees it again
  expect(decisionsOf(asked)).toEqual([decisionOf(asked)]);
});

test("an observer hears one event for each request, of the member that binds", async () => {
  const events: LimiterEvent[] = [];
  const { ask } = open({}, { observe: createObserver((event) => events.push(event)) });
  for (let i = 0; i < 4; i++) await ask();
  expect(events.map((event) => event.type === "decision" && `${event.policy} ${event.outcome}`)).toEqual(["user allowed", "user allowed", "user allowed", "user limited"]);
});

describe("a member in shadow mode", () => {
  test("counts, refuses nothing and shows no fields", async () => {
    const { ask, lefts } = open({}, { shadow: true }, {});
    for (let i = 0; i < 4; i++) {
      const { status, field } = await ask();
      expect([status, field("RateLimit-Policy"), field("RateLimit-Limit")]).toEqual([200, '"tenant";q=4;w=20', "4"]);
    }
    expect(lefts()).toEqual([0, 0]);
    const refused = await ask();
    expect([refused.status, refused.body["violated-policies"], refused.field("RateLimit-Policy")]).toEqual([429, ["tenant"], '"tenant";q=4;w=20']);
  });

  test("refuses nobody whose key is missing: it is left out", async () => {
    for (const unidentified of ["refuse", () => undefined]) {
      const { ask, left } = open({ unidentified }, { shadow: true }, {});
      const { status, field } = await ask({ user: null });
      expect([status, field("RateLimit-Policy"), left(TENANT, "acme")]).toEqual([200, '"tenant";q=4;w=20', 3]);
      expect((await ask({ tenant: null })).status).toBe(401);
    }
  });

  test("by the key: it is enforced for some callers", async () => {
    const { ask } = open({}, { shadow: (key) => key === "ann" }, { shadow: true });
    for (let i = 0; i < 9; i++) expect((await ask()).status).toBe(200);
    for (let i = 0; i < 3; i++) expect((await ask({ user: "bob" })).status).toBe(200);
    expect((await ask({ user: "bob" })).status).toBe(429);
  });

  test("and all of them: no fields, no refusal, also without a key, and no partition key", async () => {
    const partitionKey = (): never => { throw new Error("called"); };
    const { ask, lefts } = open({ unidentified: "refuse", headers: [draft11({ partitionKey })] }, { shadow: true });
    for (let i = 0; i < 6; i++) {
      const { status, names } = await ask();
      expect([status, names]).toEqual([200, []]);
    }
    expect(lefts()).toEqual([0, 0]);
    expect((await ask({ user: null, tenant: null })).verdict).toEqual({ outcome: "skip" });
  });
});

describe.each([true, false])("40 · while a store fails, synchronous: %s", (sync) => {
  const failing = (): Store => {
    return { ...brokenStore(sync), verbs: ["consume", "adjust"], together: true };
  };
  const over = (behavior: Behavior, options: Options = {}) => gateOver(combine(members(failing(), behavior)), options);

  test('"unavailable" answers 503, and "allow" lets the request through without fields', async () => {
    const closed = await over({ onStoreError: "unavailable" }).ask();
    expect([closed.status, closed.field("Retry-After"), closed.field("RateLimit"), closed.body["code"]]).toEqual([503, "1", undefined, "temporarily_unavailable"]);
    const { status, names } = await over({ onStoreError: "allow" }).ask();
    expect([status, names]).toEqual([200, []]);
  });

  test('"local" charges all local shares or none', async () => {
    const { ask } = over({}, { actualCost: () => 0 });
    // The share is half: one token of a user, two of a tenant.
    const first = await ask();
    expect([first.status, first.names]).toEqual([200, []]);
    for (let i = 0; i < 5; i++) expect((await ask()).status).toBe(503);
    const second = await ask({ user: "bob" });
    expect(second.status).toBe(200);
    expect((await ask({ user: "eve" })).status).toBe(503);
    await end(second);
    expect((await ask({ user: "eve" })).status).toBe(200);
  });
});

describe("38 · a preflight", () => {
  const plain = { method: "OPTIONS", headers: { origin: "https://app.example", "access-control-request-method": "PUT" } } as const;

  test.each([[{ user: null, tenant: null }, "skip", 4], [{ user: null }, "pass", 3], [{ tenant: null }, "pass", 4]] as const)("of %j ends as %s", async (who, outcome, left) => {
    for (const key of [keysOf, async (asked: Asked) => keysOf(asked)]) {
      const asking = open({ key });
      expect([(await asking.ask({ ...plain, ...who })).verdict.outcome, asking.left(TENANT, "acme")]).toEqual([outcome, left]);
    }
  });

  test("is plain when its `key` fails, and fails with it beyond the lane", async () => {
    expectWarnings("SLUICE_PREFLIGHTS");
    const { ask } = open({ key: (): never => { throw new Error("no session"); } });
    for (let i = 0; i < 100; i++) expect((await ask(plain)).verdict.outcome).toBe("skip");
    await expect(ask(plain)).rejects.toThrow("no session");
  });
});

test("a combination within a combination has keys, costs and policies by the names of both", async () => {
  const store = new MemoryStore({ clock: () => 0 });
  const inner = members(store);
  const whole = createLimiter({ policy: { name: "whole", capacity: 9, refill: perSecond(1) }, store });
  const { ask } = gateOver(combine({ account: combine(inner), whole }), {
    key: (asked: Asked) => ({ account: keysOf(asked), whole: "all" }), cost: () => ({ account: { tenant: 2 } }), unidentified: "refuse",
  });
  const { field, verdict } = await ask();
  expect(field("RateLimit")?.split(", ").toSorted()).toEqual(['"tenant";r=2;t=10', '"user";r=2;t=2', '"whole";r=8;t=8']);
  expect((verdict as PassVerdict).decision).toMatchObject({ decisions: { account: { decisions: { user: { remaining: 2 }, tenant: { remaining: 2 } } }, whole: { remaining: 8 } } });
  expect((await ask({ tenant: null })).status).toBe(401);
});
