import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { createTraffic, type TrafficCall } from "../../../src/client/traffic/traffic.js";
import { talk, URL_A } from "../fake-server.js";
import { refused, Desk, reporting, silent } from "./traffic-desk.js";

describe("after a refusal", () => {
  test("calls on the same policy wait, on every route that is known to draw on it", async () => {
    const desk = new Desk();
    await desk.round(reporting({ policy: "api" }), { path: "/b" });
    await desk.round(refused(2_000, "api"));
    void desk.schedule(desk.call({ path: "/a" }));
    void desk.schedule(desk.call({ path: "/b" }));
    await desk.time.advance(1_999.9);
    expect(desk.sent).toEqual(["/b", "/a"]);
    await desk.time.advance(0.1);
    expect(desk.sent).toEqual(["/b", "/a", "/a"]);
  });

  test.each([
    ["on another policy", { path: "/b" }],
    ["of another route without a response", { path: "/c" }],
    ["of another identity", { identity: "bob" }],
    ["to another origin", { origin: "https://y.test" }],
  ])("calls %s do not wait", async (_, facts) => {
    const desk = new Desk();
    await desk.round(reporting({ policy: "other" }), { path: "/b" });
    await desk.round(refused(2_000, "api"));
    expect(await desk.schedule(desk.call(facts))).toBe(0);
  });

  test("the first call is sent after the wait, within its jitter, never before", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 50_000 }), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), async (waitMs, chance) => {
        const desk = new Desk();
        desk.chance = chance;
        await desk.time.advance(0.25);
        await desk.round(refused(waitMs, "api"));
        const left = desk.schedule().then(() => desk.time.now() - 0.25);
        await desk.time.advance(1e6);
        expect(await left).toBeGreaterThanOrEqual(waitMs);
        expect(await left).toBeLessThanOrEqual(waitMs + Math.min(0.1 * waitMs, 1_000) + 1e-6);
      }),
      { numRuns: 200 },
    );
  });

  test("a second refusal with a shorter wait does not shorten the first", async () => {
    const desk = new Desk();
    const calls = [desk.call(), desk.call()] as const;
    await Promise.all(calls.map((call) => desk.schedule(call)));
    desk.observe(calls[0], refused(5_000, "api"));
    desk.observe(calls[1], refused(1_000, "api"));
    void desk.schedule(undefined, "later");
    await desk.time.advance(4_999);
    expect(desk.sent).not.toContain("later");
    await desk.time.advance(1);
    expect(desk.sent).toContain("later");
  });

  test("a refusal that names no policy pauses its own route, across numbers and ids in the path", async () => {
    const desk = new Desk();
    await desk.round(refused(1_000), { path: "/users/17/posts" });
    void desk.schedule(desk.call({ path: "/users/0f8fad5b-d9cb/posts" }));
    expect(await desk.schedule(desk.call({ path: "/users/17/posts", method: "DELETE" }))).toBe(0);
    expect(await desk.schedule(desk.call({ path: "/users/17/likes" }))).toBe(0);
    expect(desk.sent).toEqual(["/users/17/posts", "/users/17/posts", "/users/17/likes"]);
    await desk.time.advance(1_000);
    expect(desk.sent).toHaveLength(4);
  });

  test("the `route` option groups calls", async () => {
    const desk = new Desk({ route: () => "all" });
    await desk.round(refused(1_000), { path: "/a" });
    expect(await desk.schedule(desk.call({ path: "/b", maxWaitMs: 999 }))).toBe(1_000);
  });

  test("a refusal that names no policy pauses the policies with nothing remaining", async () => {
    const desk = new Desk();
    await desk.round(reporting({ policy: "api" }), { path: "/b" });
    await desk.round({ ...refused(1_000), limits: reporting({ policy: "api", remaining: 0 }).limits });
    expect(await desk.schedule(desk.call({ path: "/b", maxWaitMs: 999 }))).toBe(1_000);
  });

  test("a refusal without a wait pauses no call, but sends one at a time", async () => {
    const desk = new Desk();
    await desk.round(refused(null, "api"));
    for (const name of ["1", "2"]) void desk.schedule(undefined, name);
    await desk.time.advance(0);
    expect(desk.sent).toEqual(["/a", "1"]);
  });
});

