// What Redis sees and keeps: writes, expiry, other people's values, slots, and nothing at all.
import { Redis } from "ioredis";
import { createLimiter, definePolicy, perHour, perSecond } from "sluice";
import { RedisStore, StoreError } from "sluice/redis";
import { describe, expect, test } from "vitest";
import { slotOf } from "../../../src/stores/redis/slot.js";
import { badCharges } from "../../helpers/bad-charges.js";
import { counting } from "../../helpers/counting.js";
import { startRedis, type OwnRedis } from "../../helpers/own-redis.js";
import { describeWith } from "../../helpers/services.js";
import { useRedis } from "../../helpers/use-redis.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const policy = definePolicy({ name: "tier", capacity: 3, refill: perSecond(1) });
const nameOf = (key: string): string => `sluice:tier ${key}`;

describeWith("redis-server", "what Redis sees", () => {
  let server: OwnRedis;
  let client: Redis;
  useRedis((ownServer, own) => ([server, client] = [ownServer, own]));

  /** How often the server carried out commands that can write, since it was last asked. */
  async function writes(): Promise<number> {
    const stats = await client.info("commandstats");
    await client.config("RESETSTAT");
    return [...stats.matchAll(/cmdstat_(?:set|setrange|del|unlink|pexpire|pexpireat):calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
  }

  test("L3 · a denial writes nothing, at any cost, nor does a peek; under new numbers it settles once", async () => {
    const store = new RedisStore(client, { denyCacheMs: 0 });
    const slow = definePolicy({ name: "tier", capacity: 3, refill: perHour(1) });
    await callsOf(store).consume(slow, "a", 3);
    const before = await client.dumpBuffer(nameOf("a"));
    await writes();
    for (const cost of [1, 2, 3, 4, 1_000]) expect((await callsOf(store).consume(slow, "a", cost)).allowed).toBe(false);
    await callsOf(store).peek(slow, "a", 1);
    await Promise.all(Array.from({ length: 50 }, () => callsOf(store).consume(slow, "a", 1)));
    expect(await writes()).toBe(0);
    expect(await client.dumpBuffer(nameOf("a"))).toEqual(before);

    const slower = definePolicy({ name: "tier", capacity: 3, refill: { tokens: 1, everyMs: 3_600_001 } });
    await callsOf(store).consume(slower, "a", 1);
    await callsOf(store).consume(slower, "a", 1);
    expect(await writes()).toBe(1);
  });

  test("L4 · a key lives until its bucket is full, rounded up, and a minute longer", async () => {
    const store = new RedisStore(client);
    const quick = definePolicy({ name: "tier", capacity: 1_000, refill: { tokens: 1_000, everyMs: 1 } });
    const uneven = definePolicy({ name: "tier", capacity: 7, refill: { tokens: 7, everyMs: 20_000 } });
    const month = definePolicy({ name: "tier", capacity: 2, refill: { tokens: 1, everyMs: 30 * 86_400_000 } });
    for (const [each, cost, fullMs] of [[quick, 1, 1], [uneven, 1, 2_858], [month, 2, 60 * 86_400_000]] as const) {
      const key = `ttl ${fullMs}`;
      const { resetMs } = await callsOf(store).consume(each, key, cost);
      expect(resetMs).toBe(fullMs);
      const left = await client.pttl(nameOf(key));
      expect(left).toBeGreaterThan(fullMs + 58_000);
      expect(left).toBeLessThanOrEqual(fullMs + 60_000);
    }
  });

  test("L4 · a spent bucket is there for as long as it owes, though its expiry was set by an earlier write", async () => {
    const store = new RedisStore(client);
    // Owes more in the end than the expiry of the first write has room for; one limit takes the script's short way, two do not.
    const limit = { capacity: 100, refill: { tokens: 1, everyMs: 1_000 } };
    for (const each of [definePolicy({ name: "one", ...limit }), definePolicy({ name: "two", limits: [{ name: "a", ...limit }, { name: "b", ...limit }] })]) {
      const name = `sluice:${each.name} grows`;
      for (let i = 0; i < 60; i++) {
        const asked = Date.now();
        const { resetMs } = await callsOf(store).consume(each, "grows", 1);
        expect((await client.pttl(name)) + (Date.now() - asked)).toBeGreaterThanOrEqual(resetMs - 100);
      }
      expect(await client.pttl(name)).toBeGreaterThan(50_000);
    }
  });

  test("L4 · a key whose expiry is too far ahead, as after a step back of the server's clock, gets a new one with its next write", async () => {
    const store = new RedisStore(client, { denyCacheMs: 0 });
    for (const each of [policy, definePolicy({ name: "two", limits: [{ name: "a", capacity: 9, refill: perSecond(1) }, { name: "b", capacity: 3, refill: perSecond(1) }] })]) {
      const name = `sluice:${each.name} back`;
      // Written an hour from now: the clock went back since.
      const ahead = Date.now() + 3_600_000;
      const records = each.limits.map((limit) => {
        const record = Buffer.alloc(32);
        [limit.unitsPerToken, ahead, limit.unitsPerMs, limit.unitsPerToken].forEach((number, i) => record.writeDoubleLE(number, 8 * i));
        return Buffer.concat([record, Buffer.from(`${limit.name}\0`)]);
      });
      const head = Buffer.from([1, ...Array<number>(8).fill(0)]);
      head.writeDoubleLE(ahead + 11_000, 1);
      await client.set(name, Buffer.concat([head, ...records]), "PXAT", ahead + 11_000);
      await callsOf(store).consume(each, "back", 1);
      expect(await client.pttl(name)).toBeLessThanOrEqual(80_000);
    }
  });

  test("L4 · a key lives at least until its block is over, by the server's clock and by one that is told", async () => {
    for (const [prefix, options] of [["own", {}], ["told", { clock: Date.now }]] as const) {
      const store = new RedisStore(client, { ...options, prefix, denyCacheMs: 0 });
      for (const [key, forMs] of [["hour", 3_600_000], ["most", 2_147_483_647_000]] as const) {
        const asked = Date.now();
        const left = async (): Promise<number> => (await client.pttl(`${prefix}:tier ${key}`)) + (Date.now() - asked);
        await callsOf(store).block(policy, key, forMs);
        expect(await left()).toBeGreaterThanOrEqual(forMs);
        // Neither a shorter block nor an adjustment makes it expire sooner.
        await callsOf(store).block(policy, key, 5);
        await callsOf(store).adjust(policy, key, 2);
        expect(await left()).toBeGreaterThanOrEqual(forMs);
        expect((await callsOf(store).consume(policy, key, 0)).retryAfterMs).toBeGreaterThan(forMs - 60_000);
      }
    }
  });

  test("a value with a block is never taken for a bucket alone, whichever way a call goes", async () => {
    const store = new RedisStore(client, { denyCacheMs: 0 });
    const names = ["a", "tier", "x".repeat(34), "x".repeat(35)];
    for (const name of names) {
      const one = definePolicy({ name: "p", limits: [{ name, capacity: 5, refill: { tokens: 1, everyMs: 1 } }] });
      const hour = definePolicy({ name: "p", limits: [{ name, capacity: 5, refill: perHour(1) }] });
      for (const [each, spent] of [[one, 0], [hour, 0], [hour, 2]] as const) {
        if (spent > 0) await callsOf(store).consume(each, "k", spent);
        await callsOf(store).block(each, "k", 60_000);
        await writes();
        for (const cost of [0, 1, 5]) expect(await callsOf(store).consume(each, "k", cost)).toMatchObject({ allowed: false, reason: "limited", remaining: 0 });
        expect(await writes()).toBe(0);
        await callsOf(store).adjust(each, "k", 1);
        expect(await callsOf(store).consume(each, "k", 1)).toMatchObject({ allowed: false, reason: "limited" });
        await callsOf(store).reset(each, "k");
        expect(await callsOf(store).consume(each, "k", 0)).toMatchObject({ allowed: true, remaining: 5 });
      }
    }
  });

  test("a block that is over leaves with the next write, and calls are short again", async () => {
    let now = 1_000;
    const store = new RedisStore(client, { clock: () => now, denyCacheMs: 0 });
    const hour = definePolicy({ name: "tier", capacity: 5, refill: perHour(1) });
    await callsOf(store).consume(hour, "over", 1);
    const before = await client.strlen(nameOf("over"));
    await callsOf(store).block(hour, "over", 500);
    expect(await client.strlen(nameOf("over"))).toBe(before + 34);
    now += 500;
    expect(await callsOf(store).consume(hour, "over", 1)).toMatchObject({ allowed: true, remaining: 3 });
    expect(await client.strlen(nameOf("over"))).toBe(before);
  });

  test("a block leaves the limits of every version as they are, and none of them ends it", async () => {
    const store = new RedisStore(client, { denyCacheMs: 0 });
    const hour = definePolicy({ name: "tier", limits: [{ name: "tier", capacity: 9, refill: perHour(1) }, { name: "day", capacity: 9, refill: perHour(2) }] });
    await callsOf(store).consume(hour, "b", [2, 5]);
    await callsOf(store).block(policy, "b", 60_000);
    expect(await callsOf(store).peek(hour, "b", 1)).toMatchObject({ allowed: false, limits: [{ remaining: 0 }, { remaining: 0 }] });
    expect((await callsOf(store).consume(policy, "b", 1)).allowed).toBe(false);
    const [first, second] = (await callsOf(store).peek(hour, "b", 1)).limits ?? [];
    // What was spent is still there: the waits until full are those of 2 and 5 tokens.
    expect(Math.round((first?.resetMs ?? 0) / 3_600_000)).toBe(2);
    expect(Math.round((second?.resetMs ?? 0) / 1_800_000)).toBe(5);
    expect((await callsOf(store).together([{ policy, key: "b", cost: 0 }, { policy, key: "free", cost: 3 }]))?.map(({ allowed }) => allowed)).toEqual([false, true]);
    expect((await callsOf(store).peek(policy, "free", 0)).remaining).toBe(3);
  });

  test("reset forgets the limits that this version of the policy does not have, too", async () => {
    const store = new RedisStore(client, { denyCacheMs: 0 });
    const hour = { name: "hour", capacity: 9, refill: perHour(9) };
    const before = definePolicy({ name: "tier", limits: [{ name: "tier", capacity: 3, refill: perSecond(1) }, hour] });
    await callsOf(store).consume(before, "a", 2);
    await callsOf(store).consume(before, "b", 2);
    await callsOf(store).reset(policy, "a");
    expect(await client.keys("*")).toEqual([nameOf("b")]);
    expect(await callsOf(store).peek(before, "a", 9)).toMatchObject({ remaining: 3, limits: [{ remaining: 3 }, { remaining: 9 }] });
    // Nor is a caller who owes only what the policy no longer has left alone.
    await callsOf(store).consume(definePolicy({ name: "tier", limits: [hour] }), "c", 5);
    await callsOf(store).reset(policy, "c");
    expect(await client.keys("*")).toEqual([nameOf("b")]);
  });

  describe("other people's values", () => {
    const foreign: [what: string, put: (name: string) => Promise<unknown>][] = [
      ["a list", (name) => client.lpush(name, "x")],
      ["a hash", (name) => client.hset(name, "x", "1")],
      ["text", (name) => client.set(name, "hello")],
      ["nothing", (name) => client.set(name, "")],
      ["another version", (name) => client.set(name, Buffer.from([2, ...Array<number>(8).fill(0)]))],
      ["half a record", async (name) => client.set(name, ((await client.getBuffer(nameOf("good"))) as Buffer).subarray(0, -3))],
      ["a record of rubbish", (name) => client.set(name, Buffer.concat([Buffer.from([1]), Buffer.alloc(40, 0xff), Buffer.from("tier\0")]))],
      ...[0, 1, 2, 3, 4].map((place): (typeof foreign)[number] => [
        `half a unit at place ${place}`,
        (name) => {
          const value = Buffer.alloc(41, 1);
          // Otherwise as the policy itself would have it.
          [Date.now(), 1, 1, 1, 1_000].forEach((number, i) => value.writeDoubleLE(number + (i === place ? 0.5 : 0), 1 + 8 * i));
          return client.set(name, Buffer.concat([value, Buffer.from("tier\0")]));
        },
      ]),
      ...[0, -1, 2 ** 53, Number.NaN].map((spent): (typeof foreign)[number] => [
        `${spent} units spent`,
        (name) => {
          const value = Buffer.alloc(41, 1);
          [Date.now(), spent, 1, 1, 1_000].forEach((number, i) => value.writeDoubleLE(number, 1 + 8 * i));
          return client.set(name, Buffer.concat([value, Buffer.from("tier\0")]));
        },
      ]),
      ["a record that divides by zero", (name) => client.set(name, Buffer.concat([Buffer.from([1]), Buffer.alloc(40), Buffer.from("tier\0")]))],
    ];
    test.each(foreign)("%s under our key fails its own decision, and no other of the same call", async (_, put) => {
      const { calls, store } = counting(client, { denyCacheMs: 0 });
      await callsOf(store).consume(policy, "good", 1);
      await put(nameOf("bad"));
      const before = await client.dumpBuffer(nameOf("bad"));
      calls.length = 0;
      const [first, bad, adjusted, blocked, together, last] = await Promise.allSettled([
        callsOf(store).consume(policy, "good", 1),
        callsOf(store).consume(policy, "bad", 1),
        callsOf(store).adjust(policy, "bad", -1),
        callsOf(store).block(policy, "bad", 1),
        callsOf(store).together([{ policy, key: "good", cost: 1 }, { policy, key: "bad", cost: 1 }]),
        callsOf(store).consume(policy, "good", 1),
      ]);
      expect(calls, "one call, with a mark").toEqual([8]);
      expect([first, last]).toMatchObject([{ value: { remaining: 1 } }, { value: { remaining: 0 } }]);
      for (const failed of [bad, adjusted, blocked, together]) expect(failed).toMatchObject({ reason: { code: "ERR_STORE_FOREIGN_VALUE" } });
      expect((bad as PromiseRejectedResult).reason).toBeInstanceOf(StoreError);
      expect(await client.dumpBuffer(nameOf("bad"))).toEqual(before);
      // A reset makes the key ours.
      await callsOf(store).reset(policy, "bad");
      expect(await callsOf(store).consume(policy, "bad", 1)).toMatchObject({ allowed: true, remaining: 2 });
    });
  });

  test("a user with the rights that the page names is enough", async () => {
    await client.acl("SETUSER", "limits", "on", ">secret", "~sluice:*", "+evalsha", "+eval", "+get", "+set", "+setrange", "+del", "+time");
    const limited = new Redis({ port: server.port, username: "limits", password: "secret", enableReadyCheck: false });
    const store = new RedisStore(limited);
    await client.script("FLUSH");
    expect((await callsOf(store).consume(policy, "a", 1)).allowed).toBe(true);
    await callsOf(store).adjust(policy, "a", -1);
    await callsOf(store).block(policy, "a", 1_000);
    await callsOf(store).reset(policy, "a");
    await callsOf(store).together([{ policy, key: "a", cost: 1 }, { policy, key: "b", cost: 1 }]);
    expect((await callsOf(store).peek(policy, "a", 0)).remaining).toBe(2);
    limited.disconnect();
  });

  test.each(badCharges)("L9 · a charge of %o with others is refused by name, and changes nothing", async (wrong, complaint) => {
    const store = new RedisStore(client, { denyCacheMs: 0 });
    const good = { policy, key: "a", cost: 2 };
    await callsOf(store).consume(policy, "a", 2);
    const kept = await client.dumpBuffer(nameOf("a"));
    await expect(callsOf(store).together([{ ...good, cost: 1 }, { ...good, key: "b", ...wrong } as typeof good])).rejects.toThrow(complaint);
    expect(await client.keys("*")).toEqual([nameOf("a")]);
    expect(await client.dumpBuffer(nameOf("a"))).toEqual(kept);
  });

  describe("slots", () => {
    test("are the server's own, whatever stands in the key", async () => {
      const cluster = await startRedis(["--cluster-enabled", "yes"]);
      const own = new Redis(cluster.url);
      const names = ["", "a", "123456789", "{", "}", "{}", "{a}", "x{a}y", "{a}{b}", "{{a}}", "}{a", "a{}b{c}", "zoë {🦉}", "🦉", nameOf("{a}"), `{all}${nameOf("{b}")}`];
      for (let unit = 1; unit < 0x180; unit++) names.push(`a${String.fromCharCode(unit)}${unit}`);
      for (const name of names) expect([name, slotOf(name)]).toEqual([name, await own.cluster("KEYSLOT", name)]);
      own.disconnect();
      await cluster.stop();
    });

    test("cannot be chosen by braces in a key", async () => {
      const store = new RedisStore(client);
      const keys = ["{same}", "}{same}", "{}{same}", "{{same}}", "\uFFFD007bsame\uFFFD007d"].flatMap((tag) => [tag, `${tag}a`, `${tag}b`]);
      await Promise.all(keys.map((key) => callsOf(store).consume(policy, key, 1)));
      const kept = await client.keys("*");
      expect(kept).toHaveLength(keys.length);
      expect(new Set(kept.map(slotOf)).size).toBe(keys.length);
      expect(kept.filter((name) => /[{}]/.test(name))).toEqual([]);
    });
  });

  describe("without a server", () => {
    test("L11 · refused is not broken: a store is made, its decisions are degraded, and nothing is left unhandled", async () => {
      const nobody = new Redis({ port: 1, retryStrategy: () => null, lazyConnect: true });
      nobody.on("error", () => undefined);
      const store = new RedisStore(nobody, { timeoutMs: Infinity });
      await new Promise(setImmediate);
      const decision = await createLimiter({ policy, store, onStoreError: "unavailable" }).consume("a");
      expect(decision).toMatchObject({ allowed: false, reason: "store_unavailable", degraded: true });
      for (const ask of [callsOf(store).peek(policy, "a", 1), callsOf(store).together([{ policy, key: "a", cost: 1 }]), callsOf(store).adjust(policy, "a", -1), callsOf(store).block(policy, "a", 1), callsOf(store).reset(policy, "a")]) {
        await expect(ask).rejects.toThrow("Connection is closed");
      }
    });

    test("a reply that is not the script's is an error, not a decision", async () => {
      for (const reply of [null, [], "OK", [1], [1, 2, 3], [1, 2.5], [0, [1]], [0, "x"], [0, [1, 2, "x"]], [0, [0, 0, 5]], { 0: 1 }]) {
        const store = new RedisStore({ evalsha: () => Promise.resolve(reply), eval: () => Promise.resolve(reply) });
        await expect(callsOf(store).consume(policy, "a", 1)).rejects.toMatchObject({ code: "ERR_STORE_REPLY" });
      }
    });

    test("wrong options are named at once", () => {
      const some = { evalsha: () => Promise.resolve(), eval: () => Promise.resolve() };
      expect(() => new RedisStore(some, { denyCacheMs: -1 })).toThrow("Expected `denyCacheMs` to be a whole number of at least 0, got -1");
      expect(() => new RedisStore(some, { denyCacheMS: 0 } as never)).toThrow("Unknown option `denyCacheMS`. Did you mean `denyCacheMs`?");
      expect(() => new RedisStore(some, { cluster: "no" as never })).toThrow('Expected `cluster` to be true or false, got "no"');
      for (const gone of ["spread", "batch"]) expect(() => new RedisStore(some, { [gone]: 16 })).toThrow(`Unknown option \`${gone}\`. Known options:`);
      expect(() => new RedisStore(some, { prefix: 7 as never })).toThrow("Expected `prefix` to be a string, got 7");
      expect(() => new RedisStore(some, { clock: 7 as never })).toThrow("Expected `clock` to be a function");
    });
  });
});
