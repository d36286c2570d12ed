// Law L19: one request may cost each limit of a policy differently.
import fc from "fast-check";
import { createLimiter, definePolicy, TokenBucket, type Cost, MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { readings } from "../../src/core/decision.js";
import { costOf, onwardSteps, policies, refillMs, resolve, starts, type RateNumbers } from "../helpers/arbitraries.js";
import type { ManyLimitsPolicy } from "../../src/core/policy.js";

const minute = 60_000;
const chat = definePolicy({
  name: "chat",
  limits: [
    { name: "requests", capacity: 60, refill: { tokens: 60, everyMs: minute } },
    { name: "tokens", capacity: 30_000, refill: { tokens: 30_000, everyMs: minute } },
  ],
});

/** A limiter on a clock of its own, and what its key has left of each limit. */
function chatLimiter(policy: Parameters<typeof createLimiter>[0]["policy"] = chat) {
  const clock = new ManualClock();
  const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
  const left = () => readings(limiter.peek("ann", { cost: 0 } as object)).map(({ remaining }) => remaining);
  return { clock, limiter, left, take: (cost?: Cost) => limiter.consume("ann", { cost }) };
}

describe("L19 · a cost for each limit", () => {
  test("L19 · a limit is charged its own cost, and 1 when it is left out", () => {
    const { take, left } = chatLimiter();
    expect(take({ tokens: 2_000 })).toMatchObject({
      allowed: true, limit: "tokens", cost: 2_000, capacity: 30_000, remaining: 28_000,
      limits: [{ limit: "requests", cost: 1, remaining: 59 }, { limit: "tokens", cost: 2_000, remaining: 28_000 }],
    });
    expect(take({ tokens: 0, requests: 4 })).toMatchObject({ limit: "requests", cost: 4, remaining: 55 });
    expect(take({})).toMatchObject({ cost: 1, limits: [{ cost: 1 }, { cost: 1 }] });
    expect(take(5)).toMatchObject({ limits: [{ cost: 5 }, { cost: 5 }] });
    expect(left()).toEqual([49, 27_994]);
  });

  test("L19 · a limit that is left out costs its own `cost`, also 0", () => {
    const limits = [{ name: "requests", capacity: 10, refill: { tokens: 1, everyMs: 1_000 } }, { name: "tokens", capacity: 500, refill: { tokens: 1, everyMs: 1_000 }, cost: 100 }, { name: "images", capacity: 3, refill: { tokens: 1, everyMs: minute }, cost: 0 }] as const;
    const { limiter, take, left } = chatLimiter({ name: "own", limits });
    expect(readings(limiter.consume("ann")).map(({ cost }) => cost)).toEqual([1, 100, 0]);
    take({ images: 2 });
    take({ tokens: 7, images: 1 });
    take(0);
    expect(left()).toEqual([7, 293, 0]);
    // The empty limit costs this request nothing.
    expect(limiter.consume("ann")).toMatchObject({ allowed: true, limit: "tokens" });
    expect(limiter.consume("ann", 1)).toMatchObject({ allowed: false, limit: "images" });
    expect(limiter.policy.limits.map(({ cost }) => cost)).toEqual([1, 100, 0]);
  });

  test("L19 · a limit's own cost is a whole number of at most its capacity", () => {
    const policy = (cost: unknown) => ({ limits: [{ name: "tokens", capacity: 30, refill: { tokens: 1, everyMs: 1_000 }, cost: cost as number }] });
    expect(() => definePolicy(policy(31))).toThrow(new RangeError('Policy "default", limit "tokens": Expected `cost` to be at most the capacity, 30, got 31. Lower it, or raise `capacity`.'));
    for (const cost of [-1, 0.5, NaN, Infinity, "2", null]) expect(() => definePolicy(policy(cost))).toThrow("Expected `cost` to be a whole number of at least 0, got ");
    for (const cost of [0, 1, 30, undefined]) expect(definePolicy(policy(cost)).ownCosts).toBe(cost ?? 1);
    expect(() => definePolicy({ capacity: 3, refill: { tokens: 1, everyMs: 1 }, cost: 2 } as object as ManyLimitsPolicy)).toThrow("Unknown option `cost`");
  });

  test("L19 · a policy that was copied keeps its own costs", () => {
    const own = definePolicy({ limits: [{ name: "a", capacity: 9, refill: { tokens: 1, everyMs: 1 } }, { name: "b", capacity: 9, refill: { tokens: 1, everyMs: 1 }, cost: 0 }] });
    for (const copy of [structuredClone(own), JSON.parse(JSON.stringify(own)) as typeof own]) expect(definePolicy(copy).ownCosts).toEqual([1, 0]);
  });

  test.each<[what: string, cost: unknown, message: string]>([
    ["the name of no limit", { token: 1 }, 'Unknown limit `token` in `cost`. The limits of policy "chat": requests, tokens'],
    ["a name that objects have", { constructor: 1 }, "Unknown limit `constructor` in `cost`"],
    ["a fraction", { tokens: 0.5 }, "Expected `cost.tokens` to be a whole number of at least 0, got 0.5"],
    ["a negative number", { tokens: -1 }, "Expected `cost.tokens` to be a whole number of at least 0, got -1"],
    ["nothing under a name", { tokens: undefined }, "Expected `cost.tokens` to be a whole number of at least 0, got undefined"],
    ["a number beyond 2^53 - 1", { tokens: 2 ** 53 }, "Expected `cost.tokens` to be a whole number"],
    ["a text", { tokens: "2" }, 'Expected `cost.tokens` to be a whole number of at least 0, got "2"'],
    ["a list", [1, 2], "Expected `cost` to be a whole number of at least 0, got"],
    ["null", null, "Expected `cost` to be a whole number of at least 0, got null"],
  ])("L9, L19 · %s is refused loudly and takes nothing", (_what, cost, message) => {
    const { limiter, take, left } = chatLimiter();
    expect(() => take(cost as Cost)).toThrow(message);
    expect(() => limiter.peek("ann", { cost: cost as Cost })).toThrow(message);
    expect(left()).toEqual([60, 30_000]);
  });

  test("L19 · a name in other case is unknown, and an inherited name is refused", () => {
    const { take, left } = chatLimiter();
    expect(() => take({ Tokens: 1 })).toThrow("Unknown limit `Tokens`");
    expect(() => take(Object.create({ tokens: 9 }) as Cost)).toThrow("Expected `cost` to be a number or a plain object");
    expect(left()).toEqual([60, 30_000]);
  });

  test("L19 · a cost above one limit's capacity refuses the whole for good and takes nothing", () => {
    const { take, left } = chatLimiter();
    expect(take({ tokens: 30_001 })).toMatchObject({ allowed: false, reason: "cost_above_capacity", limit: "tokens", cost: 30_001, retryAfterMs: Infinity, limits: [{ retryAfterMs: 0 }, { retryAfterMs: Infinity }] });
    expect(take({ requests: 61 })).toMatchObject({ reason: "cost_above_capacity", limit: "requests" });
    // 2,000 exceeds the smallest capacity, but not that of its own limit.
    expect(take({ tokens: 2_000 }).allowed).toBe(true);
    expect(left()).toEqual([59, 28_000]);
  });

  test("L19 · the limit with the longest refusing wait binds, and else the one in which fewest such requests fit", () => {
    const { clock, take } = chatLimiter();
    take({ tokens: 29_000 }); // 59 requests left, and none of 1,001 tokens
    expect(take({ tokens: 1_001 })).toMatchObject({ allowed: false, limit: "tokens", cost: 1_001, remaining: 1_000, retryAfterMs: 2 });
    expect(take({ tokens: 10 })).toMatchObject({ allowed: true, limit: "requests", remaining: 58 });
    expect(take({ tokens: 100 })).toMatchObject({ allowed: true, limit: "tokens", remaining: 890 });
    take({ requests: 57, tokens: 0 });
    expect(take({ tokens: 891 })).toMatchObject({ allowed: false, limit: "requests", retryAfterMs: 1_000, limits: [{ retryAfterMs: 1_000 }, { retryAfterMs: 2 }] });
    clock.advance(999);
    expect(take({ tokens: 891 }).allowed).toBe(false);
    clock.advance(1);
    expect(take({ tokens: 891 }).allowed).toBe(true);
  });

  test("L19 · refunds give back each limit's own cost, and of each limit only what has not refilled", () => {
    const { clock, limiter, take, left } = chatLimiter();
    const first = take({ tokens: 2_000, requests: 3 });
    limiter.refund("ann", first);
    limiter.refund("ann", first);
    expect(left()).toEqual([60, 30_000]);
    const second = take({ tokens: 2_000, requests: 30 });
    clock.advance(10_000); // 10 requests and all tokens are back
    take({ tokens: 3_000, requests: 10 });
    limiter.refund("ann", second);
    expect(left()).toEqual([50, 27_000]);
    limiter.credit("ann", { cost: { tokens: 500 } });
    limiter.credit("ann", { cost: { requests: 2 } });
    expect(left()).toEqual([52, 27_500]);
  });

  test("L1, L19 · a refund under a version of the policy with other limits gives back by their names", () => {
    const clock = new ManualClock();
    const limiter = createLimiter({ policy: chat, store: new MemoryStore({ clock: clock.now }) });
    const [requests, tokens] = chat.limits;
    const turned = definePolicy({ name: "chat", limits: [{ ...tokens }, { ...requests }, { name: "new", capacity: 9, refill: { tokens: 1, everyMs: minute } }] as never });
    const decision = limiter.consume("ann", { cost: { tokens: 50 } });
    limiter.consume("ann", { cost: { tokens: 100, requests: 59, new: 5 }, policy: turned });
    limiter.refund("ann", decision, { policy: turned });
    expect(limiter.peek("ann", { cost: 0, policy: turned }).limits?.map(({ limit, remaining }) => [limit, remaining])).toEqual([["tokens", 29_900], ["requests", 1], ["new", 4]]);
  });
});

/** Costs of each limit, which are mostly large or small for one and fit another. */
const histories = fc.tuple(policies, starts, onwardSteps).map(([policy, start, list]) => {
  const history = resolve(start, list, policy.limits[0] as RateNumbers);
  return { policy, history: history.map(({ now }, at) => ({ now, costs: policy.limits.map((limit, place) => costOf((list[(at + place) % list.length] as (typeof list)[number]).cost, limit)) })) };
});

function byName(costs: readonly number[]): Cost {
  return Object.fromEntries(costs.map((cost, i) => [`${i + 1}`, cost]));
}

describe("L19 · the laws hold for each limit and for all together", () => {
  test("L10, L19 · a policy answers as buckets of its limits would, were each asked its own cost before any was charged", () => {
    fc.assert(
      fc.property(histories, ({ policy, history }) => {
        const { clock, take } = chatLimiter(policy);
        const buckets = policy.limits.map((limit) => new TokenBucket({ ...limit, clock: clock.now }));
        for (const { now, costs } of history) {
          clock.set(now);
          const asked = buckets.map((bucket, i) => bucket.peek(costs[i] as number));
          const all = asked.every(({ allowed }) => allowed);
          const each = all ? buckets.map((bucket, i) => bucket.consume(costs[i] as number)) : asked;
          const decision = take(byName(costs));
          expect(decision.allowed).toBe(all);
          const numbers = each.map(({ cost, capacity, remaining, retryAfterMs, nextTokenMs, resetMs }, i) => ({ limit: `${i + 1}`, cost, capacity, remaining, retryAfterMs, nextTokenMs, resetMs }));
          expect(decision.limits).toStrictEqual(numbers);
        }
      }),
      { numRuns: 150 },
    );
  });

  test("L1, L19 · no window grants any limit more than its capacity and what was refilled in it", () => {
    fc.assert(
      fc.property(histories, ({ policy, history }) => {
        const { clock, take } = chatLimiter(policy);
        const granted: { readonly at: number; readonly costs: readonly number[] }[] = [];
        for (const { now, costs } of history) {
          clock.set(now);
          if (take(byName(costs)).allowed) granted.push({ at: Math.floor(now), costs });
        }
        policy.limits.forEach(({ capacity, refill }, place) => {
          for (let from = 0; from < granted.length; from++) {
            let sum = 0n;
            for (let to = from; to < granted.length; to++) {
              sum += BigInt((granted[to] as (typeof granted)[number]).costs[place] as number);
              const ms = BigInt((granted[to] as (typeof granted)[number]).at - (granted[from] as (typeof granted)[number]).at);
              if (sum * BigInt(refill.everyMs) > BigInt(capacity) * BigInt(refill.everyMs) + BigInt(refill.tokens) * ms) throw new Error(`charges ${from} to ${to} took ${sum} tokens of limit ${place + 1} in ${ms} ms`);
            }
          }
        });
      }),
      { numRuns: 150 },
    );
  });

  test("L2, L19 · the wait of a refusal is exact for its own costs", () => {
    fc.assert(
      fc.property(histories, ({ policy, history }) => {
        const { clock, take } = chatLimiter(policy);
        for (const { now, costs } of history) {
          if (now < clock.now()) return;
          clock.set(now);
          const { reason, retryAfterMs } = take(byName(costs));
          const at = Math.floor(now);
          if (reason !== "limited" || at + retryAfterMs > Number.MAX_SAFE_INTEGER / 4) continue;
          expect(retryAfterMs).toBeLessThanOrEqual(Math.max(...policy.limits.map(refillMs)));
          clock.set(at + retryAfterMs - 1);
          expect(take(byName(costs)).allowed).toBe(false);
          clock.set(at + retryAfterMs);
          expect(take(byName(costs)).allowed).toBe(true);
          return;
        }
      }),
      { numRuns: 250 },
    );
  });
});
