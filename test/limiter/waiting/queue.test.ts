// The rules of a queue by themselves: a function of state, event and time.
import fc from "fast-check";
import { createLimiter, perSecond, type Decision } from "sluice";
import { describe, expect, test } from "vitest";
import { partsOf } from "../../../src/limiter/parts.js";
import { wantsOf } from "../../../src/limiter/waiting/forecast.js";
import { itemsOf } from "../../../src/limiter/waiting/list.js";
import { emptyQueue, nextQueue } from "../../../src/limiter/waiting/queue.js";
import type { QueuedCaller, QueueEffect, QueueEvent, QueueState } from "../../../src/limiter/waiting/queue-state.js";
import { TokenBucket } from "../../../src/index.js";
import { ManualClock } from "../../../src/testing/index.js";

const numbers = { capacity: 3, refill: perSecond(10) };
const parts = partsOf(createLimiter({ policy: numbers }));
const rules = { timeoutMs: 100, decisionOf: parts.decisionOf, partsOf: parts.partsOf };

function caller(id: number, cost = 1, until = Infinity, key = "k"): QueuedCaller {
  const charges = parts.charges(key, cost);
  return { id, charges, wants: wantsOf(charges), until };
}

/** Applies events to a queue, and collects the effects. */
function play(events: readonly (readonly [now: number, event: QueueEvent])[], from = emptyQueue()): { state: QueueState; effects: QueueEffect[] } {
  let state = from;
  const effects: QueueEffect[] = [];
  for (const [now, event] of events) {
    const step = nextQueue(state, event, now, rules);
    state = step.state;
    effects.push(...step.effects);
  }
  return { state, effects };
}

const kinds = (effects: readonly QueueEffect[]): string[] => effects.map((effect) => ("caller" in effect ? `${effect.type} ${effect.caller.id}` : effect.type));
const bucketAt = (now: number): TokenBucket => new TokenBucket({ ...numbers, clock: () => now });

