import { definePolicy, perHour, perSecond, type Key } from "sluice";
import { guard } from "sluice/store";
import { afterEach, describe, expect, test, vi } from "vitest";
import { freshSluice } from "../helpers/warned.js";
import { callsOf, type StoreCalls } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";

afterEach(() => void vi.restoreAllMocks());

const policy = { name: "api", capacity: 5, refill: perHour(1) };

interface Asked {
  readonly headers: Readonly<Record<string, string>>;
}

const reader = { method: () => "GET", header: ({ headers }: Asked, name: string) => headers[name] };
const asked = (headers: Record<string, string> = {}): Asked => ({ headers });

describe("SLUICE_COUNTED_TWICE", () => {
  const key = (): Key => ["user", "ann"];

  test("when one gate sees a request twice", async () => {
    const { createGate, given } = await freshSluice();
    const gate = createGate({ policy, key }, reader);
    const request = asked();
    void gate(request);
    expect(given).toEqual([]);
    void gate(request);
    expect(given).toMatchObject([{ code: "SLUICE_COUNTED_TWICE", message: expect.stringContaining('policy "api"') as string }]);
    expect(JSON.stringify(given)).not.toContain("ann");
  });

  test("when two gates with one store and one policy see it, whether they make their limiter or are given it", async () => {
    const { createGate, createLimiter, MemoryStore, definePolicy, codes } = await freshSluice();
    const own = definePolicy(policy);
    const limiter = createLimiter({ policy: own, store: new MemoryStore() });
    const gates = [createGate({ limiter, key }, reader), createGate({ policy: () => own, store: limiter.store, key }, reader)];
    const request = asked();
    for (const gate of gates) void gate(request);
    expect(codes()).toEqual(["SLUICE_COUNTED_TWICE"]);
  });

  test("over an asynchronous store as well", async () => {
    const { createGate, MemoryStore, codes } = await freshSluice();
    const memory = new MemoryStore();
    const store = storeOf({ sync: false as const, guard: guard(), clock: "server" as const, consume: async (...charge: Parameters<StoreCalls<true>["consume"]>) => callsOf(memory).consume(...charge) });
    const gates = [createGate({ policy, store, key }, reader), createGate({ policy, store, key }, reader)];
    const request = asked();
    for (const gate of gates) await gate(request);
    expect(codes()).toEqual(["SLUICE_COUNTED_TWICE"]);
  });

  test("also when the second gate stands where requests come late and seldom", async () => {
    const { createGate, MemoryStore, codes } = await freshSluice();
    const store = new MemoryStore();
    const [outer, inner] = [createGate({ policy, store, key }, reader), createGate({ policy, store, key }, reader)];
    const both = (): void => {
      const request = asked();
      void outer(request);
      void inner(request);
    };
    // The outer gate's own first thousand are over, and it looks no more.
    for (let i = 0; i < 5_000; i++) void outer(asked());
    both();
    expect(codes()).toEqual([]);
    // One request in a hundred goes through both, and one row of looks is among these.
    for (let i = 0; i < 12_000; i++) {
      if (i % 100 === 0) both();
      else void outer(asked());
    }
    expect(codes()).toEqual(["SLUICE_COUNTED_TWICE"]);
  });

  test("not for another request, another key, another policy or another store", async () => {
    const { createGate, MemoryStore, given } = await freshSluice();
    const store = new MemoryStore();
    const first = createGate({ policy, store, key }, reader);
    const others = [
      createGate({ policy, store, key: () => ["tenant", "ann"] }, reader),
      createGate({ policy: { ...policy, name: "bulk" }, store, key }, reader),
      createGate({ policy, key }, reader),
    ];
    const request = asked();
    for (const gate of [first, ...others]) void gate(request);
    void first(asked());
    expect(given).toEqual([]);
  });

  test("not for a request that the first gate skipped", async () => {
    const { createGate, MemoryStore, given } = await freshSluice();
    const store = new MemoryStore();
    const request = asked();
    for (const skip of [() => true, () => false]) void createGate({ policy, store, key, skip }, reader)(request);
    expect(given).toEqual([]);
  });
});

