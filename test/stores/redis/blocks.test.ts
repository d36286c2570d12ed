// What the end of a block leaves in Redis, and who sees it.
import type { Redis } from "ioredis";
import { definePolicy, perHour, perSecond, type Decision } from "sluice";
import { RedisStore } from "sluice/redis";
import { expect, test } from "vitest";
import { describeWith } from "../../helpers/services.js";
import { useRedis } from "../../helpers/use-redis.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const HOUR = 3_600_000;
const policy = definePolicy({ name: "tier", capacity: 9, refill: perHour(1) });
const nameOf = (key: string): string => `sluice:tier ${key}`;

describeWith("redis-server", "the end of a block in Redis", () => {
  let client: Redis;
  useRedis((_server, own) => (client = own));

  test.each([["by the server's clock", {}], ["by a clock that is told", { clock: Date.now }]])("L4 · %s, with 0 the record of the block is gone, and a key without another", async (_which, options) => {
    const store = new RedisStore(client, { ...options, denyCacheMs: 0 });
    await callsOf(store).block(policy, "only", HOUR);
    await callsOf(store).block(policy, "only", 0);
    await callsOf(store).block(policy, "never", 0);
    expect(await client.dbsize()).toBe(0);
    expect(await callsOf(store).consume(policy, "only", 2)).toMatchObject({ allowed: true, remaining: 7 });

    const before = await client.strlen(nameOf("only"));
    await callsOf(store).block(policy, "only", 2_147_483_647_000);
    await callsOf(store).block(policy, "only", 0);
    expect(await client.strlen(nameOf("only"))).toBe(before);
    // What is kept now lives as long as the limits need it, and no longer as long as the block.
    expect(await client.pttl(nameOf("only"))).toBeLessThanOrEqual(2 * HOUR + 60_000 + ("clock" in options ? HOUR : 0));
    expect(await client.pttl(nameOf("only"))).toBeGreaterThan(2 * HOUR - 60_000);
    expect(await callsOf(store).consume(policy, "only", 7)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test("leaves the records of every version of a policy as they are, also those in other numbers", async () => {
    const now = 1_000_000;
    const store = new RedisStore(client, { clock: () => now, denyCacheMs: 0 });
    const many = definePolicy({ name: "tier", limits: [{ name: "tier", capacity: 9, refill: perSecond(3) }, { name: "day", capacity: 90, refill: perHour(2) }] });
    await callsOf(store).consume(many, "k", [4, 50]);
    const before = await client.getBuffer(nameOf("k"));
    await callsOf(store).block(policy, "k", HOUR);
    await callsOf(store).block(policy, "k", 0);
    const after = await client.getBuffer(nameOf("k"));
    expect(after?.subarray(9)).toEqual(before?.subarray(9)); // all but the version and the expiry
  });

  test("in one call with others takes effect in its turn", async () => {
    const store = new RedisStore(client, { denyCacheMs: 0 });
    const ask = (): Promise<Decision> => callsOf(store).consume(policy, "k", 1);
    const answers = await Promise.all([ask(), callsOf(store).block(policy, "k", HOUR), ask(), callsOf(store).block(policy, "k", 0), ask(), callsOf(store).block(policy, "k", 5_000), callsOf(store).block(policy, "k", 0), ask()]);
    expect(answers.filter((answer) => answer !== undefined).map(({ allowed, remaining }) => [allowed, remaining])).toEqual([[true, 8], [false, 0], [true, 7], [true, 6]]);
    expect(answers[2]).toMatchObject({ blocked: true });
  });

  test("of this process is seen at once, by another after denyCacheMs at the latest; what is recalled says that a block refused", async () => {
    let now = 0;
    const [one, other] = [new RedisStore(client, { clock: () => now }), new RedisStore(client, { clock: () => now })];
    for (const store of [one, other]) {
      await callsOf(store).block(policy, "k", HOUR);
      for (const each of [one, other]) expect(await callsOf(each).consume(policy, "k", 1)).toMatchObject({ allowed: false, blocked: true });
      now += 999;
      expect(other.recall(policy, "k", 0)).toMatchObject({ allowed: false, blocked: true });
      await callsOf(store).block(policy, "k", 0);
      expect(store.recall(policy, "k", 0)).toBeNull();
      expect(await callsOf(store).consume(policy, "k", 1)).toMatchObject({ allowed: true });
      now += 1;
      for (const each of [one, other]) expect(await callsOf(each).consume(policy, "k", 1)).toMatchObject({ allowed: true });
    }
  });

  test("never touches another program's value", async () => {
    const store = new RedisStore(client);
    await client.set(nameOf("k"), "theirs");
    await expect(callsOf(store).block(policy, "k", 0)).rejects.toMatchObject({ code: "ERR_STORE_FOREIGN_VALUE" });
    expect(await client.get(nameOf("k"))).toBe("theirs");
  });
});
