import express, { type Express } from "express";
import { addressKey, createLimiter } from "sluice";
import { rateLimit } from "sluice/express";

const limiter = createLimiter({ policy: { name: "api", refill: { tokens: 100, everyMs: 900_000 } } });
const keyOf = (address: string | undefined) => addressKey(address, { ipv6Prefix: 56 }) ?? "unknown";

export function createApp(): Express {
  const app = express();

  app.use(
    rateLimit({
      limiter,
      key: (request) => keyOf(request.ip),
      onDecision: (decision, request) => {
        if (decision.reason !== "limited" || decision.blocked) return;
        limiter.block(keyOf(request.ip), 60_000);
        limiter.credit(keyOf(request.ip), 100); // forget the count: without this line a caller has fewer tries after the block
      },
    }),
  );

  app.get("/", (_, response) => void response.send("hello"));
  return app;
}
