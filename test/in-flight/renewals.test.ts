// Renewals whose answers fail, hang or are lost, and what ends them. Time is simulated.
import { combine, createLimiter, definePolicy, MemoryStore, perSecond, run, whenDone, type AsyncStore, type Charge, type Costs, type Decision, type Limiter, type Policy } from "sluice";
import { guard } from "sluice/store";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { expectWarnings } from "../setup/warnings.js";
import { callsOf, type StoreCalls } from "../../src/testing/store-calls.js";
import { LaterVerbs } from "../helpers/store-of.js";

// A copy of its own: settlements of another file may still wait, and then no timer begins here.
vi.resetModules();
const { settleLater } = await import("../../src/limits/settlements.js");

const TIMEOUT_MS = 100;
// Longer than the outage of a test: a settlement that is sent as a probe and fails is not made again.
const PROBE_MS = 6_500;

/** What becomes of a call: it is made and answered; made, but its answer never comes; made, and answered on `release`; made on `release`; or not made. */
type Network = "up" | "lost" | "held" | "late" | "down";

/** A store over a network that a test can break. */
class FarStore extends LaterVerbs implements AsyncStore {
  readonly guard = guard({ timeoutMs: TIMEOUT_MS, breaker: { probeEveryMs: PROBE_MS } });
  readonly clock = Date.now;
  readonly inner = new MemoryStore({ clock: Date.now });
  readonly kinds = this.inner.kinds;
  network: Network = "up";
  /** For renewals only. */
  renewals: Network = "up";
  readonly renewed: Parameters<StoreCalls<true>["renew"]>[] = [];
  readonly #held: Array<() => void> = [];

