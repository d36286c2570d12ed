// Limits in flight over one Redis and several processes: nothing is remembered of a refusal.
import type { Redis } from "ioredis";
import { createLimiter, definePolicy, perMinute, whenDone } from "sluice";
import { RedisStore } from "sluice/redis";
import { expect, test } from "vitest";
import { describeWith } from "../../helpers/services.js";
import { useRedis } from "../../helpers/use-redis.js";

describeWith("redis-server", "limits in flight over Redis", () => {
  let client: Redis;
  useRedis((_, own) => void (client = own));

  test("L21 · a place that one process gives back is there at once for another, which was just refused", async () => {
    const policy = definePolicy({ name: "work", limits: [{ name: "rate", capacity: 1_000, refill: perMinute(1) }, { name: "parallel", capacity: 1, returns: whenDone() }] });
    // A long memory of refusals: they would last for a minute.
    const make = () => createLimiter({ policy, store: new RedisStore(client, { denyCacheMs: 60_000, timeoutMs: Infinity }) });
    const [one, two] = [make(), make()];
    for (let i = 0; i < 5; i++) {
      const taken = await one.consume("ann");
      expect([taken.allowed, (await two.consume("ann")).allowed]).toEqual([true, false]);
      await one.settle("ann", taken, { cost: {} });
      const next = await two.consume("ann");
      expect(next.allowed).toBe(true);
      await two.settle("ann", next, { cost: {} });
    }
  });
});
