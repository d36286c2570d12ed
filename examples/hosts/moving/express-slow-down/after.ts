import express, { type Express } from "express";
import { addressKey, createLimiter, createWaiter, perSecond } from "sluice";
import { rateLimit } from "sluice/express";

export function createApp(): Express {
  const app = express();
  const limiter = createLimiter({ policy: { name: "search", capacity: 100, refill: perSecond(2) } });

  app.use(
    rateLimit({
      limiter: createWaiter(limiter, { maxWaitMs: 2_000 }),
      key: (request) => addressKey(request.ip, { ipv6Prefix: 56 }),
    }),
  );

  app.get("/", (_, response) => void response.send("hello"));
  return app;
}
