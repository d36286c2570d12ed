// Waiting, and several limiters as one, over a real server and its clock.
import { Redis } from "ioredis";
import { combine, createLimiter, createWaiter, granted, MemoryStore, type Decision } from "sluice";
import { RedisStore } from "sluice/redis";
import { expect, test, vi } from "vitest";
import { startRedis, type OwnRedis } from "../../helpers/own-redis.js";
import { describeWith } from "../../helpers/services.js";
import { useRedis } from "../../helpers/use-redis.js";

/** Expects granted tokens, by the server's clock, to stay within the bound in every window of time (law L1). */
function expectBound(decisions: readonly Decision[], capacity: number, perMs: number): void {
  const granted = decisions.map(({ at, cost }) => ({ at, cost })).sort((a, b) => a.at - b.at);
  granted.forEach(({ at: from }, i) => {
    let sum = 0;
    for (const { at, cost } of granted.slice(i)) {
      sum += cost;
      expect(sum).toBeLessThanOrEqual(capacity + perMs * (at - from) + 1e-6);
    }
  });
}

describeWith("redis-server", "waiting over Redis", () => {
  let server: OwnRedis;
  let client: Redis;
  useRedis((own, connected) => [server, client] = [own, connected]);

  test("serves in order, within the limit by the server's clock, at the limit's pace", async () => {
    const limiter = createLimiter({ policy: { capacity: 5, refill: { tokens: 1, everyMs: 4 } }, store: new RedisStore(client, { timeoutMs: Infinity }) });
    const waiter = createWaiter(limiter);
    const served: number[] = [];
    const decisions = await Promise.all(
      Array.from({ length: 150 }, async (_, i) => {
        const decision = await waiter.consume("api", i % 10 === 0 ? 3 : 1);
        served.push(i);
        return decision;
      }),
    );
    expect(served).toEqual([...served].sort((a, b) => a - b));
    expect(decisions.every(({ allowed, degraded }) => allowed && !degraded)).toBe(true);
    expectBound(decisions, 5, 1 / 4);
    expect(waiter.waiting).toBe(0);
  });

  test("asks for callers whose tokens are there at the same time, in few script calls", async () => {
    const limiter = createLimiter({ policy: { name: "burst", capacity: 200, refill: { tokens: 1, everyMs: 3_600_000 } }, store: new RedisStore(client, { timeoutMs: Infinity }) });
    await limiter.consume("loads the script");
    const scripts = vi.spyOn(client, "evalsha");
    const waiter = createWaiter(limiter);
    const decisions = await Promise.all(Array.from({ length: 200 }, () => waiter.consume("api")));
    expect(decisions.map(({ remaining }) => remaining)).toEqual(Array.from({ length: 200 }, (_, i) => 199 - i));
    expect(scripts.mock.calls.length).toBeLessThanOrEqual(10);
  });

  test("in several processes shares the tokens, and never grants more", async () => {
    const clients = [new Redis(server.url), new Redis(server.url), new Redis(server.url)];
    const waiters = clients.map((each) => createWaiter(createLimiter({ policy: { capacity: 3, refill: { tokens: 1, everyMs: 5 } }, store: new RedisStore(each, { timeoutMs: Infinity }) })));
    const decisions = await Promise.all(Array.from({ length: 90 }, (_, i) => (waiters[i % 3] as (typeof waiters)[number]).consume("api")));
    expectBound(decisions.map(granted), 3, 1 / 5);
    for (const each of clients) each.disconnect();
  });

  test("refunds the tokens of callers that are cancelled while a call is under way", async () => {
    const limiter = createLimiter({ policy: { capacity: 5, refill: { tokens: 1, everyMs: 3_600_000 } }, store: new RedisStore(client, { timeoutMs: Infinity }) });
    const waiter = createWaiter(limiter);
    const cancel = new AbortController();
    const waits = Array.from({ length: 3 }, () => waiter.consume("api", { cost: 2, signal: cancel.signal }));
    await Promise.resolve(); // The calls are sent.
    cancel.abort("enough");
    expect((await Promise.allSettled(waits)).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    // The next caller is asked for when all tokens are refunded.
    expect(await waiter.consume("api", 5)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test("without the server refuses with the cause, or continues with a share of the limit", async () => {
    const dying = await startRedis();
    const own = new Redis(dying.url).on("error", () => undefined);
    const policy = { capacity: 4, refill: { tokens: 1, everyMs: 20 } };
    const store = new RedisStore(own, { timeoutMs: 2_000 });
    const [strict, local] = [createWaiter(createLimiter({ policy, store, onStoreError: "unavailable" })), createWaiter(createLimiter({ policy, store }))];
    granted(await strict.consume("api"));
    await dying.stop();
    expect(await strict.consume("api")).toMatchObject({ allowed: false, reason: "store_unavailable", degraded: true, error: expect.any(Error) as unknown });
    const decisions = await Promise.all(Array.from({ length: 5 }, () => local.consume("api")));
    expect(decisions.every(({ allowed, degraded }) => allowed && degraded)).toBe(true);
    expectBound(decisions, 2, 1 / 40);
    own.disconnect();
  });
});

describeWith("redis-server", "several limiters as one over Redis", () => {
  let client: Redis;
  useRedis((_, connected) => (client = connected));
  const hour = (tokens: number) => ({ tokens, everyMs: 3_600_000 });

  test("in one step: exactly the tenant's budget, and no refused caller is charged", async () => {
    const store = new RedisStore(client, { timeoutMs: Infinity });
    const options = { store };
    const user = createLimiter({ policy: { name: "user", capacity: 20, refill: hour(1) }, ...options });
    const tenant = createLimiter({ policy: { name: "tenant", capacity: 50, refill: hour(1) }, ...options });
    const service = createLimiter({ policy: { name: "service", capacity: 1_000, refill: hour(1) }, ...options });
    const three = combine({ user, tenant, service });
    const users = ["a", "b", "c", "d", "e"];
    const decisions = await Promise.all(Array.from({ length: 300 }, (_, i) => three.consume({ user: ["user", users[i % 5] as string], tenant: ["tenant", "acme"], service: "all" })));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(50);
    expect(decisions.filter(({ allowed }) => !allowed).every(({ policy }) => policy === "tenant")).toBe(true);
    const left = await Promise.all(users.map(async (name) => (await user.peek(["user", name])).remaining));
    expect(left.reduce((sum, remaining) => sum + 20 - remaining, 0)).toBe(50);
    expect((await service.peek("all")).remaining).toBe(950);
  });

  test("with a limit in this process's memory: tokens of refused calls are refunded", async () => {
    const shared = createLimiter({ policy: { name: "tenant", capacity: 40, refill: hour(1) }, store: new RedisStore(client, { timeoutMs: Infinity }) });
    const own = createLimiter({ policy: { name: "process", capacity: 25, refill: hour(1) }, store: new MemoryStore() });
    const orders = [[combine({ shared, own }), { shared: "acme", own: "first" }], [combine({ own, shared }), { own: "second", shared: "umbrella" }]] as const;
    for (const [both, keys] of orders) {
      const decisions = await Promise.all(Array.from({ length: 60 }, async () => both.consume(keys)));
      const allowed = decisions.filter((decision) => decision.allowed).length;
      expect(allowed).toBeLessThanOrEqual(25);
      expect([40 - (await shared.peek(keys.shared)).remaining, 25 - own.peek(keys.own).remaining]).toEqual([allowed, allowed]);
    }
  });
});
