// The end of work without a report gives its tokens in flight back, and nothing else: what the work used can be said later, once.
import { combine, createLimiter, createWaiter, definePolicy, MemoryStore, monthly, perHour, run, unlimited, whenDone, type Decision, type Limiter, type Policy } from "sluice";
import { createGate, reportCost, type GateOptions, type Outcome, type PassVerdict } from "sluice/http";
import { guard, LIMIT_KINDS } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { inFlightCode } from "../../src/limits/in-flight.js";
import { answerOf, end, open, openLater, reader, type Answer, type AnyOptions, type Ask } from "../http/asking.js";
import { soon } from "../helpers/soon.js";
import { expectWarnings } from "../setup/warnings.js";
import { callsOf, type StoreCalls } from "../../src/testing/store-calls.js";
import { spyOnVerb } from "../helpers/spy-on-verb.js";
import { LaterVerbs } from "../helpers/store-of.js";

const parallel = { name: "parallel", capacity: 5, returns: whenDone() };
const CHAT = definePolicy({
  name: "chat",
  limits: [
    { name: "tokens", capacity: 20_000, refill: perHour(1), cost: 0 },
    { name: "month", capacity: 50_000, renews: monthly({ timeZone: "UTC" }), cost: 0 },
    parallel,
  ],
});
const ESTIMATE = { tokens: 4_000, month: 4_000 };
const USED = { tokens: 100, month: 100 };
const LEFT: Outcome = { status: 499, aborted: true };

const decisionIn = ({ verdict }: Answer): Decision => (verdict as PassVerdict).decision;

function world(policy: Policy = CHAT) {
  const clock = new ManualClock(1_700_000_000_000);
  const store = new MemoryStore({ clock: clock.now });
  const adjust = spyOnVerb(store, "adjust");
  const limiter = createLimiter({ policy, store });
  /** What is charged of each limit. */
  const charged = (key = "ann"): Record<string, number> => Object.fromEntries(
    (limiter.peek(key, 0).limits ?? []).map(({ limit, capacity, remaining }) => [limit, capacity - remaining]));
  return { clock, store, limiter, charged, adjust };
}

/** One request under `CHAT` whose work has ended with `outcome`. */
async function ended(options: AnyOptions = {}, before: (request: Ask) => void = () => {}, outcome = LEFT) {
  const { clock, store, limiter, charged, adjust } = world();
  const request: Ask = {};
  const answer = open({ limiter, cost: () => ESTIMATE as never, ...options }).ask(request);
  before(request);
  await end(answer, outcome);
  const decision = decisionIn(answer);
  return { clock, store, limiter, charged, adjust, request, decision };
}
type Ended = Awaited<ReturnType<typeof ended>>;

const OPEN = { tokens: 4_000, month: 4_000, parallel: 0 };