  consume(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    return this.#send(this.network, () => callsOf(this.inner).consume(policy, key, costs));
  }
  consumeTogether(charges: readonly Charge[]): Promise<readonly Decision[]> {
    return this.#send(this.network, () => callsOf(this.inner).together(charges));
  }
  adjust(...change: Parameters<StoreCalls<true>["adjust"]>): Promise<boolean> {
    return this.#send(this.network, () => callsOf(this.inner).adjust(...change));
  }
  renew(...asked: Parameters<StoreCalls<true>["renew"]>): Promise<boolean> {
    this.renewed.push(asked);
    return this.#send(this.network === "up" ? this.renewals : this.network, () => callsOf(this.inner).renew(...asked));
  }
  release(): void {
    for (const go of this.#held.splice(0)) go();
  }
  async #send<T>(network: Network, make: () => T): Promise<T> {
    if (network === "down") throw new Error("connection refused");
    if (network === "late") return new Promise<void>((resolve) => this.#held.push(resolve)).then(make);
    const answer = make();
    if (network !== "up") await new Promise<void>((resolve) => network === "held" && this.#held.push(resolve));
    return answer;
  }
}

// Each test has a `staleAfterMs` of its own, and so a timer that begins in it.
function far(staleAfterMs: number, more: { maxWorkMs?: number; capacity?: number } = {}) {
  const { maxWorkMs, capacity = 2 } = more;
  const policy = definePolicy({ name: "p", limits: [{ name: "parallel", capacity, returns: whenDone({ staleAfterMs, maxWorkMs }) }] });
  const store = new FarStore();
  const limiter = createLimiter<AsyncStore>({ policy, store, onStoreError: "unavailable" });
  const left = (key = "ann"): number => callsOf(store.inner).peek(policy, key, 0).remaining;
  return { policy, store, limiter, left };
}

/** Begins work that lasts until `end`. */
function begin<D extends Decision>(limiter: Limiter<string, D>, key = "ann") {
  let end = (): void => undefined;
  const work = { isDone: false, end: () => end(), done: Promise.resolve() };
  work.done = run(limiter, key, () => new Promise<void>((resolve) => (end = resolve))).then(() => void (work.isDone = true));
  return work;
}

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => void vi.useFakeTimers({ now: 1_800_000_000_000, toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"] }));
// Until the last work is over and its timer has ended: the next test begins one of its own.
afterEach(async () => {
  if (vi.getTimerCount() > 0) await pass(3_700_000);
  vi.useRealTimers();
});

describe("a renewal that fails", () => {
  test("L12 · one without an answer delays a settlement for at most timeoutMs, and is tried again", async () => {
    const { store, limiter, left } = far(9_000);
    const work = begin(limiter);
    store.renewals = "held";
    await pass(6_000);
    // Due at 3,000 ms; repeated at 4,500 and 6,000 ms.
    expect(store.renewed).toHaveLength(3);
    work.end();
    await pass(TIMEOUT_MS - 1);
    expect(work.isDone).toBe(false);
    await pass(1);
    expect([work.isDone, left()]).toEqual([true, 1]);
    await pass(20_000);
    // The renewal was made, but nobody knew: these tokens come back at their date.
    expect([store.renewed.length, left(), vi.getTimerCount()]).toEqual([3, 2, 0]);
  });

  test("L12 · one that rejects is tried again, and the work keeps its tokens", async () => {
    const { store, limiter, left } = far(9_036);
    const work = begin(limiter);
    store.renewals = "down";
    await pass(8_000);
    store.renewals = "up";
    await pass(8_000);
    expect(left()).toBe(1);
    work.end();
    await pass(0);
    expect([work.isDone, left()]).toEqual([true, 2]);
  });

  test("L21 · after a lost answer and missed beats, work keeps its tokens and gives them back", async () => {
    const { store, limiter, left } = far(9_018);
    const work = begin(limiter);
    await pass(2_999);
    store.renewals = "lost";
    await pass(1_000);
    store.renewals = "down";
    await pass(2_000);
    store.renewals = "up";
    for (let passed = 0; passed < 30_000; passed += 500) {
      await pass(500);
      expect([passed, left()]).toEqual([passed, 1]);
    }
    work.end();
    await pass(0);
    expect([work.isDone, left()]).toEqual([true, 2]);
  });

  test("L21 · an answer that comes after its timeout counts: the settlement finds the tokens", async () => {
    const { store, limiter, left } = far(9_024);
    const work = begin(limiter);
    store.renewals = "held";
    await pass(3_200);
    store.release();
    await pass(0);
    work.end();
    await pass(0);
    expect([work.isDone, left()]).toEqual([true, 2]);
  });

  test("L21 · one that reaches the store after its date takes no tokens of other work, and its work gives none back", async () => {
    expectWarnings("SLUICE_RENEWALS_MISSED");
    const staleAfterMs = 9_000;
    const step = Math.ceil(staleAfterMs / 16);
    const { store, limiter, left } = far(staleAfterMs, { capacity: 1 });
    // The tokens' date is over after exactly `staleAfterMs`.
    await pass(step - ((Date.now() + staleAfterMs) % step));
    const paused = begin(limiter);
    await pass(2_990);
    store.renewals = "late";
    await pass(staleAfterMs + 5 - 2_990);
    const other = begin(limiter);
    await pass(0);
    expect(left()).toBe(0);
    store.renewals = "up";
    store.release();
    await pass(0);
    paused.end();
    await pass(0);
    // Its place belongs to the other work since its date.
    expect([paused.isDone, left()]).toEqual([true, 0]);
    await pass(1_500);
    other.end();
    await pass(0);
    expect(left()).toBe(1);
  });

  test("L21 · tokens that came back in an outage are not renewed", async () => {
    expectWarnings("SLUICE_RENEWALS_MISSED: Expected the store to renew the tokens in flight of work before their date, got 1 works");
    const { store, limiter } = far(9_030);
    const work = begin(limiter);
    store.renewals = "down";
    await pass(13_000);
    const { length } = store.renewed;
    store.renewals = "up";
    await pass(20_000);
    expect(store.renewed).toHaveLength(length);
    work.end();
    await pass(2_000);
    expect([work.isDone, vi.getTimerCount()]).toEqual([true, 0]);
  });
});

describe("a settlement ends the renewal", () => {
  test("L21 · the first one, also when the open circuit breaker refuses it", async () => {
    const { store, limiter, left } = far(9_036);
    const work = begin(limiter);
    await pass(1_000);
    expectWarnings("SLUICE_STORE_UNAVAILABLE");
    store.network = "down";
    for (const key of ["a", "b", "c", "d", "e"]) await limiter.consume(key);
    work.end();
    await pass(0);
    expect(work.isDone).toBe(true);
    store.renewed.length = 0;
    await pass(6_000);
    expect(store.renewed).toEqual([]);
    store.network = "up";
    await pass(2_000);
    expect([left(), store.renewed]).toEqual([2, []]);
  });

  test("L13 · at most 10,000 settlements are kept: beyond them the oldest is dropped", async () => {
    const made: number[] = [];
    for (let i = 0; i <= 10_000; i++) settleLater(() => made.push(i), made);
    await pass(1_000);
    await new Promise((resolve) => setImmediate(resolve)); // after all of them
    expect([made.length, made[0], made.at(-1)]).toEqual([10_000, 1, 10_000]);
  });

  test("L13 · work that is done is not kept until the next beat", async () => {
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc") as () => void;
    const { limiter } = far(9_048);
    const seen: WeakRef<Decision>[] = [];
    await run(limiter, "ann", (decision) => void seen.push(new WeakRef<Decision>(decision)));
    await pass(TIMEOUT_MS);
    await new Promise((resolve) => setImmediate(resolve));
    gc();
    expect(seen.map((each) => each.deref())).toEqual([undefined]);
    expect(vi.getTimerCount()).toBe(1);
  });
});

describe("several works", () => {
  test("L21 · of one key and one date are renewed in one call", async () => {
    const { store, limiter, left } = far(9_054, { capacity: 10 });
    const works = [begin(limiter), begin(limiter), begin(limiter), begin(limiter, "bob")];
    await pass(3_018);
    expect(store.renewed.map(([, key, tokens]) => [key, tokens])).toEqual([["ann", 3], ["bob", 1]]);
    works[0]?.end();
    await pass(3_018);
    expect(store.renewed.slice(2).map(([, key, tokens]) => [key, tokens])).toEqual([["ann", 2], ["bob", 1]]);
    await pass(20_000);
    expect([left(), left("bob")]).toEqual([8, 9]);
    for (const { end } of works) end();
    await pass(0);
    expect([left(), left("bob")]).toEqual([10, 10]);
  });

  test("L21 · of one key under two policies are renewed apart", async () => {
    const { policy, store, limiter } = far(9_078, { capacity: 10 });
    const named = definePolicy({ ...policy, name: "q" });
    const other = createLimiter<AsyncStore>({ policy: named, store, onStoreError: "unavailable" });
    const works = [begin(limiter), begin(other)];
    await pass(3_026);
    expect(store.renewed.map(([{ name }, key, tokens]) => [name, key, tokens])).toEqual([["p", "ann", 1], ["q", "ann", 1]]);
    for (const { end } of works) end();
    await pass(0);
  });

  test("L21 · over two stores, or of another date, are renewed apart", async () => {
    const one = far(9_060, { capacity: 10 });
    const other = far(9_060, { capacity: 10 });
    const works = [begin(one.limiter), begin(other.limiter)];
    await pass(1_000);
    works.push(begin(one.limiter));
    await pass(11_000);
    expect([one.left(), other.left()]).toEqual([8, 9]);
    for (const { end } of works) end();
    await pass(0);
    expect([one.left(), other.left()]).toEqual([10, 10]);
  });
});

describe("several limits in flight in one policy", () => {
  const returning = (...times: Parameters<typeof whenDone>[]) =>
    definePolicy({ name: "p", limits: times.map((each, i) => ({ name: `held${i}`, capacity: 2, returns: whenDone(...each) })) });

  test("L21 · are renewed together, and may differ in `retryAfterMs`", async () => {
    const store = new FarStore();
    const policy = returning([{ staleAfterMs: 9_066, retryAfterMs: 1 }], [{ staleAfterMs: 9_066, retryAfterMs: 2 }]);
    const work = begin(createLimiter<AsyncStore>({ policy, store }));
    await pass(30_000);
    const left = () => callsOf(store.inner).peek(policy, "ann", 0).limits?.map(({ remaining }) => remaining);
    expect(left()).toEqual([1, 1]);
    work.end();
    await pass(0);
    expect(left()).toEqual([2, 2]);
  });

  test.each([
    [[{ staleAfterMs: 9_000 }], [{ staleAfterMs: 1_000 }], "9000 and 3600000, and 1000 and 3600000"],
    [[{ maxWorkMs: 60_000 }], [], "15000 and 60000, and 15000 and 3600000"],
  ] as const)("L21 · with other times are refused: %j and %j", (one, other, got) => {
    expect(() => createLimiter({ policy: returning([...one], [...other]) })).toThrow(new RangeError(
      `Expected the limits in flight of policy "p" to have the same \`staleAfterMs\` and \`maxWorkMs\`, got ${got}. ` +
      "Their tokens are renewed together: pass the same to each `whenDone`",
    ));
  });
});

describe("late give-back", () => {
  test("L21 · an allowed answer to several charges that comes after its timeout gives their tokens back", async () => {
    const store = new FarStore();
    const held = (name: string) => definePolicy({ name, limits: [{ name: "requests", capacity: 9, refill: perSecond(1) }, { name: "parallel", capacity: 2, returns: whenDone() }] });
    const over = (policy: Policy) => createLimiter<AsyncStore>({ policy, store, onStoreError: "unavailable" });
    const [user, team] = [over(held("user")), over(held("team"))];
    const both = combine({ user, team });
    const inFlight = (): (number | undefined)[] =>
      [user, team].map(({ policy }) => callsOf(store.inner).peek(policy, "ann", 0).limits?.[1]?.remaining);
    store.network = "held";
    const asked = both.consume({ user: "ann", team: "ann" });
    await pass(TIMEOUT_MS);
    expect(await asked).toMatchObject({ allowed: false, reason: "store_unavailable" });
    expect(inFlight()).toEqual([1, 1]);
    store.network = "up";
    store.release();
    await pass(0);
    expect(inFlight()).toEqual([2, 2]);
    // An answer in time keeps them.
    expect((await both.consume({ user: "ann", team: "ann" })).allowed).toBe(true);
    await pass(1_000);
    expect(inFlight()).toEqual([1, 1]);
  });
});
