// The client takes a 503 of an overloaded service as any other 503: it waits and repeats the request.
import { createFetch } from "sluice/client";
import { ManualClock } from "sluice/testing";
import { rateLimit } from "sluice/web";
import { expect, test } from "vitest";
import { adaptive } from "sluice/adaptive";

test("waits as long as the 503 says, and repeats the request", async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const { limiter } = adaptive({ most: 1, clock: clock.now, random: () => 0.5 });
  const taken = limiter.consume("service");
  const served = rateLimit({ limiter, key: () => "service" })(() => new Response("hello"));
  const statuses: number[] = [];
  const fetch = createFetch({
    time: clock,
    async fetch(input, init) {
      const response = await served(new Request(input, init));
      statuses.push(response.status);
      limiter.refund("service", taken);
      return response;
    },
  });
  const response = await fetch("https://service.example/");
  expect([statuses, await response.text()]).toEqual([[503, 200], "hello"]);
  expect(clock.now() - Date.UTC(2026, 0, 1)).toBeGreaterThanOrEqual(3_000);
});
