import { definePolicy, perSecond } from "sluice";
import { DurableObjectStore, withBuckets, type BucketNamespace } from "sluice/durable-object";
import { describe, expect, test } from "vitest";
import { FakeStorage } from "../../helpers/fake-storage.js";
import { callsOf } from "../../../src/testing/store-calls.js";
import type { BucketCall } from "../../../src/stores/durable-object/call.js";

// The objects themselves need workerd: test/runtimes/workerd runs the store suite there, with `npm run check:runtimes`.
const policy = definePolicy({ name: "api", capacity: 3, refill: perSecond(1) });

/** A namespace whose objects answer nothing of use, and the calls that were made. */
function namespace() {
  const calls: [object: string, call: BucketCall][] = [];
  const answers = { consume: null, peek: null, adjust: true, renew: undefined, block: undefined, reset: undefined };
  const binding: BucketNamespace = {
    idFromName: (name) => ({ name }),
    get: ({ name }: { name: string }) => ({
      sluice: async (call: BucketCall) => {
        calls.push([name, call]);
        return call.parts.map(() => answers[call.verb]);
      },
    }),
  };
  return { binding, calls };
}

describe("the arguments of DurableObjectStore", () => {
  test.each([
    ["no namespace", [undefined], "Expected `namespace` to be a binding such as env.BUCKETS, got undefined. Bind the class under `durable_objects` in wrangler.jsonc"],
    ["a class", [class {}], "Expected `namespace` to be a binding such as env.BUCKETS"],
    ["an empty object name", [namespace().binding, { object: "" }], 'Expected `object` to be a non-empty string'],
    ["a clock that is none", [namespace().binding, { clock: 5 }], "Expected `clock` to be a function"],
    ["an unknown option", [namespace().binding, { shards: 5 }], "Unknown option `shards`"],
  ])("%s", (_, args, message) => {
    expect(() => new DurableObjectStore(...(args as [BucketNamespace]))).toThrow(message);
  });

  test("withBuckets takes a class", () => {
    expect(() => withBuckets(undefined as never)).toThrow(new TypeError("Expected `base` to be the class DurableObject of cloudflare:workers, got undefined"));
  });
});

describe("which object a call goes to", () => {
  test("that of its bucket, whose name is bounded", async () => {
    const { binding, calls } = namespace();
    const store = new DurableObjectStore(binding);
    await callsOf(store).adjust(policy, "ann", 1);
    await callsOf(store).reset(policy, "x".repeat(5_000));
    expect(calls.map(([object]) => object)).toEqual(["api ann", expect.stringMatching(/^#[0-9a-f]{64}$/)]);
    expect(calls[0]?.[1]).toEqual({ verb: "adjust", parts: [{ name: "api ann", policy: JSON.stringify(policy), amount: 1 }], now: undefined });
    expect(definePolicy(JSON.parse(calls[0]?.[1].parts[0]?.policy ?? ""))).toEqual(policy);
  });

  test("an adjustment takes the instant of its decision along", async () => {
    const { binding, calls } = namespace();
    const store = new DurableObjectStore(binding);
    await callsOf(store).adjust(policy, "ann", -1, 1_234);
    await callsOf(store).adjust(policy, "ann", -1);
    await callsOf(store).renew(policy, "ann", 1, { from: 1_000, to: 6_000 });
    expect(calls.map(([, { verb, from, move }]) => [verb, from, move])).toEqual([
      ["adjust", 1_234, undefined], ["adjust", undefined, undefined], ["renew", undefined, { from: 1_000, to: 6_000 }],
    ]);
  });

  test("the one that `object` names", async () => {
    const { binding, calls } = namespace();
    const store = new DurableObjectStore(binding, { object: "acme", clock: () => 7.9 });
    await callsOf(store).block(policy, "ann", 5);
    await callsOf(store).together([{ policy, key: "ann", cost: 1 }, { policy, key: "bob", cost: 2 }]);
    expect(calls.map(([object, { verb, parts, now }]) => [object, verb, parts.length, now])).toEqual([["acme", "block", 1, 7], ["acme", "consume", 2, 7]]);
  });

  test("without `object`, a call of several parts is refused, and nothing is sent", async () => {
    const { binding, calls } = namespace();
    const store = new DurableObjectStore(binding);
    await expect(callsOf(store).together([{ policy, key: "ann", cost: 1 }, { policy, key: "bob", cost: 1 }])).rejects.toMatchObject({ code: "ERR_STORE_APART" });
    expect(calls).toEqual([]);
  });

  test("a copy of a policy and charges of one bucket are refused before", async () => {
    const { binding, calls } = namespace();
    const store = new DurableObjectStore(binding, { object: "acme" });
    await expect(callsOf(store).consume({ ...policy }, "ann", 1)).rejects.toThrow(TypeError);
    await expect(callsOf(store).together([{ policy, key: "ann", cost: 1 }, { policy, key: "ann", cost: 1 }])).rejects.toThrow("got one twice");
    await expect(callsOf(store).together([{ policy, key: "ann", cost: -1 }, { policy, key: "bob", cost: 1 }])).rejects.toThrow(RangeError);
    expect(calls).toEqual([]);
  });
});

test("L4 · with 0 a block leaves the row as it was before it, and writes none for a key without a block", async () => {
  const storage = new FakeStorage();
  const Buckets = withBuckets(class {} as abstract new (state: never, env: never) => object);
  const object = new Buckets({ storage } as never, {} as never);
  const store = new DurableObjectStore({ idFromName: () => ({}), get: () => object }, { clock: () => 1_000 });
  await callsOf(store).consume(policy, "ann", 2);
  const before = new Map(storage.rows);
  for (const key of ["ann", "bob"]) await callsOf(store).block(policy, key, 60_000);
  expect(await callsOf(store).consume(policy, "ann", 1)).toMatchObject({ allowed: false, blocked: true });
  storage.writes = 0;
  for (const key of ["ann", "bob", "ann", "carl"]) await callsOf(store).block(policy, key, 0);
  expect([storage.writes, storage.rows]).toEqual([2, before]);
  expect(await callsOf(store).consume(policy, "ann", 1)).toMatchObject({ allowed: true, remaining: 0 });
});

test("an object whose first write failed makes its table with the next one", async () => {
  const storage = new FakeStorage();
  const Buckets = withBuckets(class {} as abstract new (state: never, env: never) => object);
  const object = new Buckets({ storage } as never, {} as never);
  const store = new DurableObjectStore({ idFromName: () => ({}), get: () => object });
  storage.isFull = true;
  await expect(callsOf(store).consume(policy, "ann", 1)).rejects.toThrow("full");
  storage.isFull = false;
  expect((await callsOf(store).consume(policy, "ann", 1)).remaining).toBe(2);
});
