import express, { type Express } from "express";
import type { Redis } from "ioredis";
import { addressKey } from "sluice";
import { rateLimit } from "sluice/express";
import { RedisStore } from "sluice/redis";

export function createApp(redis: Redis, prefix: string): Express {
  const app = express();

  app.use(
    rateLimit({
      policy: { name: "api", refill: { tokens: 100, everyMs: 900_000 } },
      store: new RedisStore(redis, { prefix }),
      key: (request) => addressKey(request.ip, { ipv6Prefix: 56 }),
    }),
  );

  app.get("/", (_, response) => void response.send("hello"));
  return app;
}
