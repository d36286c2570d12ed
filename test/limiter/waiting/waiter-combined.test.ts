// Waiting for several limiters together: one key for each, all or none.
import { combine, createLimiter, createObserver, createWaiter, definePolicy, MemoryStore, perHour, perMinute, perSecond, unlimited, type Clock, type LimiterEvent, type Store } from "sluice";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LaterStore } from "../../helpers/stores.js";
import { spyOnVerb } from "../../helpers/spy-on-verb.js";

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
    return { user, shared, waiter: createWaiter(combine({ user, shared }), options) };
  }

  test("resolves at the instant at which all allow, and no earlier", async () => {
    const { waiter, shared } = make();
    for (let i = 0; i < 3; i++) await waiter.consume({ user: ann, shared: team });
    const start = performance.now();
    let took = 0;
    const fourth = waiter.consume({ user: ann, shared: team }).then((decision) => {
      took = performance.now() - start;
      return decision;
    });
    await vi.advanceTimersByTimeAsync(999);
    expect(took).toBe(0);
    await vi.advanceTimersByTimeAsync(60);
    expect(await fourth).toMatchObject({ allowed: true, decisions: { user: { allowed: true }, shared: { allowed: true } } });
    expect(Math.floor(took)).toBe(1_000);
    // 5 - 3 + 2 in this second - 1: the refusals of the user took nothing from the team.
    expect((await shared.peek(team)).remaining).toBe(3);
  });

  test("takes costs by the names of members and limits, and is bounded by maxWaitMs", async () => {
    const { waiter, user } = make();
    await waiter.consume({ user: ann, shared: team }, { cost: { user: { tokens: 900 }, shared: 2 } });
    expect((await user.peek(ann, { cost: { requests: 0, tokens: 0 } })).limits).toMatchObject([{ remaining: 2 }, { remaining: 100 }]);
    const late = await waiter.consume({ user: ann, shared: team }, { cost: { user: { tokens: 600 } }, maxWaitMs: 4_000 });
    expect(late).toMatchObject({ allowed: false, reason: "limited", policy: "user", limit: "tokens", retryAfterMs: 5_000, decisions: { user: { allowed: false, retryAfterMs: 5_000 } } });
    expect(await waiter.consume({ user: ann, shared: team }, { cost: { user: { tokens: 1_001 } } })).toMatchObject({ reason: "cost_above_capacity", retryAfterMs: Infinity });
    await expect(waiter.consume({ user: ann, shared: team }, { costs: 2 } as never)).rejects.toThrow("Unknown option `costs`");
    await expect(waiter.consume({ user: ann } as never)).rejects.toThrow(TypeError);
    expect(waiter.waiting).toBe(0);
  });

  test("serves the callers of one list of keys in order, and other lists beside them", async () => {
    const { waiter } = make();
    const order: string[] = [];
    const enter = (name: string, key: readonly [string, string]) => waiter.consume({ user: key, shared: ["team", name] }).then(() => order.push(name));
    for (let i = 0; i < 3; i++) await waiter.consume({ user: ann, shared: ["team", "first"] });
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
    const waiter = createWaiter(combine({ user: slow, shared: quick }), { maxWaitMs: 2_000 });
    const start = performance.now();
    const served = waiter.consume({ user: ann, shared: team }, { cost: { user: 10 } }).then((decision) => [decision.allowed, Math.floor(performance.now() - start)]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await served).toEqual([true, 300]);
    expect((await slow.peek(ann)).remaining).toBe(0);
  });

  test("a limiter in shadow mode holds up no caller", async () => {
    const [first, second] = open(() => performance.now());
    const trial = createLimiter({ policy: { name: "trial", capacity: 1, refill: perMinute(1) }, store: first, shadow: true });
    const strict = createLimiter({ policy: { name: "strict", capacity: 1, refill: { tokens: 1, everyMs: 200 } }, store: second });
    const waiter = createWaiter(combine({ user: trial, shared: strict }), { maxWaitMs: 1_000 });
    const start = performance.now();
    const served = Promise.all([1, 2, 3].map(() => waiter.consume({ user: ann, shared: team }).then(() => Math.floor(performance.now() - start))));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await served).toEqual([0, 200, 400]);
  });

  test("a cancelled caller takes nothing", async () => {
    const { waiter, user, shared } = make();
    for (let i = 0; i < 3; i++) await waiter.consume({ user: ann, shared: team });
    const stop = new AbortController();
    const waiting = waiter.consume({ user: ann, shared: team }, { signal: stop.signal });
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
  const first = new LaterStore(() => performance.now(), { breaker: false });
  vi.spyOn(first, "consume").mockRejectedValue(new Error("Redis cannot be reached"));
  const shared = createLimiter({ policy: { name: "shared", capacity: 10, refill: perMinute(1) }, store: first, observe: createObserver(() => {}) });
  const own = createLimiter({ policy: { name: "own", capacity: 1, refill: { tokens: 1, everyMs: 300 } } });
  own.consume(team);
  const served = createWaiter(combine({ user: shared, shared: own }), { maxWaitMs: 1_000 }).consume({ user: ann, shared: team }, { cost: { user: 5 } });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await served).toMatchObject({ allowed: true, degraded: true });
});

