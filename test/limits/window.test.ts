// Windows beside a list of all takes, which knows nothing of records: no joins, no dates, no limit of length.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  afterMs, createLimiter, daily, definePolicy, MemoryStore, whenDone, type Decision, type LimitOptions, type Policy, type PolicyOptions,
} from "../../src/index.js";
import { ManualClock } from "../../src/testing/index.js";
import { callsOf } from "../../src/testing/store-calls.js";

interface Take {
  readonly at: number;
  readonly tokens: number;
  readonly decision: Decision;
  /** What was given back of it. */
  back: number;
}

/** The most tokens that any stretch of `ms` has: one that ends with a take, less what was given back of those in it. */
function mostIn(takes: readonly Take[], ms: number): number {
  return Math.max(0, ...takes.map(({ at: end }) =>
    takes.reduce((sum, { at, tokens, back }) => (at <= end && at > end - ms ? sum + tokens - back : sum), 0)));
}

const LENGTHS = [1, 2, 17, 60, 1_000, 60_000, 2_592_000_000];
const scene = fc.record({
  ms: fc.constantFrom(...LENGTHS),
  capacity: fc.integer({ min: 1, max: 40 }),
  start: fc.integer({ min: -1_000, max: 10_000_000 }),
  callers: fc.integer({ min: 1, max: 24 }),
  /** How long works take, in windows. */
  works: fc.double({ min: 0, max: 2.5, noNaN: true }),
  /** How often a caller comes, in a window. */
  pace: fc.integer({ min: 1, max: 40 }),
  /** What callers do, one number for each call. */
  dice: fc.array(fc.nat({ max: 9_999 }), { minLength: 40, maxLength: 160 }),
});

interface Rules {
  readonly settles?: boolean;
  readonly resets?: boolean;
  readonly debits?: boolean;
  readonly credits?: boolean;
}

/**
 * Greedy callers: each waits exactly as long as a refusal says, and comes again. Random waits seldom hit the instant at
 * which a token comes back, and would miss one that comes a millisecond early.
 */
function play({ ms, capacity, start, callers, works, pace, dice }: Scene, rules: Rules): Takes {
  const clock = new ManualClock(start);
  const limiter = createLimiter({ policy: { name: "w", capacity, returns: afterMs(ms) }, store: new MemoryStore({ clock: clock.now }) });
  const queue = Array.from({ length: callers }, (_, i) => ({ at: start + (i % pace), cost: 1 + (i % Math.min(capacity, 5)) }));
  const ends: { at: number; take: Take; actual: number }[] = [];
  const takes: Take[] = [];
  const resets: number[] = [];
  for (const die of dice) {
    queue.sort((a, b) => a.at - b.at);
    const next = queue.shift() as { at: number; cost: number };
    clock.set(Math.max(clock.now(), next.at));
    const now = clock.now();
    for (const end of ends.filter(({ at }) => at <= now)) {
      ends.splice(ends.indexOf(end), 1);
      const before = limiter.peek("k", 0).remaining;
      limiter.settle("k", end.take.decision, end.actual);
      // A token of it that is back counts no longer, if it came back before its time or not.
      end.take.back += Math.max(0, limiter.peek("k", 0).remaining - before);
    }
    if (rules.resets && die % 41 === 0) {
      limiter.reset("k");
      resets.push(now);
    }
    if (rules.debits && die % 29 === 0) limiter.debit("k", 1 + (die % (3 * capacity)));
    if (rules.credits && die % 31 === 0) creditNewest(takes, limiter.credit, now - ms, 1 + (die % capacity), () => limiter.peek("k", 0).remaining);
    const decision = limiter.consume("k", next.cost);
    if (decision.allowed) {
      const take = { at: now, tokens: next.cost, decision, back: 0 };
      takes.push(take);
      const actual = die % 4 === 0 ? next.cost : die % 4 === 1 ? next.cost + (die % 9) : die % (next.cost + 1);
      if (rules.settles) ends.push({ at: now + Math.floor(((die % 100) / 100) * works * ms), take, actual });
      const wait = die % 7 === 0 ? 0 : Math.floor(((die % 977) / 977) * (ms / pace) * 2);
      queue.push({ at: now + wait, cost: 1 + (die % Math.min(capacity, 12)) });
    } else {
      expect(decision.retryAfterMs, "the wait of a refusal").toBeGreaterThan(0);
      expect(decision.retryAfterMs).toBeLessThanOrEqual(ms);
      expectExactWait(limiter, clock, next.cost, decision.retryAfterMs);
      queue.push({ at: now + decision.retryAfterMs, cost: next.cost });
    }
  }
  return { takes, resets };
}

interface Scene { ms: number; capacity: number; start: number; callers: number; works: number; pace: number; dice: readonly number[] }
interface Takes { readonly takes: readonly Take[]; readonly resets: readonly number[] }

