import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { perSecond } from "sluice";
import { rateLimit } from "sluice/hono";

const app = new Hono();

app.use(
  rateLimit({
    policy: { name: "interactive", capacity: 10, refill: perSecond(2) },
    key: (c) => ["device", c.req.header("x-device-id")],
  }),
);

app.get("/inbox", (c) => c.json({ messages: [] }));

serve({ fetch: app.fetch, port: 3000 });
