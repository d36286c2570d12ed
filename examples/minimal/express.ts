import express from "express";
import { perSecond } from "sluice";
import { rateLimit } from "sluice/express";

// Replace this with your own sign-in. It must verify what the caller sends.
const users = new Map([["Bearer token-of-ann", "ann"], ["Bearer token-of-bob", "bob"]]);

const app = express();

app.use(
  rateLimit({
    policy: { name: "interactive", capacity: 10, refill: perSecond(2) },
    key: (request) => ["user", users.get(request.get("authorization") ?? "")],
    unidentified: "refuse", // 401 for callers who are not signed in
  }),
);

app.get("/inbox", (_, response) => {
  response.json({ messages: [] });
});

app.listen(3000);
