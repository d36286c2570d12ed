import { createObserver, definePolicy, MemoryStore, perSecond, type Cost, type LimiterEvent, type Policy, type Store, type Tier } from "sluice";
import { createGate, decisionOf, decisionsOf, type GateCharge, type GateOptions, type MaybeKey } from "sluice/http";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { answerOf, brokenStore, reader, settle, type Answer } from "./asking.js";

/** A request of a user for a tenant. A member that is absent has its default, "ann" and "acme". */
interface Asked {
  readonly user?: MaybeKey;
  readonly tenant?: MaybeKey;
  readonly cost?: Cost;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const USER = definePolicy({ name: "user", capacity: 3, refill: perSecond(1) });
const TENANT = definePolicy({ name: "tenant", capacity: 4, refill: { tokens: 1, everyMs: 5_000 } });
const userOf = (asked: Asked): MaybeKey => ("user" in asked ? asked.user : "ann");
const tenantOf = (asked: Asked): MaybeKey => ("tenant" in asked ? asked.tenant : "acme");
const both: ReadonlyArray<GateCharge<Asked>> = [{ policy: USER, key: userOf }, { policy: TENANT, key: tenantOf }];

type Options = { readonly [Name in keyof GateOptions<Asked>]?: unknown };

/** A gate with two charges, over one memory store unless the options say otherwise, and what is left in it. */
function open(options: Options = {}) {
  const clock = new ManualClock(1_000_000);
  const store = new MemoryStore({ clock: clock.now });
  const gate = createGate<Asked>({ charges: both, store, ...options } as GateOptions<Asked>, reader);
  const left = (policy: Policy, key: string): number => store.peek(policy, key, 0).remaining;
  return { clock, store, left, ask: async (asked: Asked = {}): Promise<Answer> => answerOf(await gate(asked)), gate };
}

/** The memory store as a store that answers later. */
function later(store: MemoryStore): Store {
  return {
    sync: false, clock: store.clock, guard: brokenStore(false).guard as never,
    consume: async (...asked) => store.consume(...asked),
    consumeTogether: async (charges) => store.consumeTogether(charges),
    adjust: async (...asked) => store.adjust(...asked),
  };
}

describe.each(["synchronous", "asynchronous"])("L10 · charges over a %s store", (kind) => {
  const made = (options: Options = {}) => {
    const memory = new MemoryStore({ clock: () => 1_000_000 });
    const gate = createGate<Asked>({ charges: both, store: kind === "synchronous" ? memory : later(memory), ...options } as GateOptions<Asked>, reader);
    return { left: () => [memory.peek(USER, "ann", 0).remaining, memory.peek(TENANT, "acme", 0).remaining], gate, ask: async (asked: Asked = {}) => answerOf(await gate(asked)) };
  };

  test("are taken together", async () => {
    const { ask, left, gate } = made();
    expect((await ask()).status).toBe(200);
    expect(left()).toEqual([2, 3]);
    expect(gate({}) instanceof Promise).toBe(kind === "asynchronous");
  });

  test("are not taken at all when one refuses", async () => {
    const { ask, left } = made();
    for (let i = 0; i < 3; i++) await ask();
    for (let i = 0; i < 9; i++) expect((await ask()).status).toBe(429);
    expect(left()).toEqual([0, 1]);
    expect((await ask({ user: "bob" })).status).toBe(200);
    expect((await ask({ user: "eve" })).status).toBe(429);
    expect((await ask({ user: "eve", tenant: "other" })).status).toBe(200);
  });

  test("are given back together by `refundWhen`", async () => {
    const { ask, left } = made({ refundWhen: () => true });
    const answer = await ask();
    expect(left()).toEqual([2, 3]);
    await settle(answer, { status: 200, aborted: false });
    expect(left()).toEqual([3, 4]);
    await settle(answer, { status: 200, aborted: false });
    expect(left()).toEqual([3, 4]);
  });
});

test("asynchronous functions answer for each charge", async () => {
  const { ask, left } = open({
    charges: [
      { policy: async () => USER, key: async (asked: Asked) => userOf(asked), cost: async () => 2 },
      { policy: TENANT, key: async () => "acme", cost: ({ cost = 1 }: Asked) => cost },
    ],
  });
  expect((await ask({ cost: 3 })).status).toBe(200);
  expect([left(USER, "ann"), left(TENANT, "acme")]).toEqual([1, 1]);
});

test("a function gets what the framework gives a handler besides the request", async () => {
  const gate = createGate<Asked, [env: { readonly user: string }]>(
    { charges: [{ policy: USER, key: (_asked, env) => env.user }, { policy: (_asked, _env) => TENANT, key: () => "acme", cost: (_asked, env) => env.user.length }], clock: () => 0 },
    reader,
  );
  const verdict = await gate({}, [{ user: "ann" }]);
  expect(verdict).toMatchObject({ outcome: "pass", decision: { policy: "tenant", cost: 3, remaining: 1 } });
});

describe("tiers of a charge", () => {
  const tiered = (user: Tier, tenant: Tier) => open({ charges: [{ policy: () => user, key: userOf }, { policy: async () => tenant, key: tenantOf }] });

  test('"unlimited" leaves out its charge, and all of them skip the request', async () => {
    const some = tiered("unlimited", TENANT);
    expect((await some.ask()).field("RateLimit-Policy")).toBe('"tenant";q=4;w=20');
    expect([some.left(USER, "ann"), some.left(TENANT, "acme")]).toEqual([3, 3]);
    expect((await tiered("unlimited", "unlimited").ask()).verdict).toEqual({ outcome: "skip" });
  });

  test('"blocked" refuses the request with a 403 and charges nothing', async () => {
    for (const [user, tenant] of [["blocked", TENANT], [USER, "blocked"], ["unlimited", "blocked"]] as const) {
      const { ask, left } = tiered(user, tenant);
      expect((await ask()).status).toBe(403);
      expect([left(USER, "ann"), left(TENANT, "acme")]).toEqual([3, 4]);
    }
  });
});

describe("a caller without one of the keys", () => {
  test('shares a bucket by default, with a 401 for "refuse", and without this charge for "skip"', async () => {
    const nobody = { user: null };
    const shared = open();
    for (let i = 0; i < 3; i++) expect((await shared.ask(nobody)).status).toBe(200);
    expect([(await shared.ask(nobody)).status, shared.left(TENANT, "acme")]).toEqual([429, 1]);
    const refused = open({ unidentified: "refuse" });
    expect([(await refused.ask(nobody)).status, refused.left(TENANT, "acme")]).toEqual([401, 4]);
    const skipped = open({ unidentified: "skip" });
    expect([(await skipped.ask(nobody)).field("RateLimit-Policy"), skipped.left(TENANT, "acme")]).toEqual(['"tenant";q=4;w=20', 3]);
    expect((await skipped.ask({ user: "", tenant: [] as never })).verdict).toEqual({ outcome: "skip" });
  });

  test("gets one refusal, made once", async () => {
    let made = 0;
    const { ask } = open({ unidentified: "refuse", body: () => ({ made: ++made }) });
    expect((await ask({ user: null, tenant: null })).body).toEqual({ made: 1 });
  });
});

describe("costs", () => {
  const TOKENS = definePolicy({ name: "tokens", limits: [{ name: "requests", capacity: 3, refill: perSecond(1) }, { name: "tokens", capacity: 100, refill: perSecond(10) }] });

  test("by the names of limits", async () => {
    const { ask, store } = open({ charges: [{ policy: USER, key: userOf }, { policy: TOKENS, key: tenantOf, cost: ({ cost = 1 }: Asked) => cost }] });
    expect((await ask({ cost: { tokens: 60 } })).status).toBe(200);
    expect(store.peek(TOKENS, "acme", 0).limits?.map(({ remaining }) => remaining)).toEqual([2, 40]);
    const refused = await ask({ cost: { tokens: 60 } });
    expect([refused.status, refused.body["violated-policies"]]).toEqual([429, ["tokens:tokens"]]);
    expect((await ask({ cost: { tokens: 101 } })).body).toMatchObject({ status: 400, code: "cost_too_high" });
    await expect(ask({ cost: { token: 1 } })).rejects.toThrow("Unknown limit `token` in `cost`");
  });

  test("above a capacity are a RangeError when they are fixed, and a 400 otherwise, and take nothing", async () => {
    expect(() => open({ charges: [both[0], { policy: TENANT, key: tenantOf, cost: 5 }] })).toThrow(new RangeError("Expected `cost` to be at most the capacity, 4, got 5"));
    expect(() => open({ charges: [{ policy: TOKENS, key: userOf, cost: { tokens: 101 } }, both[1]] })).toThrow(RangeError);
    const { ask, left } = open({ charges: [both[0], { policy: TENANT, key: tenantOf, cost: () => 5 }] });
    const { status, body, field } = await ask();
    expect([status, body["code"], field("Retry-After"), left(USER, "ann")]).toEqual([400, "cost_too_high", undefined, 3]);
  });
});

test("charges of one bucket are one charge of both costs", async () => {
  const pays = (key: (asked: Asked) => MaybeKey, cost: number) => ({ policy: USER, key, cost });
  const { ask, left } = open({ charges: [pays(userOf, 1), pays(tenantOf, 2)] });
  expect((await ask({ tenant: "ann" })).field("RateLimit")).toBe('"user";r=0;t=1');
  expect((await ask({ tenant: "ann" })).status).toBe(429);
  expect((await ask({ user: null, tenant: null })).field("RateLimit-Remaining")).toBe("0");
  expect((await ask({ user: "bob" })).status).toBe(200);
  expect([left(USER, "ann"), left(USER, "bob"), left(USER, "acme")]).toEqual([0, 2, 1]);
});

describe("the response", () => {
  test("lists every limit; fields with one value are those of the limit that binds", async () => {
    const { ask } = open();
    const { field } = await ask();
    expect(field("RateLimit-Policy")?.split(", ").sort()).toEqual(['"tenant";q=4;w=20', '"user";q=3;w=3']);
    expect(field("RateLimit")?.split(", ").sort()).toEqual(['"tenant";r=3;t=5', '"user";r=2;t=1']);
    expect(["Limit", "Remaining", "Reset"].map((name) => field(`RateLimit-${name}`))).toEqual(["3", "2", "1"]);
  });

  test("to a refused request has the longest wait, once, and names all that refuse", async () => {
    const { ask, clock, store } = open();
    for (let i = 0; i < 3; i++) await ask();
    const one = await ask();
    expect([one.field("Retry-After"), one.field("RateLimit-Reset"), one.body["violated-policies"]]).toEqual(["1", "1", ["user"]]);
    store.consume(TENANT, "acme", 1);
    const { status, body, field } = await ask();
    expect([status, body["violated-policies"], body["retry_after"]]).toEqual([429, ["user", "tenant"], 5]);
    expect(["Retry-After", "RateLimit-Reset", "RateLimit-Limit"].map(field)).toEqual(["5", "5", "4"]);
    expect(field("RateLimit")?.split(", ").sort()).toEqual(['"tenant";r=0;t=5', '"user";r=0']);
    clock.advance(4_999);
    expect((await ask()).status).toBe(429);
    clock.advance(1);
    expect((await ask()).status).toBe(200);
  });

  test("has a partition key for each charge", async () => {
    const { ask } = open({ partitionKey: (key: string) => new TextEncoder().encode(key) });
    expect((await ask()).field("RateLimit")?.split(", ").sort()).toEqual([`"tenant";r=3;t=5;pk=:${btoa("acme")}:`, `"user";r=2;t=1;pk=:${btoa("ann")}:`]);
  });
});

test("`onDecision` is called once, with the decision that binds, and `decisionsOf` has all", async () => {
  const seen: unknown[] = [];
  const { ask } = open({ onDecision: (decision: unknown) => seen.push(decision) });
  const asked: Asked = {};
  await ask(asked);
  expect(seen).toEqual([decisionOf(asked)]);
  expect(decisionOf(asked)).toMatchObject({ policy: "user", allowed: true });
  expect(decisionsOf(asked)).toMatchObject([{ policy: "user", remaining: 2 }, { policy: "tenant", remaining: 3 }]);
  await ask(asked); // the gate sees it again
  expect(decisionsOf(asked)).toHaveLength(2);
});

test("events tell each charge of an allowed request, and of a refused one those that refuse", async () => {
  const events: LimiterEvent[] = [];
  const { ask } = open({ observe: createObserver((event) => events.push(event)) });
  for (let i = 0; i < 4; i++) await ask();
  expect(events.map((event) => event.type === "decision" && `${event.policy} ${event.outcome}`)).toEqual([
    ...Array.from({ length: 3 }, () => ["user allowed", "tenant allowed"]).flat(), "user limited",
  ]);
});

describe("shadow mode", () => {
  test("counts each charge by itself, refuses nothing, sends no fields and tells what would have been refused", async () => {
    const seen: Array<{ readonly policy: string; readonly shadow?: unknown }> = [];
    const { ask, left } = open({ shadow: true, unidentified: "refuse", onDecision: (decision: { policy: string }) => seen.push(decision) });
    for (let i = 0; i < 4; i++) expect([(await ask()).status, (await ask()).names]).toEqual([200, []]);
    expect([left(USER, "ann"), left(TENANT, "acme")]).toEqual([0, 0]);
    expect(seen.map(({ policy, shadow }) => [policy, shadow !== undefined])).toEqual([
      ...Array.from({ length: 3 }, () => ["user", false]), ["user", true], ...Array.from({ length: 4 }, () => ["tenant", true]),
    ]);
    expect((await ask({ user: null })).verdict).toEqual({ outcome: "skip" });
  });
});

describe.each([true, false])("40 · while a store fails, synchronous: %s", (sync) => {
  const failing = (): Store => {
    const { consume, ...store } = brokenStore(sync);
    return { ...store, consume, consumeTogether: consume, adjust: consume } as unknown as Store;
  };

  test('"unavailable" answers 503, and "allow" lets the request through without fields', async () => {
    const closed = await open({ store: failing(), onStoreError: "unavailable" }).ask();
    expect([closed.status, closed.field("Retry-After"), closed.field("RateLimit"), closed.body["code"]]).toEqual([503, "1", undefined, "temporarily_unavailable"]);
    const { status, names } = await open({ store: failing(), onStoreError: "allow" }).ask();
    expect([status, names]).toEqual([200, []]);
  });

  test('"local" charges all shares or none', async () => {
    const clock = new ManualClock();
    const asking = open({ store: failing(), clock: clock.now, refundWhen: () => true });
    // The share is half: one token of a user, two of a tenant.
    const first = await asking.ask();
    expect([first.status, first.names]).toEqual([200, []]);
    for (let i = 0; i < 5; i++) expect((await asking.ask()).status).toBe(503);
    const second = await asking.ask({ user: "bob" });
    expect(second.status).toBe(200);
    expect((await asking.ask({ user: "eve" })).status).toBe(503);
    await settle(second, { status: 200, aborted: false });
    expect((await asking.ask({ user: "eve" })).status).toBe(200);
  });
});

describe("38 · a preflight", () => {
  const plain = { method: "OPTIONS", headers: { origin: "https://app.example", "access-control-request-method": "PUT" } } as const;

  test.each([[{ user: null, tenant: null }, "skip", 4], [{ user: null }, "pass", 3], [{ tenant: null }, "pass", 4]] as const)("of %j ends as %s", async (who, outcome, left) => {
    const asking = open({ charges: both.map((charge) => ({ ...charge, key: async (asked: Asked) => charge.key(asked) })) });
    expect([(await asking.ask({ ...plain, ...who })).verdict.outcome, asking.left(TENANT, "acme")]).toEqual([outcome, left]);
  });

  test("is plain when its keys throw, and an ordinary request beyond the bucket", async () => {
    const failing = (): never => { throw new Error("no session"); };
    const { ask } = open({ charges: both.map((charge) => ({ ...charge, key: failing })), preflights: { capacity: 1, refill: perSecond(1) }, clock: undefined });
    expect((await ask(plain)).verdict.outcome).toBe("skip");
    await expect(ask(plain)).rejects.toThrow("no session");
  });
});

describe("L17 · a function that fails", () => {
  test.each([
    ["throws", () => { throw new Error("broken"); }],
    ["rejects", async () => { throw new Error("broken"); }],
  ])("and %s fails the request, whatever the others do, and nothing is charged", async (_, broken) => {
    for (const charges of [[{ policy: USER, key: async () => { throw new Error("broken"); } }, { policy: TENANT, key: broken }], [both[0], { ...both[1], cost: broken }], [both[0], { ...both[1], policy: broken }]]) {
      const { ask, left } = open({ charges });
      await expect(ask()).rejects.toThrow("broken");
      expect([left(USER, "ann"), left(TENANT, "acme")]).toEqual([3, 4]);
    }
  });

  test("two tiers of one bucket fail it in either order", async () => {
    const pro = definePolicy({ name: "user", limits: [{ name: "a", capacity: 3, refill: perSecond(1) }, { name: "b", capacity: 50, refill: perSecond(1) }] });
    const tiers: ReadonlyArray<GateCharge<Asked>> = [USER, pro].map((policy) => ({ policy: () => policy, key: userOf }));
    for (const charges of [tiers, tiers.toReversed()]) {
      const { ask, left } = open({ charges });
      await expect(ask()).rejects.toThrow('Expected the charges on one key under "user" to have the same numbers, got two tiers. Give the policies different names');
      expect([left(USER, "ann"), left(pro, "ann")]).toEqual([3, 3]);
    }
  });

  test("a cost or tier of a wrong kind fails it too", async () => {
    await expect(open({ charges: [both[0], { ...both[1], cost: () => 0.5 }] }).ask()).rejects.toThrow("Expected `cost()` to be a whole number");
    await expect(open({ charges: [both[0], { ...both[1], policy: () => "free" }] }).ask()).rejects.toThrow("Expected `policy()` to be made by definePolicy");
  });
});

describe("L9 · what is wrong is refused when the gate is made", () => {
  const [user] = both as [GateCharge<Asked>];
  const list = "Expected `charges` to be a list such as [{ policy, key }], of at most 128, got";
  const wrong: ReadonlyArray<[name: string, options: Options, message: string]> = [
    ["no list", { charges: {} }, `${list} an object`],
    ["an empty list", { charges: [] }, `${list} an array of 0`],
    ["more than a store takes in one step", { charges: Array.from({ length: 129 }, () => user) }, `${list} an array of 129`],
    ["a charge that is no object", { charges: [user, null] }, "Expected `charge` to be an object with a `policy` and a `key`, got null"],
    ["an unknown name", { charges: [user, { ...user, costs: 1 }] }, "Unknown option `costs`. Did you mean `cost`?"],
    ["no key", { charges: [user, { policy: TENANT }] }, 'Expected `key` to be a function of the request, got undefined. Write `key: (request) => ["user", request.user?.id]`, or `addressKey(request.ip)` for callers who are not signed in'],
    ["no policy", { charges: [user, { key: userOf }] }, "Expected `policy` to be"],
    ["a cost that is not whole", { charges: [user, { policy: TENANT, key: tenantOf, cost: 0.5 }] }, "Expected `cost` to be a whole number of at least 0, got 0.5"],
    ["a limit without this name", { charges: [user, { policy: TENANT, key: tenantOf, cost: { tokens: 1 } }] }, "Unknown limit `tokens` in `cost`"],
    ["two policies of one name", { charges: [user, { policy: { name: "user", capacity: 9, refill: perSecond(9) }, key: tenantOf }] }, 'Expected policy "user" to have the same numbers'],
    ["a store without consumeTogether", { store: brokenStore(true) }, "Expected the store of `charges` to have `consumeTogether`, got one without it"],
    ...["policy", "limiter", "key", "cost", "wait"].map(
      (name): [string, Options, string] => [`${name} beside charges`, { [name]: 1 }, `Expected \`${name}\` beside \`charges\` to be left out, got both. Write \`charges: [{ policy, key, cost }]\``],
    ),
  ];
  test.each(wrong)("%s", (_, options, message) => {
    expect(() => open(options)).toThrow(message);
  });

  test("a polluted prototype adds nothing to a charge", async () => {
    Object.assign(Object.prototype, { cost: 3 });
    try {
      const { ask, left } = open();
      await ask();
      expect([left(USER, "ann"), left(TENANT, "acme")]).toEqual([2, 3]);
    } finally {
      delete (Object.prototype as { cost?: number }).cost;
    }
  });
});

test("one charge needs no `consumeTogether`", async () => {
  const { consumeTogether: _, ...store } = later(new MemoryStore({ clock: () => 0 })) as Store & { consumeTogether?: unknown };
  expect((await open({ charges: [both[0]], store }).ask()).field("RateLimit-Remaining")).toBe("2");
});

test("charges on one bucket that pass 2^53 - 1 together are above the capacity", async () => {
  const charge: GateCharge<Asked> = { policy: USER, key: userOf, cost: () => Number.MAX_SAFE_INTEGER };
  const { ask } = open({ charges: [charge, charge] });
  expect(await ask()).toMatchObject({ status: 400, body: { code: "cost_too_high" } });
});

test("a blocked tier is told before a missing key, because signing in does not help", async () => {
  const { ask } = open({ charges: [both[0], { policy: () => "blocked", key: tenantOf }], unidentified: "refuse" });
  expect((await ask({ user: undefined })).status).toBe(403);
});

describe("two keys under one policy", () => {
  const transfer = [{ policy: USER, key: userOf }, { policy: USER, key: tenantOf }];

  test("show the one that binds, once", async () => {
    const { ask, store } = open({ charges: transfer });
    store.consume(USER, "acme", 1);
    const first = await ask();
    expect([first.field("RateLimit"), first.field("RateLimit-Policy")]).toEqual(['"user";r=1;t=1', '"user";q=3;w=3']);
    await ask();
    const refused = await ask();
    expect([refused.status, refused.field("RateLimit"), refused.body["violated-policies"]]).toEqual([429, '"user";r=0;t=1', ["user"]]);
  });

  test("show the stricter one in either order, also when another policy binds, and name it once when both refuse", async () => {
    for (const pair of [transfer, transfer.toReversed()]) {
      const { ask, store } = open({ charges: [...pair, { policy: TENANT, key: tenantOf }] });
      store.consume(USER, "acme", 1);
      store.consume(TENANT, "acme", 3);
      const allowed = await ask();
      expect([allowed.field("RateLimit-Limit"), allowed.field("RateLimit")?.match(/"user";r=\d/g)]).toEqual(["4", ['"user";r=1']]);
      for (const key of ["ann", "acme"]) store.consume(USER, key, store.peek(USER, key, 0).remaining);
      expect((await ask()).body["violated-policies"]).toEqual(expect.arrayContaining(["user", "tenant"]));
      expect((await ask()).body["violated-policies"]).toHaveLength(2);
    }
  });

  test("show both with a partition key", async () => {
    const { ask } = open({ charges: transfer, partitionKey: (key: unknown) => new TextEncoder().encode(String(key)) });
    expect((await ask()).field("RateLimit")).toBe(`"user";r=2;t=1;pk=:${btoa("acme")}:, "user";r=2;t=1;pk=:${btoa("ann")}:`);
  });
});
