// A client that cannot work is refused when the store is made, with the cure; one that may work is not.
import * as ioredis from "ioredis";
import * as ioredis6 from "ioredis6";
import * as iovalkey from "iovalkey";
import { createClient, createClientPool, createCluster, createSentinel } from "redis";
import * as redis6 from "redis6";
import { Redis as Upstash } from "@upstash/redis";
import { definePolicy, perHour } from "sluice";
import { RedisStore, type RedisClient } from "sluice/redis";
import { describe, expect, test, vi } from "vitest";
import { callsOf } from "../../../src/testing/store-calls.js";

const policy = definePolicy({ name: "api", capacity: 10, refill: perHour(1) });
const lazy = { lazyConnect: true };
const upstash = (config = {}) => new Upstash({ url: "http://127.0.0.1:1", token: "t", ...config });
const silently = <T>(make: () => T): T => {
  const spy = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  try {
    return make();
  } finally {
    spy.mockRestore();
  }
};

const cannot: ReadonlyArray<readonly [name: string, client: () => unknown, words: string]> = [
  ["a URL", () => "redis://:secret@127.0.0.1:6379", "got a string. Pass a client, such as `new Redis(url)`."],
  ["nothing", () => undefined, "got undefined. Pass a client, such as `new Redis(options)`."],
  ["null", () => null, "got null. Pass a client"],
  ["options", () => ({ host: "127.0.0.1", port: 6379 }), "got an object without `eval` and `evalsha`. Pass a client, such as `new Redis(options)`."],
  ["a client without eval", () => ({ evalsha: () => Promise.resolve() }), "got an object without `eval` and `evalsha`."],
  ["a key-value cache", () => ({ get: () => undefined }), "got an object without `eval` and `evalsha`."],
  ["a class", () => ioredis.Redis, "got a function. Pass a client, not the class or function that makes one."],
  ["a function that makes a client", () => createClient, "got a function. Pass a client, not"],
  ["a class of functions", () => Object.assign(function Old() {}, { prototype: { constructor: 0, connect: 0 } }), "got a function. Pass a client, not"],
  ["a function with members", () => Object.assign(() => Promise.resolve(), { pipeline: 1 }), "got a function with members. Write `new RedisStore((command, key) => client(command, key))`."],
  ["a function with `send`", () => Object.assign(() => Promise.resolve(), shape("send")), "got a function with members. Write `new RedisStore(([name, ...args]) => client.send(name, args))`."],
  ["Bun's client of old", () => shape("send", "get"), "got an object without `eval` and `evalsha`. Write `new RedisStore(([name, ...args]) => client.send(name, args))`."],
  ["rate-limit-redis' options", () => shape("sendCommand"), "got an object without `eval` and `evalsha`. Pass the client itself, of which `sendCommand` sends a command."],
  ["valkey-glide", () => shape("customCommand", "get"), "got an object without `eval` and `evalsha`. Write `new RedisStore((command) => client.customCommand([...command]))`."],
  ["a promise of a client", () => Promise.resolve(upstash()), "got a promise. Write `await` before it."],
  ["ioredis: a pipeline", () => new ioredis.Redis(lazy).pipeline(), "got a pipeline. Pass the client that made it."],
  ["ioredis 6: a transaction", () => new ioredis6.Redis(lazy).multi(), "got a pipeline."],
  ["iovalkey: a pipeline", () => new iovalkey.Redis(lazy).pipeline(), "got a pipeline."],
  ["Upstash: a pipeline", () => upstash().pipeline(), "got a pipeline."],
  ["Upstash: a transaction", () => upstash({ enableAutoPipelining: false }).multi(), "got a pipeline."],
  ["Upstash without a URL", () => silently(() => new Upstash({} as never)), "got an Upstash client without a URL. Set UPSTASH_REDIS_REST_URL or `url`."],
  ["Upstash without a URL or pipelining", () => silently(() => new Upstash({ enableAutoPipelining: false } as never)), "got an Upstash client without a URL."],
  ["node-redis 5: a transaction", () => createClient().multi(), "got what `legacy()` or `multi()` returned. Pass the client itself."],
  ["node-redis 6: a transaction", () => redis6.createClient().multi(), "got what `legacy()` or `multi()` returned."],
  ["node-redis 5 with callbacks", () => createClient().legacy(), "got what `legacy()` or `multi()` returned."],
  ["node-redis 6 with callbacks", () => redis6.createClient().legacy(), "got what `legacy()` or `multi()` returned."],
  ["node-redis 4 with callbacks", () => ({ ...shape("evalsha", "evalSha", "eval"), isOpen: false, options: { legacyMode: true } }), "got a client with callbacks. Use redis 5 or later, which returns promises."],
  ["node-redis 3", () => ({ ...shape("evalsha", "eval", "internal_send_command"), options: {} }), "got a client with callbacks."],
];

/** An object with methods that are never called. */
const shape = (...names: string[]): object => Object.fromEntries(names.map((name) => [name, () => expect.unreachable()]));

