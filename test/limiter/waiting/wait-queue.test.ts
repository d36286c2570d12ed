// A queue by itself: each call is answered by the test, and the clock is the fake one of the timers.
import fc from "fast-check";
import { createLimiter, MemoryStore, perSecond, TokenBucket, type Decision } from "sluice";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { bucketId } from "../../../src/core/policy.js";
import type { Charges } from "../../../src/limiter/charge.js";
import type { LimiterInternals } from "../../../src/limiter/internals.js";
import { partsOf } from "../../../src/limiter/parts.js";
import { tellReturned } from "../../../src/limiter/verbs/returned.js";
import { wantsOf } from "../../../src/limiter/waiting/forecast.js";
import { Polls } from "../../../src/limiter/waiting/polls.js";
import type { QueuedCaller } from "../../../src/limiter/waiting/round.js";
import { WaitQueue } from "../../../src/limiter/waiting/wait-queue.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const numbers = { capacity: 3, refill: perSecond(10) };
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const outage = new Error("out");

interface Asked {
  readonly cost?: number;
  readonly patience?: number;
  readonly key?: string;
}

/**
 * A queue, its diary, and the calls of the limiter that the test answers. `own` replaces functions of the limiter, and
 * `told` hears each line of the diary.
 */
function open(own: (names: Map<Charges, string>) => Partial<LimiterInternals> = () => ({}), told: (line: string) => void = () => undefined) {
  const limiter = createLimiter({ policy: numbers, store: new MemoryStore() });
  const inner = partsOf(limiter);
  const names = new Map<Charges, string>();
  const callers = new Map<string, QueuedCaller>();
  const diary: string[] = [];
  const write = (line: string): void => (diary.push(line), told(line));
  const calls: Record<string, (decision: Decision) => Promise<unknown>> = {};
  const ends: (() => void)[] = [];
  const parts: LimiterInternals = {
    ...inner,
    ask: (charges) => new Promise((resolve) => (calls[names.get(charges) as string] = (decision) => (resolve(decision), pass(0)))),
    giveBack: () => new Promise((resolve) => ends.push(resolve)),
    ...own(names),
  };
  // Each call is written down, whoever answers it.
  const { ask, giveBack } = parts;
  parts.ask = (charges) => (write(`ask ${names.get(charges)}`), ask(charges));
  parts.giveBack = (charges, decision) => (write(`refund ${names.get(charges)}`), giveBack(charges, decision));
  const charges = inner.charges("k", 1);
  const bucket = bucketId(limiter.policy, charges[0]?.encoded as string);
  const queue = new WaitQueue({ limiter: parts, timeoutMs: 100, jitterMs: 0, isShared: true }, new Polls(), charges, () => write("end"));
  return {
    diary, calls, queue,
    join(name: string, { cost = 1, patience = Infinity, key = "k" }: Asked = {}): void {
      const own = inner.charges(key, cost);
      names.set(own, name);
      const caller: QueuedCaller = {
        charges: own,
        wants: wantsOf(own),
        until: performance.now() + patience,
        resolve: ({ allowed }) => write(`${allowed ? "serve" : "refuse"} ${name}`),
        reject: (reason) => write(`${reason === outage ? "fail" : "leave"} ${name}`),
      };
      callers.set(name, caller);
      queue.join(caller);
    },
    leave: (...who: string[]): void => queue.leave(new Set(who.map((name) => callers.get(name) as QueuedCaller)), "enough"),
    news: () => tellReturned(limiter.store, bucket),
    /** Ends all refunds. */
    refunded: () => (ends.splice(0).forEach((end) => end()), pass(0)),
  };
}

/** A bucket whose clock stands still. */
function bucketAt(at: number): TokenBucket {
  return new TokenBucket({ ...numbers, clock: () => at });
}

