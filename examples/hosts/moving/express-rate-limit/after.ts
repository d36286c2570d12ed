import express, { type Express } from "express";
import { addressKey } from "sluice";
import { rateLimit } from "sluice/express";

export function createApp(): Express {
  const app = express();

  app.use(
    rateLimit({
      policy: { name: "api", refill: { tokens: 100, everyMs: 900_000 } },
      key: (request) => addressKey(request.ip, { ipv6Prefix: 56 }),
    }),
  );

  app.get("/", (_, response) => void response.send("hello"));
  return app;
}
