import Memcached from "memcached";
import { storeSuite } from "sluice/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lifetimeOf, memcachedStore } from "../../examples/custom-store/memcached-store.js";
import { startMemcached } from "../helpers/own-memcached.js";
import { describeWith } from "../helpers/services.js";

describeWith("memcached", "casStore over memcached, as in the example", () => {
  let server: Awaited<ReturnType<typeof startMemcached>>;
  let client: Memcached;
  const nowhere = new Memcached("127.0.0.1:1", { retries: 0 });
  beforeAll(async () => {
    server = await startMemcached();
    client = new Memcached(`127.0.0.1:${server.port}`);
  });
  afterAll(async () => {
    client.end();
    nowhere.end();
    await server.stop();
  });

  storeSuite({
    test,
    factory: ({ clock, unreachable, timeoutMs, breaker, sharedBy }) => memcachedStore(unreachable ? nowhere : client, { time: { now: clock }, timeoutMs, breaker, sharedBy }),
    lacks: {
      together: "one write changes one key",
      serverClock: "it goes by the clocks of the processes",
      close: "the client is the caller's",
      bound: "memcached forgets what was used least",
    },
  });

  const kept = (seconds: number): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const name = `kept ${Math.random()}`.replace(" ", "-");
      client.set(name, "x", seconds, (error) => (error ? reject(error as Error) : client.get(name, (failed, value) => (failed ? reject(failed as Error) : resolve(value === "x")))));
    });

  test.each([1, 999, 1_000, 2_591_999_000, 2_592_000_000, 40 * 86_400_000, 2 ** 45, Number.MAX_SAFE_INTEGER])("keeps an item of %i ms", async (ttlMs) => {
    expect(await kept(lifetimeOf(ttlMs))).toBe(true);
  });

  test("forgets an item with a date after 2^31 - 1 at once, which is why the example writes 0", async () => {
    expect(await kept(2 ** 31)).toBe(false);
  });
});

describe("the lifetime of an item", () => {
  const now = 1_750_000_000_000;

  test("is whole seconds and one more, up to 30 days", () => {
    expect([1, 1_000, 1_001, 2_591_999_000].map((ttlMs) => lifetimeOf(ttlMs, now))).toEqual([2, 2, 3, 2_592_000]);
  });

  test("is a date beyond that, and never where the date would pass 2^31 - 1", () => {
    const last = (2 ** 31 - 1) * 1_000 - now - 1_000;
    expect([2_591_999_001, last, last + 1, 2 ** 53 - 1].map((ttlMs) => lifetimeOf(ttlMs, now))).toEqual([1_752_592_001, 2 ** 31 - 1, 0, 0]);
  });
});
