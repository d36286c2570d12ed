// The script for lone decisions beside the script for many: the same answers, and nothing granted twice.
import { Redis } from "ioredis";
import { definePolicy, perHour, perSecond, type Policy } from "sluice";
import { RedisStore } from "sluice/redis";
import { bucketName, StoreError } from "sluice/store";
import { describe, expect, test } from "vitest";
import type { Limit } from "../../../src/core/limit.js";
import { LoneCalls } from "../../../src/stores/redis/lone.js";
import type { StoreRequest } from "../../../src/stores/redis/protocol.js";
import { loneScript } from "../../../src/stores/redis/script-lone.js";
import { describeWith } from "../../helpers/services.js";
import { useRedis } from "../../helpers/use-redis.js";
import { withoutLone } from "../../helpers/without-lone.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const policy = definePolicy({ name: "api", capacity: 10, refill: perHour(10) });
const requestOf = (of: Policy, tokens: number, what: StoreRequest["what"] = "c"): StoreRequest => ({ what, parts: [{ policy: of, name: "a", tokens }] });

const limitOf = (capacity: number): Limit => definePolicy({ name: "api", capacity, refill: perSecond(1) }).limits[0] as Limit;
const loneCalls = (made: string[] = []): LoneCalls =>
  new LoneCalls((script) => (made.push(script), () => Promise.reject(new Error("Expected no call"))));

describe("a call of the script for lone decisions", () => {
  const calls = loneCalls();

  test("leaves out a cost of 1", () => {
    expect(calls.write(requestOf(policy, 1))?.args).toEqual(["0"]);
    expect(calls.write(requestOf(policy, 3))?.args).toEqual(["0", "3"]);
  });

  test("has the numbers of its limit in the text of its script: one text for equal numbers, and sixteen at most", () => {
    const made: string[] = [];
    const own = loneCalls(made);
    const ask = (capacity: number): readonly string[] | undefined =>
      own.write(requestOf(definePolicy({ name: "api", capacity, refill: perSecond(1) }), 1))?.args;
    for (let i = 0; i < 3; i++) for (let capacity = 1; capacity <= 16; capacity++) expect(ask(capacity)).toEqual(["0"]);
    expect(made).toHaveLength(16);
    expect(made[3]).toContain("1, 1000, 4, 'api'");
    for (const capacity of [17, 18, 17]) expect(ask(capacity)).toEqual(["0", "1", "1", "1000", String(capacity), "api"]);
    expect(made).toHaveLength(17);
    expect(ask(16)).toEqual(["0"]);
  });

  test("is for one consume of one limit, and no other request", () => {
    const two = definePolicy({ name: "two", limits: [{ capacity: 1, refill: perSecond(1) }, { capacity: 2, refill: perHour(2) }] });
    const together: StoreRequest = { what: "c", parts: [...requestOf(policy, 1).parts, ...requestOf(policy, 1).parts] };
    for (const other of [requestOf(two, 1), requestOf(policy, 0), requestOf(policy, 1, "p"), requestOf(policy, 1, "a"), together]) {
      expect(calls.write(other)).toBeNull();
    }
  });

  test("counts short answers from a minute before the last list", () => {
    const own = loneCalls();
    const first = own.write(requestOf(policy, 1));
    if (first === null) throw new Error("Expected a call");
    expect(own.read([1_000_000, -1 - 360_000], first, requestOf(policy, 1))).toMatchObject({ now: 1_000_000, fits: false, buckets: [{ spent: 360_000 }] });
    const second = own.write(requestOf(policy, 1));
    if (second === null) throw new Error("Expected a call");
    expect(second.since).toBe(940_000);
    const answer = 60_005 * 2 ** 32 + 5;
    expect(own.read(answer, second, requestOf(policy, 1))).toMatchObject({ now: 1_000_005, fits: true, buckets: [{ spent: 5, at: 1_000_005 }] });
    expect(own.read(`${-1 - answer}`, second, requestOf(policy, 1))).toMatchObject({ now: 1_000_005, fits: false, buckets: [{ spent: 5 }] });
  });

  test.each([[[]], [[1]], [[1, 2, 3]], ["no"], [1.5], [true]])("fails for %j", (reply) => {
    const call = calls.write(requestOf(policy, 1));
    if (call === null) throw new Error("Expected a call");
    expect(() => calls.read(reply, call, requestOf(policy, 1))).toThrow(StoreError);
  });
});

