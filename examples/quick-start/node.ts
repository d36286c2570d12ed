import { createServer } from "node:http";
import { definePolicy, monthly, perMinute, whenDone } from "sluice";
import { rateLimit } from "sluice/node";

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
  key: (request) => ["user", users.get(request.headers.authorization ?? "")],
  unidentified: "refuse", // 401 for callers who are not signed in
});

const chat = limited((request, response) => {
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ answer: "Hello" }));
});

createServer(chat).listen(3000);
