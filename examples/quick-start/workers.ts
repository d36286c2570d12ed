import { definePolicy, monthly, perMinute, whenDone } from "sluice";
import { rateLimit } from "sluice/web";

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

const limited = rateLimit({
  policy,
  key: (request) => ["user", users.get(request.headers.get("authorization") ?? "")],
  unidentified: "refuse", // 401 for callers who are not signed in
});

// A Worker has many processes: a Durable Object or Redis keeps one count.
export default {
  fetch: limited(() => Response.json({ answer: "Hello" })),
};
