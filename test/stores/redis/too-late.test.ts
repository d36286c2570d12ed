// Settlements that Redis refuses because they look older than a minute: the process stood still, or they were sent again.
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import * as ioredis from "ioredis";
import * as ioredis6 from "ioredis6";
import * as iovalkey from "iovalkey";
import { createSentinel } from "redis";
import { createLimiter, createObserver, definePolicy, perDay, whenDone, type Decision, type Key, type LimiterEvent } from "sluice";
import { RedisStore, type RedisClient, type RedisSend } from "sluice/redis";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { flush, startCluster, startRedis, startSentinel, type OwnCluster, type OwnRedis } from "../../helpers/own-redis.js";
import { describeWith } from "../../helpers/services.js";
import { startUpstash, type UpstashRest } from "../../helpers/upstash-rest.js";
import { hearWarnings } from "../../helpers/warned.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const policy = definePolicy({
  name: "chat",
  limits: [
    { name: "tokens", capacity: 100_000, refill: perDay(1_000) },
    { name: "parallel", capacity: 20, returns: whenDone({ staleAfterMs: 600_000 }) },
  ],
});
const COST = { tokens: 1_000 };
const AWAY_MS = 80_000;

interface Opened {
  readonly client: RedisClient | RedisSend;
  close(): unknown;
}

/** A limiter over `client`, what its observer hears, and what is spent and in flight. */
function open({ client }: Opened, prefix: string) {
  const events: [event: LimiterEvent, key: Key | null][] = [];
  const observe = createObserver((event, key) => void (event.type !== "decision" && events.push([event, key])));
  const limiter = createLimiter({ policy, store: new RedisStore(client, { prefix, timeoutMs: 10_000 }), observe, onStoreError: "unavailable" });
  const spent = async (key = "ann"): Promise<number[]> => ((await limiter.peek(key)).limits ?? []).map(({ capacity, remaining }) => capacity - remaining);
  return { limiter, events, spent };
}

/** The process stood still: its monotonic clock is so far behind from now on. */
function standStill(): void {
  const real = performance.now.bind(performance);
  const clock = vi.spyOn(performance, "now").mockImplementation(() => real() - AWAY_MS);
  onTestFinished(() => clock.mockRestore());
}