describe("after the pause", () => {
  /** Six queued calls, at the end of a pause. */
  async function sixWaiting(): Promise<{ desk: Desk; calls: ReturnType<Desk["call"]>[] }> {
    const desk = new Desk();
    await desk.round(refused(1_000, "api"));
    desk.sent.length = 0;
    const calls = Array.from({ length: 6 }, () => desk.call());
    calls.forEach((call, i) => void desk.schedule(call, String(i + 1)));
    await desk.time.advance(1_000);
    return { desk, calls };
  }

  test("one call is sent first, and two responses that are not refusals send three more, in order", async () => {
    const { desk, calls } = await sixWaiting();
    expect(desk.sent).toEqual(["1"]);
    desk.observe(calls[0]!, reporting());
    await desk.time.advance(0);
    expect(desk.sent).toEqual(["1", "2"]);
    desk.observe(calls[1]!, reporting({}, 500));
    await desk.time.advance(0);
    expect(desk.sent).toEqual(["1", "2", "3", "4"]);
    desk.observe(calls[2]!, reporting());
    await desk.time.advance(0);
    expect(desk.sent).toEqual(["1", "2", "3", "4", "5"]);
  });

  test("a refusal pauses again, and a late response to a call from before it opens no slot", async () => {
    const { desk, calls } = await sixWaiting();
    for (const call of calls.slice(0, 2)) {
      desk.observe(call, reporting());
      await desk.time.advance(0);
    }
    expect(desk.sent).toEqual(["1", "2", "3", "4"]);
    desk.observe(calls[2]!, refused(3_000, "api"));
    desk.observe(calls[3]!, reporting());
    await desk.time.advance(2_999);
    expect(desk.sent).toHaveLength(4);
    await desk.time.advance(1);
    expect(desk.sent).toEqual(["1", "2", "3", "4", "5"]);
  });

  test("a call without a response delays the next call by one second at most", async () => {
    const { desk } = await sixWaiting();
    await desk.time.advance(999);
    expect(desk.sent).toEqual(["1"]);
    await desk.time.advance(1);
    expect(desk.sent).toEqual(["1", "2"]);
    await desk.time.advance(1e6);
    expect(desk.sent).toHaveLength(6);
  });

  test("a retry keeps the position of its call", async () => {
    const desk = new Desk();
    const first = desk.call();
    await desk.schedule(first, "first");
    desk.observe(first, refused(1_000, "api"));
    void desk.schedule(undefined, "second");
    void desk.schedule(first, "first again");
    await desk.time.advance(1_000);
    expect(desk.sent).toEqual(["first", "first again"]);
  });

  test("a retry, which has waited with its own jitter, gets no more", async () => {
    const desk = new Desk();
    desk.chance = 0.5;
    const call = desk.call();
    await desk.schedule(call, "first");
    desk.observe(call, refused(1_000, "api"));
    await desk.time.advance(1_010);
    void desk.schedule(undefined, "another");
    expect(await desk.schedule(call, "retry")).toBe(0);
    expect(desk.sent).toEqual(["first", "retry"]);
  });

  test("a call that waits for two policies does not delay a call that waits for one of them", async () => {
    const desk = new Desk();
    await desk.round({ ...reporting(), limits: ["api", "exports"].flatMap((policy) => reporting({ policy }).limits ?? []) }, { path: "/export" });
    await desk.round(reporting({ policy: "api" }));
    await desk.round(refused(30_000, "exports"), { path: "/export" });
    void desk.schedule(desk.call({ path: "/export" }));
    expect(await desk.schedule()).toBe(0);
    await desk.time.advance(29_999);
    expect(desk.sent.filter((name) => name === "/export")).toHaveLength(2);
    await desk.time.advance(1);
    expect(desk.sent.filter((name) => name === "/export")).toHaveLength(3);
  });

  test("once no call is queued, all new calls are sent", async () => {
    const { desk, calls } = await sixWaiting();
    for (const call of calls) {
      desk.observe(call, reporting());
      await desk.time.advance(0);
    }
    for (let i = 0; i < 20; i++) expect(await desk.schedule()).toBe(0);
  });
});

