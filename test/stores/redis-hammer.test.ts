// Four processes on one key: not one token too many, not one lost.
import { definePolicy, TokenBucket } from "sluice";
import { RedisStore } from "sluice/redis";
import { ManualClock } from "sluice/testing";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { messageFrom, startProcess } from "../helpers/processes.js";
import { describeWith, redisUrl } from "../helpers/services.js";
import type { Told } from "./redis-hammer-child.js";

const LIMIT = { capacity: 50, refill: { tokens: 1_237, everyMs: 1_000 } };
const PER_MS = LIMIT.refill.tokens / LIMIT.refill.everyMs;

describeWith("redis", "Redis under many hands", () => {
  test("L1 · bound: four processes get from one key what it has, in every window, and lose nothing", async () => {
    const prefix = `hammer-${process.pid}-${Date.now()}`;
    const children = Array.from({ length: 4 }, () =>
      startProcess("test/stores/redis-hammer-child.ts", [redisUrl(), prefix, JSON.stringify(LIMIT), "2000"]),
    );
    const client = new Redis(redisUrl());
    try {
      await Promise.all(children.map(messageFrom)); // "ready"
      for (const child of children) child.send("go");
      const told = (await Promise.all(children.map((child) => messageFrom<Told[]>(child)))).flat();
      // In the order of the server: at one instant nothing comes back, so the grants of it were before its refusals.
      told.sort(([now, granted], [other, wasGranted]) => now - other || Number(wasGranted) - Number(granted));
      const grants = told.filter(([, granted]) => granted).map(([now]) => now);

      // The most that any window got beyond what came back in it: the best end minus the best start, in one pass.
      let most = 0;
      let least = Infinity;
      grants.forEach((now, i) => {
        least = Math.min(least, i - PER_MS * now);
        most = Math.max(most, i + 1 - PER_MS * now - least);
      });
      const elapsed = (told.at(-1) as Told)[0] - (told[0] as Told)[0];
      console.log(
        `Redis, four processes: ${told.length} decisions in ${elapsed} ms, ${grants.length} granted, ` +
          `at most ${most.toFixed(2)} of ${LIMIT.capacity} ahead of the rate`,
      );
      expect(most).toBeLessThan(LIMIT.capacity + 0.001); // doubles
      expect(told.length - grants.length).toBeGreaterThan(100);

      // Nothing is lost: one bucket in one process, asked at the same instants, grants as much and no more.
      const clock = new ManualClock();
      const bucket = new TokenBucket({ ...LIMIT, clock: clock.now });
      const alone = told.map(([now]): Told => (clock.set(now), [now, bucket.consume().allowed]));
      expect(alone).toEqual(told);
    } finally {
      for (const child of children) child.kill("SIGKILL");
      await new RedisStore(client, { prefix }).reset(definePolicy({ name: "hammer", ...LIMIT }), "one");
      client.disconnect();
    }
  }, 30_000);
});