describeWith("redis-server", "a settlement that Redis takes for too old", () => {
  let server: OwnRedis;
  let cluster: OwnCluster;
  let rest: UpstashRest;
  beforeAll(async () => {
    [server, cluster] = await Promise.all([startRedis(), startCluster()]);
    rest = await startUpstash(server.url);
  });
  beforeEach(() => flush(server, ...cluster.masters));
  afterAll(async () => {
    await rest.stop();
    await Promise.all([server.stop(), cluster.stop()]);
  });
  const closing = (opened: Opened): Opened => {
    onTestFinished(() => void opened.close());
    return opened;
  };
  const one = (client: RedisClient & { disconnect(): unknown }): Opened => closing({ client, close: () => client.disconnect() });
  const nodes = () => cluster.ports.map((port) => ({ host: "127.0.0.1", port }));

  const showing: Readonly<Record<string, () => Opened>> = {
    "ioredis 5": () => one(new ioredis.Redis(server.port)),
    "ioredis 6": () => one(new ioredis6.Redis(server.port)),
    iovalkey: () => one(new iovalkey.Redis(server.port)),
    "ioredis with auto pipelining": () => one(new ioredis.Redis(server.port, { enableAutoPipelining: true })),
    "a cluster of ioredis 5": () => one(new ioredis.Cluster(nodes())),
    "a cluster of ioredis 6": () => one(new ioredis6.Cluster(nodes())),
    "a cluster of iovalkey": () => one(new iovalkey.Cluster(nodes())),
  };
  test.each(Object.entries(showing))("L6 · %s: is made again over the same connection, and the store stays available", async (name, connectTo) => {
    const { limiter, events, spent } = open(connectTo(), `still-${name.replaceAll(" ", "-")}`);
    const decisions: [key: string, decision: Decision][] = [];
    // A key each, so that a cluster has them on several nodes. Only "ann" has settled before.
    for (const key of [...Array.from({ length: 9 }, (_, i) => `caller ${i}`), "ann"]) decisions.push([key, await limiter.consume(key, { cost: COST })]);
    const settle = ([key, decision]: (typeof decisions)[0]) => limiter.settle(key, decision, { cost: { tokens: 100 } });
    await settle(decisions[9] as (typeof decisions)[0]);
    standStill();
    expect(await Promise.all(decisions.slice(0, 9).map(settle))).toEqual(decisions.slice(0, 9).map(() => true));
    for (const [key] of decisions) expect(await spent(key)).toEqual([100, 0]);
    expect(events).toEqual([]);
    // The server's time is known again, so the next ones are made at once.
    const next = await limiter.consume("ann", { cost: COST });
    expect(await limiter.refund("ann", next)).toBe(true);
    expect(await spent()).toEqual([100, 0]);
  });

  const hiding: Readonly<Record<string, () => Opened | Promise<Opened>>> = {
    "a function": () => {
      const client = new ioredis.Redis(server.port);
      return closing({ client: ([name, ...args]) => client.call(name, ...args), close: () => client.disconnect() });
    },
    Upstash: () => ({ client: rest.connect(), close: () => undefined }),
    "a Sentinel of node-redis": async () => {
      const watch = await startSentinel(server);
      const sentinel = createSentinel({ name: "primary", sentinelRootNodes: [{ host: "127.0.0.1", port: watch.port }] }).on("error", () => undefined);
      await sentinel.connect();
      return closing({ client: sentinel as unknown as RedisClient, close: () => (sentinel.destroy(), watch.stop()) });
    },
  };
  test.each(Object.entries(hiding))("L6 · %s: is told as lost, because the connection is not known, and the store stays available", async (name, connectTo) => {
    const warnings = hearWarnings();
    const { limiter, events, spent } = open(await connectTo(), `hidden-${name.replaceAll(" ", "-")}`);
    const decisions = [];
    for (let i = 0; i < 10; i++) decisions.push(await limiter.consume("ann", { cost: COST }));
    await limiter.settle("ann", decisions[9] as (typeof decisions)[0], { cost: { tokens: 100 } });
    standStill();
    const settled = await Promise.allSettled(decisions.slice(0, 9).map((decision) => limiter.settle("ann", decision, { cost: { tokens: 100 } })));
    for (const each of settled) expect(each).toMatchObject({ reason: { name: "StoreError", code: "ERR_STORE_TOO_LATE" } });
    expect(await spent()).toEqual([9_100, 9]);
    expect(events).toHaveLength(9);
    for (const told of events) {
      expect(told).toMatchObject([{ type: "settlement", policy: "chat", changes: { tokens: -900, parallel: -1 }, error: { code: "ERR_STORE_TOO_LATE" }, limiter }, "ann"]);
    }
    expect(warnings.filter((line) => line.startsWith("SLUICE_SETTLEMENT_FAILED"))).toMatchObject([
      expect.stringMatching(/"chat" to give back 900 of "tokens" and give back 1 of "parallel", got an error: Expected Redis to get the call within 60000 ms, got it later.* `credit`/),
    ]);
    const next = await limiter.consume("ann", { cost: COST });
    expect([next.degraded, await limiter.refund("ann", next)]).toEqual([false, true]);
  });

  test("L6 · the others of its call are made once, also where the first has another program's value", async () => {
    const opened = one(new ioredis.Redis(server.port));
    const { limiter, spent } = open(opened, "mixed");
    const store = limiter.store;
    const decision = await limiter.consume("ann", { cost: COST });
    await callsOf(store).adjust(policy, "eve", [-1, 0]);
    await (opened.client as ioredis.Redis).set("mixed:chat bob", "foreign");
    standStill();
    const [foreign, taken, settled, debited] = await Promise.allSettled([
      callsOf(store).adjust(policy, "bob", [-1, 0]), callsOf(store).consume(policy, "eve", [7, 1]), limiter.settle("ann", decision, { cost: { tokens: 100 } }), limiter.debit("eve", { cost: { tokens: 3 } }),
    ]);
    expect(foreign).toMatchObject({ reason: { code: "ERR_STORE_FOREIGN_VALUE" } });
    expect(taken).toMatchObject({ value: { allowed: true } });
    expect([settled.status, debited.status]).toEqual(["fulfilled", "fulfilled"]);
    expect([await spent("ann"), await spent("eve")]).toEqual([[100, 0], [10, 1]]);
  });

  test("L1 · was made, and is sent again over a new connection when its mark is over: it acted once, and is told as lost", async () => {
    hearWarnings();
    const admin = new ioredis.Redis(server.port);
    onTestFinished(() => admin.disconnect());
    // By the server's clock, 80 seconds go by before the client has a new connection.
    const proxy = await startOldProxy(server.port, async () => {
      const marks = (await admin.keys("again:*")).filter((key) => key.includes("~"));
      expect(marks).toHaveLength(1);
      await admin.del(marks);
    });
    onTestFinished(() => proxy.stop());
    const { limiter, events, spent } = open(one(new ioredis.Redis(proxy.port).on("error", () => undefined)), "again");
    for (let i = 0; i < 3; i++) await limiter.consume("ann", { cost: COST }); // others, at work
    const [first, decision] = [await limiter.consume("ann", { cost: COST }), await limiter.consume("ann", { cost: COST })];
    await limiter.refund("ann", first); // both scripts are known
    await admin.del((await admin.keys("again:*")).filter((key) => key.includes("~")));
    proxy.loseAnswer();
    await expect(limiter.settle("ann", decision, { cost: { tokens: 100 } })).rejects.toMatchObject({ code: "ERR_STORE_TOO_LATE" });
    expect(await spent()).toEqual([3_100, 3]);
    expect(events).toMatchObject([[{ type: "settlement", changes: { tokens: -900, parallel: -1 } }, "ann"]]);
  });
});

