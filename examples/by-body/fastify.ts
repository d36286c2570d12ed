import Fastify, { type FastifyInstance } from "fastify";
import { addressKey, MemoryStore } from "sluice";
import { rateLimit } from "sluice/fastify";
import { accountOf, passwordOf, perAccount, perAddress, perPhone, phoneOf, type Service } from "./body.js";

export async function createApp({ check, sendCode, clock }: Service): Promise<FastifyInstance> {
  // 2. Bodies of a bounded size.
  const app: FastifyInstance = Fastify({ bodyLimit: 1_000 });

  // 1. Each address, in onRequest, before a body is read.
  await app.register(rateLimit, { policy: perAddress, key: (request) => addressKey(request.ip, { ipv6Prefix: 56 }), store: new MemoryStore({ clock }) });

  // 3. Each account, in preHandler. Only a wrong password costs a token, so a login that succeeds gives it back.
  const accounts = app.rateLimit({
    policy: perAccount,
    key: (request) => ["account", accountOf(request.body)],
    unidentified: "skip", // without an account, the handler answers 400
    actualCost: ({ status }) => (status === 200 ? 0 : undefined),
  });
  app.post("/login", { preHandler: accounts }, async (request, reply) => {
    const account = accountOf(request.body);
    if (account === undefined) return reply.code(400).send("Which account?");
    if (!(await check(account, passwordOf(request.body)))) return reply.code(401).send("Wrong account or password");
    return "Welcome";
  });

  // 3. Each number. A message that was sent costs, so its token stays taken.
  const phones = app.rateLimit({ policy: perPhone, key: (request) => ["phone", phoneOf(request.body)], unidentified: "skip" });
  app.post("/login/code", { preHandler: phones }, async (request, reply) => {
    const phone = phoneOf(request.body);
    if (phone === undefined) return reply.code(400).send("Which number?");
    await sendCode(phone);
    return "Sent";
  });
  return app;
}
