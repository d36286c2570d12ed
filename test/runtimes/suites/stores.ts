// The laws of the store port for every store of the package, over the newest version of each client.
import { Redis as Upstash } from "@upstash/redis";
import * as ioredis from "ioredis";
import * as iovalkey from "iovalkey";
import pg from "pg";
import { createClient } from "redis";
import { MemoryStore } from "sluice";
import { casStore, type CasBackend } from "sluice/cas";
import { storeSuite } from "sluice/testing";
import { describe, test } from "vitest";
import { redisUrl } from "../../helpers/services.js";
import { overPostgres, overRedis, overUpstash } from "./clients.js";

describe("the memory store", () => {
  storeSuite({
    test,
    factory: ({ clock, maxKeys = 10_000 }) => new MemoryStore({ maxKeys, ...(clock && { clock }) }),
    lacks: {
      close: "it opens nothing",
      sharing: "it is this process's own",
      serverClock: "it goes by this process's",
      unreachable: "it is in this process",
    },
  });
});

describe("sluice/cas over a Map", () => {
  const kept = new Map<string, string>();
  const backend: CasBackend<string> = {
    async read(key) {
      const value = kept.get(key);
      return value === undefined ? null : { value, version: value };
    },
    async write(key, value, version) {
      if ((kept.get(key) ?? null) !== version) return false;
      kept.set(key, value);
      return true;
    },
  };
  const fail = () => Promise.reject(new Error("no connection"));
  storeSuite({
    test,
    factory: ({ clock, unreachable }) => casStore(unreachable ? { read: fail, write: fail } : backend, clock && { clock }),
    lacks: {
      consumeTogether: "one write changes one key",
      serverClock: "it goes by the clocks of the processes",
      close: "the backend is the caller's",
      bound: "the backend's own expiry bounds it",
    },
  });
});

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
overPostgres("pg", pg.Pool);
