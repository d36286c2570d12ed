import Fastify from "fastify";
import { perSecond } from "sluice";
import { rateLimit } from "sluice/fastify";

// Replace this with your own sign-in. It must verify what the caller sends.
const users = new Map([["Bearer token-of-ann", "ann"], ["Bearer token-of-bob", "bob"]]);

const app = Fastify();

await app.register(rateLimit, {
  policy: { name: "interactive", capacity: 10, refill: perSecond(2) },
  key: (request) => ["user", users.get(request.headers.authorization ?? "")],
  unidentified: "refuse", // 401 for callers who are not signed in
});

app.get("/inbox", async () => ({ messages: [] }));

await app.listen({ port: 3000 });
