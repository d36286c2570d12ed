/** The service on Fastify. */
import Fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import { rateLimit } from "sluice/fastify";
import { askForCaller, identify, PROBLEM_TYPE } from "./identity.js";
import { codeReceiver, phoneOf, QUIET } from "./phone.js";
import { failed, health, inbox, makeReport, notFound, sendLoginCode, startExport, type Answer, type BuildServer } from "./service.js";

export const buildServer: BuildServer = async ({ policies, store, telling, failing, onDecision }) => {
  // A path that cannot be decoded counts as unknown. Fastify would send its own message.
  const app = Fastify({ frameworkErrors: (_error, _request, reply) => send(reply, notFound()) });
  app.setNotFoundHandler((_, reply) => send(reply, notFound()));
  app.setErrorHandler((error, _, reply) => send(reply, failed(error)));
  // No body is refused because of its type. Only phone.ts reads a body.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _body, done) => done(null));

  app.get("/health", (_, reply) => send(reply, health()));

  // In a separate scope, so that /health and unknown routes are not limited.
  await app.register(async (limited) => {
    await limited.register(rateLimit, {
      policy: policies.interactive,
      store,
      ...failing,
      key: (request) => identify(request.headers),
      unidentified: (refusal, _, reply) => reply.type(PROBLEM_TYPE).send(askForCaller(refusal)),
      ...telling,
      onDecision: (decision, request) => onDecision(decision, request.raw),
    });
    limited.get("/inbox", (_, reply) => send(reply, inbox()));
    limited.post("/exports", { config: { rateLimit: { policy: policies.bulk } } }, (_, reply) => send(reply, startExport()));
    limited.post("/reports", { config: { rateLimit: { policy: policies.reports } } }, async (_, reply) => send(reply, await makeReport()));
    const codes = { policy: policies["login-code"], key: (request: FastifyRequest) => codeReceiver(request.raw), ...QUIET };
    limited.post("/login/code", { config: { rateLimit: codes } }, async (request, reply) => send(reply, sendLoginCode(await phoneOf(request.raw))));
  });

  await app.ready();
  return app.server;
};

function send(reply: FastifyReply, { status, body }: Answer): FastifyReply {
  return reply.code(status).send(body);
}
