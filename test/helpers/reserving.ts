// Reservations over a server that several processes share, by the server's clock. Refills are so slow that the answers
// are known in advance.
import { createLimiter, createReservations, type AsyncStore, type Decision } from "sluice";
import { expect, test } from "vitest";

const DAY = 86_400_000;

/** Registers the tests. `open` makes a store on the same buckets each time, like another process. */
export function reservesTogether(open: (options: { readonly denyCacheMs?: number }) => AsyncStore): void {
  let policies = 0;
  const limiters = (capacity: number, options: { readonly denyCacheMs?: number } = {}) => {
    const policy = { name: `llm-${process.pid}-${++policies}`, capacity, refill: { tokens: 1, everyMs: DAY } };
    // Without a timeout, because the speed of a busy machine is not tested here.
    const make = () => createLimiter({ policy, store: open(options), storeTimeoutMs: Infinity, onStoreError: "unavailable" });
    return [make(), make()] as const;
  };

  test("L10 · two processes reserve and settle at once, and the bucket stands where the used tokens have brought it", async () => {
    const [one, other] = limiters(100, { denyCacheMs: 0 });
    const budgets = [createReservations(one), createReservations(other)];
    const made = await Promise.all(Array.from({ length: 60 }, (_, i) => (budgets[i % 2] as (typeof budgets)[number]).reserve("ann", 3)));
    const allowed = made.filter((reservation) => reservation.allowed);
    expect(allowed).toHaveLength(33);
    const used = allowed.map((_, i) => [0, 1, 3, 4][i % 4] as number);
    // Each reservation is settled and cancelled, like in a handler with cleanup code.
    const said = allowed.flatMap((reservation, i) => [reservation.settle(used[i] as number), reservation.cancel()]);
    expect(await Promise.all(said)).toEqual(said.map(() => true));
    const left = 100 - used.reduce((sum, tokens) => sum + tokens, 0);
    expect([(await one.peek("ann")).remaining, (await other.peek("ann")).remaining]).toEqual([left, left]);
  });

  test("a debt is seen by every process, and one settlement adds at most one capacity", async () => {
    const [one, other] = limiters(10, { denyCacheMs: 0 });
    const [first, second] = [await createReservations(one).reserve("ann", 10), await createReservations(other).reserve("ann", 1)];
    expect([first.allowed, second.allowed]).toEqual([true, false]);
    await first.settle(16);
    for (const limiter of [one, other]) expectWait(await limiter.consume("ann"), 7 * DAY);
    await expect(second.settle(16)).resolves.toBe(false);
    // An administrator's refund makes room for another debt, which is too large.
    await one.refund("ann", 8);
    const third = await createReservations(other).reserve("ann", 2);
    await third.settle(1_000_000);
    for (const limiter of [one, other]) expectWait(await limiter.consume("ann", 10), 20 * DAY);
  });

  test("a process that remembers a refusal sees its own debt, and its own money back, at once", async () => {
    const [limiter] = limiters(10);
    const budget = createReservations(limiter);
    const [first, second] = [await budget.reserve("ann", 4), await budget.reserve("ann", 6)];
    expectWait(await limiter.consume("ann"), DAY);
    await first.settle(7);
    expectWait(await limiter.consume("ann"), 4 * DAY);
    await second.cancel();
    expect(await limiter.consume("ann", 3)).toMatchObject({ allowed: true, remaining: 0 });
  });
}

// The refill during the test is at most that of a minute.
function expectWait({ allowed, retryAfterMs }: Decision, ms: number): void {
  expect(allowed).toBe(false);
  expect(retryAfterMs).toBeGreaterThan(ms - 60_000);
  expect(retryAfterMs).toBeLessThanOrEqual(ms);
}
