// What clients attach to their errors must not bring a caller's key into an event, a decision or a log.
import { inspect } from "node:util";
import { Redis } from "ioredis";
import * as iovalkey from "iovalkey";
import { createClient } from "redis";
import { createLimiter, createObserver, definePolicy, perHour, type LimiterEvent } from "sluice";
import { RedisStore, type RedisClient } from "sluice/redis";
import { describe, expect, test } from "vitest";
import { startRedis, type OwnRedis } from "../../helpers/own-redis.js";
import type { Connected } from "../../helpers/redis-clients.js";
import { describeWith } from "../../helpers/services.js";

const policy = definePolicy({ name: "api", capacity: 10, refill: perHour(1) });
const KEY = "secret@example.com";
const quiet = (): undefined => undefined;

const clients: Readonly<Record<string, (url: string) => Promise<Connected>>> = {
  async ioredis(url) {
    const client = new Redis(url).on("error", quiet);
    return { client, close: () => client.disconnect() };
  },
  async iovalkey(url) {
    const client = new iovalkey.Redis(url).on("error", quiet);
    return { client, close: () => client.disconnect() };
  },
  async "node-redis"(url) {
    const client = await createClient({ url }).on("error", quiet).connect();
    return { client, close: () => client.destroy() };
  },
};

/** Ways for a server to refuse, and how its words begin. */
const refusals: readonly (readonly [words: string, start: () => Promise<OwnRedis>])[] = [
  ["OOM ", () => startRedis(["--maxmemory-policy", "noeviction", "--maxmemory", "1"])],
  ["READONLY ", () => startRedis(["--replicaof", "127.0.0.1", "1"])],
  ["ERR unknown command", () => startRedis(["--rename-command", "EVALSHA", ""])],
];

/** What a limiter over this client says and shows of its store's failing, with everything that hangs on it. */
async function shown(client: RedisClient): Promise<{ errors: unknown[]; text: string }> {
  const errors: unknown[] = [];
  const observe = (event: LimiterEvent): void => void (event.type === "store" && errors.push(event.error));
  const limiter = createLimiter({ policy, store: new RedisStore(client, { timeoutMs: 10_000 }), observe: createObserver(observe) });
  for (let i = 0; i < 6; i++) errors.push((await limiter.consume(["user", `${KEY} ${i}`])).error);
  errors.push(await limiter.peek(KEY).catch((error: unknown) => error));
  return { errors, text: inspect(errors, { depth: Infinity, showHidden: true }) };
}

describeWith("redis-server", "an error of the server, through", () => {
  describe.each(Object.entries(clients))("%s", (_, connect) => {
    test.each(refusals)("%s tells what was wrong, and no key", async (words, start) => {
      const server = await start();
      const { client, close } = await connect(server.url);
      try {
        const { errors, text } = await shown(client);
        expect(errors[0]).toBeInstanceOf(Error);
        expect((errors[0] as Error).message).toMatch(new RegExp(`^${words}`));
        // Six decisions, one event, one peek.
        expect(errors).toHaveLength(8);
        expect(text).toContain("ERR_STORE_OPEN");
        expect(text).not.toContain(KEY);
      } finally {
        close();
        await server.stop();
      }
    });
  });
});

/** A client that fails with this. */
const failing = (error: unknown): RedisClient => {
  const fail = (): Promise<never> => Promise.reject(error as Error);
  return { evalsha: fail, eval: fail };
};

describe("an error of the client", () => {
  const command = { name: "evalsha", args: [KEY] };

  test("keeps its name, message and code, and its cause's, and nothing else", async () => {
    const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED", command });
    const error = Object.assign(new TypeError("gone", { cause }), { code: "GONE", command });
    const { errors, text } = await shown(failing(error));
    expect(errors[0]).toMatchObject({ name: "TypeError", message: "gone", code: "GONE", cause: { message: "connect ECONNREFUSED", code: "ECONNREFUSED" } });
    expect(text).not.toContain(KEY);
  });

  test("shows the last node's, where a cluster's client has that", async () => {
    const lastNodeError = Object.assign(new Error("CLUSTERDOWN The cluster is down"), { command });
    const { errors, text } = await shown(failing(Object.assign(new Error("Too many redirections"), { lastNodeError })));
    expect(errors[0]).toMatchObject({ message: "Too many redirections", cause: { message: lastNodeError.message } });
    expect(text).not.toContain(KEY);
  });

  test("may be no error at all", async () => {
    for (const thrown of [undefined, null, "no", { command }]) {
      const { errors, text } = await shown(failing(thrown));
      expect(errors[0]).toBeInstanceOf(Error);
      expect(text).not.toContain(KEY);
    }
  });
});
