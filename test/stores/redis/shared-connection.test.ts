// A connection on which other code has begun a transaction: Redis answers QUEUED, and makes each call at EXEC.
import * as ioredis from "ioredis";
import * as ioredis6 from "ioredis6";
import * as iovalkey from "iovalkey";
import { createClient } from "redis";
import * as redis6 from "redis6";
import { createLimiter, createObserver, definePolicy, perHour, whenDone } from "sluice";
import { RedisStore, type RedisClient, type RedisSend } from "sluice/redis";
import { expect, onTestFinished, test } from "vitest";
import type { OwnRedis } from "../../helpers/own-redis.js";
import { describeWith } from "../../helpers/services.js";
import { useRedis } from "../../helpers/use-redis.js";
import { hearWarnings } from "../../helpers/warned.js";

const one = definePolicy({ name: "one", capacity: 1_000, refill: perHour(1) });
const two = definePolicy({ name: "two", limits: [{ name: "tokens", capacity: 1_000, refill: perHour(1) }, { name: "parallel", capacity: 50, returns: whenDone() }] });

interface Opened {
  readonly client: RedisClient | RedisSend;
  /** Sends one command on the same connection. */
  send(command: "MULTI" | "EXEC" | "DISCARD"): Promise<unknown>;
}

describeWith("redis-server", "a connection in a transaction of other code", () => {
  let server: OwnRedis;
  useRedis((own) => void (server = own));
  const ofIoredis = (client: { call(name: string): Promise<unknown>; disconnect(): void }): Opened => {
    onTestFinished(() => client.disconnect());
    return { client: client as unknown as RedisClient, send: (command) => client.call(command) };
  };
  const ofNodeRedis = async (create: typeof createClient, options: object = {}): Promise<Opened> => {
    const client = await create({ url: server.url, ...options }).on("error", () => undefined).connect();
    onTestFinished(() => client.destroy());
    return { client: client as unknown as RedisClient, send: (command) => client.sendCommand([command]) };
  };
  const clients: Readonly<Record<string, () => Promise<Opened>>> = {
    "ioredis 5": async () => ofIoredis(new ioredis.Redis(server.port)),
    "ioredis 6": async () => ofIoredis(new ioredis6.Redis(server.port)),
    iovalkey: async () => ofIoredis(new iovalkey.Redis(server.port)),
    "node-redis 5": () => ofNodeRedis(createClient),
    "node-redis 5 with RESP3": () => ofNodeRedis(createClient, { RESP: 3 }),
    "node-redis 6": () => ofNodeRedis(redis6.createClient as unknown as typeof createClient),
    "a function": async () => {
      const { client, send } = ofIoredis(new ioredis.Redis(server.port));
      return { client: ([name, ...args]) => (client as ioredis.Redis).call(name, ...args), send };
    },
  };

  test.each(Object.entries(clients))("%s: is one clear error with its cure, and no outage", async (name, connect) => {
    const warnings = hearWarnings();
    const { client, send } = await connect();
    const states: string[] = [];
    const observe = createObserver((event) => void (event.type === "store" && states.push(event.state)));
    const store = new RedisStore(client, { prefix: `queued ${name}`, timeoutMs: 10_000 });
    const limiters = [one, two].map((policy) => createLimiter({ policy, store, observe, onStoreError: "unavailable" }));
    const [lone, long] = limiters as [(typeof limiters)[0], (typeof limiters)[0]];
    const before = await long.consume("ann");
    await send("MULTI");
    const code = "ERR_STORE_QUEUED";
    for (let i = 0; i < 8; i++) {
      const decisions = await Promise.all([lone.consume("ann"), long.consume(`caller ${i}`)]);
      decisions.push(await lone.consume("ann"), await long.consume("ann"));
      for (const decision of decisions) {
        expect(decision).toMatchObject({ reason: "store_unavailable", error: { name: "StoreError", code, message: expect.stringContaining("MULTI") as string } });
      }
    }
    await expect(long.settle("ann", before, { cost: {} })).rejects.toMatchObject({ code });
    await expect(lone.peek("ann")).rejects.toMatchObject({ code });
    await send("DISCARD");
    // The circuit breaker is closed: the next calls are sent.
    expect(await Promise.all([lone.consume("ann"), long.consume("ann")])).toMatchObject([{ degraded: false, remaining: 999 }, { degraded: false }]);
    expect(states).toEqual([]);
    const told = warnings.filter((line) => /SLUICE_STORE/.test(line));
    expect(told).toMatchObject([expect.stringMatching(/^SLUICE_STORE_SETUP: The store of policy "one" shares its connection .*`client\.duplicate\(\)`/)]);
  });
});