describe("a queue", () => {
  test("asks for the callers of a tick together, as many as can be served, and sleeps until the next token", async () => {
    const { join, diary, calls } = open();
    const bucket = bucketAt(0);
    for (const name of ["a", "b", "c", "d"]) join(name);
    expect(diary).toEqual([]);
    await pass(2);
    expect(diary.splice(0)).toEqual(["ask a", "ask b", "ask c"]);
    for (const name of ["a", "b", "c"]) await calls[name]?.(bucket.consume());
    expect(diary.splice(0)).toEqual(["serve a", "serve b", "serve c"]);
    // The store decided in the middle of the trip, at 1.
    await pass(98);
    expect(diary).toEqual([]);
    await pass(1);
    expect(diary).toEqual(["ask d"]);
  });

  test("a grant goes to no caller of another key: it is refunded", async () => {
    const { join, leave, diary, calls, refunded } = open();
    join("ann", { key: "ann" });
    await pass(0);
    join("bob", { key: "bob" });
    leave("ann");
    await calls["ann"]?.(bucketAt(0).consume());
    expect(diary).toEqual(["ask ann", "leave ann", "refund ann"]);
    await refunded();
    expect(diary.slice(3)).toEqual(["ask bob"]);
  });

  test("with news asks for its first caller at once, and never twice at a time", async () => {
    const { join, news, diary, calls } = open();
    const bucket = bucketAt(0);
    bucket.consume(3);
    join("a");
    join("b");
    await pass(0);
    for (const name of ["a", "b"]) await calls[name]?.(bucket.consume());
    await pass(10);
    expect(diary.splice(0)).toEqual(["ask a", "ask b"]);
    news();
    news();
    await pass(1);
    expect(diary.splice(0)).toEqual(["ask a"]);
    news();
    await pass(1);
    expect(diary).toEqual([]);
    // This news may be newer than the refusal.
    await calls["a"]?.(bucket.consume());
    expect(diary).toEqual(["ask a"]);
  });

  test("a call that throws fails its own caller, and the tokens of a later call go to their own", async () => {
    const { join, diary } = open((names) => ({
      ask: (charges) => {
        if (names.get(charges) === "a") throw outage;
        return bucketAt(0).consume();
      },
    }));
    join("a");
    join("b");
    await pass(0);
    expect(diary).toEqual(["ask a", "ask b", "fail a", "serve b", "end"]);
  });

  test("goes on when all of its calls have thrown", async () => {
    const { join, diary } = open(() => ({
      ask: () => {
        throw outage;
      },
    }));
    join("a", { cost: 3 });
    join("b", { cost: 3 });
    await pass(0);
    expect(diary).toEqual(["ask a", "fail a", "ask b", "fail b", "end"]);
  });

  test("sleeps less by the time that the refusal of other callers took", async () => {
    let skew = 0;
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + skew);
    const { join, leave, diary, calls, refunded } = open(() => ({ decisionOf: ([decision]) => ((skew += 10), decision as Decision) }));
    const bucket = bucketAt(performance.now());
    bucket.consume(2);
    join("gone");
    await pass(0);
    leave("gone");
    await calls["gone"]?.(bucket.consume());
    join("late", { patience: 0 });
    join("patient", { cost: 3 });
    await pass(120);
    // One token is refunded. The third comes at 200.
    await refunded();
    expect(diary.splice(0)).toEqual(["ask gone", "leave gone", "refund gone", "refuse late"]);
    await pass(69);
    expect(diary).toEqual([]);
    await pass(1);
    expect([diary, skew]).toEqual([["ask patient"], 10]);
  });

  test("a refusal is plain data of the limiter's shape, with the wait behind the callers before", async () => {
    const { join, calls, queue } = open();
    const inner = partsOf(createLimiter({ policy: numbers }));
    const bucket = bucketAt(0);
    bucket.consume(3);
    join("first", { cost: 3 });
    await pass(0);
    await calls["first"]?.({ ...bucket.consume(3), at: performance.now() } as Decision);
    await pass(40);
    const charges = inner.charges("k", 1);
    const refusal = await new Promise<Decision>((resolve, reject) => {
      queue.join({ charges, wants: wantsOf(charges), until: performance.now() + 310, resolve, reject });
    });
    expect(refusal).toEqual({
      ...bucket.peek(), allowed: false, reason: "limited", retryAfterMs: 360, nextTokenMs: 360, resetMs: 560, at: performance.now(), remaining: 0,
      cost: 1, policy: "default", limit: "default",
    });
  });
});

