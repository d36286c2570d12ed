// Waiters and reservations on several limiters together: one key for each, all or none.
import { combine, createLimiter, createObserver, createReservations, createWaiter, definePolicy, MemoryStore, perMinute, perSecond, type Clock, type Limiter } from "sluice";
import { ManualClock } from "sluice/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LaterStore } from "../helpers/stores.js";

const perUser = definePolicy({ name: "user", limits: [{ name: "requests", capacity: 3, refill: perSecond(1) }, { name: "tokens", capacity: 1_000, refill: perSecond(100), cost: 0 }] });
const perTeam = definePolicy({ name: "team", capacity: 5, refill: perSecond(2) });
const ann = ["user", "ann"] as const;
const bob = ["user", "bob"] as const;
const team = ["team", "1"] as const;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe.each([
  ["in one step of one memory store", (clock: Clock) => { const store = new MemoryStore({ clock }); return [store, store] as const; }],
  ["one after another, in two stores that answer later", (clock: Clock) => [new LaterStore(clock), new LaterStore(clock)] as const],
  ["one after another, in one store that answers later", (clock: Clock) => { const store = new LaterStore(clock); return [store, store] as const; }],
  ["one after another, in a memory store and one that answers later", (clock: Clock) => [new MemoryStore({ clock }), new LaterStore(clock)] as const],
])("a waiter on combine, %s", (_, open) => {
  function make(options = {}) {
    const [first, second] = open(() => performance.now());
    const user = createLimiter({ policy: perUser, store: first });
    const shared = createLimiter({ policy: perTeam, store: second });
    return { user, shared, waiter: createWaiter(combine([user, shared]), options) };
  }

  test("resolves at the instant at which all allow, and no earlier", async () => {
    const { waiter, shared } = make();
    for (let i = 0; i < 3; i++) await waiter.wait([ann, team]);
    const start = performance.now();
    let took = 0;
    const fourth = waiter.wait([ann, team]).then((decision) => {
      took = performance.now() - start;
      return decision;
    });
    await vi.advanceTimersByTimeAsync(999);
    expect(took).toBe(0);
    await vi.advanceTimersByTimeAsync(60);
    expect(await fourth).toMatchObject({ allowed: true, refusedBy: null });
    expect(Math.floor(took)).toBe(1_000);
    // 5 - 3 + 2 in this second - 1: the refusals of the user took nothing from the team.
    expect((await shared.peek(team)).remaining).toBe(3);
  });

  test("takes costs by the names of limits, a list for the limiters, and is bounded by maxWaitMs", async () => {
    const { waiter, user } = make();
    await waiter.wait([ann, team], { costs: [{ cost: { tokens: 900 } }, 2] });
    expect((await user.peek(ann, { cost: { requests: 0, tokens: 0 } })).limits).toMatchObject([{ remaining: 2 }, { remaining: 100 }]);
    const late = waiter.wait([ann, team], { costs: [{ cost: { tokens: 600 } }, 1], maxWaitMs: 4_000 });
    await expect(late).rejects.toMatchObject({ code: "ERR_WAIT_TOO_LONG", waitMs: 5_000 });
    await expect(waiter.wait([ann, team], { costs: [{ cost: { tokens: 1_001 } }, 1] })).rejects.toMatchObject({ code: "ERR_WAIT_NEVER" });
    await expect(waiter.wait([ann, team], { cost: 2 } as never)).rejects.toThrow("Unknown option `cost`");
    await expect(waiter.wait([ann] as never)).rejects.toThrow(TypeError);
    expect(waiter.waiting).toBe(0);
  });

  test("serves the callers of one list of keys in order, and other lists beside them", async () => {
    const { waiter } = make();
    const order: string[] = [];
    const enter = (name: string, key: readonly [string, string]) => waiter.wait([key, ["team", name]]).then(() => order.push(name));
    for (let i = 0; i < 3; i++) await waiter.wait([ann, ["team", "first"]]);
    const all = [enter("first", ann), enter("first", ann), enter("other", bob)];
    await vi.advanceTimersByTimeAsync(5);
    expect(order).toEqual(["other"]);
    await vi.advanceTimersByTimeAsync(2_100);
    await Promise.all(all);
    expect(order).toEqual(["other", "first", "first"]);
  });

  test("L2, L3 · what was taken before the second refused holds up no caller: it was given back", async () => {
    const [first, second] = open(() => performance.now());
    const slow = createLimiter({ policy: { name: "slow", capacity: 10, refill: perMinute(1) }, store: first });
    const quick = createLimiter({ policy: { name: "quick", capacity: 1, refill: { tokens: 1, everyMs: 300 } }, store: second });
    await quick.consume(team);
    const waiter = createWaiter(combine([slow, quick]), { maxWaitMs: 2_000 });
    const start = performance.now();
    const served = waiter.wait([ann, team], { costs: [10, 1] }).then((decision) => [decision.allowed, Math.floor(performance.now() - start)]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await served).toEqual([true, 300]);
    expect((await slow.peek(ann)).remaining).toBe(0);
  });

  test("a limiter in shadow mode holds up no caller", async () => {
    const [first, second] = open(() => performance.now());
    const trial = createLimiter({ policy: { name: "trial", capacity: 1, refill: perMinute(1) }, store: first, shadow: true });
    const strict = createLimiter({ policy: { name: "strict", capacity: 1, refill: { tokens: 1, everyMs: 200 } }, store: second });
    const waiter = createWaiter(combine([trial, strict]), { maxWaitMs: 1_000 });
    const start = performance.now();
    const served = Promise.all([1, 2, 3].map(() => waiter.wait([ann, team]).then(() => Math.floor(performance.now() - start))));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await served).toEqual([0, 200, 400]);
  });

  test("a cancelled caller takes nothing", async () => {
    const { waiter, user, shared } = make();
    for (let i = 0; i < 3; i++) await waiter.wait([ann, team]);
    const stop = new AbortController();
    const waiting = waiter.wait([ann, team], { signal: stop.signal });
    const settled = expect(waiting).rejects.toThrow("enough");
    await vi.advanceTimersByTimeAsync(10);
    stop.abort(new Error("enough"));
    await settled;
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await user.peek(ann)).remaining).toBe(3);
    expect((await shared.peek(team)).remaining).toBe(5);
  });
});