function expectExactWait(limiter: { peek(key: string, cost: number): Decision }, clock: ManualClock, cost: number, waitMs: number): void {
  const now = clock.now();
  for (const early of [waitMs - 1, Math.floor(waitMs / 2)]) {
    clock.set(now + early);
    expect(limiter.peek("k", cost).allowed, "too early").toBe(false);
  }
  clock.set(now + waitMs);
  expect(limiter.peek("k", cost).allowed, "at the told instant").toBe(true);
  clock.set(now);
}

// Goodwill: what was taken last comes back, so the list takes it off there.
function creditNewest(takes: readonly Take[], credit: (key: string, tokens: number) => unknown, over: number, tokens: number, left: () => number): void {
  const before = left();
  credit("k", tokens);
  let returned = left() - before;
  for (const take of [...takes].reverse()) {
    if (take.at <= over) break;
    const part = Math.min(returned, take.tokens - take.back);
    take.back += part;
    returned -= part;
  }
}

const RUNS = { numRuns: 200 };

describe("L22 · a window beside a list of all takes, with greedy callers", () => {
  test.each<[string, Rules]>([
    ["that only take", {}],
    ["whose works settle below and above, overlap and last longer than the window", { settles: true }],
    ["beside debits", { settles: true, debits: true }],
    ["beside credits", { credits: true, debits: true }],
  ])("L22 · %s never pass the capacity, and each refusal's wait is exact", (_, rules) => {
    fc.assert(fc.property(scene, (drawn) => {
      const { takes } = play(drawn, rules);
      expect(mostIn(takes, drawn.ms)).toBeLessThanOrEqual(drawn.capacity);
    }), RUNS);
  });

  test("L22 · a reset with works under way adds one capacity, and banks nothing", () => {
    fc.assert(fc.property(scene, (drawn) => {
      const { takes, resets } = play(drawn, { settles: true, resets: true });
      for (const { at: end } of takes) {
        const within = resets.filter((at) => at <= end && at > end - drawn.ms).length;
        expect(mostIn(takes.filter(({ at }) => at <= end && at > end - drawn.ms), drawn.ms)).toBeLessThanOrEqual(drawn.capacity * (1 + within));
      }
    }), RUNS);
  });

  test("L22 · a token stays away for the window and at most an eighth more", () => {
    fc.assert(fc.property(scene, (drawn) => {
      const clock = new ManualClock(drawn.start);
      const { ms, capacity, dice } = drawn;
      const limiter = createLimiter({ policy: { name: "w", capacity, returns: afterMs(ms) }, store: new MemoryStore({ clock: clock.now }) });
      const takes: Take[] = [];
      for (const die of dice) {
        clock.advance(die % 3 === 0 ? 0 : Math.floor((die / 9_999) ** 2 * (ms / 6)));
        const now = clock.now();
        const cost = 1 + (die % capacity);
        const decision = limiter.consume("k", cost);
        if (decision.allowed) takes.push({ at: now, tokens: cost, decision, back: 0 });
        // A list that forgets an eighth of a window later would refuse, too.
        else expect(cost + takes.reduce((sum, { at, tokens }) => (at > now - ms - ms / 8 ? sum + tokens : sum), 0)).toBeGreaterThan(capacity);
      }
    }), RUNS);
  });
});

