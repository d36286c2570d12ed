import fc from "fast-check";
import { definePolicy, MemoryStore } from "sluice";
import { describe, expect, test } from "vitest";
import { anyHistories, limits, onwardHistories, refillMs, starts, type ResolvedStep, type RateNumbers } from "../helpers/arbitraries.js";
import { keepers, type Subject } from "./subjects.js";
import { callsOf } from "../../src/testing/store-calls.js";

/** Tokens that went out at an instant; negative when they came back. */
interface Grant {
  readonly at: number;
  readonly tokens: number;
}

/** Plays a history without `reset`, which is allowed to give everything back. */
function play(subject: Subject, history: readonly ResolvedStep[]): Grant[] {
  const grants: Grant[] = [];
  for (const { call, now, cost } of history) {
    subject.clock.set(now);
    if (call === "consume") grants.push({ at: now, tokens: subject.consume(cost).allowed ? cost : 0 });
    else if (call === "peek") subject.peek(cost);
    else if (call === "refund" && cost > 0) {
      const before = subject.peek(0).remaining;
      subject.credit(cost);
      grants.push({ at: now, tokens: before - subject.peek(0).remaining });
    }
  }
  return grants;
}

/** `granted <= capacity + tokens * ms / everyMs`, without a division. */
function isWithin(granted: bigint, capacities: number, ms: bigint, { capacity, refill }: RateNumbers): boolean {
  const every = BigInt(refill.everyMs);
  return granted * every <= BigInt(capacities) * BigInt(capacity) * every + BigInt(refill.tokens) * ms;
}

const wholeMs = (instant: number): bigint => BigInt(Math.floor(instant));

