import { getConnInfo } from "@hono/node-server/conninfo";
import { Hono } from "hono";
import { addressKey } from "sluice";
import { rateLimit } from "sluice/hono";

export function createApp(): Hono {
  const app = new Hono();

  app.use(
    rateLimit({
      policy: { name: "api", refill: { tokens: 100, everyMs: 900_000 } },
      key: (c) => addressKey(getConnInfo(c).remote.address, { ipv6Prefix: 56 }),
    }),
  );

  app.get("/", (c) => c.text("hello"));
  return app;
}
