// `debit` and `block`: what a limiter does to a caller who misbehaves.
import fc from "fast-check";
import { createLimiter, definePolicy, MemoryStore, perSecond, type Limiter } from "sluice";
import { casStore } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { limits } from "../helpers/arbitraries.js";
import { mapBackend } from "../helpers/map-backend.js";
import { bareStore, LaterStore } from "../helpers/stores.js";
import { UnsteadyStore } from "../helpers/unsteady-store.js";

const policy = { name: "api", capacity: 10, refill: perSecond(2) };
const several = definePolicy({
  name: "chat",
  limits: [{ name: "requests", capacity: 5, refill: perSecond(1) }, { name: "tokens", capacity: 1_000, refill: perSecond(100) }],
});
const LONGEST_MS = 2_147_483_647_000;

function limiterOf(own: Parameters<typeof createLimiter>[0]["policy"] = policy) {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock: clock.now });
  return { clock, store, limiter: createLimiter({ policy: own, store }) };
}

describe("debit", () => {
  test("takes exactly what it says, also what is not there, and every wait is exact", () => {
    const { clock, limiter } = limiterOf();
    limiter.consume("ann", 4);
    limiter.debit("ann", 50);
    expect(limiter.peek("ann")).toMatchObject({ remaining: 0, retryAfterMs: 22_500, resetMs: 27_000 });
    clock.advance(22_499);
    expect(limiter.consume("ann").allowed).toBe(false);
    clock.advance(1);
    expect(limiter.consume("ann").allowed).toBe(true);
    limiter.debit("ann", 1_000_000);
    expect(limiter.peek("ann").retryAfterMs).toBe(500_000_500);
  });

  test("by names takes from these limits alone", () => {
    const { limiter } = limiterOf(several);
    limiter.debit("ann", { cost: { tokens: 1_500 } });
    expect(limiter.peek("ann")).toMatchObject({ limit: "tokens", retryAfterMs: 5_010, limits: [{ remaining: 5 }, { remaining: 0 }] });
    limiter.debit("ann", { cost: { requests: 2, tokens: 2 } });
    expect(limiter.peek("ann")).toMatchObject({ retryAfterMs: 5_030, limits: [{ remaining: 3 }, { remaining: 0 }] });
    for (const verb of ["debit", "credit"] as const) {
      expect(() => limiter[verb]("ann", 2)).toThrow(new TypeError('Expected `cost` to be an object with the names of limits, got 2. Policy "chat" has 2 limits: write cost: { requests: 2, tokens: 2 }'));
    }
    expect(limiter.peek("ann").retryAfterMs).toBe(5_030);
    expect(() => limiter.debit("ann", { cost: { token: 1 } })).toThrow('Unknown limit `token` in `cost`. The limits of policy "chat": requests, tokens');
  });

  test("is settled by a credit of as much, and a debt is not given back by an older decision's refund twice", () => {
    const { limiter } = limiterOf();
    const decision = limiter.consume("ann", 10);
    limiter.debit("ann", 10);
    limiter.refund("ann", decision);
    limiter.refund("ann", decision);
    expect(limiter.peek("ann").resetMs).toBe(5_000);
    limiter.credit("ann", 10);
    expect(limiter.peek("ann")).toMatchObject({ remaining: 10, resetMs: 0 });
  });

  test.each([0, -1, 1.5, NaN, Infinity, "7", undefined, null])("of %s is refused, and takes nothing", (tokens) => {
    const { limiter } = limiterOf();
    expect(() => limiter.debit("ann", tokens as number)).toThrow(/^Expected `cost` to be a (positive integer|whole number of at least 0), got /);
    expect(() => limiter.debit("", 1)).toThrow(TypeError);
    expect(limiter.peek("ann").remaining).toBe(10);
  });

  test("L10 · beyond 2^53 - 1 units throws a RangeError and changes nothing, at once or together with what is spent", () => {
    const { limiter, store } = limiterOf(several);
    const most = Number.MAX_SAFE_INTEGER; // a token of `requests` is 1,000 units, one of `tokens` 10
    for (const tokens of [{ requests: most, tokens: most }, { tokens: most }, { requests: Math.ceil(most / 1_000), tokens: 1 }]) expect(() => limiter.debit("ann", { cost: tokens })).toThrow(RangeError);
    expect(store.stats().buckets).toBe(0);
    limiter.debit("ann", { cost: { requests: Math.floor(most / 1_000) - 1 } });
    const before = limiter.peek("ann");
    expect(() => limiter.debit("ann", { cost: { requests: 2, tokens: 7 } })).toThrow(
      new RangeError('Expected `cost` to be a debt of at most 2^53 - 1 units of each limit, got an object. Nothing was taken'),
    );
    expect(limiter.peek("ann")).toStrictEqual(before);
    limiter.debit("ann", { cost: { requests: 1, tokens: 7 } });
    expect(limiter.peek("ann").limits?.map(({ remaining }) => remaining)).toEqual([0, 993]);
  });

  test("L9 · is exact for any limit up to 2^53 - 1 units, and nothing beyond", () => {
    fc.assert(
      fc.property(limits, fc.nat(100), fc.double({ min: 0, max: 1, noNaN: true }), (limit, spent, share) => {
        const { limiter } = limiterOf(limit);
        const { unitsPerToken, unitsPerMs, size } = limiter.policy.limits[0];
        const first = Math.min(spent, limit.capacity);
        limiter.consume("ann", first);
        const most = Math.floor(Number.MAX_SAFE_INTEGER / unitsPerToken) - first;
        fc.pre(most > 0);
        const debt = Math.max(1, Math.floor(share * most));
        limiter.debit("ann", debt);
        const units = BigInt(first + debt) * BigInt(unitsPerToken);
        expect(BigInt(limiter.peek("ann").resetMs)).toBe((units + BigInt(unitsPerMs) - 1n) / BigInt(unitsPerMs));
        expect(limiter.peek("ann").remaining).toBe(Math.max(0, Math.floor((size - Number(units)) / unitsPerToken)));
        if (most < Number.MAX_SAFE_INTEGER) expect(() => limiter.debit("ann", most - debt + 1)).toThrow(RangeError);
        if (most > debt) limiter.debit("ann", most - debt);
      }),
      { numRuns: 200 },
    );
  });

  test("of a tier counts in the tier's numbers, and a shadow limiter takes it for real", () => {
    const { limiter, store } = limiterOf();
    const pro = definePolicy({ ...policy, capacity: 100 });
    limiter.debit("ann", { cost: 60, policy: pro });
    expect([limiter.peek("ann", { policy: pro }).remaining, limiter.peek("ann").retryAfterMs]).toEqual([40, 25_500]);
    const shadow = createLimiter({ policy, store, shadow: true });
    shadow.debit("bob", 30);
    expect(shadow.consume("bob")).toMatchObject({ allowed: true, shadow: { allowed: false, retryAfterMs: 10_500 } });
    expect(limiter.consume("bob").retryAfterMs).toBe(10_500);
  });

  test("L9 · over a store that answers later rejects, and never throws", async () => {
    const limiter = createLimiter({ policy, store: new LaterStore(() => 0) });
    await limiter.debit("ann", 30);
    expect((await limiter.peek("ann")).retryAfterMs).toBe(10_500);
    await expect(limiter.debit("ann", 0)).rejects.toThrow(RangeError);
    await expect(limiter.debit("ann", Number.MAX_SAFE_INTEGER)).rejects.toThrow(RangeError);
    const most = Math.floor(Number.MAX_SAFE_INTEGER / 500);
    await expect(limiter.debit("ann", most)).rejects.toThrow("Nothing was taken");
    expect((await limiter.peek("ann")).retryAfterMs).toBe(10_500);
  });
});