describe("SLUICE_UNNAMED_POLICIES", () => {
  const unnamed = { capacity: 5, refill: perSecond(1) };
  const key = (): Key => ["user", "ann"];

  test("when two policies without a name limit one request, once", async () => {
    const { createGate, given } = await freshSluice();
    const gates = [createGate({ policy: unnamed, key }, reader), createGate({ policy: { ...unnamed, capacity: 9 }, key }, reader)];
    for (let i = 0; i < 2; i++) {
      const request = asked();
      for (const gate of gates) void gate(request);
    }
    expect(given).toMatchObject([
      {
        code: "SLUICE_UNNAMED_POLICIES",
        message: 'Two policies without a name limit one request, so both appear as "default" in its header fields: give each a `name`, such as "api" and "login"',
      },
    ]);
  });

  test("when the two are in one combination, over one store or two", async () => {
    for (const isShared of [false, true]) {
      const { createGate, createLimiter, combine, MemoryStore, codes } = await freshSluice();
      const store = new MemoryStore();
      const [user, ip] = [0, 1].map(() => createLimiter({ policy: unnamed, store: isShared ? store : new MemoryStore() }));
      const gate = createGate({ limiter: combine({ user: user!, ip: ip! }), key: () => ({ user: ["user", "ann"], ip: ["ip", "x"] }) }, reader);
      await gate(asked());
      expect(codes()).toEqual(["SLUICE_UNNAMED_POLICIES"]);
    }
  });

  test("when two gates over one store, with equal numbers, have other keys", async () => {
    const { createGate, MemoryStore, codes } = await freshSluice();
    const store = new MemoryStore();
    const gates = [key, () => ["ip", "x"] as const].map((each) => createGate({ policy: unnamed, store, key: each }, reader));
    const request = asked();
    for (const gate of gates) void gate(request);
    expect(codes()).toEqual(["SLUICE_UNNAMED_POLICIES"]);
  });

  test("not when one has a name, for two requests, or for one gate twice", async () => {
    const { createGate, codes } = await freshSluice();
    const [first, second, named] = [unnamed, unnamed, policy].map((each) => createGate({ policy: each, key }, reader));
    void first?.(asked());
    void second?.(asked());
    const request = asked();
    void first?.(request);
    void named?.(request);
    expect(codes()).toEqual([]);
    void first?.(request);
    expect(codes()).toEqual(["SLUICE_COUNTED_TWICE"]);
  });
});

test("a gate's first 1 000 requests are checked, and 250 of every 16 000", async () => {
  const found = ["SLUICE_COUNTED_TWICE"];
  // Both sights of the request must be among those that are checked.
  for (const [before, codes] of [[998, found], [999, []], [15_999, []], [16_000, found], [16_248, found], [16_249, []]] as const) {
    const sluice = await freshSluice();
    const gate = sluice.createGate({ policy, key: ({ headers }: Asked) => headers["x-key"] }, reader);
    for (let i = 0; i < before; i++) void gate(asked({ "x-key": "u1" }));
    const twice = asked({ "x-key": "u2" });
    void gate(twice);
    void gate(twice);
    expect(sluice.codes()).toEqual(codes);
  }
});

test("a gate's first 1 000 requests are checked for a proxy's address", async () => {
  for (const [before, codes] of [[999, ["SLUICE_KEY_IS_ADDRESS"]], [1_000, []]] as const) {
    const sluice = await freshSluice();
    const gate = sluice.createGate({ policy, key: ({ headers }: Asked) => headers["x-key"] }, reader);
    for (let i = 0; i < before; i++) void gate(asked({ "x-key": "u1" }));
    void gate(asked({ "x-key": "192.0.2.7", "x-forwarded-for": "203.0.113.5" }));
    expect(sluice.codes()).toEqual(codes);
  }
});

