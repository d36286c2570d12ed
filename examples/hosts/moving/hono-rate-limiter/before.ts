import { getConnInfo } from "@hono/node-server/conninfo";
import { Hono } from "hono";
import { rateLimiter } from "hono-rate-limiter";

export function createApp(): Hono {
  const app = new Hono();

  app.use(
    rateLimiter({
      windowMs: 15 * 60 * 1000,
      limit: 100,
      keyGenerator: (c) => getConnInfo(c).remote.address ?? "",
    }),
  );

  app.get("/", (c) => c.text("hello"));
  return app;
}