describe("block", () => {
  const kinds: ReadonlyArray<readonly [name: string, make: (clock: ManualClock) => Limiter]> = [
    ["memory", (clock) => createLimiter({ policy: several, store: new MemoryStore({ clock: clock.now }) })],
    ["a store that answers later", (clock) => createLimiter({ policy: several, store: new LaterStore(clock.now) })],
    ["a cas store", (clock) => createLimiter({ policy: several, store: casStore(mapBackend(), { time: clock }) })],
  ];

  test.each(kinds)("L2 · over %s refuses every cost until its end, 0 too, and every wait is exact", async (_name, make) => {
    const clock = new ManualClock(1_000);
    const limiter = make(clock);
    await limiter.consume("ann", 3);
    await limiter.block("ann", 10_000);
    for (const cost of [0, 1, 5, { tokens: 0 }, { tokens: 1_000 }, { requests: 0, tokens: 0 }]) {
      const asked = { cost };
      expect(await limiter.consume("ann", asked)).toMatchObject({ allowed: false, reason: "limited", remaining: 0, retryAfterMs: 10_000, nextTokenMs: 10_000, resetMs: 10_000 });
      expect(await limiter.peek("ann", asked)).toStrictEqual(await limiter.consume("ann", asked));
    }
    expect(await limiter.consume("ann", 6)).toMatchObject({ reason: "cost_above_capacity", retryAfterMs: Infinity });
    expect((await limiter.consume("ann")).limits).toMatchObject([{ remaining: 0, retryAfterMs: 10_000 }, { remaining: 0, retryAfterMs: 10_000 }]);
    expect((await limiter.consume("bob")).allowed).toBe(true);
    clock.advance(9_999);
    expect(await limiter.consume("ann", 0)).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.advance(1);
    expect(await limiter.consume("ann", 5)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test.each(kinds)("L2 · over %s waits for the limits too when they take longer", async (_name, make) => {
    const clock = new ManualClock();
    const limiter = make(clock);
    await limiter.debit("ann", { cost: { requests: 5, tokens: 5_000 } });
    await limiter.block("ann", 7_000);
    expect(await limiter.consume("ann")).toMatchObject({ retryAfterMs: 40_010, limits: [{ retryAfterMs: 7_000 }, { retryAfterMs: 40_010 }] });
    clock.advance(40_009);
    expect((await limiter.consume("ann")).allowed).toBe(false);
    clock.advance(1);
    expect((await limiter.consume("ann")).allowed).toBe(true);
  });

  test.each(kinds)("L2 · over %s keeps the later of two ends", async (_name, make) => {
    const clock = new ManualClock();
    const limiter = make(clock);
    await limiter.block("ann", 10_000);
    await limiter.block("ann", 4_000);
    expect((await limiter.peek("ann")).retryAfterMs).toBe(10_000);
    clock.advance(7_000);
    await limiter.block("ann", 4_000);
    expect((await limiter.peek("ann")).retryAfterMs).toBe(4_000);
    await limiter.block("ann", 3_999);
    expect((await limiter.peek("ann")).retryAfterMs).toBe(4_000);
  });

  test.each(kinds)("L14 · over %s stays through refunds, debits, settlements and other versions of the policy, and ends with a reset", async (_name, make) => {
    const clock = new ManualClock();
    const limiter = make(clock);
    const other = definePolicy({ name: "chat", limits: [{ name: "images", capacity: 3, refill: perSecond(1) }] });
    const faster = definePolicy({ name: "chat", limits: [{ name: "tokens", capacity: 7, refill: { tokens: 7, everyMs: 13 } }, { name: "requests", capacity: 90, refill: perSecond(90) }] });
    const taken = await limiter.consume("ann", 2);
    await limiter.block("ann", 20_000, { policy: other });
    await limiter.refund("ann", taken);
    await limiter.credit("ann", { cost: { requests: 5, tokens: 5 } });
    await limiter.debit("ann", { cost: { tokens: 1 } });
    for (const [i, version] of [several, other, faster, several].entries()) {
      clock.advance(1_000);
      expect((await limiter.consume("ann", { policy: version, cost: 0 })).retryAfterMs).toBe(19_000 - 1_000 * i);
      await limiter.credit("ann", { cost: Object.fromEntries(version.limits.map(({ name }) => [name, 1])), policy: version });
    }
    await limiter.reset("ann", { policy: other });
    expect(await limiter.consume("ann", 5)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test("outlasts the buckets and all that is forgotten meanwhile", () => {
    const { clock, limiter, store } = limiterOf();
    limiter.consume("ann");
    limiter.block("ann", 86_400_000);
    clock.advance(86_399_999);
    for (let i = 0; i < 20_000; i++) limiter.consume(`user ${i}`);
    expect(limiter.consume("ann")).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.advance(1);
    expect(limiter.consume("ann", 10).allowed).toBe(true);
    clock.advance(5_000);
    for (let i = 0; i < 20_000; i++) limiter.consume(`other ${i}`);
    expect(store.stats().evictedBusy).toBe(0);
  });

  test("lasts from 1 ms to 2 147 483 647 000 ms", () => {
    const { clock, limiter } = limiterOf();
    limiter.block("ann", LONGEST_MS);
    expect(limiter.consume("ann").retryAfterMs).toBe(LONGEST_MS);
    clock.advance(LONGEST_MS - 1);
    expect(limiter.consume("ann").retryAfterMs).toBe(1);
    limiter.block("bob", 1);
    expect(limiter.consume("bob").retryAfterMs).toBe(1);
    expect(() => limiter.block("carl", LONGEST_MS + 1)).toThrow(new RangeError(`Expected \`forMs\` to be at most ${LONGEST_MS}, got ${LONGEST_MS + 1}`));
    for (const wrong of [-1, 1.5, NaN, Infinity, "7", undefined]) expect(() => limiter.block("carl", wrong as number)).toThrow(/^Expected `forMs` to be a whole number of at least 0, got /);
    expect(() => limiter.block("", 1)).toThrow(TypeError);
    expect(limiter.consume("carl").allowed).toBe(true);
  });

  test("L6 · a clock that steps back leaves its end where it was, and one further back than it is long lets it begin anew", () => {
    const { clock, limiter } = limiterOf();
    clock.set(100_000);
    limiter.block("ann", 10_000);
    for (const [now, left] of [[99_000, 11_000], [90_000, 20_000], [89_999, 10_000], [95_000, 4_999]] as const) {
      clock.set(now);
      expect(limiter.consume("ann", 0).retryAfterMs).toBe(left);
    }
    limiter.block("ann", 4_998); // ends 1 ms earlier
    expect(limiter.peek("ann").retryAfterMs).toBe(4_999);
  });

  test.each(kinds)("L3, L14 · over %s what it refuses takes nothing and is converted to new numbers", async (_name, make) => {
    const clock = new ManualClock();
    const limiter = make(clock);
    const [requests] = several.limits;
    const fast = definePolicy({ name: "chat", limits: [{ name: requests.name, capacity: 5, refill: perSecond(10) }, { name: "tokens", capacity: 1_000, refill: perSecond(100) }] });
    await limiter.consume("ann", 5);
    await limiter.block("ann", 10_000);
    clock.advance(1_000); // one request at the old rate
    for (let i = 0; i < 3; i++) await limiter.consume("ann", { cost: 4, policy: fast });
    clock.advance(100); // one at the new one
    expect((await limiter.peek("ann", { policy: fast })).resetMs).toBe(8_900);
    await limiter.credit("ann", { cost: { tokens: 1 }, policy: fast });
    clock.advance(8_899);
    expect((await limiter.consume("ann", { policy: fast, cost: 0 })).retryAfterMs).toBe(1);
  });

  test("L14 · what it refuses is converted at the instant of the refusal", async () => {
    for (const make of kinds.map(([, each]) => each)) {
      const clock = new ManualClock();
      const limiter = make(clock);
      const slow = definePolicy({ name: "chat", limits: [{ name: "requests", capacity: 5, refill: { tokens: 1, everyMs: 60_000 } }] });
      await limiter.consume("ann", 5);
      await limiter.block("ann", 2_000);
      clock.advance(1_000); // one request at the old rate
      await limiter.consume("ann", { cost: 0, policy: slow });
      clock.advance(1_000); // a sixtieth at the new one
      expect((await limiter.consume("ann", { cost: 0, policy: slow })).resetMs).toBe(4 * 60_000 - 1_000);
    }
  });

  test("in shadow mode blocks for real, and lets through what it would refuse", () => {
    const { limiter, store } = limiterOf();
    const shadow = createLimiter({ policy, store, shadow: true });
    shadow.block("ann", 5_000);
    expect(shadow.consume("ann")).toMatchObject({ allowed: true, shadow: { allowed: false, reason: "limited", retryAfterMs: 5_000 } });
    expect(limiter.consume("ann")).toMatchObject({ allowed: false, retryAfterMs: 5_000 });
  });

  test("is not seen while the store is unavailable, and is there again afterwards", async () => {
    const clock = new ManualClock();
    const store = new UnsteadyStore(clock.now, { breaker: false });
    const limiter = createLimiter({ policy, store });
    await limiter.block("ann", 5_000);
    store.health = "down";
    expect(await limiter.consume("ann")).toMatchObject({ allowed: true, degraded: true });
    await expect(limiter.block("bob", 1_000)).rejects.toThrow("connection lost");
    store.health = "up";
    expect(await limiter.consume("ann")).toMatchObject({ allowed: false, degraded: false, retryAfterMs: 5_000 });
    expect((await limiter.consume("bob")).allowed).toBe(true);
  });
});

test("over a store without the methods, debit and block say so and change nothing", () => {
  const limiter = createLimiter({ policy, store: bareStore(() => 0) });
  expect(() => limiter.debit("ann", 1)).toThrow(/^Expected a store with `verbs` that include "adjust", got consume/);
  expect(() => limiter.block("ann", 1)).toThrow(/^Expected a store with `verbs` that include "block", got consume/);
  expect(limiter.consume("ann", 10).allowed).toBe(true);
});