describe("L22 · give-backs", () => {
  const setUp = (capacity: number, ms = 60_000) => {
    const clock = new ManualClock(0);
    const limiter = createLimiter({ policy: { name: "w", capacity, returns: afterMs(ms) }, store: new MemoryStore({ clock: clock.now }) });
    return { clock, limiter, left: () => limiter.peek("k").remaining };
  };

  test("L22 · a work that lasts longer than the window gives nothing back", () => {
    const { clock, limiter, left } = setUp(100);
    const long = limiter.consume("k", 100);
    clock.set(60_000);
    expect(limiter.consume("k", 100).allowed).toBe(true);
    clock.set(70_000);
    limiter.refund("k", long);
    expect(left()).toBe(0);
  });

  test("L22 · works from before a reset give nothing back to what was taken after it", () => {
    const { clock, limiter, left } = setUp(100);
    const works = Array.from({ length: 10 }, (_, i) => {
      clock.set(i);
      return limiter.consume("k", 10);
    });
    limiter.reset("k");
    clock.set(100);
    expect(limiter.consume("k", 100).allowed).toBe(true);
    clock.set(200);
    for (const work of works) limiter.settle("k", work, 0);
    expect(left()).toBe(0);
  });

  test("L22 · a give-back goes to the amount that encloses its date, at most what that holds", () => {
    const { clock, limiter, left } = setUp(100);
    // 20 takes of one token, a second apart, are 18 amounts: the first two are one, and so are the next two.
    const works = Array.from({ length: 20 }, (_, i) => {
      clock.set(i * 1_000);
      return limiter.consume("k");
    });
    limiter.refund("k", works[1] as Decision);
    expect(left()).toBe(81);
    // Those of an amount come back together, when the last of them was taken a window ago.
    for (const [at, there] of [[60_000, 81], [60_999, 81], [61_000, 82], [62_999, 82], [63_000, 84]] as const) {
      clock.set(at);
      expect([at, left()]).toEqual([at, there]);
    }
  });

  test("L22 · what a settlement takes beyond the estimate, and a debit, are taken now and over after the window", () => {
    const { clock, limiter, left } = setUp(10);
    const first = limiter.consume("k", 4);
    clock.set(8_000);
    expect(limiter.settle("k", first, 7)).toBe(true);
    limiter.debit("k", 25);
    expect(limiter.consume("k").retryAfterMs).toBe(60_000);
    clock.set(60_000);
    expect(left()).toBe(0);
    clock.set(68_000);
    expect(left()).toBe(10);
  });

  test("L22 · a credit gives back what was taken last", () => {
    const { clock, limiter, left } = setUp(10);
    limiter.consume("k", 6);
    clock.set(30_000);
    limiter.consume("k", 4);
    limiter.credit("k", 5);
    expect(left()).toBe(5);
    clock.set(59_999);
    expect(left()).toBe(5);
    clock.set(60_000);
    expect(left()).toBe(10);
  });

  test("L22 · a second settlement from a copy of a decision gives back at most one cost", () => {
    const { clock, limiter, left } = setUp(10);
    const first = limiter.consume("k", 4);
    limiter.consume("k", 6);
    clock.set(1_000);
    limiter.refund("k", first);
    expect(left()).toBe(4);
    expect(limiter.refund("k", { ...first })).toBe(false);
  });
});

