// How many calls reach Redis: batches, the deny cache, and what makes either of them ask again.
import { AsyncLocalStorage, createHook } from "node:async_hooks";
import type { Redis } from "ioredis";
import { afterMs, createLimiter, createObserver, definePolicy, perHour, perSecond } from "sluice";
import { RedisStore } from "sluice/redis";
import { ManualClock } from "sluice/testing";
import { expect, test, vi } from "vitest";
import { counting } from "../../helpers/counting.js";
import { describeWith } from "../../helpers/services.js";
import { until } from "../../helpers/soon.js";
import { useRedis } from "../../helpers/use-redis.js";
import { unshared } from "../../helpers/unshared.js";
import { callsOf } from "../../../src/testing/store-calls.js";
import { spyOnVerb } from "../../helpers/spy-on-verb.js";
import type { StoreAnswer, StoreCall } from "sluice";
import type { IoredisLike } from "../../../src/stores/redis/client.js";

const policy = definePolicy({ name: "tier", capacity: 3, refill: perSecond(1) });

/** How many promises a call makes before it returns. */
function promisesMadeBy(call: () => unknown): number {
  let count = 0;
  const hook = createHook({ init: (_, type) => void (count += type === "PROMISE" ? 1 : 0) }).enable();
  call();
  hook.disable();
  return count;
}