test.each(cannot)("%s", (_, client, words) => {
  const make = () => new RedisStore(client() as RedisClient);
  expect(make).toThrow(TypeError);
  expect(make).toThrow(`Expected \`client\` to be a client of ioredis, iovalkey, node-redis or @upstash/redis, ${words}`);
  expect(make).not.toThrow("secret");
});

describe("a client that may work is taken before it is connected, with the members that a cluster needs", () => {
  const may: ReadonlyArray<readonly [name: string, client: () => RedisClient, cluster: boolean]> = [
    ["ioredis 5", () => new ioredis.Redis(lazy), false],
    ["ioredis 5: a cluster", () => new ioredis.Cluster([{ port: 1 }], lazy), true],
    ["ioredis 6: a cluster", () => new ioredis6.Cluster([{ port: 1 }], lazy), true],
    ["iovalkey", () => new iovalkey.Redis(lazy), false],
    ["node-redis 5", () => createClient(), false],
    ["node-redis 5 with a type mapping", () => createClient().withTypeMapping({}), false],
    ["node-redis 5: a pool", () => createClientPool({}), false],
    ["node-redis 5: a Sentinel", () => createSentinel({ name: "primary", sentinelRootNodes: [{ host: "127.0.0.1", port: 1 }] }), false],
    ["node-redis 5: a cluster", () => createCluster({ rootNodes: [{ url: "redis://127.0.0.1:1" }] }), true],
    ["node-redis 6: a cluster", () => redis6.createCluster({ rootNodes: [{ url: "redis://127.0.0.1:1" }] }), true],
    ["Upstash", () => upstash(), false],
    ["Upstash with a request of its own", () => new Upstash({ request: () => Promise.resolve({}) }), false],
  ];
  const wrappers: Readonly<Record<string, (client: RedisClient) => RedisClient>> = {
    "as it is": (client) => client,
    "with a changed method": (client) => Object.create(client) as RedisClient,
    // As @vercel/kv makes its client: a proxy of nothing that looks members up in the client.
    "behind a proxy that only reads": (client) => new Proxy({}, { get: (_, name) => Reflect.get(client, name) as unknown }) as RedisClient,
  };
  for (const [how, wrap] of Object.entries(wrappers)) {
    test.each(may)(`%s, ${how}`, (_, client, cluster) => {
      expect(new RedisStore(wrap(client())).together !== true).toBe(cluster);
    });
  }
});

describe("what a client is given tells its kind", () => {
  const script = expect.stringContaining("redis.call") as string;
  const sha = expect.stringMatching(/^[0-9a-f]{40}$/) as string;
  const keys = ["sluice:api a"];
  const args = ["0"]; // of the script for lone decisions
  const noScript = (): Promise<never> => Promise.reject(new Error("NOSCRIPT No matching script."));

  test.each([
    ["ioredis", { eval: vi.fn(noScript), evalsha: vi.fn(noScript) }, [1, ...keys], false],
    ["node-redis", { eval: vi.fn(noScript), evalSha: vi.fn(noScript) }, [{ keys, arguments: args }], true],
    ["Upstash", { eval: vi.fn(noScript), evalsha: vi.fn(noScript), scriptLoad: vi.fn() }, [keys, args], true],
    ["a wrapper of Upstash's client", { eval: vi.fn(noScript), evalsha: Object.defineProperty(vi.fn(noScript), "length", { value: 3 }) }, [keys, args], true],
  ] as const)("%s", async (_, client, wanted, whole) => {
    await expect(callsOf(new RedisStore(client as unknown as RedisClient)).consume(policy, "a", 1)).rejects.toThrow("NOSCRIPT");
    const calls = [("evalSha" in client ? client.evalSha : client.evalsha).mock.calls, client.eval.mock.calls] as unknown[][][];
    for (const [i, [call]] of calls.entries()) {
      expect(call?.[0]).toEqual(i === 0 ? sha : script);
      expect(whole ? call?.slice(1) : call?.slice(1, 3)).toEqual(wanted);
    }
    if ("scriptLoad" in client) expect(client.scriptLoad).not.toHaveBeenCalled();
  });
});

test.each(["NOSCRIPT No matching script.", "Command failed: NOSCRIPT No matching script.", "Command 1 [ evalsha ] failed: NOSCRIPT No matching script. Please use EVAL."])(
  "a script that the server lost is sent as text after %j",
  async (message) => {
    const sent: string[] = [];
    const client = {
      evalsha: () => (sent.push("evalsha"), Promise.reject(new Error(message))),
      eval: () => (sent.push("eval"), Promise.reject(new Error("the text"))),
      scriptLoad: () => Promise.resolve(""),
    };
    const store = new RedisStore(client as unknown as RedisClient);
    await expect(callsOf(store).consume(policy, "a", 1)).rejects.toThrow("the text");
    expect(sent).toEqual(["evalsha", "eval"]);
  },
);
