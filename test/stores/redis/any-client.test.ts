// A client as one function: what it gets, what it may answer, and clients that are used in this way.
import { inspect } from "node:util";
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { createLimiter, createObserver, definePolicy, monthly, perHour, whenDone, type LimiterEvent } from "sluice";
import { RedisStore, type RedisSend } from "sluice/redis";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { flush, startCluster, startRedis, type OwnCluster, type OwnRedis } from "../../helpers/own-redis.js";
import { suiteOver } from "../../helpers/redis-suite.js";
import { describeWith } from "../../helpers/services.js";
import { unshared } from "../../helpers/unshared.js";
import { callsOf } from "../../../src/testing/store-calls.js";
import { takesTogether } from "../../../src/port/store.js";

const policy = definePolicy({ name: "api", capacity: 10, refill: perHour(1) });
const quiet = (): undefined => undefined;
/** A key whose text looks like parts of an error that the store must act on. */
const KEY = "NOSCRIPT secret@example.com TRYAGAIN";

/** A function, and the one that ends its client. */
interface Sending {
  readonly send: RedisSend;
  close(): unknown;
}

const onOneNode: Readonly<Record<string, (port: number) => Promise<Sending>>> = {
  async ioredis(port) {
    const client = new Redis(port).on("error", quiet);
    return { send: ([name, ...args]) => client.call(name, ...args), close: () => client.disconnect() };
  },
  async "node-redis"(port) {
    const client = createClient({ url: `redis://127.0.0.1:${port}` }).on("error", quiet);
    await client.connect();
    return { send: (command) => client.sendCommand(command), close: () => client.destroy() };
  },
};

const onCluster: Readonly<Record<string, (ports: readonly number[]) => Promise<Sending>>> = {
  async ioredis(ports) {
    const client = new Cluster(ports.map((port) => ({ host: "127.0.0.1", port })));
    return { send: ([name, ...args]) => client.call(name, ...args), close: () => client.disconnect() };
  },
  async "node-redis"(ports) {
    const client = createCluster({ rootNodes: ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })) }).on("error", quiet);
    await client.connect();
    return { send: (command, key) => client.sendCommand(key, false, [...command]), close: () => client.destroy() };
  },
};

describeWith("redis-server", "Redis by one function, of", () => {
  let server: OwnRedis;
  let admin: Redis;
  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.port);
  });
  // Buckets are full in each test, also when it is tried again.
  beforeEach(() => flush(server));
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  describe.each(Object.entries(onOneNode))("%s", (name, connect) => {
    const open = suiteOver(name, async () => {
      const { send, close } = await connect(server.port);
      return { client: send, close };
    });

    test("charges once, also when the server has lost the script", async () => {
      const send = open().client;
      for (const make of [(prefix: string) => new RedisStore(send, { prefix, denyCacheMs: 0 }), (prefix: string) => unshared(() => new RedisStore(send, { prefix: `${prefix} apart`, denyCacheMs: 0 }))]) {
        const store = make(name);
        for (const remaining of [9, 8, 7]) {
          await admin.script("FLUSH");
          expect(await callsOf(store).consume(policy, KEY, 1)).toMatchObject({ allowed: true, remaining });
        }
        await admin.script("FLUSH");
        const all = await Promise.all(["a", "b", "c", KEY].map((key) => callsOf(store).consume(policy, key, 3)));
        expect(all.map(({ remaining }) => remaining)).toEqual([7, 7, 7, 4]);
      }
    });

    test("gets texts alone, and the first key that the command touches", async () => {
      const send = open().client;
      const sent: Array<readonly [command: readonly unknown[], key: unknown]> = [];
      const limits = [
        { name: "rate", capacity: 10, refill: perHour(10) },
        { name: "month", capacity: 10, renews: monthly() },
        { name: "parallel", capacity: 10, returns: whenDone() },
      ];
      const store = new RedisStore((command, key) => (sent.push([command, key]), send(command, key)), { prefix: `${name} texts` });
      const limiter = createLimiter({ policy: { name: "any", limits }, store });
      const decision = await limiter.consume(KEY, 4);
      expect(decision).toMatchObject({ allowed: true, degraded: false });
      expect(await limiter.settle(KEY, decision, { cost: { rate: 1, month: 2 } })).toBe(true);
      await limiter.block(KEY, 1_000);
      await limiter.reset(KEY);
      expect(await limiter.peek(KEY)).toMatchObject({ remaining: 10 });
      await limiter.consume("user", 4);
      for (const [command, key] of sent) {
        expect(command.map((each) => typeof each)).toEqual(command.map(() => "string"));
        expect(command[0]).toMatch(/^EVAL(?:SHA)?$/);
        // A give-back has a second key, its mark, in the slot of the first.
        expect(command[2]).toMatch(/^[12]$/);
        expect(command[3]).toBe(key);
        expect(key).toMatch(new RegExp(`^${name} texts:any `));
      }
    });
  });

  describe("on a cluster, of", () => {
    let cluster: OwnCluster;
    beforeAll(async () => void (cluster = await startCluster()), 30_000);
    beforeEach(() => flush(...cluster.masters));
    afterAll(() => cluster.stop());

    test.each(Object.entries(onCluster))("%s", async (name, connect) => {
      const { send, close } = await connect(cluster.ports);
      onTestFinished(() => void close());
      const store = new RedisStore(send, { prefix: name, cluster: true, timeoutMs: 5_000 });
      const keys = Array.from({ length: 30 }, (_, i) => `key {${i % 3}} ${i}`);
      const asked = await Promise.all(keys.flatMap((key) => Array.from({ length: 15 }, () => callsOf(store).consume(policy, key, 1))));
      keys.forEach((_, i) => expect(asked.slice(i * 15, i * 15 + 15).filter(({ allowed }) => allowed)).toHaveLength(10));
      const together = [{ policy, key: "ann", cost: 1 }, { policy, key: "bob", cost: 1 }];
      expect(takesTogether(store, together)).toBe(false);
      await expect(callsOf(store).together(together)).rejects.toMatchObject({ code: "ERR_STORE_APART" });
      const tagged = new RedisStore(send, { prefix: `{${name}}`, cluster: true });
      expect(tagged.together).toBe(true);
      expect(await callsOf(tagged).together(together)).toMatchObject([{ allowed: true }, { allowed: true }]);
    });
  });
});