describe("random histories", () => {
  type Event =
    | { readonly type: "join"; readonly cost: number; readonly patience: number }
    | { readonly type: "leave"; readonly who: number }
    | { readonly type: "news" };

  const event: fc.Arbitrary<Event> = fc.oneof(
    { weight: 4, arbitrary: fc.record({ type: fc.constant("join" as const), cost: fc.nat(3), patience: fc.constantFrom(0, 150, Infinity) }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant("leave" as const), who: fc.nat(20) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("news" as const) }) },
  );
  const after = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(60));
  // How a call goes: its answer comes at once, or in so many milliseconds. Below 0 it throws or rejects.
  const call = fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 4, arbitrary: fc.nat(20) }, { weight: 1, arbitrary: fc.constantFrom(-1, -5) });

  /** Plays a history. Returns the diary with instants, and the tokens that were taken and not given back. */
  async function play(list: readonly (readonly [number, Event])[], delays: readonly number[]): Promise<{ diary: string[]; taken: number; costs: number[] }> {
    const start = performance.now();
    const bucket = new TokenBucket({ ...numbers, clock: () => Math.floor(performance.now() - start) });
    const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
    let [n, taken] = [0, 0];
    const next = (): number => delays[n++ % delays.length] as number;
    const take = (cost: number): Decision => {
      const decision = bucket.consume(cost);
      if (decision.allowed) taken += cost;
      return decision;
    };
    const [diary, costs]: [string[], number[]] = [[], []];
    let queue: ReturnType<typeof open> | undefined;
    const told = (line: string): void => {
      diary.push(`${performance.now() - start} ${line}`);
      // As in a waiter, later callers get a new queue.
      if (line === "end") queue = undefined;
    };
    const make = (): ReturnType<typeof open> => open(() => ({
      ask: (charges) => {
        const [delay, cost] = [next(), charges[0]?.cost as number];
        if (delay === -1) throw outage;
        if (delay === 0) return take(cost);
        return later(Math.abs(delay)).then(() => {
          if (delay < 0) throw outage;
          return take(cost);
        });
      },
      giveBack: (_, { cost }) => {
        const back = (): void => {
          if (cost > 0) bucket.credit(cost);
          taken -= cost;
        };
        const delay = next();
        return delay === 0 ? back() : later(Math.abs(delay)).then(back);
      },
    }), told);
    for (const [ms, each] of list) {
      await pass(ms);
      if (each.type === "join") (queue ??= make()).join(`${costs.push(each.cost) - 1}`, each);
      else if (each.type === "news") queue?.news();
      else if (each.who < costs.length) queue?.leave(`${each.who}`);
    }
    await pass(10_000);
    return { diary, taken, costs };
  }

  test("each caller has one end, in order of arrival, and nothing is left: no timer, no token, no queue", async () => {
    const histories = fc.tuple(fc.array(fc.tuple(after, event), { minLength: 1, maxLength: 30, size: "max" }), fc.array(call, { minLength: 1, maxLength: 8 }));
    await fc.assert(
      fc.asyncProperty(histories, async ([list, delays]) => {
        const { diary, taken, costs } = await play(list, delays);
        const ended = (how: string): number[] => diary.flatMap((each) => (each.split(" ")[1] === how ? [Number(each.split(" ")[2])] : []));
        const served = ended("serve");
        const all = [...served, ...["refuse", "leave", "fail"].flatMap(ended)];
        expect(all.sort((a, b) => a - b)).toEqual([...costs.keys()]);
        expect(served).toEqual([...ended("serve")].sort((a, b) => a - b));
        expect(taken).toBe(served.reduce((sum, who) => sum + (costs[who] as number), 0));
        expect(vi.getTimerCount()).toBe(0);
        // The same events give the same diary: a history that fails can be played again.
        expect((await play(list, delays)).diary).toEqual(diary);
      }),
      { numRuns: 150 },
    );
  });
});
