import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { perSecond } from "sluice";
import { rateLimit } from "sluice/hono";

// Replace this with your own sign-in. It must verify what the caller sends.
const users = new Map([["Bearer token-of-ann", "ann"], ["Bearer token-of-bob", "bob"]]);

const app = new Hono();

app.use(
  rateLimit({
    policy: { name: "interactive", capacity: 10, refill: perSecond(2) },
    key: (c) => ["user", users.get(c.req.header("authorization") ?? "")],
    unidentified: "refuse", // 401 for callers who are not signed in
  }),
);

app.get("/inbox", (c) => c.json({ messages: [] }));

serve({ fetch: app.fetch, port: 3000 });
