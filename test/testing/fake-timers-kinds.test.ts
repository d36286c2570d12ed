// Fake timers of a test runner move quotas, waiters and gates, too, as the page on tests says.
import { createLimiter, createWaiter, daily, perSecond } from "sluice";
import { rateLimit } from "sluice/web";
import { afterEach, expect, test, vi } from "vitest";

afterEach(() => void vi.useRealTimers());

test("L6 · a quota goes by the date, and for a rate a date that is set ahead is a suspension, which fills it once", () => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1, 12) });
  const quota = createLimiter({ policy: { capacity: 1, renews: daily() } });
  const rate = createLimiter({ policy: { refill: perSecond(1) } });
  for (const limiter of [quota, rate]) expect([limiter.consume("ada").allowed, limiter.consume("ada").allowed]).toEqual([true, false]);

  vi.setSystemTime(Date.UTC(2026, 0, 2));
  for (const limiter of [quota, rate]) expect([limiter.consume("ada").allowed, limiter.consume("ada").allowed]).toEqual([true, false]);
});

test("a waiter and a gate follow, with a list of four in `toFake`", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout"] });
  const limiter = createLimiter({ policy: { refill: perSecond(1) } });
  const handle = rateLimit({ limiter, key: () => "ada" })(() => new Response("hello"));
  const ask = async () => (await handle(new Request("http://localhost/"))).status;
  expect([await ask(), await ask()]).toEqual([200, 429]);

  const waiting = createWaiter(limiter).consume("ada");
  await vi.advanceTimersByTimeAsync(1_000);
  expect((await waiting).allowed).toBe(true);

  vi.advanceTimersByTime(1_000);
  expect(await ask()).toBe(200);
});