/** The words with which clients tell of a lost script. */
const lost: readonly Error[] = [
  new Error("NOSCRIPT No matching script. Please use EVAL."),
  new Error("-NOSCRIPT No matching script."), // Deno
  new Error("An error was signalled by the server: - NoScriptError: No matching script."), // valkey-glide
  Object.assign(new Error("No matching script"), { code: "NOSCRIPT" }),
];

/** Answers every lone decision: the server's time and nothing spent. EVALSHA fails once for each of `errors`. */
function answering(errors: Error[]): { readonly send: RedisSend; readonly sent: string[] } {
  const sent: string[] = [];
  const send: RedisSend = async ([name]) => {
    sent.push(name);
    const error = name === "EVALSHA" ? errors.shift() : undefined;
    if (error !== undefined) throw error;
    return [1_000_000, 1];
  };
  return { send, sent };
}

test("a script goes as text at first, then by its hash, and as text again when the server lost it", async () => {
  const { send, sent } = answering([...lost]);
  const store = new RedisStore(send, { denyCacheMs: 0 });
  for (let i = 0; i < 6; i++) expect(await callsOf(store).consume(policy, "a", 1)).toMatchObject({ allowed: true });
  expect(sent.join(" ")).toBe(`EVAL${" EVALSHA EVAL".repeat(lost.length)} EVALSHA`);
});

test.each([`the key was ${KEY}`, `${KEY.slice(3)}`, "ERR NOSCRIPT", "redirections. Last error: ReplyError: MOVED 1 NOSCRIPT "])("a failure is not sent again: %s", async (message) => {
  const { send, sent } = answering([new Error(message)]);
  const store = new RedisStore(send, { denyCacheMs: 0 });
  await callsOf(store).consume(policy, KEY, 1);
  await expect(callsOf(store).consume(policy, KEY, 1)).rejects.toThrow();
  expect(sent).toEqual(["EVAL", "EVALSHA"]);
  // The words of an unknown client for a lost script may be others. So the next call sends the text.
  expect(await callsOf(store).consume(policy, KEY, 1)).toMatchObject({ allowed: true });
  expect(sent).toEqual(["EVAL", "EVALSHA", "EVAL"]);
});

test("several decisions of one call that fails are not sent again", async () => {
  const sent: string[] = [];
  const store = new RedisStore(async ([name, ...args]) => {
    sent.push(name);
    throw new Error(`${args.join(" ")} TRYAGAIN NOSCRIPT redirections. Last error: ReplyError: MOVED `);
  });
  const asked = await Promise.allSettled(["TRYAGAIN ", "NOSCRIPT "].map((key) => callsOf(store).consume(policy, key, 1)));
  expect(asked.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(sent).toHaveLength(1);
});

test("no error shows a key, whatever the client puts into it", async () => {
  const errors: unknown[] = [];
  const events = createObserver((event: LimiterEvent) => void (event.type === "store" && errors.push(event.error)));
  const send: RedisSend = async (command) => {
    const cause = new Error(`EPIPE while writing ${command.join(" ")}`);
    throw Object.assign(new Error(`Command ${command.join(" ")} failed`, { cause }), { command });
  };
  const limiter = createLimiter({ policy, store: new RedisStore(send), observe: events });
  for (let i = 0; i < 6; i++) errors.push((await limiter.consume(["user", `${KEY} ${i}`])).error);
  errors.push(await limiter.peek(KEY).catch((error: unknown) => error));
  expect(errors).toHaveLength(8);
  const text = inspect(errors, { depth: Infinity, showHidden: true });
  expect(text).toContain("failed");
  expect(text).toContain("EPIPE");
  expect(text).not.toContain("secret@");
});

test("a function that throws at once, or resolves to something else, is a failed call", async () => {
  const thrown = new RedisStore(() => { throw new Error("gone"); });
  await expect(callsOf(thrown).consume(policy, "a", 1)).rejects.toThrow("gone");
  for (const reply of [undefined, "OK", {}, Buffer.from("1"), [Buffer.from("1"), 1]]) {
    await expect(callsOf(new RedisStore(async () => reply)).consume(policy, "a", 1)).rejects.toMatchObject({ code: "ERR_STORE_REPLY" });
  }
});

test("a client that is a function with methods is used by its methods", async () => {
  const error = new Error("by its method");
  const client = Object.assign(() => expect.unreachable(), { evalsha: () => Promise.reject(error), eval: () => expect.unreachable() });
  await expect(callsOf(new RedisStore(client)).consume(policy, "a", 1)).rejects.toThrow("by its method");
});
