// Limits in flight beside an independent model: a plain list of tokens, each with its own date.
import fc from "fast-check";
import { definePolicy, MemoryStore, whenDone, type Decision } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { callsOf } from "../../src/testing/store-calls.js";

type Step =
  | { readonly what: "consume"; readonly cost: number; readonly moveMs: number }
  | { readonly what: "peek"; readonly cost: number; readonly moveMs: number }
  | { readonly what: "giveBack"; readonly tokens: number; readonly ago: number; readonly moveMs: number }
  | { readonly what: "renew"; readonly tokens: number; readonly ago: number; readonly moveMs: number };

const moveMs = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: -3_000, max: -1 }));
const back = { tokens: fc.integer({ min: 1, max: 4 }), ago: fc.nat({ max: 5 }), moveMs };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ what: fc.constant("consume" as const), cost: fc.integer({ min: 0, max: 7 }), moveMs }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("peek" as const), cost: fc.integer({ min: 0, max: 7 }), moveMs }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("giveBack" as const), ...back }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("renew" as const), ...back }) },
);

/** The dates of all tokens that were taken and not given back. */
class Model {
  dates: number[] = [];
  constructor(readonly capacity: number, readonly staleAfterMs: number, readonly retryAfterMs: number) {}

  dateOf(instant: number): number {
    const sixteenth = Math.ceil(this.staleAfterMs / 16);
    let date = instant + this.staleAfterMs - 1;
    while ((date + 1) % sixteenth !== 0) date++;
    return date;
  }

  // A date further ahead than any token that is taken now belongs to a clock that stepped back.
  held(now: number): number[] {
    const longest = this.staleAfterMs + Math.ceil(this.staleAfterMs / 16) - 1;
    return this.dates.filter((date) => date >= now).map((date) => (date - now > longest ? this.dateOf(now) : date)).sort((a, b) => a - b);
  }

  decide(cost: number, now: number, take: boolean): Partial<Decision> {
    let held = this.held(now);
    const fits = cost === 0 || held.length + cost <= this.capacity;
    let retryAfterMs = 0;
    if (!fits) {
      retryAfterMs = Infinity;
      for (let wait = 1; cost <= this.capacity && retryAfterMs === Infinity && wait <= this.retryAfterMs; wait++) {
        if (held.filter((date) => date >= now + wait).length + cost <= this.capacity) retryAfterMs = Math.min(wait, this.retryAfterMs);
        if (wait >= this.retryAfterMs) retryAfterMs = this.retryAfterMs;
      }
    }
    if (take && fits) {
      held = [...held, ...Array<number>(cost).fill(this.dateOf(now))].sort((a, b) => a - b);
      this.dates = held;
    }
    // A refusal writes nothing, except that it settles a date that is impossible.
    const longest = this.staleAfterMs + Math.ceil(this.staleAfterMs / 16) - 1;
    if (take && !fits && this.dates.some((date) => date - now > longest)) this.dates = held;
    const remaining = Math.max(0, this.capacity - held.length);
    const next = held[held.length - this.capacity + remaining] ?? now - 1;
    return {
      allowed: fits, remaining, retryAfterMs, inFlight: true,
      nextTokenMs: held.length === 0 ? 0 : next + 1 - now, resetMs: held.length === 0 ? 0 : (held.at(-1) as number) + 1 - now,
    };
  }

  giveBack(tokens: number, from: number, now: number): void {
    this.dates = this.held(now);
    for (let i = 0; i < tokens; i++) {
      const place = this.dates.indexOf(this.dateOf(from));
      if (place >= 0) this.dates.splice(place, 1);
    }
  }

  renew(tokens: number, from: number, to: number, now: number): void {
    this.dates = this.held(now);
    for (let i = 0; i < tokens && this.dateOf(to) >= now; i++) {
      const place = this.dates.indexOf(this.dateOf(from));
      if (place >= 0) this.dates[place] = this.dateOf(to);
    }
  }
}

test("L21 · every decision is that of a list of tokens with a date each, under any clock", () => {
  const setup = fc.record({ capacity: fc.integer({ min: 1, max: 6 }), staleAfterMs: fc.constantFrom(1_000, 1_001, 4_567, 16_000), retryAfterMs: fc.constantFrom(1, 250, 1_000) });
  fc.assert(
    fc.property(setup, fc.array(step, { minLength: 1, maxLength: 60 }), ({ capacity, staleAfterMs, retryAfterMs }, steps) => {
      const clock = new ManualClock(1_700_000_000_000);
      const store = new MemoryStore({ clock: clock.now });
      const policy = definePolicy({ name: "p", capacity, returns: whenDone({ staleAfterMs, retryAfterMs, maxWorkMs: 16_000 }) });
      const model = new Model(capacity, staleAfterMs, retryAfterMs);
      const instants = [clock.now()];
      for (const one of steps) {
        clock.set(clock.now() + one.moveMs);
        const now = clock.now();
        instants.unshift(now);
        if (one.what === "consume" || one.what === "peek") {
          const { cost, what } = one;
          expect(callsOf(store)[what](policy, "key", cost)).toMatchObject(model.decide(cost, now, what === "consume"));
        } else {
          const from = instants[one.ago % instants.length] as number;
          if (one.what === "giveBack") {
            callsOf(store).adjust(policy, "key", -one.tokens, from);
            model.giveBack(one.tokens, from, now);
          } else {
            callsOf(store).renew(policy, "key", one.tokens, { from, to: now });
            model.renew(one.tokens, from, now, now);
          }
        }
      }
    }),
    { numRuns: 400 },
  );
});

test("L21 · a record has at most 18 dates at any capacity", () => {
  const clock = new ManualClock(1_700_000_000_003);
  const store = new MemoryStore({ clock: clock.now });
  const { kind } = whenDone({ staleAfterMs: 16_000 }).kindCode;
  const policy = definePolicy({ name: "p", capacity: 1_000_000, returns: whenDone({ staleAfterMs: 16_000 }) });
  const dates = new Set<number>();
  for (let call = 0; call < 16_000; call++) {
    callsOf(store).consume(policy, "key", 1);
    dates.add(kind.dateOf(clock.now()));
    clock.advance(1);
  }
  expect(dates.size).toBeLessThanOrEqual(18);
  expect(callsOf(store).peek(policy, "key", 1).remaining).toBe(1_000_000 - 16_000);
});

test("L21 · a token is held in the last millisecond of its date, and back in the next", () => {
  const clock = new ManualClock(1_700_000_000_000);
  const store = new MemoryStore({ clock: clock.now });
  const returns = whenDone({ staleAfterMs: 1_000 });
  const policy = definePolicy({ name: "p", capacity: 1, returns });
  callsOf(store).consume(policy, "key", 1);
  clock.set(returns.kindCode.kind.dateOf(clock.now()));
  expect(callsOf(store).peek(policy, "key", 1)).toMatchObject({ allowed: false, retryAfterMs: 1 });
  clock.advance(1);
  expect(callsOf(store).peek(policy, "key", 1).allowed).toBe(true);
});