describe("after the end of work that reported nothing, one settlement is made", () => {
  const ways: Array<[way: string, settle: (world: Ended) => unknown, charged: Record<string, number>]> = [
    ["a report of less", ({ request }) => reportCost(request, USED), { tokens: 100, month: 100, parallel: 0 }],
    ["a report of more", ({ request }) => reportCost(request, { tokens: 9_000, month: 9_000 }), { tokens: 9_000, month: 9_000, parallel: 0 }],
    ["a report of nothing used", ({ request }) => reportCost(request, 0), { tokens: 0, month: 0, parallel: 0 }],
    ["a report of one limit", ({ request }) => reportCost(request, { month: 7 }), { tokens: 4_000, month: 7, parallel: 0 }],
    ["a report that names the limit in flight", ({ request }) => reportCost(request, { ...USED, parallel: 3 }), { ...USED, parallel: 0 }],
    ["`settle`", ({ limiter, decision }) => limiter.settle("ann", decision, { cost: USED }), { ...USED, parallel: 0 }],
    ["`refund`", ({ limiter, decision }) => limiter.refund("ann", decision), { tokens: 0, month: 0, parallel: 0 }],
  ];
  const later = ways.map(([, settle]) => settle);

  test.each(ways)("L1 · %s, and every later one does nothing", async (_way, settle, charged) => {
    const own = await ended();
    expect(own.charged()).toEqual(OPEN);
    expect([true, undefined]).toContain(settle(own));
    expect(own.charged()).toEqual(charged);
    for (const again of later) expect([false, undefined]).toContain(again(own));
    expect([own.charged(), own.adjust.mock.calls.length]).toEqual([charged, 2]);
  });

  test("L21 · which gives no place of a neighbor back", async () => {
    const own = await ended();
    own.limiter.consume("ann", { cost: USED });
    reportCost(own.request, USED);
    expect(own.charged()).toEqual({ tokens: 200, month: 200, parallel: 1 });
  });

  test("L1 · and which gives nothing back that has refilled since", async () => {
    const own = await ended();
    own.limiter.consume("ann", { cost: { tokens: 4_000 } });
    own.clock.advance(1_000 * 3_600_000);
    reportCost(own.request, USED);
    expect(own.charged()["tokens"]).toBe(4_000); // not 4,000 + 4,000 - 1,000 - 3,900
  });

  test.each<[what: string, actualCost: AnyOptions["actualCost"]]>([
    ["returned undefined", () => undefined],
    ["rejected", () => Promise.reject(new Error("no usage"))],
    ["returned no cost", () => -1],
  ])("L17 · also if `actualCost` %s", async (what, actualCost) => {
    if (what !== "returned undefined") expectWarnings("SLUICE_FUNCTION_FAILED");
    const own = await ended({ actualCost });
    expect(own.charged()).toEqual(OPEN);
    reportCost(own.request, USED);
    expect(own.charged()).toEqual({ ...USED, parallel: 0 });
  });

  test.each<[what: string, options: AnyOptions, before: (request: Ask) => void]>([
    ["a report", {}, (request) => reportCost(request, USED)],
    ["a report of the estimate", {}, (request) => reportCost(request, {})],
    ["`actualCost`", { actualCost: () => USED as never }, () => {}],
    ["`actualCost` of the estimate", { actualCost: () => ({}) as never }, () => {}],
  ])("L1 · but not if the end settled it: %s", async (_what, options, before) => {
    const own = await ended(options, before);
    const charged = own.charged();
    for (const again of later) expect([false, undefined]).toContain(again(own));
    expect(own.charged()).toEqual(charged);
    expect(own.charged()["parallel"]).toBe(0);
  });

  test("L1 · nor if the handler settled it", async () => {
    const { limiter, charged } = world();
    const request: Ask = {};
    const answer = open({ limiter, cost: () => ESTIMATE as never }).ask(request);
    const decision = decisionIn(answer);
    expect(limiter.settle("ann", decision, { cost: USED })).toBe(true);
    limiter.consume("ann");
    await end(answer, LEFT);
    reportCost(request, 0);
    expect(charged()).toEqual({ ...USED, parallel: 1 });
  });

  test("callers that leave pay for what they used, however low the estimate", async () => {
    const { limiter } = world();
    const gate = open({ limiter, cost: () => ({ tokens: 500, month: 500 }) as never });
    let used = 0;
    for (let i = 0; i < 40; i++) {
      const request: Ask = {};
      const answer = gate.ask(request);
      if (answer.status !== 200) continue;
      await end(answer, LEFT);
      used += 4_000;
      reportCost(request, { tokens: 4_000, month: 4_000 });
    }
    expect(used).toBe(20_000);
  });
});