describeWith("redis-server", "the script for lone decisions", () => {
  let client: Redis;
  useRedis((_, own) => void (client = own));

  test("answers in short, or with a list where a number is too large for that", async () => {
    const ask = async (capacity: number, since: number, key: string, cost = 1): Promise<unknown> =>
      client.eval(loneScript(limitOf(capacity)), 1, key, String(since), String(cost));
    const first = (await ask(9_000_000, 0, "a")) as [number, number];
    expect(first).toEqual([expect.any(Number), 0]);
    const since = first[0] - 1;
    expect(Math.floor(Number(await ask(9_000_000, since, "a")) / 2 ** 32)).toBeGreaterThan(0);
    for (const far of [since - 2 ** 20, since + 2 ** 20]) expect(await ask(9_000_000, far, "a")).toHaveLength(2);
    await ask(9_000_000, since, "b", 5_000_000); // 5 * 10^9 units: above 2^32
    expect(await ask(9_000_000, since, "b")).toEqual([expect.any(Number), expect.any(Number)]);
    expect(await ask(9_000_000, since, "b", 9_000_001)).toEqual([expect.any(Number), expect.any(Number)]);
  });

  test("L8 · decides alike for the first sixteen limits of a store and for later ones", async () => {
    const store = new RedisStore(client, { denyCacheMs: 0 });
    for (let capacity = 1; capacity <= 20; capacity++) {
      const own = definePolicy({ name: `p${capacity}`, capacity, refill: perHour(1) });
      const left: number[] = [];
      for (let i = 0; i < 3; i++) left.push((await callsOf(store).consume(own, "a", Math.min(capacity, 2))).remaining);
      const all = Math.max(0, capacity - 2);
      expect(left).toEqual([all, Math.max(all - 2, all % 2), Math.max(all - 4, all % 2)]);
    }
  });

  test("L5 · grants no token twice beside the script for many", async () => {
    // Two callers of one store would share their calls.
    const lone = (): RedisStore => new RedisStore(client, { denyCacheMs: 0 });
    const many = (): RedisStore => new RedisStore(withoutLone(client), { denyCacheMs: 0 });
    const wide = definePolicy({ name: "wide", capacity: 400, refill: perHour(1) });
    let granted = 0;
    const caller = async (store: RedisStore, key: string): Promise<void> => {
      for (let i = 0; i < 100; i++) {
        const { allowed } = await callsOf(store).consume(wide, key, 1);
        if (allowed) granted += 1;
      }
    };
    await Promise.all(["a", "b"].flatMap((key) => [lone, many, lone, many, lone].map((make) => caller(make(), key))));
    expect(granted).toBe(800);
  });

  const key = `sluice:${bucketName(policy, "a")}`;
  const ours = async (): Promise<Buffer> => {
    await client.del(key);
    await callsOf(new RedisStore(client)).consume(policy, "a", 4);
    return (await client.getBuffer(key)) as Buffer;
  };
  const changed = (change: (value: Buffer) => Buffer | string) => async (): Promise<void> => void (await client.set(key, change(await ours()), "PX", 100_000));
  const values: ReadonlyArray<readonly [string, () => Promise<unknown>]> = [
    ["another type", () => client.lpush(key, "x")],
    ["text of the same length", changed((value) => "x".repeat(value.length))],
    ["text of another length", changed(() => "x")],
    ["another version", changed((value) => (value.writeUInt8(2, 0), value))],
    ["a name without its end", changed((value) => (value.writeUInt8(65, value.length - 1), value))],
    ["another limit of the same length", changed((value) => (value.write("apu", 41), value))],
    ["a fraction spent", changed((value) => (value.writeDoubleLE(0.5, 9), value))],
    ["nothing spent", changed((value) => (value.writeDoubleLE(0, 9), value))],
    ["less than nothing spent", changed((value) => (value.writeDoubleLE(-3, 9), value))],
    ["more than can be spent", changed((value) => (value.writeDoubleLE(2 ** 53, 9), value))],
    ["not a number spent", changed((value) => (value.writeDoubleLE(NaN, 9), value))],
    ["a record far ahead", changed((value) => (value.writeDoubleLE(8e12, 17), value))],
    ["an endless instant", changed((value) => (value.writeDoubleLE(-Infinity, 17), value))],
    ["other units per ms", changed((value) => (value.writeDoubleLE(7, 25), value))],
    ["other units per token", changed((value) => (value.writeDoubleLE(7, 33), value))],
    ["a block", async () => (await ours(), callsOf(new RedisStore(client)).block(policy, "a", 60_000))],
  ];

  test.each(values)("L14 · leaves %s to the script for many, and writes nothing", async (_, prepare) => {
    await prepare();
    const before = await client.dump(key);
    const [limit] = policy.limits as readonly [Limit];
    expect(await client.eval(loneScript(limit), 1, key, "0")).toBeNull();
    expect(await client.eval(loneScript(null), 1, key, "0", "1", "1", "360000", "10", "api")).toBeNull();
    expect(await client.dump(key)).toEqual(before);
    const answerOf = async (store: RedisStore): Promise<unknown> => {
      await client.del(key);
      await prepare();
      return callsOf(store).consume(policy, "a", 1).then(({ allowed, remaining }) => ({ allowed, remaining }), ({ code }: StoreError) => code);
    };
    const plain = { denyCacheMs: 0 };
    expect(await answerOf(new RedisStore(client, plain))).toEqual(await answerOf(new RedisStore(withoutLone(client), plain)));
  });
});
