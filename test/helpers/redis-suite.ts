import { RedisStore, type RedisClient, type RedisSend } from "sluice/redis";
import { storeSuite } from "sluice/testing";
import { afterAll, beforeAll, test } from "vitest";

/** What no store over Redis has. */
export const lacks = { close: "the client is the caller's", bound: "a key expires when it is full, and the server's own memory bounds the rest" };

/** A client, and the function that disconnects it. */
interface Connected<Client> {
  readonly client: Client;
  close(): unknown;
}

/** Runs the store suite over a client, with a closed one for a server that is away. Returns a function that tells the open one. */
export function suiteOver<Client extends RedisClient | RedisSend>(prefix: string, connect: () => Promise<Connected<Client>>): () => Connected<Client> {
  let [open, closed]: Connected<Client>[] = [];
  beforeAll(async () => {
    [open, closed] = await Promise.all([connect(), connect()]);
    await closed.close();
  });
  afterAll(() => void open?.close());
  storeSuite({
    test,
    factory: ({ clock, unreachable, timeoutMs, breaker, sharedBy }) => {
      const { client } = (unreachable ? closed : open) as Connected<Client>;
      return new RedisStore(client, { denyCacheMs: 0, prefix, clock, timeoutMs, breaker, sharedBy });
    },
    lacks,
  });
  return () => open as Connected<Client>;
}
