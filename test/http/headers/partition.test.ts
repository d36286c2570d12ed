import { combine, createLimiter, createWaiter, definePolicy, MemoryStore, perSecond, type Key } from "sluice";
import { createGate, createHeaderWriter, draft11, triple, type GateOptions } from "sluice/http";
import { guard } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { expectNoUnhandled } from "../../helpers/unhandled.js";
import { answerOf, reader, type Ask } from "../asking.js";
import { callsOf, type StoreCalls } from "../../../src/testing/store-calls.js";
import { storeOf } from "../../helpers/store-of.js";

const USER = definePolicy({ name: "user", capacity: 4, refill: perSecond(1) });
const TENANT = definePolicy({ name: "tenant", capacity: 9, refill: perSecond(1) });

expectNoUnhandled();

type Make = (key: Key) => unknown;

/** Gates over a new store each, which charge "ann" in every way that a gate can. `spent` is what they charged in all. */
const gates: readonly [name: string, open: (partitionKey: Make) => { ask: () => Promise<ReturnType<typeof answerOf>>; spent: () => number }][] = [
  ["one charge", (partitionKey) => openWith(partitionKey, (store) => ({ policy: USER, key: () => "ann", store }))],
  ["an asynchronous `key`", (partitionKey) => openWith(partitionKey, (store) => ({ policy: USER, key: async () => "ann", store }))],
  ["an asynchronous store", (partitionKey) => openWith(partitionKey, (store) => ({ policy: USER, key: () => "ann", store: later(store) }))],
  ["a combination", (partitionKey) => openWith(partitionKey, (store) => ({
    limiter: combine({ tenant: createLimiter({ policy: TENANT, store }), user: createLimiter({ policy: USER, store }) }),
    key: () => ({ tenant: "acme", user: "ann" }),
  }))],
  ["a waiter", (partitionKey) => openWith(partitionKey, (store) => {
    return { limiter: createWaiter(createLimiter({ policy: USER, store })), key: () => "ann" };
  })],
];

function openWith(partitionKey: Make, optionsOver: (store: MemoryStore) => object) {
  const store = new MemoryStore({ clock: new ManualClock().now });
  const gate = createGate<Ask>({ ...optionsOver(store), headers: [triple(), draft11({ partitionKey: partitionKey as () => Uint8Array })] } as unknown as GateOptions<Ask>, reader);
  return {
    ask: async () => answerOf(await gate({})),
    spent: () => 13 - callsOf(store).peek(USER, "ann", 1).remaining - callsOf(store).peek(TENANT, "acme", 1).remaining,
  };
}

function later(store: MemoryStore) {
  return storeOf({ sync: false as const, guard: guard(), clock: store.clock, consume: async (...args: Parameters<StoreCalls<true>["consume"]>) => callsOf(store).consume(...args) });
}

describe.each(gates)("L16 · with %s, `partitionKey`", (_, open) => {
  const ofLast = (bytes: number) => (key: Key) => new Uint8Array(key === "acme" ? 1 : bytes);

  test("may return 128 bytes", async () => {
    const { ask } = open(ofLast(128));
    expect((await ask()).field("RateLimit")).toContain(`;pk=:${Buffer.alloc(128).toString("base64")}:`);
  });

  test.each([129, 20_000, 200_000])("of %i bytes fails the request before anything is charged", async (bytes) => {
    const { ask, spent } = open(ofLast(bytes));
    await expect(ask()).rejects.toThrow(new RangeError(`Expected \`partitionKey()\` to have at most 128 bytes, got ${bytes}. Shorten it with a hash`));
    expect(spent()).toBe(0);
  });

  const faults: [what: string, make: () => unknown, message: string][] = [
    ["throws undefined", () => { throw undefined; }, "Expected `partitionKey` to throw an Error, got undefined"],
    ["returns text", () => "ann", 'Expected `partitionKey()` to be a Uint8Array, got "ann"'],
    ["returns wider numbers", () => new Uint16Array([999]), "Expected `partitionKey()` to be a Uint8Array, got an object"],
    ["returns a view", () => new DataView(new ArrayBuffer(4)), "Expected `partitionKey()` to be a Uint8Array, got an object"],
    ["answers later", async () => new Uint8Array(1), "Expected `partitionKey()` to be a Uint8Array, got an object"],
    ["rejects", () => Promise.reject(new Error("later")), "Expected `partitionKey()` to be a Uint8Array, got an object"],
  ];
  test.each(faults)("that %s fails the request before anything is charged", async (__, make, message) => {
    const { ask, spent } = open((key) => (key === "acme" ? new Uint8Array(1) : make()));
    await expect(ask()).rejects.toThrow(message);
    await new Promise((resolve) => setImmediate(resolve));
    expect(spent()).toBe(0);
  });

  test("is called once for each limiter, and its bytes are copied", async () => {
    const made: Uint8Array[] = [];
    const { ask } = open((key) => {
      made.push(new Uint8Array([key === "ann" ? 1 : 2]));
      return made.at(-1);
    });
    const asked = ask();
    for (const bytes of made) bytes.fill(9);
    const field = (await asked).field("RateLimit");
    expect(field).toContain(";pk=:AQ==:");
    expect(field?.match(/pk=/g)).toHaveLength(made.length);
  });
});

test("L16 · a header writer takes 128 bytes for `pk`, and no more", () => {
  const writer = createHeaderWriter([draft11()]);
  const decision = callsOf(new MemoryStore()).consume(USER, "ann", 1);
  expect(writer.write(USER, decision, new Uint8Array(128)).join()).toContain(";pk=:AAAA");
  expect(() => writer.write(USER, decision, new Uint8Array(129))).toThrow(new RangeError("Expected `partition` to have at most 128 bytes, got 129. Shorten it with a hash"));
});

test("in shadow mode, where no field is sent, `partitionKey` is not called", async () => {
  const gate = createGate<Ask>({ policy: USER, key: () => "ann", shadow: true, headers: [draft11({ partitionKey: () => { throw new Error("called"); } })] }, reader);
  expect((await gate({})).outcome).toBe("pass");
});