test("a waiter on combine is not held up by a charge that the first limiter made in its store's place", async () => {
  const first = new LaterStore(() => performance.now());
  vi.spyOn(first, "consume").mockRejectedValue(new Error("Redis is away"));
  const shared = createLimiter({ policy: { name: "shared", capacity: 10, refill: perMinute(1) }, store: first, breaker: false, observe: createObserver(() => {}) });
  const own = createLimiter({ policy: { name: "own", capacity: 1, refill: { tokens: 1, everyMs: 300 } } });
  own.consume(team);
  const served = createWaiter(combine([shared, own]), { maxWaitMs: 1_000 }).wait([ann, team], { costs: [5, 1] });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await served).toMatchObject({ allowed: true, degraded: true });
});

describe("reservations on combine", () => {
  const llm = definePolicy({ name: "llm", limits: [{ name: "requests", capacity: 60, refill: perMinute(60) }, { name: "tokens", capacity: 30_000, refill: perMinute(30_000) }] });
  function make(clock: ManualClock): { each: readonly Limiter<MemoryStore>[]; budget: ReturnType<typeof reservations> } {
    const store = new MemoryStore({ clock: clock.now });
    const user = createLimiter({ policy: llm, store });
    const shared = createLimiter({ policy: { name: "team", capacity: 50_000, refill: perMinute(50_000) }, store });
    return { each: [user, shared], budget: reservations(user, shared) };
  }
  const reservations = (user: Limiter<MemoryStore>, shared: Limiter<MemoryStore>) => createReservations(combine([user, shared]));
  const leftOf = ({ each }: ReturnType<typeof make>) => [...(each[0]?.peek("ann", 0).limits ?? []).map(({ remaining }) => remaining), each[1]?.peek("red", 0).remaining];

  test("take all estimates or none, and settle each limit with its actual cost", () => {
    const clock = new ManualClock();
    const world = make(clock);
    const reservation = world.budget.reserve(["ann", "red"], [{ cost: { tokens: 20_000 } }, 20_000]);
    expect(reservation).toMatchObject({ allowed: true, decision: { refusedBy: null } });
    expect(leftOf(world)).toEqual([59, 10_000, 30_000]);
    expect(world.budget.reserve(["ann", "red"], [{ cost: { tokens: 20_000 } }, 20_000]).allowed).toBe(false);
    expect(leftOf(world)).toEqual([59, 10_000, 30_000]);
    expect(reservation.settle([{ tokens: 1_000 }, 1_000])).toBe(true);
    expect(leftOf(world)).toEqual([59, 29_000, 49_000]);
    expect(reservation.settle([{ tokens: 5 }, 5])).toBe(true);
    expect(leftOf(world)).toEqual([59, 29_000, 49_000]);
  });

  test("are cancelled as a whole, and settle more than estimated, at most one capacity", () => {
    const world = make(new ManualClock());
    world.budget.reserve(["ann", "red"], [{ cost: { tokens: 5 } }, 5]).cancel();
    expect(leftOf(world)).toEqual([60, 30_000, 50_000]);
    world.budget.reserve(["ann", "red"], [{ cost: { tokens: 5 } }, 5]).settle([{ tokens: 1_000_000 }, 100]);
    expect(leftOf(world)).toEqual([59, 0, 49_900]);
    expect(world.each[0]?.consume("ann", { cost: { tokens: 30_000 } }).retryAfterMs).toBe(60_010);
  });

  test.each<[what: string, estimates: unknown, options: unknown, message: string]>([
    ["an unknown option", [1, 1], { polcy: 1 }, "Unknown option `polcy`. Write it into an estimate"],
    ["the option of one limiter", [1, 1], { policy: llm }, "Unknown option `policy`. Write it into an estimate"],
    ["options that are none", [1, 1], 5, "Expected `options` to be an object, got 5"],
    ["no estimates", undefined, undefined, "Expected `estimates` to be a list of 2, one for each limiter, got undefined"],
    ["one estimate for all", 5, undefined, "Expected `estimates` to be a list of 2, one for each limiter, got 5"],
    ["too few estimates", [5], undefined, "Expected `estimates` to be a list of 2, one for each limiter, got an array of 1"],
    ["no estimate for one", [5, undefined], undefined, "Expected `estimate` to be tokens, got undefined"],
    ["an unknown option of one", [5, { costs: 5 }], undefined, "Unknown option `costs`"],
  ])("refuse %s, and take nothing", (_, estimates, options, message) => {
    const world = make(new ManualClock());
    const reserve = world.budget.reserve as (...asked: unknown[]) => unknown;
    expect(() => reserve(["ann", "red"], estimates, options)).toThrow(message);
    expect(leftOf(world)).toEqual([60, 30_000, 50_000]);
  });

  test("refuse wrong lists and settle nothing then", () => {
    const world = make(new ManualClock());
    expect(() => world.budget.reserve(["ann"] as never, [1, 1])).toThrow("Expected `keys` to be a list of 2, one for each limiter");
    expect(() => world.budget.reserve(["ann", "red"], [0, 0])).toThrow("Expected `estimate` to be at least 1 token");
    const reservation = world.budget.reserve(["ann", "red"], [{ cost: { tokens: 100 } }, 100]);
    expect(() => reservation.settle(5 as never)).toThrow("Expected `actual` to be a list of 2, one for each limiter, got 5");
    expect(() => reservation.settle([{ tokens: 1 }, -1])).toThrow(RangeError);
    expect(leftOf(world)).toEqual([59, 29_900, 49_900]);
  });
});