describeWith("redis-server", "calls to Redis", () => {
  let client: Redis;
  useRedis((_, own) => void (client = own));

  test("what one tick asks for travels together, the first 32 at once and at most 128 buckets a call", async () => {
    const { calls, store } = counting(client, { denyCacheMs: 0 });
    await Promise.all(Array.from({ length: 300 }, (_, i) => callsOf(store).consume(policy, `key ${i}`, 1)));
    expect(calls).toEqual([32, 128, 128, 12]);
    calls.length = 0;
    const wide = (from: number) => callsOf(store).together(Array.from({ length: 100 }, (_, i) => ({ policy, key: `wide ${from + i}`, cost: 1 })));
    await Promise.all([wide(0), wide(100), callsOf(store).consume(policy, "one", 1)]);
    expect(calls).toEqual([100, 101]);
    await expect(callsOf(store).together(Array.from({ length: 129 }, (_, i) => ({ policy, key: `${i}`, cost: 1 })))).rejects.toThrow(
      "Expected `charges` to be a list of at most 128, got an array of 129",
    );
  });

  test("a call leaves at the end of its tick while fewer than four are under way; then what is asked for gathers", async () => {
    const { calls, store } = counting(client, { denyCacheMs: 0 });
    await callsOf(store).peek(policy, "key", 0); // the script's hash is known
    calls.length = 0;
    const asked: Promise<unknown>[] = [];
    for (let i = 0; i < 10; i++) {
      asked.push(callsOf(store).consume(policy, `key ${i}`, 1), callsOf(store).consume(policy, `other ${i}`, 1));
      for (let tick = 0; tick < 10; tick++) await Promise.resolve(); // no answer can come meanwhile
    }
    expect(calls).toEqual([2, 2, 2, 2]);
    await Promise.all(asked);
    expect(calls).toEqual([2, 2, 2, 2, 12]);
  });

  test("while four decisions are under way, those that come one by one in a turn of the event loop gather until its end", async () => {
    const { calls, store } = counting(client, { denyCacheMs: 0 });
    await callsOf(store).consume(policy, "a", 1); // the hashes of both scripts are known
    await callsOf(store).peek(policy, "a", 0);
    calls.length = 0;
    const asked = Array.from({ length: 4 }, (_, i) => callsOf(store).consume(policy, `key ${i}`, 1));
    for (let i = 0; i < 3; i++) {
      for (let tick = 0; tick < 10; tick++) await Promise.resolve();
      expect(calls).toEqual([4]);
      asked.push(callsOf(store).consume(policy, `other ${i}`, 1));
    }
    await new Promise(setImmediate);
    expect(calls).toEqual([4, 3]);
    await Promise.all(asked);
    // With fewer under way each leaves at once.
    calls.length = 0;
    for (let i = 0; i < 3; i++) {
      asked.push(callsOf(store).consume(policy, `key ${i}`, 1));
      for (let tick = 0; tick < 10; tick++) await Promise.resolve();
    }
    expect(calls).toEqual([1, 1, 1]);
    await Promise.all(asked);
  });

  test("a limiter asks the store's own `ask` where somebody put another in its place", async () => {
    class Logged extends RedisStore {
      readonly asked: string[] = [];

      override ask(call: StoreCall): Promise<readonly StoreAnswer[]> {
        this.asked.push(call.parts[0].key);
        return super.ask(call);
      }
    }
    const store = new Logged(client);
    const limiter = createLimiter({ policy, store });
    expect((await limiter.consume("ann", 2)).remaining).toBe(1);
    expect(store.asked).toEqual(["ann"]);
    vi.spyOn(store, "ask").mockRejectedValue(new Error("not today"));
    expect((await limiter.consume("ann")).error).toEqual(new Error("not today"));
    // Types forbid it, and awaiting it works.
    const plain = await callsOf(new RedisStore(client)).peek(policy, "ann", 1);
    vi.spyOn(store, "ask").mockReturnValue([plain] as unknown as Promise<[typeof plain]>);
    expect(await limiter.consume("ann")).toEqual(plain);
  });

  test("likewise where the class was changed, or a proxy stands before the store; and nobody else's is gone round", async () => {
    const store = new RedisStore(client);
    const seen: string[] = [];
    const proxy = new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...given: unknown[]): unknown => (seen.push(String(name)), (member as (...all: unknown[]) => unknown).apply(target, given));
      },
    });
    await createLimiter({ policy, store: proxy }).consume("ann");
    expect(seen).toContain("ask");

    const spy = spyOnVerb(RedisStore.prototype, "consume");
    await createLimiter({ policy, store }).consume("ann");
    expect(spy).toHaveBeenCalledTimes(1);
    spy.mockRestore();

    // The store as it is makes no promise of its own. Otherwise only a benchmark would notice that the shorter way is gone.
    const [short, long] = [createLimiter({ policy, store }), createLimiter({ policy, store: proxy })];
    expect(promisesMadeBy(() => short.consume("bob"))).toBeLessThan(promisesMadeBy(() => long.consume("bob")));
  });

  test("listeners are told in the asynchronous context of whoever asked, though answers come together", async () => {
    const context = new AsyncLocalStorage<string>();
    const told: unknown[] = [];
    const limiter = createLimiter({ policy, store: new RedisStore(client), observe: createObserver(() => void told.push(context.getStore())) });
    await Promise.all(["ann", "ben", "eve"].map((name) => context.run(name, () => limiter.consume(name))));
    expect(told).toEqual(["ann", "ben", "eve"]);
  });

  test("L15 · where requests share no work, each decision is a call", async () => {
    const { calls, store } = unshared(() => counting(client, { denyCacheMs: 0 }));
    await Promise.all(Array.from({ length: 5 }, (_, i) => callsOf(store).consume(policy, `key ${i}`, 1)));
    expect(calls).toEqual([1, 1, 1, 1, 1]);
  });

  test("an attack costs one call per key and denyCacheMs, however wide it is", async () => {
    const clock = new ManualClock();
    const { calls, store } = counting(client, { clock: clock.now });
    const slow = definePolicy({ name: "tier", capacity: 3, refill: perHour(1) });
    await callsOf(store).consume(slow, "a", 3);
    await callsOf(store).consume(slow, "a", 1);
    calls.length = 0;
    for (let i = 0; i < 40; i++) {
      clock.advance(100);
      const attack = Array.from({ length: 50 }, (_, n) => callsOf(store).consume(slow, "a", 1 + (n % 3)));
      await new Promise(setImmediate);
      attack.push(...Array.from({ length: 50 }, () => callsOf(store).consume(slow, "a", 1)));
      for (const decision of await Promise.all(attack)) expect(decision.allowed).toBe(false);
    }
    expect(calls).toEqual([1, 1, 1, 1]);
  });

  test("a denial from memory is the server's own: the same numbers, and gone at the promised instant", async () => {
    const clock = new ManualClock();
    const { calls, store } = counting(client, { clock: clock.now });
    const plain = new RedisStore(client, { clock: clock.now, denyCacheMs: 0 });
    await callsOf(store).consume(policy, "a", 3);
    await callsOf(store).consume(policy, "a", 1);
    calls.length = 0;
    for (const ms of [0, 1, 500, 498]) {
      clock.advance(ms);
      for (const cost of [1, 2, 3, 4]) expect(await callsOf(store).consume(policy, "a", cost)).toEqual(await callsOf(plain).peek(policy, "a", cost));
    }
    expect(calls).toEqual([]);
    clock.advance(1);
    expect(await callsOf(store).consume(policy, "a", 1)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test("a denial that is remembered is told at once, and what might be granted is not", async () => {
    const clock = new ManualClock();
    const { calls, store } = counting(client, { clock: clock.now });
    expect(store.recall(policy, "a", 4)).toBeNull();
    await callsOf(store).consume(policy, "a", 3);
    const denied = await callsOf(store).consume(policy, "a", 1);
    calls.length = 0;
    expect(store.recall(policy, "a", 1)).toEqual(denied);
    expect([store.recall(policy, "a", 0), store.recall(policy, "b", 1)]).toEqual([null, null]);
    const limiter = createLimiter({ policy, store });
    expect(await Promise.all([limiter.consume("a"), limiter.consume("a", 4)])).toMatchObject([denied, { reason: "cost_above_capacity" }]);
    expect(calls).toEqual([]);
    clock.advance(1_000);
    expect(store.recall(policy, "a", 1)).toBeNull();
  });

  test("answers that come together count in the order of the server, also after it did not know the script", async () => {
    let isKnown = true;
    const held: (() => void)[] = [];
    const hold = (reply: Promise<unknown>): Promise<unknown> => new Promise((resolve) => void reply.then((value) => held.push(() => resolve(value))));
    const slow: IoredisLike = {
      evalsha: (sha, count, ...rest) => (isKnown ? hold(client.evalsha(sha, count, ...rest)) : ((isKnown = true), Promise.reject(new Error("NOSCRIPT No matching script.")))),
      eval: (script, count, ...rest) => hold(client.eval(script, count, ...rest)),
    };
    const store = new RedisStore(slow, { clock: () => 0 });
    await callsOf(new RedisStore(client, { clock: () => 0 })).consume(policy, "a", 2);

    isKnown = false;
    const denied = callsOf(store).consume(policy, "a", 2);
    await until(() => held.length === 1);
    const allowed = callsOf(store).consume(policy, "a", 1);
    await until(() => held.length === 2);
    for (const release of held) release();
    expect([(await denied).allowed, (await allowed).allowed]).toEqual([false, true]);
    // The denial is older than the token that was taken, so its wait is too short.
    expect(store.recall(policy, "a", 2)).toBeNull();
  });

  test("a denial in other numbers says nothing", async () => {
    const { calls, store } = counting(client, { clock: () => 0 });
    await callsOf(store).consume(policy, "a", 3);
    await callsOf(store).consume(policy, "a", 1);
    calls.length = 0;
    const others = definePolicy({ name: "tier", capacity: 3, refill: { tokens: 1, everyMs: 777 } });
    expect(await callsOf(store).consume(others, "a", 1)).toMatchObject({ allowed: false, retryAfterMs: 777 });
    expect(calls).toEqual([1]);
  });

  test("adjustments and resets of this process are seen at once; those of others within denyCacheMs", async () => {
    const clock = new ManualClock();
    const slow = definePolicy({ name: "tier", capacity: 3, refill: perHour(1) });
    const [one, other] = [new RedisStore(client, { clock: clock.now }), new RedisStore(client, { clock: clock.now })];
    await callsOf(one).consume(slow, "a", 3);
    for (const give of [() => callsOf(one).adjust(slow, "a", -3), () => callsOf(one).reset(slow, "a")]) {
      await callsOf(one).consume(slow, "a", 1);
      await give();
      expect((await callsOf(one).consume(slow, "a", 3)).allowed).toBe(true);
    }
    expect((await callsOf(one).consume(slow, "a", 1)).allowed).toBe(false);
    await callsOf(other).reset(slow, "a");
    clock.advance(999);
    expect((await callsOf(one).consume(slow, "a", 1)).allowed).toBe(false);
    // New numbers of this process are asked about at once.
    const larger = definePolicy({ name: "tier", capacity: 4, refill: perHour(1) });
    expect((await callsOf(one).consume(larger, "a", 1)).allowed).toBe(true);
    await callsOf(other).consume(slow, "a", 3);
    await callsOf(one).consume(slow, "a", 3);
    await callsOf(other).reset(slow, "a");
    clock.advance(1_000);
    expect((await callsOf(one).consume(slow, "a", 1)).allowed).toBe(true);
  });

  test("L22 · a window: who waits as told is served, and the cache adds at most denyCacheMs to a give-back of another process", async () => {
    const clock = new ManualClock();
    const window = definePolicy({ name: "tier", capacity: 3, returns: afterMs(5_000) });
    const { calls, store } = counting(client, { clock: clock.now });
    const other = createLimiter({ policy: window, store: new RedisStore(client, { clock: clock.now }) });
    const own = createLimiter({ policy: window, store });
    const plain = new RedisStore(client, { clock: clock.now, denyCacheMs: 0 });
    for (let i = 0; i < 3; i++) {
      await (i === 0 ? own : other).consume("a");
      clock.advance(200);
    }
    // Told waits are the server's, and exact.
    calls.length = 0;
    for (const ms of [0, 1, 500, 498]) {
      clock.advance(ms);
      for (const cost of [1, 2, 3]) expect(await own.consume("a", cost)).toEqual(await callsOf(plain).peek(window, "a", cost));
    }
    expect(calls).toEqual([1]);
    clock.advance((await own.consume("a")).retryAfterMs - 1);
    expect((await own.consume("a")).allowed).toBe(false);
    clock.advance(1);
    expect((await own.consume("a")).allowed).toBe(true);

    // A give-back of this process counts at once.
    expect(await own.consume("a")).toMatchObject({ allowed: false, retryAfterMs: 200 });
    clock.advance(200);
    const second = await own.consume("a");
    expect((await own.consume("a")).allowed).toBe(false);
    await own.refund("a", second);
    expect((await own.consume("a")).allowed).toBe(true);

    // One of another process, after denyCacheMs at the latest.
    clock.advance(200);
    const third = await other.consume("a");
    expect(await own.consume("a")).toMatchObject({ allowed: false, retryAfterMs: 4_600 });
    await other.refund("a", third);
    clock.advance(999);
    expect((await own.consume("a")).allowed).toBe(false);
    clock.advance(1);
    expect((await own.consume("a")).allowed).toBe(true);
  });

  test("a block of this process is seen at once, and its end; one of another process after denyCacheMs at the latest", async () => {
    const clock = new ManualClock();
    const slow = definePolicy({ name: "tier", capacity: 3, refill: { tokens: 1, everyMs: 5_000 } });
    const [one, other] = [new RedisStore(client, { clock: clock.now }), new RedisStore(client, { clock: clock.now })];
    await callsOf(one).consume(slow, "a", 3);
    expect((await callsOf(one).consume(slow, "a", 1)).retryAfterMs).toBe(5_000);
    await callsOf(one).block(slow, "a", 60_000);
    expect((await callsOf(one).consume(slow, "a", 1)).retryAfterMs).toBe(60_000);
    expect(one.recall(slow, "a", 0)).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
    await callsOf(other).block(slow, "a", 90_000);
    clock.advance(999);
    // Too short, and refused all the same.
    expect(await callsOf(one).consume(slow, "a", 1)).toMatchObject({ allowed: false, retryAfterMs: 59_001 });
    clock.advance(1);
    expect(await callsOf(one).consume(slow, "a", 1)).toMatchObject({ allowed: false, retryAfterMs: 89_000 });
    clock.advance(88_500);
    expect(await callsOf(one).consume(slow, "a", 1)).toMatchObject({ allowed: false, retryAfterMs: 500 });
    clock.advance(499);
    expect(one.recall(slow, "a", 1)).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.advance(1);
    expect(one.recall(slow, "a", 1)).toBeNull();
    expect(await callsOf(one).consume(slow, "a", 3)).toMatchObject({ allowed: true });
  });

  test("an adjustment that would pass 2^53 - 1 units fails alone in its call, and changes nothing", async () => {
    const { calls, store } = counting(client, { clock: () => 0, denyCacheMs: 0 });
    const two = definePolicy({ name: "two", limits: [{ name: "a", capacity: 9, refill: perSecond(1) }, { name: "b", capacity: 9, refill: perHour(1) }] });
    const most = Math.floor(Number.MAX_SAFE_INTEGER / 3_600_000);
    await callsOf(store).consume(two, "a", [2, 3]);
    calls.length = 0;
    const answers = await Promise.all([
      callsOf(store).adjust(two, "a", [-1, most - 2]),
      callsOf(store).consume(two, "a", [1, 1]),
      callsOf(store).adjust(two, "b", [-1, most]),
      callsOf(store).adjust(two, "b", [0, 1]),
      callsOf(store).adjust(two, "a", [-1, -1]),
      callsOf(store).peek(two, "a", 0),
      callsOf(store).peek(two, "b", 0),
    ]);
    expect(calls, "one call, with a mark").toEqual([8]);
    expect(answers).toMatchObject([
      false, { allowed: true, limits: [{ remaining: 6 }, { remaining: 5 }] }, true, false, true,
      { limits: [{ remaining: 7 }, { remaining: 6 }] }, { limits: [{ remaining: 9 }, { remaining: 0, resetMs: most * 3_600_000 }] },
    ]);
  });

  test("a denial that was on its way when its key was reset is not remembered", async () => {
    const slow = definePolicy({ name: "tier", capacity: 1, refill: perHour(1) });
    // A client of several connections, of which one is slow.
    let hold: Promise<unknown> = Promise.resolve();
    const pool: IoredisLike = {
      evalsha: async (sha, count, ...rest) => {
        const [wait, reply] = [hold, await client.evalsha(sha, count, ...rest)];
        return (await wait, reply);
      },
      eval: (script, count, ...rest) => client.eval(script, count, ...rest),
    };
    const store = unshared(() => new RedisStore(pool, { clock: () => 0 }));
    await callsOf(store).consume(slow, "a", 1);
    let release: (value: unknown) => void = () => undefined;
    hold = new Promise((resolve) => (release = resolve));
    const late = callsOf(store).consume(slow, "a", 1);
    await new Promise(setImmediate); // it has left
    hold = Promise.resolve();
    await callsOf(store).reset(slow, "a");
    release(null);
    expect((await late).allowed).toBe(false);
    expect((await callsOf(store).consume(slow, "a", 1)).allowed).toBe(true);
  });

  test.each(["reset", "adjust"] as const)("a call of %s whose answer is lost is seen at once, too", async (give) => {
    const slow = definePolicy({ name: "tier", capacity: 1, refill: perHour(1) });
    let carryOut: (() => void) | undefined;
    // A client of several connections, of which one waits, and breaks once the server has done what it was told.
    let breaks = false;
    const pool: IoredisLike = {
      evalsha: async (sha, count, ...rest) => {
        if (!breaks) return client.evalsha(sha, count, ...rest);
        breaks = false;
        await new Promise<void>((resolve) => (carryOut = resolve));
        await client.evalsha(sha, count, ...rest);
        throw new Error("broken");
      },
      eval: (script, count, ...rest) => client.eval(script, count, ...rest),
    };
    const store = unshared(() => new RedisStore(pool, { clock: () => 0 }));
    await callsOf(store).consume(slow, "a", 1);
    breaks = true;
    const given = give === "reset" ? callsOf(store).reset(slow, "a") : callsOf(store).adjust(slow, "a", -1);
    while (carryOut === undefined) await new Promise(setImmediate);
    expect((await callsOf(store).consume(slow, "a", 1)).allowed).toBe(false);
    carryOut();
    await expect(given).rejects.toThrow("broken");
    expect((await callsOf(store).consume(slow, "a", 1)).allowed).toBe(true);
  });

  test("a failed question about a refused key leaves nobody waiting", async () => {
    const clock = new ManualClock();
    let broken = false;
    const flaky: IoredisLike = {
      evalsha: (sha, count, ...rest) => (broken ? Promise.reject(new Error("broken")) : client.evalsha(sha, count, ...rest)),
      eval: (script, count, ...rest) => client.eval(script, count, ...rest),
    };
    const store = new RedisStore(flaky, { clock: clock.now });
    const slow = definePolicy({ name: "tier", capacity: 1, refill: perHour(1) });
    await callsOf(store).consume(slow, "a", 1);
    await callsOf(store).consume(slow, "a", 1);
    clock.advance(1_000);
    broken = true;
    const asked = await Promise.allSettled(Array.from({ length: 5 }, () => callsOf(store).consume(slow, "a", 1)));
    expect(asked.map(({ status }) => status)).toEqual(Array(5).fill("rejected"));
    broken = false;
    expect((await callsOf(store).consume(slow, "a", 1)).allowed).toBe(false);
  });

  test("scripts that are flushed are sent again, inside of batches too", async () => {
    const store = new RedisStore(client, { denyCacheMs: 0 });
    const wide = definePolicy({ name: "tier", capacity: 1_000, refill: perHour(1) });
    for (let i = 0; i < 5; i++) {
      await client.script("FLUSH");
      await Promise.all(Array.from({ length: 100 }, () => callsOf(store).consume(wide, "a", 1)));
    }
    expect(await callsOf(store).peek(wide, "a", 0)).toMatchObject({ remaining: 500 });
  });
});
