// Settlements over a server that several processes share, by the server's clock. Refills are so slow that the answers
// are known in advance.
import { createLimiter, type AsyncStore, type Decision } from "sluice";
import { expect, test } from "vitest";

const DAY = 86_400_000;

/** Registers the tests. `open` makes a store on the same buckets each time, like another process. */
export function settlesTogether(open: (options: { readonly denyCacheMs?: number; readonly timeoutMs: number }) => AsyncStore): void {
  let policies = 0;
  const limiters = (capacity: number, options: { readonly denyCacheMs?: number } = {}) => {
    const policy = { name: `llm-${process.pid}-${++policies}`, capacity, refill: { tokens: 1, everyMs: DAY } };
    // Without a timeout, because the speed of a busy machine is not tested here.
    const make = () => createLimiter({ policy, store: open({ ...options, timeoutMs: Infinity }), onStoreError: "unavailable" });
    return [make(), make()] as const;
  };

  test("L10 · two processes take and settle at once, and the bucket stands where the used tokens have brought it", async () => {
    const both = limiters(100, { denyCacheMs: 0 });
    const [one, other] = both;
    const of = (i: number) => both[i % 2] as typeof one;
    const made = await Promise.all(Array.from({ length: 60 }, async (_, i) => ({ limiter: of(i), decision: await of(i).consume("ann", 3) })));
    const allowed = made.filter(({ decision }) => decision.allowed);
    expect(allowed).toHaveLength(33);
    const used = allowed.map((_, i) => [0, 1, 3, 4][i % 4] as number);
    // Each decision is settled and refunded, like in a handler with cleanup code, and the second does nothing.
    const said = allowed.flatMap(({ limiter, decision }, i) => [limiter.settle("ann", decision, used[i] as number), limiter.refund("ann", decision)]);
    expect(await Promise.all(said)).toEqual(said.map((_, i) => i % 2 === 0));
    const left = 100 - used.reduce((sum, tokens) => sum + tokens, 0);
    expect([(await one.peek("ann")).remaining, (await other.peek("ann")).remaining]).toEqual([left, left]);
  });

  test("a debt is seen by every process, and one settlement adds at most one capacity", async () => {
    const [one, other] = limiters(10, { denyCacheMs: 0 });
    const [first, second] = [await one.consume("ann", 10), await other.consume("ann")];
    expect([first.allowed, second.allowed]).toEqual([true, false]);
    await one.settle("ann", first, 16);
    for (const limiter of [one, other]) expectWait(await limiter.consume("ann"), 7 * DAY);
    await expect(other.settle("ann", second, 16)).resolves.toBe(false);
    // An administrator's credit makes room for another debt, which is too large.
    await one.credit("ann", 8);
    await other.settle("ann", await other.consume("ann", 2), 1_000_000);
    for (const limiter of [one, other]) expectWait(await limiter.consume("ann", 10), 20 * DAY);
  });

  test("a process that remembers a refusal sees its own debt, and its own money back, at once", async () => {
    const [limiter] = limiters(10);
    const [first, second] = [await limiter.consume("ann", 4), await limiter.consume("ann", 6)];
    expectWait(await limiter.consume("ann"), DAY);
    await limiter.settle("ann", first, 7);
    expectWait(await limiter.consume("ann"), 4 * DAY);
    await limiter.refund("ann", second);
    expect(await limiter.consume("ann", 3)).toMatchObject({ allowed: true, remaining: 0 });
  });
}

// The refill during the test is at most that of a minute.
function expectWait({ allowed, retryAfterMs }: Decision, ms: number): void {
  expect(allowed).toBe(false);
  expect(retryAfterMs).toBeGreaterThan(ms - 60_000);
  expect(retryAfterMs).toBeLessThanOrEqual(ms);
}
