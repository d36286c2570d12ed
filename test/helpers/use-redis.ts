// One Redis server for all tests of a suite, empty before each of them.
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { startRedis, type OwnRedis } from "./own-redis.js";

/** Starts a server and a client of it before the tests of this suite. Returns both, and ends them after the tests. */
export function useRedis(take: (server: OwnRedis, client: Redis) => void): void {
  let server: OwnRedis;
  let client: Redis;
  beforeAll(async () => {
    server = await startRedis();
    client = new Redis(server.url);
    take(server, client);
  });
  beforeEach(async () => void (await client.flushall()));
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });
}
