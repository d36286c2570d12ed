import express, { type Express } from "express";
import { addressKey } from "../address-key.js";
import { createLimiter, createWaiter, perSecond, WaitError } from "sluice";
import { toRetryAfter } from "sluice/http";

export function createApp(): Express {
  const app = express();
  const limiter = createLimiter({ policy: { name: "search", capacity: 100, refill: perSecond(2) } });
  const waiter = createWaiter(limiter, { maxWaitMs: 2_000 });

  app.use(async (request, response, next) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    try {
      await waiter.wait(addressKey(request.ip, { ipv6Prefix: 56 }) ?? "unknown", { signal: gone.signal });
    } catch (error) {
      if (gone.signal.aborted) return;
      if (!(error instanceof WaitError) || error.waitMs === null) throw error;
      return void response.status(429).set("Retry-After", String(toRetryAfter(error.waitMs))).send("Too Many Requests");
    }
    next();
  });

  app.get("/", (_, response) => void response.send("hello"));
  return app;
}
