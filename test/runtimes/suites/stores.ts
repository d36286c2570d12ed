// The laws of the store port for every store of the package, over the newest version of each client.
import { Redis as Upstash } from "@upstash/redis";
import * as ioredis from "ioredis";
import * as iovalkey from "iovalkey";
import pg from "pg";
import { createClient } from "redis";
import { redisUrl } from "../../helpers/services.js";
import { overPg, overRedis, overUpstash } from "./clients.js";
import "./bun.js";
import "./local-stores.js";
import "./sqlite.js";

overRedis("ioredis", () => {
  const client = new ioredis.Redis(redisUrl());
  return { client, close: () => client.disconnect() };
});
overRedis("iovalkey", () => {
  const client = new iovalkey.Redis(redisUrl());
  return { client, close: () => client.disconnect() };
});
overRedis("node-redis", async () => {
  const client = createClient({ url: redisUrl() }).on("error", () => undefined);
  await client.connect();
  return { client, close: () => client.destroy() };
});
overUpstash("@upstash/redis", Upstash);
overPg("pg", pg.Pool);
