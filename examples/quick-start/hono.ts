import { serve } from "@hono/node-server";
import { getConnInfo } from "@hono/node-server/conninfo";
import { Hono } from "hono";
import { addressKey, perMinute } from "sluice";
import { rateLimit } from "sluice/hono";

const app = new Hono();
app.use(
  rateLimit({
    policy: { name: "api", refill: perMinute(100) }, // 100 at once, then 100 a minute
    // Behind a proxy: addressKey(proxyaddr(c.env.incoming, ["10.0.0.0/8"]))
    key: (c) => addressKey(getConnInfo(c).remote.address),
  }),
);
app.get("/", (c) => c.text("Hello"));
serve({ fetch: app.fetch, port: 3000 });
