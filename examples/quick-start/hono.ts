import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { definePolicy, monthly, perMinute, whenDone } from "sluice";
import { rateLimit } from "sluice/hono";

const policy = definePolicy({
  name: "chat",
  limits: [
    { name: "requests", capacity: 60, refill: perMinute(60) },
    { name: "tokens", capacity: 30_000, refill: perMinute(30_000), cost: 2_000 },
    { name: "month", capacity: 1_000_000, renews: monthly(), cost: 2_000 },
    { name: "parallel", capacity: 4, returns: whenDone() },
  ],
});

// Replace this with your own sign-in. It must verify what the caller sends.
const users = new Map([["Bearer token-of-ann", "ann"]]);

const app = new Hono();

app.use(
  rateLimit({
    policy,
    key: (c) => ["user", users.get(c.req.header("authorization") ?? "")],
    unidentified: "refuse", // 401 for callers who are not signed in
  }),
);

app.post("/chat", (c) => c.json({ answer: "Hello" }));

serve({ fetch: app.fetch, port: 3000 });
