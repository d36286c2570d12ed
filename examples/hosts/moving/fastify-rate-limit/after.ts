import fastify, { type FastifyInstance } from "fastify";
import { addressKey } from "sluice";
import { rateLimit } from "sluice/fastify";

export async function createApp(): Promise<FastifyInstance> {
  const app = fastify();

  await app.register(rateLimit, {
    policy: { name: "api", refill: { tokens: 100, everyMs: 900_000 } },
    key: (request) => addressKey(request.ip, { ipv6Prefix: 56 }),
  });

  app.get("/", async () => "hello");
  return app;
}