test("what a caller got is settled and refunded for all members", async () => {
  const store = new MemoryStore();
  const [user, shared] = [createLimiter({ policy: { name: "user", capacity: 10, refill: perHour(1) }, store }), createLimiter({ policy: { name: "team", capacity: 20, refill: perHour(1) }, store })];
  const waiter = createWaiter(combine({ user, shared }));
  const keys = { user: ann, shared: team };
  const decision = await waiter.consume(keys, 5);
  expect([await waiter.settle(keys, decision, { cost: { user: 2 } }), await waiter.settle(keys, decision, 0)]).toEqual([true, false]);
  expect([user.peek(ann).remaining, shared.peek(team).remaining]).toEqual([8, 15]);
});

test("observers are told once, of the one answer and the member that binds", async () => {
  const events: LimiterEvent[] = [];
  const observe = createObserver((event) => void events.push(event));
  const [user, shared] = [createLimiter({ policy: { name: "user", capacity: 10, refill: perSecond(1) }, observe }), createLimiter({ policy: { name: "team", capacity: 1, refill: { tokens: 1, everyMs: 200 } }, observe })];
  const waiter = createWaiter(combine({ user, shared }), { maxWaitMs: 300 });
  const all = Promise.all([1, 2, 3].map(() => waiter.consume({ user: ann, shared: team })));
  await vi.advanceTimersByTimeAsync(300);
  expect((await all).map(({ allowed }) => allowed)).toEqual([true, true, false]);
  expect(events.map((event) => event.type === "decision" && [event.policy, event.outcome])).toEqual([["team", "allowed"], ["team", "limited"], ["team", "allowed"]]);
});

test("a member that is left out is not waited for", async () => {
  const [user, shared] = [createLimiter({ policy: { name: "user", capacity: 1, refill: perHour(1) } }), createLimiter({ policy: { name: "team", capacity: 1, refill: perHour(1) } })];
  const waiter = createWaiter(combine({ user, shared }), { maxWaitMs: 0 });
  shared.consume(team);
  expect(await waiter.consume({ user: ann, shared: unlimited })).toMatchObject({ allowed: true, decisions: { shared: null } });
  expect(await waiter.consume({ user: bob, shared: team })).toMatchObject({ allowed: false, policy: "team" });
  expect(await waiter.consume({ user: unlimited, shared: unlimited })).toMatchObject({ allowed: true, limits: [] });
});

describe("keys that contain what separates the parts of a queue's name", () => {
  // One list of keys that reads like the other when they are joined by a line break or by a quote.
  const pairs = [
    [{ user: "alice", device: "x\ndevice y" }, { user: "alice\ndevice x", device: "y" }],
    [{ user: 'alice","device x', device: "y" }, { user: "alice", device: 'x","device y' }],
    [{ user: "alice", device: "x device y" }, { user: "alice device x", device: "y" }],
  ] as const;

  test.each(pairs)("L1 · give no caller the tokens of another: %#", async (victim, attacker) => {
    const user = createLimiter({ policy: { name: "user", capacity: 3, refill: perHour(1) } });
    const device = createLimiter({ policy: { name: "device", capacity: 1_000, refill: perSecond(1_000) }, store: user.store });
    const waiter = createWaiter(combine({ user, device }));
    user.consume(attacker.user, 3);
    const served: string[] = [];
    for (let i = 0; i < 3; i++) {
      void waiter.consume(attacker).then(() => served.push("attacker"));
      void waiter.consume(victim).then(() => served.push("victim"));
    }
    await vi.advanceTimersByTimeAsync(300);
    expect([served, waiter.waiting]).toEqual([["victim", "victim", "victim"], 3]);
  });

  test.each(pairs)("L2 · hold up no caller whose own tokens are there: %#", async (victim, attacker) => {
    const user = createLimiter({ policy: { name: "user", capacity: 1, refill: perHour(1) } });
    const device = createLimiter({ policy: { name: "device", capacity: 1_000, refill: perSecond(1_000) }, store: user.store });
    const waiter = createWaiter(combine({ user, device }));
    user.consume(attacker.user);
    for (let i = 0; i < 3; i++) void waiter.consume(attacker);
    await vi.advanceTimersByTimeAsync(10);
    expect(waiter.waiting).toBe(3);
    // The attacker's queue has no token for an hour.
    expect(await waiter.consume(victim, { maxWaitMs: 0 })).toMatchObject({ allowed: true, decisions: { user: { remaining: 0 } } });
  });
});

test("two queues whose tokens are taken and undone for each other do not keep asking", async () => {
  // In two stores: each attempt takes the user's token first, and returns it when the team refuses.
  const stores = [0, 1].map(() => new LaterStore(() => performance.now())) as [LaterStore, LaterStore];
  const asked = stores.map((store: Store) => spyOnVerb(store, "consume"));
  const user = createLimiter({ policy: { name: "user", capacity: 1, refill: perHour(1) }, store: stores[0] });
  const shared = createLimiter({ policy: { name: "team", capacity: 1, refill: perHour(1) }, store: stores[1] });
  const waiter = createWaiter(combine({ user, shared }));
  for (const name of ["red", "blue"]) await shared.consume(["team", name]);
  for (const name of ["red", "blue"]) void waiter.consume({ user: ann, shared: ["team", name] });
  await vi.advanceTimersByTimeAsync(10_500);
  expect(waiter.waiting).toBe(2);
  // About once a second for each queue.
  expect(asked[0]?.mock.calls.length).toBeLessThanOrEqual(2 * 12);
});
