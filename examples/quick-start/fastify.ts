import Fastify from "fastify";
import { addressKey, perMinute } from "sluice";
import { rateLimit } from "sluice/fastify";

const app = Fastify();
await app.register(rateLimit, {
  policy: { name: "api", refill: perMinute(100) }, // 100 at once, then 100 a minute
  // Behind a proxy: Fastify({ trustProxy: "10.0.0.0/8" })
  key: (request) => addressKey(request.ip),
});
app.get("/", async () => "Hello");
await app.listen({ port: 3000 });
