// L8, L22 on Redis: the script's own way for a window, by the server's clock, beside the core. After each call the stored value is
// what the core keeps at that instant, to the last unit.
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { afterMs, definePolicy, type Policy } from "sluice";
import { RedisStore } from "sluice/redis";
import { ManualClock } from "sluice/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { consume } from "../../../src/core/decide.js";
import { fullBucket } from "../../../src/core/bucket.js";
import { Random } from "../../../src/testing/store-suite/random.js";
import { describeWith, redisUrl } from "../../helpers/services.js";
import { removeKeys } from "../../helpers/lanes.js";
import { playBesideCore } from "../../helpers/window-history.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const prefix = `window-${process.pid}-${Date.now()}`;

/** The amounts in a stored value: last date, tokens, first date and so on. */
function amountsIn(value: Buffer, name: string): number[] {
  const size = 33 + name.length;
  const list = [];
  for (let at = 9; at < value.length; at += size) {
    expect(value.toString("latin1", at + 32, at + size)).toBe(`${name}\0`);
    const [tokens, last, p, q] = [0, 8, 16, 24].map((offset) => value.readDoubleLE(at + offset)) as [number, number, number, number];
    expect(p).toBe(Number.MAX_SAFE_INTEGER);
    list.push(last, tokens, last - q + 1);
  }
  return list;
}

describeWith("redis", "a window in Redis", () => {
  let redis: Redis;
  beforeAll(() => (redis = new Redis(redisUrl())));
  afterAll(async () => {
    await removeKeys(redis as never, prefix);
    redis.disconnect();
  });

  // Windows of a few calls, so that amounts join, and are over, at many places.
  test.each([40, 300, 2_000])("L22 · by the server's clock, 250 calls in windows of %i ms are decided and kept as by the core", async (ms) => {
    const random = new Random(ms);
    const policy: Policy = definePolicy({ name: "w", capacity: 60, returns: afterMs(ms) });
    const store = new RedisStore(redis, { prefix, denyCacheMs: 0, timeoutMs: 5_000 });
    const bucket = fullBucket(policy.limits[0]);
    let joined = 0;
    for (let i = 0; i < 250; i++) {
      const cost = random.pick([1, 1, 1, 2, 5, 61]);
      const decision = await callsOf(store).consume(policy, `${ms}`, cost);
      expect(decision).toEqual(consume([bucket], policy, cost, decision.at));
      const value = await redis.getBuffer(`${prefix}:w ${ms}`);
      if (decision.allowed) expect(amountsIn(value as Buffer, "^w")).toEqual(bucket.dates);
      // Never forgotten early, and kept for a minute more.
      if (decision.allowed) expect((value as Buffer).readDoubleLE(1)).toBeGreaterThan(bucket.at);
      joined += bucket.dates?.some((date, place) => place % 3 === 2 && date < (bucket.dates?.[place - 2] as number)) ? 1 : 0;
      if (random.next() < 0.5) await sleep(random.between(0, ms / 60));
    }
    // Of 250 calls, more than 18 are within two seconds.
    if (ms === 2_000) expect(joined).toBeGreaterThan(0);
    expect(await redis.pttl(`${prefix}:w ${ms}`)).toBeGreaterThan(0);
  });

  // A given clock takes the long way.
  test.each([1, 2, 3])("L22 · by a given clock, 300 calls that take, give back and credit are decided and kept as by the core (seed %i)", async (seed) => {
    const clock = new ManualClock(1_790_000_000_000);
    const store = new RedisStore(redis, { prefix, denyCacheMs: 0, timeoutMs: 5_000, clock: clock.now });
    await playBesideCore(seed, store, clock, async (key) => amountsIn((await redis.getBuffer(`${prefix}:w ${key}`)) ?? Buffer.alloc(9), "^w"));
  });

  test.each<[string, (value: Buffer) => Buffer]>([
    ["of another program", () => Buffer.from("hello")],
    ["with a number that is none", (value) => {
      value.writeDoubleLE(NaN, 9);
      return value;
    }],
    ["that was cut", (value) => value.subarray(0, 30)],
  ])("L6 · a value %s is left to the way that reads all values", async (_, change) => {
    const policy = definePolicy({ name: "f", capacity: 5, returns: afterMs(60_000) });
    const store = new RedisStore(redis, { prefix, denyCacheMs: 0, timeoutMs: 5_000 });
    await callsOf(store).consume(policy, "k", 1);
    await redis.set(`${prefix}:f k`, change((await redis.getBuffer(`${prefix}:f k`)) as Buffer));
    await expect(callsOf(store).consume(policy, "k", 1)).rejects.toMatchObject({ code: "ERR_STORE_FOREIGN_VALUE" });
    await redis.del(`${prefix}:f k`);
  });

  test("L6, L22 · a date too far ahead, a block and another limit's record are read by the other way", async () => {
    const store = new RedisStore(redis, { prefix, denyCacheMs: 0, timeoutMs: 5_000 });
    const [long, short] = [3_600_000, 60_000].map((ms) => definePolicy({ name: "s", capacity: 5, returns: afterMs(ms) })) as [Policy, Policy];
    await callsOf(store).consume(long, "k", 3);
    expect(await callsOf(store).consume(short, "k", 1)).toMatchObject({ allowed: true, remaining: 1, nextTokenMs: 60_000 });
    const rate = definePolicy({ name: "s", limits: [{ name: "r", capacity: 3, refill: { tokens: 1, everyMs: 60_000 } }, { name: "s", capacity: 5, returns: afterMs(60_000) }] });
    expect((await callsOf(store).consume(rate, "k", 1)).limits?.map(({ remaining }) => remaining)).toEqual([2, 0]);
    expect(await callsOf(store).consume(short, "k", 1)).toMatchObject({ allowed: false, remaining: 0 });
    await callsOf(store).adjust(short, "k", -1);
    await callsOf(store).block(short, "k", 5_000);
    expect(await callsOf(store).consume(short, "k", 1)).toMatchObject({ allowed: false, blocked: true });
    await callsOf(store).block(short, "k", 0);
    expect(await callsOf(store).consume(short, "k", 1)).toMatchObject({ allowed: true });
    expect((await callsOf(store).peek(rate, "k", 1)).limits?.map(({ remaining }) => remaining)).toEqual([2, 0]);
  });
});