describe("a wait that is too long", () => {
  test("is returned at once, exact and without jitter, and nothing is sent", async () => {
    const desk = new Desk();
    desk.chance = 0.9;
    await desk.round(refused(60_001, "api"));
    expect(await desk.schedule()).toBe(60_001);
    expect(desk.sent).toHaveLength(1);
    expect(desk.time.sleeping).toBe(0);
  });

  test("is longer than `maxWaitMs`: a wait of exactly `maxWaitMs` plus jitter is waited", async () => {
    const desk = new Desk();
    desk.chance = 0.999;
    await desk.round(refused(60_000, "api"));
    const left = desk.schedule().then((waitMs) => [waitMs, desk.time.now()]);
    await desk.time.advance(1e6);
    expect(await left).toEqual([0, 60_999]);
  });

  test("drops calls that are already queued when the server asks for more", async () => {
    const desk = new Desk();
    const [early, late] = [desk.call(), desk.call()];
    await Promise.all([desk.schedule(early), desk.schedule(late)]);
    desk.observe(early, refused(10_000, "api"));
    const waiting = desk.schedule(desk.call({ maxWaitMs: 20_000 }));
    await desk.time.advance(5_000);
    desk.observe(late, refused(3_600_000, "api"));
    await desk.time.advance(0);
    expect(await waiting).toBe(3_600_000);
    expect(desk.time.sleeping).toBe(0);
  });

  test("drops a call at its deadline when the calls before it get no response", async () => {
    const desk = new Desk();
    await desk.round(refused(1_000, "api"));
    for (let i = 0; i < 10; i++) void desk.schedule();
    const last = desk.schedule(desk.call({ maxWaitMs: 4_000 }));
    await desk.time.advance(5_000);
    expect(await last).toBeGreaterThan(0);
  });

  test("includes the calls ahead, when the pace is known", async () => {
    const desk = new Desk();
    await desk.round(reporting({ limit: 10, remaining: 1, windowMs: 10_000 }));
    const calls = Array.from({ length: 5 }, (_, i) => desk.schedule(desk.call({ maxWaitMs: 3_000 }), String(i)));
    await desk.time.advance(1e6);
    // One token a second. The calls that need the fourth and the fifth are dropped at once.
    expect(await Promise.all(calls)).toEqual([0, 0, 0, 4_000, 4_000]);
  });
});

describe("a sensitive call", () => {
  test("gets the wait and is not queued", async () => {
    const desk = new Desk();
    await desk.round(refused(1_000, "api"));
    await desk.time.advance(400);
    expect(await desk.schedule(desk.call({ sensitive: true }))).toBe(600);
    expect(desk.sent).toHaveLength(1);
    await desk.time.advance(600);
    expect(await desk.schedule(desk.call({ sensitive: true }))).toBe(0);
  });

  test("neither queues nor slows down", async () => {
    const desk = new Desk();
    await desk.round(reporting({ limit: 10, remaining: 1, windowMs: 10_000 }));
    for (let i = 0; i < 3; i++) expect(await desk.schedule(desk.call({ sensitive: true }))).toBe(0);
  });
});

