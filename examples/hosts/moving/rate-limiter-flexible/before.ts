import express, { type Express } from "express";
import type { Redis } from "ioredis";
import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";

export function createApp(redis: Redis, keyPrefix: string): Express {
  const app = express();
  const limiter = new RateLimiterRedis({ storeClient: redis, keyPrefix, points: 100, duration: 900 });

  app.use((request, response, next) => {
    limiter.consume(String(request.ip)).then(
      () => next(),
      (refusal: unknown) => {
        if (!(refusal instanceof RateLimiterRes)) return next(refusal);
        response.set("Retry-After", String(Math.ceil(refusal.msBeforeNext / 1000)));
        response.status(429).send("Too Many Requests");
      },
    );
  });

  app.get("/", (_, response) => void response.send("hello"));
  return app;
}