test("combine also peeks and resets", () => {
  const store = new MemoryStore({ clock: new ManualClock().now });
  const both = combine([createLimiter({ policy: perUser, store }), createLimiter({ policy: perTeam, store })]);
  both.consume([ann, team], 2);
  expect(both.peek([ann, team])).toMatchObject({ allowed: true, decisions: [{ remaining: 1 }, { remaining: 3 }] });
  expect(both.peek([ann, team], 2)).toMatchObject({ allowed: false, refusedBy: 0, decisions: [{ allowed: false }, { allowed: true }] });
  both.reset([ann, team]);
  expect(both.peek([ann, team], 3)).toMatchObject({ allowed: true, refusedBy: null });
});

test("combine shows the limiter with the fewest such requests left, when each limit costs differently", () => {
  const store = new MemoryStore({ clock: new ManualClock().now });
  const two = (name: string, requests: number, tokens: number) =>
    createLimiter({ policy: { name, limits: [{ name: "requests", capacity: requests, refill: perMinute(requests) }, { name: "tokens", capacity: tokens, refill: perMinute(tokens) }] }, store });
  const cost = { cost: { tokens: 500 } };
  // Of ann's tokens 19 such requests are left, and of the team's requests 99: though 99 is the smaller number.
  const decision = combine([two("ann", 60, 10_000), two("red", 100, 90_000)]).consume(["ann", "red"], [cost, cost]);
  expect(decision).toMatchObject({ allowed: true, policy: "ann", limit: "tokens", remaining: 9_500, capacity: 10_000, cost: 500 });
});

describe("a settlement of several limiters of which one fails", () => {
  const reserve = (first: MemoryStore | LaterStore, second: MemoryStore | LaterStore) => {
    const [user, shared] = [createLimiter({ policy: perTeam, store: first }), createLimiter({ policy: { ...perTeam, name: "shared" }, store: second })];
    return { shared, reservation: createReservations(combine([user, shared])).reserve([ann, team], [4, 4]) };
  };
  const fail = () => {
    throw new Error("the disk is full");
  };

  test("corrects the others all the same, and tells of the failure", async () => {
    const [first, second] = [new MemoryStore({ clock: () => 0 }), new MemoryStore({ clock: () => 0 })];
    vi.spyOn(first, "adjust").mockImplementation(fail);
    const { shared, reservation } = reserve(first, second);
    expect(() => (reservation as Awaited<typeof reservation>).settle([1, 1])).toThrow("the disk is full");
    expect((await shared.peek(team)).remaining).toBe(4);
  });

  test("also over stores that answer later", async () => {
    const [first, second] = [new LaterStore(() => 0), new LaterStore(() => 0)];
    vi.spyOn(first, "adjust").mockRejectedValue(new Error("Redis is away"));
    const { shared, reservation } = reserve(first, second);
    await expect((await reservation).settle([1, 1])).rejects.toThrow();
    expect((await shared.peek(team)).remaining).toBe(4);
  });
});