/**
 * Starts a proxy to a Redis. `loseAnswer` lets it lose the next answer and its connection. On later connections it awaits
 * `agedBy` first, and the server's clock is ahead: a call with a mark is so much older to it, and its answers say so.
 */
async function startOldProxy(port: number, agedBy: () => Promise<void>): Promise<{ port: number; loseAnswer(): void; stop(): void }> {
  const sockets = new Set<Socket>();
  let losesAnswer = false;
  let isOld = false;
  const proxy = createServer((near) => {
    const ready = isOld ? agedBy() : Promise.resolve();
    const far = connect(port, "127.0.0.1");
    for (const [side, other] of [[near, far], [far, near]] as const) {
      sockets.add(side.on("error", () => undefined).on("close", () => other.destroy()));
    }
    near.on("data", (chunk) => void ready.then(() => far.write(isOld ? shifted(chunk, CALL_AT, -AWAY_MS) : chunk)));
    far.on("data", (chunk) => {
      if (!losesAnswer) return void near.write(isOld ? shifted(chunk, ANSWER_AT, AWAY_MS) : chunk);
      [losesAnswer, isOld] = [false, true];
      near.destroy();
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    port: (proxy.address() as AddressInfo).port,
    loseAnswer: () => void (losesAnswer = true),
    stop() {
      proxy.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

// The second argument of a call with a mark is an index, a space, an instant and a space. An answer begins with the time.
const CALL_AT = /(?<=\n\d+ )\d{13}(?= )/g;
const ANSWER_AT = /(?<=^\*\d+\r\n:)\d{13}/g;

function shifted(chunk: Buffer, instants: RegExp, ms: number): Buffer {
  return Buffer.from(chunk.toString("latin1").replace(instants, (at) => String(Number(at) + ms)), "latin1");
}