describe("an aborted call", () => {
  test("rejects with the signal's reason, and the next call takes its turn", async () => {
    const desk = new Desk();
    await desk.round(refused(1_000, "api"));
    const [first, second] = [new AbortController(), new AbortController()];
    const waits = [first, second].map((controller, i) => desk.schedule(desk.call({ signal: controller.signal }), String(i)));
    first.abort(new Error("no more"));
    await expect(waits[0]).rejects.toThrow("no more");
    await desk.time.advance(1_000);
    expect(desk.sent).toEqual(["/a", "1"]);
  });

  test("that was the last one leaves no timer", async () => {
    const desk = new Desk();
    await desk.round(refused(1_000, "api"));
    const controller = new AbortController();
    const wait = desk.schedule(desk.call({ signal: controller.signal }));
    controller.abort("gone");
    await expect(wait).rejects.toBe("gone");
    await desk.time.advance(0);
    expect(desk.time.sleeping).toBe(0);
  });

  test("that aborted before it was scheduled is not sent", async () => {
    const desk = new Desk();
    await expect(desk.schedule(desk.call({ signal: AbortSignal.abort("early") }))).rejects.toBe("early");
  });
});

describe("a server with an absurd wait", () => {
  const HOUR = 3_600_000;

  test.each([
    ["a refusal for 3,000 years", refused(1e14, "api")],
    ["an infinite refusal", refused(Infinity, "api")],
    ["nothing left for a day", reporting({ remaining: 0, resetMs: 86_400_000 })],
    ["a limit of 1 in 1,000 days", reporting({ limit: 1, remaining: 0, windowMs: 86_400_000_000 })],
  ])("%s: after an hour one call is a probe, and its response counts", async (_, answer) => {
    const desk = new Desk();
    await desk.round(answer);
    await desk.time.advance(HOUR - 1);
    expect(await desk.schedule()).toBeGreaterThan(HOUR);
    await desk.time.advance(1);
    const asking = desk.call();
    expect(await desk.schedule(asking)).toBe(0);
    expect(await desk.schedule()).toBeGreaterThan(HOUR);
    desk.observe(asking, reporting());
    expect([await desk.schedule(), await desk.schedule()]).toEqual([0, 0]);
  });

  test("the probe's response replaces the pause, also when it is a refusal", async () => {
    const desk = new Desk();
    await desk.round(refused(Infinity, "api"));
    await desk.time.advance(HOUR);
    await desk.round(refused(70_000, "api"));
    expect(await desk.schedule()).toBe(70_000);
    await desk.time.advance(70_000);
    expect(await desk.schedule()).toBe(0);
  });

  test("after a probe without a response, the next call is a probe", async () => {
    const desk = new Desk();
    await desk.round(refused(Infinity, "api"));
    await desk.time.advance(HOUR);
    const lost = desk.call();
    await desk.schedule(lost);
    desk.observe(lost, null);
    expect(await desk.schedule()).toBe(0);
    expect(await desk.schedule()).toBe(Infinity);
  });

  test("a sensitive call may be the probe", async () => {
    const desk = new Desk();
    await desk.round(refused(Infinity, "api"));
    expect(await desk.schedule(desk.call({ sensitive: true }))).toBe(Infinity);
    await desk.time.advance(HOUR);
    expect(await desk.schedule(desk.call({ sensitive: true }))).toBe(0);
    expect(await desk.schedule(desk.call({ sensitive: true }))).toBe(Infinity);
  });

  test("a call with a `maxWaitMs` above an hour is the probe", async () => {
    const desk = new Desk();
    await desk.round(refused(24 * HOUR, "api"));
    const sentAt = desk.schedule(desk.call({ maxWaitMs: 48 * HOUR })).then(() => desk.time.now());
    await desk.time.advance(2 * HOUR);
    expect(await sentAt).toBe(HOUR);
  });
});