describe("L14, L22 · numbers that change", () => {
  const policyOf = (capacity: number, ms: number): Policy => definePolicy({ name: "w", capacity, returns: afterMs(ms) });

  test("L22 · a limiter refuses tiers whose windows have two lengths", () => {
    const limiter = createLimiter({ policy: policyOf(10, 60_000) });
    expect(limiter.consume("k", { policy: policyOf(99, 60_000) }).allowed).toBe(true);
    expect(() => limiter.consume("k", { policy: policyOf(10, 3_600_000) })).toThrow(
      'Expected the windows "w" of all tiers of policy "w" to have one length, got 60000 and 3600000 ms. Give a tier with another ' +
      "length a policy name of its own",
    );
    const other = createLimiter({ policy: { name: "w", refill: { tokens: 1, everyMs: 1_000 } } });
    other.consume("k", { policy: policyOf(10, 60_000) });
    expect(() => other.peek("k", { policy: policyOf(10, 1_000) })).toThrow("to have one length");
  });

  test("L14 · a new capacity changes nothing that was spent", () => {
    const clock = new ManualClock(0);
    const limiter = createLimiter({ policy: policyOf(10, 60_000), store: new MemoryStore({ clock: clock.now }) });
    limiter.consume("k", 10);
    expect(limiter.peek("k", { policy: policyOf(25, 60_000) }).remaining).toBe(15);
    expect(limiter.peek("k", { policy: policyOf(4, 60_000) }).remaining).toBe(0);
    clock.set(60_000);
    expect(limiter.peek("k", { policy: policyOf(4, 60_000) }).remaining).toBe(4);
  });

  test("L14 · a deployment with another length: the shorter counts from its first call, also a refused one", () => {
    const clock = new ManualClock(0);
    const store = new MemoryStore({ clock: clock.now });
    const [hour, minute] = [policyOf(10, 3_600_000), policyOf(10, 60_000)];
    expect(callsOf(store).consume(hour, "k", 10).allowed).toBe(true);
    expect(callsOf(store).consume(minute, "k", 1)).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
    clock.set(60_000);
    expect(callsOf(store).consume(hour, "k", 10).allowed).toBe(true);
  });

  test("L14 · both versions of a deployment together keep the bound of the shorter window", () => {
    const numbers = fc.record({ capacity: fc.integer({ min: 1, max: 10 }), ms: fc.constantFrom(16, 160, 1_000, 60_000) });
    const step = fc.record({ version: fc.nat({ max: 1 }), move: fc.nat({ max: 2_000 }), waits: fc.boolean(), cost: fc.integer({ min: 1, max: 3 }) });
    fc.assert(fc.property(fc.tuple(numbers, numbers), fc.array(step, { maxLength: 80 }), (versions, steps) => {
      const clock = new ManualClock(0);
      const store = new MemoryStore({ clock: clock.now });
      const takes: Take[] = [];
      let waitMs = 0;
      for (const { version, move, waits, cost } of steps) {
        clock.advance(waits && waitMs < Infinity ? waitMs : move);
        const { capacity, ms } = versions[version] as { capacity: number; ms: number };
        const decision = callsOf(store).consume(policyOf(capacity, ms), "k", cost);
        waitMs = decision.retryAfterMs;
        if (decision.allowed) takes.push({ at: clock.now(), tokens: cost, decision, back: 0 });
      }
      expect(mostIn(takes, Math.min(...versions.map(({ ms }) => ms)))).toBeLessThanOrEqual(Math.max(...versions.map(({ capacity }) => capacity)));
    }), RUNS);
  });

  // How long before the deployment the old bound of one capacity reaches, and until when the old tokens matter after it.
  test.each<[string, LimitOptions, number, number]>([
    ["a longer window", { capacity: 5, returns: afterMs(3_600_000) }, 3_600_000, 60_001],
    ["a shorter window", { capacity: 5, returns: afterMs(10_000) }, 10_000, 60_000],
    ["a rate", { capacity: 5, refill: { tokens: 5, everyMs: 60_000 } }, 1, 60_000],
    ["a quota", { capacity: 5, renews: daily() }, 86_400_000, 60_000],
  ])("L14 · a deployment from %s to a window under one name lets one capacity more through, once (L22)", (_, old, reach, until) => {
    let most = 0;
    fc.assert(fc.property(fc.integer({ min: 1_000, max: 86_000_000 }), fc.array(fc.integer({ min: 1, max: 2 }), { minLength: 8, maxLength: 30 }), (deployed, costs) => {
      const clock = new ManualClock(0);
      const store = new MemoryStore({ clock: clock.now });
      const takes: Take[] = [];
      // Greedy callers: all that is there at the deployment, and then what each refusal says.
      const ask = (policy: Policy, tokens: number): number => {
        const decision = callsOf(store).consume(policy, "k", tokens);
        if (decision.allowed) takes.push({ at: clock.now(), tokens, decision, back: 0 });
        return decision.retryAfterMs;
      };
      const before = definePolicy({ name: "w", ...old } as PolicyOptions);
      for (const share of [0.5, 1]) {
        clock.set(Math.floor(deployed * share));
        for (const cost of costs.slice(0, 6)) ask(before, cost);
      }
      for (const cost of costs) clock.advance(ask(policyOf(5, 60_000), cost));
      const since = (from: number): Take[] => takes.filter(({ at }) => at > from);
      const around = since(deployed - reach).filter(({ at }) => at < deployed + until).reduce((sum, { tokens }) => sum + tokens, 0);
      expect(around).toBeLessThanOrEqual(2 * 5);
      most = Math.max(most, around);
      expect(mostIn(since(deployed), 60_000)).toBeLessThanOrEqual(5);
    }), RUNS);
    // All that the law allows, where the old tokens do not count.
    expect(most).toBe(10);
  });

  test("L22 · another kind under one name counts apart: one capacity more, once", () => {
    const clock = new ManualClock(0);
    const store = new MemoryStore({ clock: clock.now });
    const kinds = [
      { capacity: 5, refill: { tokens: 5, everyMs: 60_000 } }, { capacity: 5, returns: afterMs(60_000) }, { capacity: 5, returns: whenDone() },
    ].map((limit) => definePolicy({ name: "w", ...limit } as LimitOptions & { name: string }));
    for (const kind of [...kinds, ...kinds]) callsOf(store).consume(kind, "k", 5);
    for (const kind of kinds) expect(callsOf(store).peek(kind, "k", 1).remaining).toBe(0);
    callsOf(store).reset(kinds[0] as Policy, "k");
    for (const kind of kinds) expect(callsOf(store).peek(kind, "k", 1).remaining).toBe(5);
  });
});

test("L6 · a step back grants at most one capacity, and adds at most one window to any wait", () => {
  const step = fc.record({ move: fc.integer({ min: -200_000, max: 100_000 }), cost: fc.integer({ min: 1, max: 3 }), refunds: fc.boolean() });
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const [ms, capacity] = [60_000, 10];
    const clock = new ManualClock(10_000_000);
    const limiter = createLimiter({ policy: { name: "w", capacity, returns: afterMs(ms) }, store: new MemoryStore({ clock: clock.now }) });
    const takes: Take[] = [];
    let [real, back] = [0, 0];
    for (const { move, cost } of steps) {
      // The real time goes on by the steps ahead only.
      real += Math.max(0, move);
      if (move < 0) back += 1;
      clock.set(clock.now() + move);
      const decision = limiter.consume("k", cost);
      if (decision.allowed) takes.push({ at: real, tokens: cost, decision, back: 0 });
      else expect(decision.retryAfterMs).toBeLessThanOrEqual(ms);
    }
    expect(mostIn(takes, ms)).toBeLessThanOrEqual(capacity * (1 + back));
  }), RUNS);
});