describe("a queue", () => {
  test("gathers the callers of a tick, asks for as many as can be served, and sleeps until the next token", () => {
    const bucket = bucketAt(0);
    const four = [1, 2, 3, 4].map((id) => caller(id));
    const joined = play([...four.map((each) => [0, { type: "joined", caller: each }] as const), [0, { type: "gathered" }]]);
    expect(kinds(joined.effects)).toEqual(["gather", "ask 1", "ask 2", "ask 3"]);
    const answered = play(four.slice(0, 3).map((each) => [2, { type: "answered", caller: each, decision: bucket.consume(), jitterMs: 0 }] as const), joined.state);
    expect(kinds(answered.effects)).toEqual(["serve 1", "serve 2", "serve 3", "sleep"]);
    // The store decided in the middle of the trip.
    expect(answered.effects.at(-1)).toEqual({ type: "sleep", until: 101, pollMs: 1_000 });
    expect(kinds(play([[101, { type: "woken" }]], answered.state).effects)).toEqual(["gather"]);
  });

  test("a grant goes to no caller of another key: it is refunded", () => {
    const [ann, bob] = [caller(1, 1, Infinity, "ann"), caller(2, 1, Infinity, "bob")];
    const { effects } = play([
      [0, { type: "joined", caller: ann }],
      [0, { type: "gathered" }],
      [0, { type: "joined", caller: bob }],
      [0, { type: "left", ids: new Set([1]) }],
      [1, { type: "answered", caller: ann, decision: bucketAt(0).consume(), jitterMs: 0 }],
    ]);
    expect(kinds(effects)).toEqual(["gather", "ask 1", "refund"]);
  });

  test("with news asks for its first caller at once, and never twice at a time", () => {
    const bucket = bucketAt(0);
    bucket.consume(3);
    const [first, second] = [caller(1), caller(2)];
    const asleep = play([
      [0, { type: "joined", caller: first }],
      [0, { type: "joined", caller: second }],
      [0, { type: "gathered" }],
      [0, { type: "answered", caller: first, decision: bucket.consume(), jitterMs: 0 }],
      [0, { type: "answered", caller: second, decision: bucket.consume(), jitterMs: 0 }],
    ]);
    expect(asleep.effects.at(-1)?.type).toBe("sleep");
    const woken = play([[10, { type: "news" }], [10, { type: "news" }], [10, { type: "gathered" }], [11, { type: "news" }]], asleep.state);
    expect(kinds(woken.effects)).toEqual(["gather", "ask 1"]);
    const refused = play([[12, { type: "answered", caller: first, decision: bucket.consume(), jitterMs: 0 }]], woken.state);
    // The news of 11 may be newer than the refusal.
    expect(kinds(refused.effects)).toEqual(["gather"]);
  });

  test("never changes a state: the same event on the same state gives the same", () => {
    const plain = (name: string, value: unknown): unknown => {
      if (name === "limiter") return undefined;
      if (value instanceof Map || value instanceof Set) return [...value];
      return typeof value === "object" && value !== null && "items" in value ? itemsOf(value as never) : value;
    };
    const text = (value: unknown): string => JSON.stringify(value, plain);
    const event = fc.oneof(
      fc.record({ type: fc.constant("joined" as const), cost: fc.integer({ min: 0, max: 3 }), patience: fc.constantFrom(0, 150, Infinity) }),
      fc.record({ type: fc.constant("left" as const), who: fc.nat(20) }),
      fc.record({ type: fc.constantFrom("woken" as const, "news" as const) }),
      fc.record({ type: fc.constant("work" as const) }),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(60), event), { minLength: 1, maxLength: 40, size: "max" }), (list) => {
        const clock = new ManualClock();
        const bucket = new TokenBucket({ ...numbers, clock: clock.now });
        let state = emptyQueue();
        let isAsleep = false;
        let work: QueueEvent[] = [];
        const [entered, ended] = [new Set<number>(), new Map<number, string>()];
        const apply = (each: QueueEvent): void => {
          const before = text(state);
          const step = nextQueue(state, each, clock.now(), rules);
          const again = nextQueue(state, each, clock.now(), rules);
          expect(text(state)).toBe(before);
          expect(text(again)).toBe(text(step));
          state = step.state;
          for (const effect of step.effects) run(effect);
          // A queue with callers sleeps or works, and has no caller twice.
          isAsleep = step.effects.some(({ type }) => type === "sleep") || (isAsleep && each.type === "joined");
          if (itemsOf(state.line).length > 0) expect(state.round !== null || isAsleep).toBe(true);
        };
        const finish = (id: number, how: string): void => {
          expect([ended.has(id), entered.has(id)]).toEqual([false, true]);
          ended.set(id, how);
        };
        const run = (effect: QueueEffect): void => {
          if (effect.type === "gather") work.push({ type: "gathered" });
          else if (effect.type === "ask") work.push({ type: "answered", caller: effect.caller, decision: bucket.consume(effect.caller.wants[0]?.tokens), jitterMs: 0 });
          else if (effect.type === "serve" || effect.type === "refuse") finish(effect.caller.id, effect.type);
          else if (effect.type === "refund") {
            for (const { decision } of effect.grants) if (decision.cost > 0) bucket.credit(decision.cost);
            work.push({ type: "refunded" });
          }
        };
        const doWork = (): void => {
          while (work.length > 0) {
            const now = work;
            work = [];
            for (const each of now) apply(each);
          }
        };
        list.forEach(([after, each], id) => {
          clock.advance(after);
          if (each.type === "joined") apply({ type: "joined", caller: (entered.add(id), caller(id, each.cost, clock.now() + each.patience)) });
          else if (each.type === "left") {
            if (itemsOf(state.line).some((one) => one.id === each.who)) finish(each.who, "left");
            apply({ type: "left", ids: new Set([each.who]) });
          } else if (each.type === "work") doWork();
          else apply({ type: each.type });
        });
        for (let i = 0; i < 200 && (work.length > 0 || itemsOf(state.line).length > 0); i++) {
          doWork();
          clock.advance(100);
          if (state.round === null) apply({ type: "woken" });
        }
        // Every caller has exactly one end, and none is left.
        expect([...ended.keys()].sort((a, b) => a - b)).toEqual([...entered].sort((a, b) => a - b));
        expect(state.round).toBe(null);
        expect([...state.wanted.values()].every((tokens) => tokens === 0)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

test("a refusal is plain data of the limiter's shape, with the wait behind the callers before", () => {
  const bucket = bucketAt(0);
  bucket.consume(3);
  const [first, late] = [caller(1, 3), caller(2, 1, 350)];
  const { effects } = play([
    [0, { type: "joined", caller: first }],
    [0, { type: "gathered" }],
    [0, { type: "answered", caller: first, decision: bucket.consume(3), jitterMs: 0 }],
    [40, { type: "joined", caller: late }],
  ]);
  const refusal = effects.find(({ type }) => type === "refuse") as { decision: Decision };
  expect(refusal.decision).toEqual({ ...bucket.peek(), allowed: false, reason: "limited", retryAfterMs: 360, nextTokenMs: 360, resetMs: 560, at: 40, remaining: 0, cost: 1, policy: "default", limit: "default" });
});
