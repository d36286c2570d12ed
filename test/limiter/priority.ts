// Two policies of one name and one refill: what bulk may not take stays for what matters. The same tests for every store.
import { randomUUID } from "node:crypto";
import { createLimiter, definePolicy, perMinute, type Store } from "sluice";
import { expect, test } from "vitest";

export const all = definePolicy({ name: "api", capacity: 100, refill: perMinute(100) });
export const bulk = definePolicy({ name: "api", capacity: 70, refill: perMinute(100) });

/** `advance` lets time pass for the store. `fullMs` is how long a bucket of a lease or a share takes to say its numbers. */
export function testPriority(makeStore: () => Store, advance: (ms: number) => void): void {
  const takeAll = async (limiter: ReturnType<typeof createLimiter<Store>>, key: string, policy = all): Promise<number> => {
    let served = 0;
    while ((await limiter.consume(key, { policy })).allowed) served += 1;
    return served;
  };

  test("bulk never takes the last 30 tokens, and what matters gets them", async () => {
    const limiter = createLimiter({ policy: all, store: makeStore() });
    const first = randomUUID(); // a full bucket, also when the test is tried again
    expect(await takeAll(limiter, first, bulk)).toBe(70);
    expect(await limiter.peek(first, { policy: bulk })).toMatchObject({ allowed: false, capacity: 70, remaining: 0 });
    expect(await limiter.peek(first, { policy: all })).toMatchObject({ allowed: true, capacity: 100, remaining: 30 });
    expect(await takeAll(limiter, first)).toBe(30);
    expect((await limiter.consume(first, { policy: bulk })).allowed).toBe(false);
  });

  test("up to the rate nothing that matters is refused because of bulk, and bulk gets what is left", async () => {
    const limiter = createLimiter({ policy: all, store: makeStore() });
    const second = randomUUID();
    let [refused, important, served] = [0, 0, 0];
    await takeAll(limiter, second, bulk);
    for (let ms = 0; ms < 60_000; ms += 300) {
      advance(300);
      if ((await limiter.consume(second, { policy: bulk })).allowed) served += 1;
      if (ms % 1_200 !== 0) continue;
      important += 1;
      if (!(await limiter.consume(second)).allowed) refused += 1;
    }
    expect({ refused, important }).toEqual({ refused: 0, important: 50 });
    expect(served).toBeGreaterThanOrEqual(48);
    expect(served).toBeLessThanOrEqual(51);
  });
}