describe("whatever the limiter is made of", () => {
  const keys = { user: "ann", team: "red" };
  const user = (store: MemoryStore) => createLimiter({ policy: CHAT, store });
  const TEAM = definePolicy({ name: "team", capacity: 90_000, refill: perHour(1) });
  const all = { user: ESTIMATE, team: 4_000 };
  const used = { user: USED, team: 100 };
  const both = (store: MemoryStore) => combine({ user: user(store), team: createLimiter({ policy: TEAM, store }) });
  const rows: Array<[name: string, make: (store: MemoryStore) => Limiter<never>, key: unknown, cost: unknown, report: unknown, charged: number[]]> = [
    ["a waiter", (store) => createWaiter(user(store)), "ann", ESTIMATE, USED, [100, 100, 0, 0]],
    ["a combination", both, keys, all, used, [100, 100, 0, 100]],
    ["a waiter over a combination", (store) => createWaiter(both(store)), keys, all, used, [100, 100, 0, 100]],
    ["a combination in a combination", (store) => combine({ inner: both(store) }), { inner: keys }, { inner: all }, { inner: used }, [100, 100, 0, 100]],
    ["two members on one bucket", (store) => combine({ a: user(store), b: user(store) }), { a: "ann", b: "ann" }, { a: ESTIMATE, b: ESTIMATE }, { a: USED, b: USED }, [200, 200, 0, 0]],
    ["a member left out", both, { user: "ann", team: unlimited }, { user: ESTIMATE }, { user: USED }, [100, 100, 0, 0]],
    ["a report of one member", both, keys, all, { team: 100 }, [4_000, 4_000, 0, 100]],
  ];

  test.each(rows)("L21 · its tokens in flight come back at the end, and a report is made after it: %s", async (_name, make, key, cost, report, charged) => {
    const { store, charged: ofUser } = world();
    const limiter = make(store);
    const now = (): number[] => [...Object.values(ofUser()), 90_000 - callsOf(store).peek(TEAM, "red", 0).remaining];
    const gate = createGate<Ask>({ limiter, key: () => key, cost: () => cost } as unknown as GateOptions<Ask>, reader);
    const request: Ask = {};
    const answer = answerOf(await gate(request));
    const taken = now();
    await end(answer, LEFT);
    expect(now()).toEqual(taken.map((tokens, i) => (i === 2 ? 0 : tokens)));
    reportCost(request, report as never);
    await soon(() => expect(now()).toEqual(charged));
    reportCost(request, 0);
    expect(await limiter.refund(key as never, decisionIn(answer) as never)).toBe(false);
    expect(now()).toEqual(charged);
  });

  test("L21 · several gates: a report is for the last one, and the first stays open for `settle`", async () => {
    const [first, second] = [world(), world()];
    const request: Ask = {};
    const answers = [first, second].map(({ limiter }) => open({ limiter, cost: () => ESTIMATE as never }).ask(request));
    for (const answer of answers) await end(answer, LEFT);
    reportCost(request, USED);
    expect([first.charged(), second.charged()]).toEqual([OPEN, { ...USED, parallel: 0 }]);
    expect([first.limiter.settle("ann", decisionIn(answers[0] as Answer), { cost: USED }), first.charged()]).toEqual([true, { ...USED, parallel: 0 }]);
  });

  test("`run`: work that throws can be settled by its caller, once", async () => {
    const { limiter, charged } = world();
    let decision: Decision | undefined;
    await expect(run(limiter, "ann", (own) => {
      decision = own;
      throw new Error("aborted");
    }, { cost: ESTIMATE })).rejects.toThrow("aborted");
    expect(charged()).toEqual(OPEN);
    expect([limiter.settle("ann", decision as never, { cost: USED }), limiter.refund("ann", decision as never)]).toEqual([true, false]);
    expect(charged()).toEqual({ ...USED, parallel: 0 });
    await run(limiter, "ann", (own) => void (decision = own), { cost: ESTIMATE, actualCost: () => USED });
    expect([limiter.refund("ann", decision as never), charged()]).toEqual([false, { tokens: 200, month: 200, parallel: 0 }]);
  });

  test("by hand, `settle` ends the account also when it names no limit", () => {
    const { limiter, charged } = world();
    const decision = limiter.consume("ann", { cost: ESTIMATE });
    expect([limiter.settle("ann", decision, { cost: {} }), limiter.settle("ann", decision, { cost: USED }), charged()]).toEqual([true, false, OPEN]);
  });
});

/** A store that a test can take away. It counts the changes that were made. */
class AwayStore extends LaterVerbs {
  readonly kinds = LIMIT_KINDS;
  readonly guard = guard({ breaker: { failures: 1, probeEveryMs: 1_000 } });
  readonly inner: MemoryStore;
  readonly clock: () => number;
  readonly made: unknown[] = [];
  isAway = false;
  constructor(clock: () => number) {
    super();
    this.clock = clock;
    this.inner = new MemoryStore({ clock });
  }
  async renew(): Promise<boolean> {
    return true;
  }
  async consume(...call: Parameters<StoreCalls<true>["consume"]>): Promise<Decision> {
    return callsOf(this.#there()).consume(...call);
  }
  async adjust(...call: Parameters<StoreCalls<true>["adjust"]>): Promise<boolean> {
    const there = this.#there();
    this.made.push(call[2]);
    return callsOf(there).adjust(...call);
  }
  #there(): MemoryStore {
    if (this.isAway) throw new Error("connection refused");
    return this.inner;
  }
}