describe("thousands of queued calls", () => {
  const MANY = 4_000;

  /** Many calls queued behind a pause, and how often one of them was checked. */
  async function crowd(): Promise<{ desk: Desk; looks: () => number; stop: AbortController[]; waits: Promise<unknown>[]; calls: ReturnType<Desk["call"]>[] }> {
    const desk = new Desk();
    await desk.round(refused(2_000, "api"));
    let looked = 0;
    const stop: AbortController[] = [];
    const calls = Array.from({ length: MANY }, () => {
      const controller = new AbortController();
      stop.push(controller);
      return Object.defineProperty(desk.call({ signal: controller.signal }), "maxWaitMs", { get: () => (looked++, 60_000) });
    });
    const waits = calls.map((call, i) => desk.schedule(call, String(i)).catch((error: unknown) => error));
    return { desk, looks: () => looked, stop, waits, calls };
  }

  test("are checked a few times each, not once for every other call, until the last has its response", async () => {
    const { desk, looks, waits, calls } = await crowd();
    expect(looks()).toBeLessThan(4 * MANY);
    await desk.time.advance(2_000);
    // Each response arrives on its own, as on a network.
    for (let i = 0; i < MANY; i++) {
      desk.observe(calls[i]!, reporting());
      await Promise.resolve();
    }
    await Promise.all(waits);
    expect(desk.sent.slice(1)).toEqual(Array.from({ length: MANY }, (_, i) => String(i)));
    expect(looks()).toBeLessThan(8 * MANY);
  });

  test("may abort one after another, and the others are not checked for it", async () => {
    const { desk, looks, stop, waits } = await crowd();
    const before = looks();
    for (const controller of stop) controller.abort("gone");
    expect(new Set(await Promise.all(waits))).toEqual(new Set(["gone"]));
    expect(looks() - before).toBeLessThan(MANY);
    await desk.time.advance(0);
    expect(desk.time.sleeping).toBe(0);
  });

  test("that would wait too long are dropped within 100 ms, however fast responses arrive", async () => {
    const desk = new Desk();
    await desk.round(silent);
    const flights = Array.from({ length: 50 }, () => desk.call());
    for (const call of flights) await desk.schedule(call);
    desk.observe(flights[0]!, refused(1_000, "api"));
    const waiting = desk.schedule(desk.call({ maxWaitMs: 5_000 }));
    for (const call of flights.slice(1, 40)) desk.observe(call, refused(1_000, "api"));
    desk.observe(flights[40]!, refused(60_000, "api"));
    await desk.time.advance(100);
    expect(await Promise.race([waiting, Promise.resolve("still waiting")])).toBeGreaterThan(59_000);
  });
});

describe("a new route", () => {
  /** Twenty calls at once. Resolves when none of them goes any more by itself. */
  async function cold(desk: Desk, facts: Partial<TrafficCall> = {}): Promise<TrafficCall[]> {
    const calls = Array.from({ length: 20 }, () => desk.call(facts));
    for (const call of calls) void desk.schedule(call).catch(() => undefined);
    await desk.time.advance(0);
    return calls;
  }

  test("sends three calls, and the others as the first answer says", async () => {
    const desk = new Desk();
    const [first] = await cold(desk);
    expect(desk.sent).toHaveLength(3);
    await desk.time.advance(500);
    expect(desk.sent).toHaveLength(3);
    desk.observe(first!, reporting({ limit: 10, remaining: 9, windowMs: 10_000 }));
    await desk.time.advance(0);
    // 9 are left: 2 are pending and 1 is the reserve.
    expect(desk.sent).toHaveLength(9);
  });

  test.each([["a failure or an abort", null], ["an answer without fields", silent]])("lets all go after %s, and holds none again", async (_, answer) => {
    const desk = new Desk();
    const [first] = await cold(desk);
    desk.observe(first!, answer);
    await desk.time.advance(0);
    expect(desk.sent).toHaveLength(20);
    await cold(desk);
    expect(desk.sent).toHaveLength(40);
  });

  test("without an answer lets all go after 1,000 ms", async () => {
    const desk = new Desk();
    await cold(desk);
    await desk.time.advance(999);
    expect(desk.sent).toHaveLength(3);
    await desk.time.advance(1);
    expect(desk.sent).toHaveLength(20);
  });

  test("holds no call that allows no such wait, and tells no wait", async () => {
    const desk = new Desk();
    const told: number[] = [];
    await cold(desk, { maxWaitMs: 999, onQueued: (waitMs) => told.push(waitMs) });
    expect(desk.sent).toHaveLength(20);
    await cold(desk, { path: "/b", onQueued: (waitMs) => told.push(waitMs) });
    expect([desk.sent.length, told]).toEqual([23, []]);
  });

  test("a held call obeys its own signal, and a sensitive one is not held", async () => {
    const desk = new Desk();
    await cold(desk);
    const aborting = new AbortController();
    const held = desk.schedule(desk.call({ signal: aborting.signal }));
    aborting.abort(new Error("left"));
    await expect(held).rejects.toThrow("left");
    expect(await desk.schedule(desk.call({ sensitive: true }))).toBe(0);
    await desk.time.advance(1_000);
    expect(desk.sent).toHaveLength(21);
  });

  test("holds nothing where requests share no work (law L15)", async () => {
    vi.stubGlobal("WebSocketPair", class WebSocketPair {});
    const desk = new Desk();
    vi.unstubAllGlobals();
    await cold(desk);
    expect(desk.sent).toHaveLength(20);
  });
});