describe("SLUICE_KEY_IS_ADDRESS", () => {
  /** The codes that are warned of for one request with this key. */
  async function codesFor(key: Key, headers: Record<string, string>): Promise<string[]> {
    const { createGate, codes, given } = await freshSluice();
    void createGate({ policy, key: () => key }, reader)(asked(headers));
    expect(given.every(({ message }) => message.includes("is the address of a proxy"))).toBe(true);
    expect(given.filter(({ message, detail }) => `${message} ${detail}`.includes("192.0.2"))).toEqual([]);
    return codes();
  }

  const proxies: [key: Key, headers: Record<string, string>][] = [
    ["192.0.2.7", { "x-forwarded-for": "203.0.113.5" }],
    ["192.0.2.7", { forwarded: "for=203.0.113.5;proto=https" }],
    [["address", "::ffff:192.0.2.7"], { "x-forwarded-for": "203.0.113.5, 198.51.100.1" }],
    [["address", "::1"], { "x-forwarded-for": "203.0.113.5" }],
    [["address", "2001:db8::7"], { "x-forwarded-for": "2001:db8:1::5" }],
    [["address", "2001:db8:0:1:2:3:4:5"], { "x-forwarded-for": "2001:db8:1::5" }],
    [["address", "fe80::1%eth0"], { "x-forwarded-for": "203.0.113.5" }],
    ["ip:192.0.2.7", { "x-forwarded-for": "203.0.113.5" }],
    ["login/ip:2001:db8:0:1:2:3:4:5", { "x-forwarded-for": "203.0.113.5" }],
    ["ip_::1", { "x-forwarded-for": "203.0.113.5" }],
  ];
  test.each(proxies)("for the address of a proxy, %j with %j", async (key, headers) => {
    expect(await codesFor(key, headers)).toEqual(["SLUICE_KEY_IS_ADDRESS"]);
  });

  test("for the address of a member that no header field shows", async () => {
    const { createGate, createLimiter, combine, codes } = await freshSluice();
    const [user, ip] = [1, 9].map((capacity) => createLimiter({ policy: { ...policy, capacity } }));
    const gate = createGate({ limiter: combine({ user: user!, ip: ip! }), key: () => ({ user: "ann", ip: "192.0.2.7" }) }, reader);
    await gate(asked({ "x-forwarded-for": "203.0.113.5" }));
    expect(codes()).toEqual(["SLUICE_KEY_IS_ADDRESS"]);
  });

  const fine: [what: string, key: Key, headers: Record<string, string>][] = [
    ["an address without a proxy", "192.0.2.7", {}],
    ["the caller's address, as the proxy tells it", "203.0.113.5", { "x-forwarded-for": "203.0.113.5" }],
    ["the caller's address, mapped to IPv6", "::ffff:203.0.113.5", { "x-forwarded-for": "203.0.113.5" }],
    ["the network of the caller's address, in other letters", "2001:DB8:5::", { forwarded: 'for="[2001:db8:5::]:4711"' }],
    ["the caller's address after a prefix", "ip:203.0.113.5", { "x-forwarded-for": "203.0.113.5" }],
    ["a device after a prefix behind a proxy", "device:00:1a:2b:3c:4d:5e", { "x-forwarded-for": "203.0.113.5" }],
    ["a version number after a prefix behind a proxy", "app-1.2.3", { "x-forwarded-for": "203.0.113.5" }],
    ["a time behind a proxy", "user:2026-11-24T15:30:00", { "x-forwarded-for": "203.0.113.5" }],
    ["a user behind a proxy", ["user", 42], { "x-forwarded-for": "203.0.113.5" }],
    ["a network card behind a proxy", ["device", "00:1a:2b:3c:4d:5e"], { "x-forwarded-for": "203.0.113.5" }],
    ["a version number behind a proxy", ["app", "1.2.3"], { "x-forwarded-for": "203.0.113.5" }],
    ["the first half of an address", ["address", "2001:db8:0:0"], { "x-forwarded-for": "2001:db8::5" }],
  ];
  test.each(fine)("not for %s", async (_, key, headers) => {
    expect(await codesFor(key, headers)).toEqual([]);
  });
});

describe("SLUICE_KEY_IS_ADDRESS for a whole IPv6 address", () => {
  async function codesFor(key: Key): Promise<string[]> {
    const { createGate, codes } = await freshSluice();
    void createGate({ policy, key: () => key }, reader)(asked());
    return codes();
  }

  test.each<Key>([["2001:db8::5"], "2001:db8:1:2:3:4:5:6", ["address", "2001:DB8::1%eth0"]])("for %s", async (key) => {
    expect(await codesFor(key)).toEqual(["SLUICE_KEY_IS_ADDRESS"]);
  });

  test("with the function that cures it", async () => {
    const { createGate, given } = await freshSluice();
    void createGate({ policy, key: () => "2001:db8::5" }, reader)(asked());
    expect(given).toMatchObject([{ message: expect.stringContaining('use addressKey from "sluice"') as string }]);
  });

  test.each<Key>(["2001:db8:1:2::", "::1", "fe80::1", "::ffff:192.0.2.7", "192.0.2.7", ["device", "00:1a:2b:3c:4d:5e"], ["user", 42]])("not for %s", async (key) => {
    expect(await codesFor(key)).toEqual([]);
  });
});