describe.each(keepers)("$keeper", ({ make }) => {
  test("L1 · bound: no window grants more than the capacity and what was refilled in it", () => {
    fc.assert(
      fc.property(onwardHistories, ({ limit, history }) => {
        const grants = play(make(limit), history);
        for (let from = 0; from < grants.length; from++) {
          let granted = 0n;
          for (let to = from; to < grants.length; to++) {
            granted += BigInt((grants[to] as Grant).tokens);
            const ms = wholeMs((grants[to] as Grant).at) - wholeMs((grants[from] as Grant).at);
            // Not `expect`, which would take longer than everything else here: there are some 200 000 windows.
            if (!isWithin(granted, 1, ms, limit)) throw new Error(`calls ${from} to ${to} got ${granted} tokens in ${ms} ms`);
          }
        }
      }),
      { numRuns: 400 },
    );
  });

  test("L1 · bound: a caller who never stops asking gets the whole of it", () => {
    const subject = make({ capacity: 20, refill: { tokens: 7, everyMs: 13 } });
    let granted = 0;
    for (let ms = 0; ms <= 1_300; ms++) {
      subject.clock.set(ms);
      while (subject.consume().allowed) granted += 1;
    }
    expect(granted).toBe(20 + 700);
  });

  test("L5 · frozen clock: a full bucket admits exactly its capacity, however it is asked", () => {
    const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });
    fc.assert(
      fc.property(limits, starts, shares, (limit, start, list) => {
        const subject = make(limit);
        subject.clock.set(start);
        let left = limit.capacity;
        for (const share of list) {
          const cost = Math.floor(share * left);
          expect(subject.consume(cost)).toMatchObject({ allowed: true, remaining: left - cost });
          left -= cost;
          if (left < limit.capacity) expect(subject.consume(left + 1).allowed).toBe(false);
        }
        expect(subject.consume(left)).toMatchObject({ allowed: true, remaining: 0 });
        expect(subject.consume(1)).toMatchObject({ allowed: false, remaining: 0 });
      }),
      { numRuns: 300 },
    );
  });

  test("L5 · frozen clock: one by one, at every ratio from 1 to 12 tokens in 1 to 12 ms", () => {
    for (let tokens = 1; tokens <= 12; tokens++) {
      for (let everyMs = 1; everyMs <= 12; everyMs++) {
        const subject = make({ capacity: 17, refill: { tokens, everyMs } });
        subject.clock.set(1_700_000_000_000.3);
        let granted = 0;
        for (let call = 0; call < 40; call++) granted += subject.consume().allowed ? 1 : 0;
        expect(granted, `${tokens} per ${everyMs} ms`).toBe(17);
      }
    }
  });

  test("L6 · a step back grants at most one capacity more, a jump ahead at most the capacity", () => {
    fc.assert(
      fc.property(anyHistories, ({ limit, history }) => {
        const grants = play(make(limit), history);
        let granted = 0n;
        let capacities = 1;
        let forward = 0n;
        for (const [i, { at, tokens }] of grants.entries()) {
          granted += BigInt(tokens);
          const moved = i === 0 ? 0n : wholeMs(at) - wholeMs((grants[i - 1] as Grant).at);
          if (moved < 0n) capacities += 1;
          else forward += moved;
          if (!isWithin(granted, capacities, forward, limit)) throw new Error(`${granted} tokens by call ${i}`);
        }
      }),
      { numRuns: 400 },
    );
  });

  test("L6 · a step back of less than one refill grants nothing at all until the clock has caught up", () => {
    fc.assert(
      fc.property(limits, fc.double({ min: 0, max: 1, noNaN: true }), (limit, share) => {
        const subject = make(limit);
        const full = refillMs(limit);
        fc.pre(full > 1 && full < 2 ** 50);
        const back = Math.floor(share * (full - 1));
        subject.clock.set(full);
        expect(subject.consume(limit.capacity).allowed).toBe(true);
        const normal = subject.consume(1).retryAfterMs;
        subject.clock.advance(-back);
        expect(subject.consume(1)).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: normal + back });
        subject.clock.advance(back);
        expect(subject.consume(1)).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: normal });
      }),
    );
  });

  test("L6 · steps back of less than one refill grant nothing more while a bucket is in use: no time counts twice", () => {
    fc.assert(
      fc.property(anyHistories, ({ limit, history }) => {
        const subject = make(limit);
        const least = refillMs(limit) - 2;
        let highest = -Infinity;
        let [first, granted] = [0n, 0n];
        for (const { call, now, cost } of history) {
          // The history's steps back, cut short.
          const at = Math.max(now, highest - least);
          subject.clock.set(at);
          if (subject.peek(0).resetMs === 0) [first, granted, highest] = [wholeMs(at), 0n, at];
          highest = Math.max(highest, at);
          if (call !== "peek" && subject.consume(cost).allowed) granted += BigInt(cost);
          if (!isWithin(granted, 1, wholeMs(highest) - first, limit)) throw new Error(`${granted} tokens by ${at}`);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("L6 · nobody waits longer than one full refill beyond the normal wait, whatever the clock does", () => {
    fc.assert(
      fc.property(anyHistories, ({ limit, history }) => {
        const subject = make(limit);
        const full = refillMs(limit);
        for (const { call, now, cost } of history) {
          subject.clock.set(now);
          if (call === "refund" && cost > 0) subject.credit(cost);
          const { reason, remaining, retryAfterMs, nextTokenMs, resetMs } = subject.consume(cost);
          const normal = Math.ceil(((Math.min(cost, limit.capacity) - remaining) * limit.refill.everyMs) / limit.refill.tokens);
          if (reason === "limited") expect(retryAfterMs).toBeLessThanOrEqual((normal + full) * (1 + 2 ** -50));
          expect(Math.max(nextTokenMs, resetMs)).toBeLessThanOrEqual(2 * full);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("L6 · the told wait is true after a step back of any length: refusals do not keep a bucket empty, or a block in force", () => {
    fc.assert(
      fc.property(limits, fc.constantFrom(1.5, 100, 1e9), (limit, refills) => {
        const now = { ms: 0 };
        const store = new MemoryStore({ clock: () => now.ms });
        const policy = definePolicy({ name: "p", ...limit });
        const full = refillMs(limit);
        fc.pre(full * refills < 2 ** 50);
        callsOf(store).consume(policy, "spent", limit.capacity);
        callsOf(store).block(policy, "blocked", full);
        now.ms = -Math.ceil(full * refills) - 1;
        for (const key of ["spent", "blocked"]) {
          const { allowed, retryAfterMs } = callsOf(store).consume(policy, key, 1);
          expect(allowed).toBe(false);
          callsOf(store).consume(policy, key, 1);
          now.ms += retryAfterMs;
          expect(callsOf(store).consume(policy, key, 1).allowed).toBe(true);
          now.ms -= retryAfterMs;
        }
      }),
    );
  });

  test("L6 · years idle do not overflow: the bucket is full and no fuller", () => {
    fc.assert(
      fc.property(limits, fc.constantFrom(1, 10, 100_000), (limit, years) => {
        const subject = make(limit);
        fc.pre(refillMs(limit) < years * 31_557_600_000);
        subject.consume(limit.capacity);
        subject.clock.advance(years * 31_557_600_000);
        expect(subject.peek(limit.capacity)).toMatchObject({ allowed: true, remaining: limit.capacity, resetMs: 0 });
        expect(subject.consume(limit.capacity).allowed).toBe(true);
        expect(subject.consume(1).allowed).toBe(false);
      }),
    );
  });
});
