import Fastify from "fastify";
import { perSecond } from "sluice";
import { rateLimit } from "sluice/fastify";

const app = Fastify();

await app.register(rateLimit, {
  policy: { name: "interactive", capacity: 10, refill: perSecond(2) },
  key: (request) => ["device", request.headers["x-device-id"]],
});

app.get("/inbox", async () => ({ messages: [] }));

await app.listen({ port: 3000 });