describe("SLUICE_KEY_IS_LIST", () => {
  async function codesFor(key: Key, request: object): Promise<string[]> {
    const { createGate, codes } = await freshSluice();
    void createGate<object>({ policy, key: () => key }, { method: () => "GET", header: () => undefined })(request);
    return codes();
  }

  test.each(["query", "params", "body", "headers"])("when the list comes from the %s", async (from) => {
    expect(await codesFor(["user", "42"], { [from]: { client: ["user", "42"] } })).toEqual(["SLUICE_KEY_IS_LIST"]);
  });

  test("when the list comes from the URL of a web-standard server, or of Hono", async () => {
    const url = "http://localhost/?page=1&client[]=user&client[]=42";
    expect(await codesFor(["user", "42"], new Request(url))).toEqual(["SLUICE_KEY_IS_LIST"]);
    expect(await codesFor(["user", "42"], { req: { url } })).toEqual(["SLUICE_KEY_IS_LIST"]);
    expect(await codesFor(["user", "42"], { url: "/?client=user&other=42" })).toEqual([]);
  });

  test("not for a tuple with a written part, nor for a request that cannot be read", async () => {
    expect(await codesFor(["client", "42"], { query: { client: ["user", "42"], other: "42" } })).toEqual([]);
    expect(await codesFor("user", { query: { client: ["user"] } })).toEqual([]);
    expect(await codesFor(["user", 42], { query: null, body: "user", headers: new Headers() })).toEqual([]);
  });
});

describe("SLUICE_UNIDENTIFIED", () => {
  const choices = [["share", "They share one bucket"], ["refuse", "They get a 401"], ["skip", "They are not limited"]] as const;
  test.each(choices)("when all of the first 20 requests have no key, with %s", async (unidentified, effect) => {
    const { createGate, given, codes } = await freshSluice();
    const gate = createGate({ policy: { ...policy, capacity: 100 }, key: () => undefined, unidentified }, reader);
    for (let i = 0; i < 19; i++) void gate(asked());
    expect(codes()).toEqual([]);
    void gate(asked());
    expect(given).toMatchObject([{ code: "SLUICE_UNIDENTIFIED", message: expect.stringContaining(effect) as string }]);
  });

  test("when the shared bucket refuses, also after callers with a key", async () => {
    const { createGate, codes } = await freshSluice();
    let user: string | undefined = "ann";
    const gate = createGate({ policy, key: () => user }, reader);
    for (let i = 0; i < 9; i++) void gate(asked());
    user = undefined;
    for (let i = 0; i < 5; i++) void gate(asked());
    expect(codes()).toEqual([]);
    void gate(asked());
    expect(codes()).toEqual(["SLUICE_UNIDENTIFIED"]);
  });

  test("counts requests, also when all functions answer later", async () => {
    const { createGate, codes } = await freshSluice();
    const many = definePolicy({ ...policy, capacity: 100 });
    const gate = createGate({ policy: async () => many, key: async () => undefined, cost: async () => 1, skip: async () => false }, reader);
    for (let i = 0; i < 19; i++) await gate(asked());
    expect(codes()).toEqual([]);
    await gate(asked());
    expect(codes()).toEqual(["SLUICE_UNIDENTIFIED"]);
  });

  test("not when one of the first requests has a key, and not for a cost above the capacity", async () => {
    const { createGate, codes } = await freshSluice();
    let requests = 0;
    const gate = createGate({ policy: { ...policy, capacity: 100 }, key: () => (++requests === 10 ? "ann" : null), cost: () => (requests === 30 ? 101 : 1) }, reader);
    for (let i = 0; i < 60; i++) void gate(asked());
    expect(codes()).toEqual([]);
  });
});
