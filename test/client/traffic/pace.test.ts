import fc from "fast-check";
import { definePolicy, perMinute, perSecond, type Refill, MemoryStore } from "sluice";
import { parseRateLimit } from "sluice/client";
import { draft11, draft7, triple } from "sluice/http";
import { rateLimit } from "sluice/web";
import { describe, expect, test } from "vitest";
import { Desk, refused, reporting, silent } from "./traffic-desk.js";
import type { TrafficResponse } from "../../../src/client/fetch/options.js";

/** Schedules `count` calls at once and returns when each was sent. None gets a response. */
async function instants(desk: Desk, count: number): Promise<number[]> {
  const from = desk.time.now();
  const sent: number[] = [];
  for (let i = 0; i < count; i++) void desk.schedule(desk.call({ maxWaitMs: 1e9 })).then(() => sent.push(desk.time.now() - from));
  await desk.time.advance(1e6);
  return sent;
}

describe("pace", () => {
  test("all but a tenth of the limit is sent at once, the rest at the window's rate", async () => {
    const desk = new Desk();
    await desk.round(reporting({ limit: 20, remaining: 5, windowMs: 10_000 }));
    expect(await instants(desk, 6)).toEqual([0, 0, 0, 500, 1_000, 1_500]);
  });

  test("what is left lasts until the reset, if that is slower than the window's rate", async () => {
    const desk = new Desk();
    await desk.round(reporting({ limit: 100, remaining: 5, resetMs: 50_000, windowMs: 60_000 }));
    expect(await instants(desk, 3)).toEqual([10_000, 20_000, 30_000]);
  });

  test("without a window, what is left is spread over the time until the reset", async () => {
    const desk = new Desk();
    await desk.round(reporting({ limit: 5_000, remaining: 500, resetMs: 1_800_000 }));
    expect(await instants(desk, 2)).toEqual([3_600, 7_200]);
  });

  test("with nothing left, no call is sent before the reset, though none was refused", async () => {
    const desk = new Desk();
    await desk.round(reporting({ limit: 3, remaining: 0, resetMs: 10_000, windowMs: 30_000 }));
    expect(await instants(desk, 1)).toEqual([10_000]);
  });

  test("after a pause without calls, up to nine tenths are sent at once again", async () => {
    const desk = new Desk();
    await desk.round(reporting({ limit: 10, remaining: 2, windowMs: 10_000 }));
    await desk.time.advance(100_000);
    expect(await instants(desk, 11)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 1_000, 2_000]);
  });

  test("pending calls count as sent, whether or not the response counts them", async () => {
    const desk = new Desk();
    await desk.round(silent);
    const calls = Array.from({ length: 4 }, () => desk.call());
    for (const call of calls) await desk.schedule(call);
    desk.observe(calls[0]!, reporting({ limit: 10, remaining: 9, windowMs: 10_000 }));
    // 9 are left: 3 are pending and 1 is the reserve.
    expect((await instants(desk, 6)).filter((ms) => ms === 0)).toHaveLength(5);
  });

  test("tokens that other clients took are gone, and so are those of pending calls", async () => {
    const desk = new Desk();
    const told = { limit: 100, windowMs: 100_000 };
    await desk.round(reporting({ ...told, remaining: 50 }));
    const calls = Array.from({ length: 4 }, () => desk.call());
    for (const call of calls) await desk.schedule(call);
    desk.observe(calls[0]!, reporting({ ...told, remaining: 3 }));
    // The three that are left belong to the three pending calls.
    expect(await instants(desk, 2)).toEqual([1_000, 2_000]);
  });

  test("a response that was overtaken frees no token that later calls have used", async () => {
    const desk = new Desk();
    const [first, second] = [desk.call(), desk.call()];
    await desk.schedule(first);
    await desk.schedule(second);
    desk.observe(second, reporting({ limit: 10, remaining: 2, windowMs: 10_000 }));
    desk.observe(first, reporting({ limit: 10, remaining: 9, windowMs: 10_000 }));
    expect((await instants(desk, 3)).filter((ms) => ms === 0).length).toBeLessThanOrEqual(1);
  });

  test("refused calls are not counted as spent", async () => {
    const desk = new Desk();
    await desk.round(silent);
    const calls = Array.from({ length: 30 }, () => desk.call());
    for (const call of calls) await desk.schedule(call);
    const told = { limit: 10, windowMs: 10_000 };
    calls.forEach((call, i) => {
      if (i < 10) desk.observe(call, reporting({ ...told, remaining: 9 - i, resetMs: 1_000 }));
      else desk.observe(call, { ...reporting({ ...told, remaining: 0, resetMs: 1_000 }, 429), waitMs: 1_000, policies: ["api"] });
    });
    expect(await instants(desk, 1)).toEqual([1_000]);
  });

  test("a call counts as what the last response to its route said that it cost", async () => {
    const desk = new Desk();
    await desk.round(reporting({ limit: 100, remaining: 50, windowMs: 100_000, cost: 10 }));
    // 40 are free besides the reserve. Then each call waits for ten tokens.
    expect(await instants(desk, 6)).toEqual([0, 0, 0, 0, 10_000, 20_000]);
  });

  test("each route has its own cost, 1 until a response states another", async () => {
    const desk = new Desk();
    const told = { limit: 100, windowMs: 100_000 };
    await desk.round(reporting({ ...told, remaining: 40, cost: 15 }), { path: "/dear" });
    await desk.round(reporting({ ...told, remaining: 40 }), { path: "/cheap" });
    for (const path of ["/dear", "/cheap", "/dear", "/cheap"]) void desk.schedule(desk.call({ path, maxWaitMs: 1e9 }));
    await desk.time.advance(0);
    // 30 are free besides the reserve, and 13 are left after these.
    expect(desk.sent.slice(2)).toEqual(["/dear", "/cheap", "/cheap"]);
    await desk.time.advance(1_999);
    expect(desk.sent).toHaveLength(5);
    await desk.time.advance(1);
    expect(desk.sent.slice(5)).toEqual(["/dear"]);

    await desk.time.advance(100_000);
    await desk.round(reporting({ ...told, remaining: 12 }), { path: "/dear" });
    for (let i = 0; i < 2; i++) expect(await desk.schedule(desk.call({ path: "/dear", maxWaitMs: 0 }))).toBe(0);
  });

  test("pending calls, refused calls and queued calls count with their cost", async () => {
    const told = { limit: 100, windowMs: 100_000, cost: 10 };
    const desk = new Desk();
    await desk.round(reporting({ ...told, remaining: 99 }));
    const calls = Array.from({ length: 4 }, () => desk.call());
    for (const call of calls) await desk.schedule(call);
    desk.observe(calls[0]!, reporting({ ...told, remaining: 60 }));
    // Three calls are pending: 30 of the 60 are theirs.
    const now = { maxWaitMs: 0 };
    for (const waitMs of [0, 0, 0, 10_000]) expect(await desk.schedule(desk.call(now))).toBe(waitMs);
    // A refused call costs nothing.
    desk.observe(calls[1]!, refused(0, "other"));
    expect(await desk.schedule(desk.call(now))).toBe(0);
    void desk.schedule(desk.call({ maxWaitMs: 1e9 }));
    expect(await desk.schedule(desk.call(now))).toBe(20_000);
  });

  test("a cost above nine tenths of the limit is sent when these are there, and a cost of 0 at once", async () => {
    const desk = new Desk();
    await desk.round(reporting({ limit: 10, remaining: 0, windowMs: 10_000, cost: 10 }));
    expect(await instants(desk, 2)).toEqual([9_000, 18_000]);
    const free = new Desk();
    await free.round(reporting({ limit: 10, remaining: 1, windowMs: 10_000, cost: 0 }));
    expect(await instants(free, 9)).toEqual(Array(9).fill(0));
  });

  test("`pace: false` sends every call until one is refused", async () => {
    const desk = new Desk({ pace: false });
    await desk.round(reporting({ limit: 10, remaining: 0, resetMs: 10_000, windowMs: 10_000 }));
    expect(await instants(desk, 3)).toEqual([0, 0, 0]);
  });

  test("absurd numbers set no pace, or one, and never fail", async () => {
    const number = fc.oneof(fc.constantFrom(0, 1, 9e15, 1e300, Infinity), fc.nat(), fc.double({ min: 0, noNaN: true }));
    const told = fc.record({ limit: fc.option(number), remaining: number, resetMs: fc.option(number), windowMs: fc.option(number), cost: number });
    await fc.assert(
      fc.asyncProperty(fc.array(told, { maxLength: 4 }), async (answers) => {
        const desk = new Desk();
        for (const answer of answers) {
          const call = desk.call({ sensitive: true });
          const waitMs = await desk.schedule(call);
          expect(waitMs).toBeGreaterThanOrEqual(0);
          desk.observe(call, reporting(answer));
        }
        const waitMs = await desk.schedule(desk.call({ maxWaitMs: 0 }));
        expect(waitMs).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  test("the only client of a sluice server is never refused", async () => {
    const limits = fc.record({
      capacity: fc.integer({ min: 1, max: 60 }),
      refill: fc.oneof(fc.integer({ min: 1, max: 50 }).map(perSecond), fc.integer({ min: 1, max: 100 }).map(perMinute)) as fc.Arbitrary<Refill>,
    });
    const pauses = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 5, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(limits, pauses, fc.constantFrom(draft11(), triple(), draft7()), async (limit, list, style) => {
        const desk = new Desk();
        const server = rateLimit({ policy: definePolicy(limit), store: new MemoryStore({ clock: desk.time.now }), headers: [style], key: () => "me" })(() => new Response());
        for (const pause of list) {
          await desk.time.advance(pause);
          const call = desk.call({ maxWaitMs: 1e9 });
          await desk.time.run(desk.schedule(call));
          const response = await server(new Request("https://x.test/a"));
          expect(response.status).toBe(200);
          desk.observe(call, { status: 200, isRefusal: false, waitMs: null, limits: parseRateLimit(response.headers, 0), policies: [] });
        }
      }),
      { numRuns: 25 },
    );
  });

  test("calls that cost more, to a server that says what they cost, are never refused either", async () => {
    const costs = fc.record({ "/a": fc.integer({ min: 0, max: 9 }), "/b": fc.integer({ min: 1, max: 30 }) });
    const rates = fc.integer({ min: 1, max: 50 }).map(perSecond);
    const steps = fc.array(fc.record({ path: fc.constantFrom("/a" as const, "/b" as const), pauseMs: fc.integer({ min: 0, max: 3_000 }) }), { minLength: 5, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(costs, rates, steps, async (costOf, refill, list) => {
        const desk = new Desk();
        const server = rateLimit({
          policy: definePolicy({ capacity: 60, refill }), store: new MemoryStore({ clock: desk.time.now }), headers: [draft11()], key: () => "me",
          cost: (request) => costOf[new URL(request.url).pathname as "/a"],
        })(() => new Response());
        // The first call of each route is the first that states its cost.
        for (const { path, pauseMs } of [{ path: "/a" as const, pauseMs: 0 }, { path: "/b" as const, pauseMs: 0 }, ...list]) {
          await desk.time.advance(pauseMs);
          const call = desk.call({ path, maxWaitMs: 1e9 });
          await desk.time.run(desk.schedule(call));
          const response = await server(new Request(`https://x.test${path}`));
          expect(response.status).toBe(200);
          const headers = new Headers(response.headers);
          headers.set("RateLimit", `${headers.get("RateLimit")};c=${costOf[path]}`);
          desk.observe(call, { status: 200, isRefusal: false, waitMs: null, limits: parseRateLimit(headers, 0), policies: [] });
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe("a limit in flight slows no pace", () => {
  const inFlight = '"parallel";q=4;qu="concurrent-requests"';
  const told = (policy: string, limit: string): TrafficResponse => ({
    status: 200, isRefusal: false, waitMs: null, policies: [],
    limits: parseRateLimit(new Headers({ "RateLimit-Policy": policy, RateLimit: limit }), 0),
  });
  const sentAfter = async (...responses: TrafficResponse[]): Promise<number[]> => {
    const desk = new Desk();
    for (const response of responses) await desk.round(response);
    return instants(desk, 6);
  };

  test.each(['"parallel";r=0', '"parallel";r=0;t=1', '"parallel";r=3', '"parallel";r=1;t=30'])("that is alone: %s", async (item) => {
    expect(await sentAfter(told(inFlight, item), told(inFlight, item))).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test.each(['"parallel";r=0', '"parallel";r=0;t=1', '"parallel";r=1;t=30'])("beside a rate: %s", async (item) => {
    const [policy, limit] = ['"rate";q=20;w=10', '"rate";r=5;t=2'];
    const alone = await sentAfter(told(policy, limit));
    expect(alone).toEqual([0, 0, 0, 500, 1_000, 1_500]);
    expect(await sentAfter(told(`${policy}, ${inFlight}`, `${limit}, ${item}`))).toEqual(alone);
  });
});
