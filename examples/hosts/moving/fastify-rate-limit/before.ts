import rateLimit from "@fastify/rate-limit";
import fastify, { type FastifyInstance } from "fastify";

export async function createApp(): Promise<FastifyInstance> {
  const app = fastify();

  await app.register(rateLimit, { max: 100, timeWindow: "15 minutes" });

  app.get("/", async () => "hello");
  return app;
}