test("a call is not dropped for a reset in whole seconds, which may be far slower than the window", async () => {
  const desk = new Desk();
  await desk.round(reporting({ limit: 10, remaining: 1, resetMs: 1_000, windowMs: 1_000 }));
  const waits = Array.from({ length: 90 }, () => desk.schedule());
  await desk.time.advance(0);
  expect(await Promise.race([...waits, Promise.resolve("still waiting")])).toBe("still waiting");
});

test("a route is named in time that grows with the path's length", async () => {
  const desk = new Desk();
  const path = `/${"a".repeat(1_000_000)}/7`;
  await desk.round(refused(1_000), { path });
  expect(await desk.schedule(desk.call({ path: `${path}7`, maxWaitMs: 0 }))).toBe(1_000);
});

test("beyond 200 routes, the least recently used is forgotten", async () => {
  const desk = new Desk({ route: ({ path }) => path });
  await desk.round(refused(10_000), { path: "/first" });
  for (let i = 0; i < 199; i++) await desk.round(reporting(), { path: `/${i}` });
  expect(await desk.schedule(desk.call({ path: "/first", maxWaitMs: 0 }))).toBe(10_000);
  for (let i = 0; i < 200; i++) await desk.round(reporting(), { path: `/again/${i}` });
  expect(await desk.schedule(desk.call({ path: "/first", maxWaitMs: 0 }))).toBe(0);
});

test.each([
  ["Expected `options` to be an object, got null", null],
  ["Unknown option `pacing`. Did you mean `pace`?", { pacing: true }],
  ["Expected `pace` to be true or false, got 1", { pace: 1 }],
  ['Expected `route` to be a function that names a call\'s route, got "/a"', { route: "/a" }],
])("createTraffic throws: %s", (message, options) => {
  expect(() => createTraffic(options as object)).toThrow(new TypeError(message));
});

const NOON = "Sat, 15 Aug 2026 12:00:00 GMT";
test.each<[what: string, headers: Record<string, string>, held: boolean]>([
  ["milliseconds in X-RateLimit-Reset, which look like 16 hours", { "X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "60000" }, false],
  ["more than an hour in RateLimit-Reset", { "RateLimit-Limit": "100", "RateLimit-Remaining": "0", "RateLimit-Reset": "3601" }, false],
  ["an instant in two hours, by a number", { Date: NOON, "X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1786802400" }, true],
  ["an instant in two hours, by a date", { Date: NOON, "X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2026-08-15T14:00:00Z" }, true],
  ["an hour in RateLimit-Reset", { "RateLimit-Limit": "100", "RateLimit-Remaining": "0", "RateLimit-Reset": "3600" }, true],
  ["a day in RateLimit, whose unit is known", { RateLimit: '"day";r=0;t=86400' }, true],
])("a reset whose unit is a guess holds calls back for up to an hour: %s", async (_, headers, held) => {
  const { fetch, sent } = talk([new Response("", { headers }), new Response("")], { traffic: createTraffic(), maxWaitMs: 1_000 });
  await fetch(URL_A);
  expect(await fetch(URL_A).then(() => false, () => true)).toBe(held);
  expect(sent).toHaveLength(held ? 1 : 2);
});
