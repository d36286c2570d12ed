import Fastify, { type FastifyInstance } from "fastify";
import { addressKey, MemoryStore } from "sluice";
import { rateLimit } from "sluice/fastify";
import { perAddress, perPhone, phoneOf, type Service } from "./body.js";

export async function createApp({ sendCode, clock }: Service): Promise<FastifyInstance> {
  // 2. Bodies of a bounded size.
  const app: FastifyInstance = Fastify({ bodyLimit: 1_000 });

  // 1. Each address, in onRequest, before a body is read.
  await app.register(rateLimit, { policy: perAddress, headers: [], key: (request) => addressKey(request.ip, { ipv6Prefix: 56 }), store: new MemoryStore({ clock }) });

  // 3. Each number, in preHandler. A message that was sent costs, so its token stays taken. Fields, which the plugin turns off, would tell
  // a stranger how many were sent.
  const phones = app.rateLimit({ policy: perPhone, key: (request) => ["phone", phoneOf(request.body)], unidentified: "skip" });
  app.post("/code", { preHandler: phones }, async (request, reply) => {
    const phone = phoneOf(request.body);
    if (phone === undefined) return reply.code(400).send("Which number?");
    await sendCode(phone);
    return "Sent";
  });
  return app;
}