describe("a store that is away", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"] }));
  afterEach(() => void vi.useRealTimers());

  /** One request whose work has not ended. The store is gone, and known to be. */
  async function away() {
    expectWarnings("SLUICE_STORE_UNAVAILABLE");
    const store = new AwayStore(() => 1_700_000_000_000);
    const limiter = createLimiter({ policy: CHAT, store });
    const request: Ask = {};
    const answer = await openLater({ limiter: limiter as never, cost: () => ESTIMATE as never }).ask(request);
    store.isAway = true;
    for (const key of ["bob", "eve", "joe", "zoe"]) await limiter.consume(key);
    const decision = decisionIn(answer);
    const charged = (): number[] => (callsOf(store.inner).peek(CHAT, "ann", 0).limits ?? []).map(({ capacity, remaining }) => capacity - remaining);
    const back = async (): Promise<number[]> => {
      store.isAway = false;
      await vi.advanceTimersByTimeAsync(5_000);
      return charged();
    };
    return { store, limiter, request, answer, decision, charged, back };
  }
  type Away = Awaited<ReturnType<typeof away>>;

  const RELEASE = [0, 0, -1];
  const SETTLEMENT = [-3_900, -3_900, 0];
  const tryToSettle = ({ limiter, decision }: Away, cost: object): Promise<unknown> => limiter.settle("ann", decision, { cost: cost as never }).catch((error: { code: string }) => error.code);

  test.each<[what: string, steps: (own: Away) => unknown, made: unknown[], charged: number[], isOpen?: boolean]>([
    ["the end, then a report", async ({ answer, request }) => (await end(answer, LEFT), reportCost(request, USED)), [RELEASE, SETTLEMENT], [100, 100, 0]],
    ["the end, then two reports", async ({ answer, request }) => (await end(answer, LEFT), reportCost(request, USED), reportCost(request, 0)), [RELEASE, SETTLEMENT], [100, 100, 0]],
    ["the end alone", ({ answer }) => end(answer, LEFT), [RELEASE], [4_000, 4_000, 0], true],
    ["a settlement, then the end", async (own) => (expect(await tryToSettle(own, USED)).toBe("ERR_STORE_OPEN"), end(own.answer, LEFT)), [SETTLEMENT, RELEASE], [100, 100, 0]],
    ["the end with a report, and another", async ({ answer, request }) => (reportCost(request, USED), await end(answer, LEFT), reportCost(request, 0)), [[-3_900, -3_900, -1]], [100, 100, 0]],
  ])("L21 · the release and the settlement are both made when it is back, each once: %s", async (_what, steps, made, charged, isOpen = false) => {
    const own = await away();
    await steps(own);
    await vi.advanceTimersByTimeAsync(0);
    expect([own.store.made, own.charged()]).toEqual([[], [4_000, 4_000, 1]]);
    expect([await own.back(), own.store.made]).toEqual([charged, made]);
    expect(await tryToSettle(own, USED)).toBe(isOpen);
  });

  test("L21 · a report that comes when the store is back, before the release is made", async () => {
    const own = await away();
    await end(own.answer, LEFT);
    own.store.isAway = false;
    await vi.advanceTimersByTimeAsync(5_000 - 1);
    reportCost(own.request, USED);
    expect([await own.back(), own.store.made]).toEqual([[100, 100, 0], [RELEASE, SETTLEMENT]]);
  });
});

test.each([["local", [101, 1]], ["allow", undefined]] as const)("L21 · where the fallback %s decided, it is settled there", async (onStoreError, charged) => {
  const store = new AwayStore(() => 1_700_000_000_000);
  store.isAway = true;
  const limiter = createLimiter({ policy: CHAT, store, onStoreError });
  const request: Ask = {};
  const answer = await openLater({ limiter: limiter as never, cost: () => ESTIMATE as never }).ask(request);
  await end(answer, LEFT);
  reportCost(request, USED);
  const decision = decisionIn(answer);
  expect([decision.degraded, await limiter.refund("ann", decision), store.made]).toEqual([true, false, []]);
  const { limits } = await limiter.consume("ann", { cost: { tokens: 1, month: 0, parallel: 1 } });
  expect(limits?.filter(({ limit }) => limit !== "month").map(({ capacity, remaining }) => capacity - remaining)).toEqual(charged);
});

/** A limit in flight whose tokens come back soon: each test has a time, and so a beat, of its own. */
function shortChat(staleAfterMs: number): Policy {
  const times = { staleAfterMs, retryAfterMs: 1_000, maxWorkMs: 3_600_000 };
  return definePolicy({ name: "chat", limits: [CHAT.limits[0] as never, { ...parallel, returns: { ...times, kindCode: inFlightCode(times) } as never }] });
}

test("L21 · a handler that goes on long after its client left reports what it used", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "Date"] });
  const { clock, limiter, charged } = world(shortChat(40_011));
  const request: Ask = {};
  const { verdict } = open({ limiter, cost: () => ({ tokens: 4_000 }) as never }).ask(request) as Answer & { readonly verdict: PassVerdict };
  let isDone = (): void => {};
  verdict.work.holdUntil(new Promise<void>((resolve) => (isDone = resolve)));
  void verdict.work.end(LEFT);
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      clock.advance(1_000);
      await vi.advanceTimersByTimeAsync(1_000);
    }
  };
  await pass(60_000);
  expect(charged()).toEqual({ tokens: 4_000, parallel: 1 });
  await pass(140_000);
  expect(charged()).toEqual({ tokens: 4_000, parallel: 0 });
  limiter.consume("ann", { cost: { tokens: 0 } });
  isDone();
  reportCost(request, { tokens: 100 });
  reportCost(request, 0);
  await vi.advanceTimersByTimeAsync(0);
  expect(charged()).toEqual({ tokens: 100, parallel: 1 });
  vi.useRealTimers();
});
