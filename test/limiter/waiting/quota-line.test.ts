// A line of callers over a quota: the renewals that its tokens need.
import fc from "fast-check";
import { createLimiter, createWaiter, daily, MemoryStore, monthly, perSecond, weekly, type Decision, type PolicyOptions, type Renewal } from "sluice";
import { afterEach, describe, expect, test, vi } from "vitest";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const midnight = Date.UTC(2027, 0, 5); // a Tuesday

/** A limiter 2 s before midnight, whose clock is that of the timers. */
function world(policy: PolicyOptions, beforeMs = 2_000) {
  vi.useFakeTimers({ now: midnight - beforeMs });
  const limiter = createLimiter({ policy, store: new MemoryStore({ clock: Date.now }) });
  return { limiter, waiter: createWaiter(limiter) };
}

const ask = (policy: PolicyOptions, taken: number, costs: readonly number[], own: number): Promise<Decision> => {
  const { limiter, waiter } = world(policy);
  if (taken > 0) limiter.consume("k", taken);
  for (const cost of costs) void waiter.consume("k", { cost, maxWaitMs: 1e12 });
  return waiter.consume("k", { cost: own, maxWaitMs: 500 });
};

const quota = (renews: Renewal, capacity = 2): PolicyOptions => ({ name: "q", capacity, renews });

afterEach(() => void vi.useRealTimers());

describe("a waiter over a quota", () => {
  test.each<[what: string, policy: PolicyOptions, taken: number, costs: readonly number[], own: number, waitMs: number]>([
    ["the next renewal brings the tokens", quota(daily()), 2, [], 1, 2_000],
    ["the second place of the next renewal", quota(daily()), 2, [1], 1, 2_000],
    ["six callers before it, 2 tokens a day", quota(daily()), 2, [1, 1, 1, 1, 1, 1], 1, 2_000 + 3 * DAY],
    ["the first does not fit in what is left, so it waits", quota(daily(), 3), 1, [3, 1, 1], 1, 2_000 + DAY],
    ["a period less, because something is left", quota(daily()), 1, [2, 2], 1, 2_000 + DAY],
    ["weeks", quota(weekly()), 2, [2, 1], 2, 2_000 + 6 * DAY + 14 * DAY],
    ["months of 31, 28 and 31 days", quota(monthly()), 2, [2, 2], 1, 2_000 + (27 + 28 + 31) * DAY],
    ["a rate beside it, which waits longer", { name: "q", limits: [{ capacity: 4, renews: daily() }, { capacity: 4, refill: { tokens: 1, everyMs: 3 * DAY } }] }, 4, [1], 1, 6 * DAY],
    ["a rate beside it, which is there", { name: "q", limits: [{ capacity: 2, renews: daily() }, { capacity: 100, refill: perSecond(100) }] }, 2, [2, 2], 2, 2_000 + 2 * DAY],
  ])("L20 · tells the wait: %s", async (_, policy, taken, costs, own, waitMs) => {
    const refused = await ask(policy, taken, costs, own);
    expect([refused.allowed, refused.retryAfterMs]).toEqual([false, waitMs]);
  });

  test("L20 · never tells a wait that is too long, and the exact one for costs that leave nothing of a period", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 6 }), fc.nat(6), fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 12 }), fc.boolean(), async (capacity, spent, list, isOne) => {
        const costs = list.map((cost) => (isOne ? 1 : Math.min(cost, capacity)));
        const taken = Math.min(spent, capacity);
        // Each caller in its turn takes its tokens as soon as they are there.
        let [period, free] = [0, capacity - taken];
        for (const cost of [...costs, 1]) {
          if (cost > free) [period, free] = [period + 1, capacity];
          free -= cost;
        }
        fc.pre(period > 0);
        const { retryAfterMs } = await ask(quota(daily(), capacity), taken, costs, 1);
        const exact = 2_000 + (period - 1) * DAY;
        expect(retryAfterMs).toBeLessThanOrEqual(exact);
        if (isOne) expect(retryAfterMs).toBe(exact);
      }),
      { numRuns: 100 },
    );
  });

  test("refuses at once those whose renewal comes too late, and serves the others at midnight", async () => {
    const { limiter, waiter } = world(quota(daily()));
    limiter.consume("k", 2);
    const answers: string[] = [];
    const line = Array.from({ length: 6 }, (_, i) => waiter.consume("k", { maxWaitMs: HOUR }).then(({ allowed, retryAfterMs }) => void answers.push(`${i + 1} ${Date.now() - midnight} ${allowed} ${retryAfterMs}`)));
    await vi.advanceTimersByTimeAsync(10);
    expect(answers).toEqual(["3 -2000 false 86402000", "4 -2000 false 86402000", "5 -2000 false 86402000", "6 -2000 false 86402000"]);
    expect(waiter.waiting).toBe(2);
    await vi.advanceTimersByTimeAsync(2_100);
    await Promise.all(line);
    expect(answers.slice(4).map((text) => text.split(" ")[2])).toEqual(["true", "true"]);
  });

  test("of 10,000 callers looks ahead no further than 100 renewals, and reads few dates", async () => {
    const renews = daily({ timeZone: "Europe/Berlin" });
    const dateOf = vi.spyOn(Intl.DateTimeFormat.prototype, "formatToParts");
    const { limiter, waiter } = world(quota(renews, 1));
    limiter.consume("k");
    const line = Array.from({ length: 10_000 }, () => waiter.consume("k", { maxWaitMs: 200 * DAY }));
    const last = await waiter.consume("k", { maxWaitMs: 0 });
    expect(last.retryAfterMs).toBeGreaterThan(95 * DAY);
    expect(waiter.waiting).toBe(10_000);
    expect(dateOf.mock.calls.length).toBeLessThan(3_000);
    vi.clearAllTimers();
    void line;
  });
});
