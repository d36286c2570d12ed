import { perSecond, TokenBucket } from "sluice";
import { countdown, createFetch } from "sluice/client";
import { createTraffic } from "sluice/client/traffic";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";

describe("ManualClock", () => {
  test("starts at 0 or at the given time, and stands still", () => {
    expect(new ManualClock().now()).toBe(0);
    const clock = new ManualClock(1_700_000_000_000.5);
    expect([clock.now(), clock.now()]).toEqual([1_700_000_000_000.5, 1_700_000_000_000.5]);
  });

  test("advances by any amount, including negative ones and fractions, and jumps with set", () => {
    const clock = new ManualClock(10);
    const readings = [5, -20, 0.25].map((ms) => {
      clock.advance(ms);
      return clock.now();
    });
    clock.set(-3);
    expect([...readings, clock.now()]).toEqual([15, -5, -4.75, -3]);
  });

  test("`now` works as a function of its own", () => {
    const clock = new ManualClock();
    const bucket = new TokenBucket({ capacity: 1, refill: perSecond(1), clock: clock.now });
    bucket.consume();
    clock.advance(999);
    expect(bucket.peek().allowed).toBe(false);
    clock.advance(1);
    expect(bucket.peek().allowed).toBe(true);
  });

  test("as the `time` of a client it moves by the client's waits, without jitter", async () => {
    const clock = new ManualClock(Date.UTC(2026, 10, 21));
    const refused = (wait: string): Response => new Response(null, { status: 429, headers: { "Retry-After": wait } });
    const answers = [refused("30"), refused(new Date(clock.now() + 70_000).toUTCString()), new Response("hello")];
    const fetch = createFetch({ time: clock, fetch: async () => answers.shift() as Response });
    expect(await (await fetch("http://localhost/")).text()).toBe("hello");
    expect(clock.now()).toBe(Date.UTC(2026, 10, 21) + 70_000);
  });

  test("calls that a traffic queues come in the clock's time, too", async () => {
    const clock = new ManualClock();
    const sent: number[] = [];
    const wire = async (): Promise<Response> => (sent.push(clock.now()) === 1 ? new Response(null, { status: 429, headers: { "Retry-After": "5" } }) : new Response());
    const fetch = createFetch({ time: clock, traffic: createTraffic(), fetch: wire, merge: false });
    await Promise.all([fetch("http://localhost/"), fetch("http://localhost/")]);
    expect(sent.filter((at) => at > 0).every((at) => at >= 5_000)).toBe(true);
    expect(sent.length).toBeGreaterThan(2);
  });

  test("as the `time` of a countdown it counts to 0 at once", async () => {
    const clock = new ManualClock();
    const seconds: number[] = [];
    await countdown({ retryAt: new Date(2_500) }, (left) => void seconds.push(left), { time: clock });
    expect([seconds, clock.now()]).toEqual([[3, 2, 1, 0], 2_500]);
  });

  test("sleeps side by side end together with the longest, and an aborted one moves nothing", async () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    const aborted = clock.sleep(60_000, stop.signal);
    const both = Promise.all([clock.sleep(3_000), clock.sleep(1_000)]);
    expect(clock.now()).toBe(0);
    stop.abort(new Error("left the screen"));
    await expect(aborted).rejects.toThrow("left the screen");
    await both;
    expect(clock.now()).toBe(3_000);
  });
});
