import { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import type { fastify, FastifyReply, FastifyRequest } from "fastify";
import { rateLimit, reportCost } from "sluice/fastify";
import type { AdapterSetup, RunningServer, SuiteAnswer } from "sluice/testing";
import type { Ask } from "./answers.js";
import { openSocket } from "./outer.js";

/** The suite's routes on Fastify, whichever version is handed in. In `preHandler` bodies are read before the limit runs. */
export async function serveFastify(framework: typeof fastify, setup: AdapterSetup, hook: "onRequest" | "preHandler" = "onRequest"): Promise<RunningServer> {
  const read = ({ method, url, headers }: FastifyRequest) => ({ method, path: url, header: (name: string) => headers[name]?.toString() });
  const app = framework({ forceCloseConnections: true });

  app.addHook("onRequest", (request, reply, next) => {
    reply.header("Cache-Control", "public, max-age=60");
    if (request.url === "/cors") reply.headers({ "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "X-Request-Id" });
    if (request.url === "/early") reply.raw.write("early, ");
    if (request.url === "/dropped") setImmediate(() => reply.code(504).send("dropped"));
    next();
  });
  app.addHook("onSend", (request, reply, payload, next) => {
    if (request.url === "/fails-after" && reply.statusCode === 200) next(new Error("after"));
    else next(null, request.url === "/compressed" ? gzipSync(payload as string) : payload);
  });
  const { answer, answerUnidentified } = setup;
  const send = (reply: FastifyReply, known: SuiteAnswer | undefined): unknown =>
    known && ("returns" in known ? known.returns : reply.code(known.status).headers(known.fields).send(known.body));
  const answerBy = <Refused>(ask: Ask<Refused>) => (refusal: Refused, request: FastifyRequest, reply: FastifyReply): unknown => {
    const given = ask(refusal, read(request));
    return given instanceof Promise ? given.then((known) => send(reply, known)) : send(reply, given);
  };
  await app.register(rateLimit, {
    ...setup.options(read), ...(answer && { respond: answerBy(answer) }), ...(answerUnidentified && { unidentified: answerBy(answerUnidentified) }), hook,
  });
  if (hook === "onRequest") {
    app.addHook("preParsing", (request, _reply, payload, next) => {
      setup.entered(request.url);
      next(null, payload);
    });
  } else {
    // The limit runs after all other hooks, so the handlers tell.
    app.addHook("onRoute", (route) => {
      const { handler } = route;
      route.handler = function (request, reply) {
        setup.entered(request.url);
        return handler.call(this, request, reply);
      };
    });
  }

  for (const path of ["/ok", "/cors"]) app.get(path, () => Promise.resolve("ok"));
  app.get("/bulk", { config: { rateLimit: setup.bulk(read) } }, (_request, reply) => void reply.send("bulk"));
  await app.register(async (inner) => {
    await inner.register(rateLimit, { ...setup.bulk(read), hook });
    inner.get("/both", report);
  });
  app.get("/report", report);
  app.get("/early", (_request, reply) => void reply.hijack().raw.end("late"));
  app.get("/empty", (_request, reply) => void reply.code(204).send());
  app.get("/same", (_request, reply) => void reply.code(304).send());
  app.get("/chunks", (_request, reply) => void reply.send(Readable.from(["one, ", "two"])));
  app.get("/events", async (_request, reply) => {
    reply.hijack().raw.writeHead(200, { "Content-Type": "text/event-stream" }).write("data: 1\n\n");
    await setup.held();
    reply.raw.end("data: 2\n\n");
  });
  app.get("/slow", () => setup.held().then(() => "slow"));
  app.get("/dropped", () => setup.held().then(() => "late"));
  app.get("/fails-after", (_request, reply) => void reply.send("late"));
  app.get("/compressed", (_request, reply) => void reply.header("Content-Encoding", "gzip").send("compressed"));
  app.get("/socket", (request, reply) => {
    reply.hijack();
    openSocket(request.raw.socket);
  });
  app.server.on("upgrade", (request) => app.routing(request, new ServerResponse(request)));
  app.get("/missing", (_request, reply) => void reply.code(404).send({}));
  app.get("/broken", (_request, reply) => void reply.code(500).send({}));
  app.get("/throws", () => {
    throw new Error("thrown");
  });
  app.get("/rejects", () => Promise.reject(new Error("rejected")));
  app.get("/own", (_request, reply) => void reply.header("RateLimit-Remaining", "777").send("own"));
  app.get("/raw", (_request, reply) => void reply.hijack().raw.writeHead(200, { "RateLimit-Remaining": "777" }).end("raw"));
  app.get("/raw-list", (_request, reply) => void reply.hijack().raw.writeHead(200, ["RateLimit-Remaining", "777"]).end("raw"));
  app.post("/json", (request, reply) => void reply.send(request.body));

  function report(request: FastifyRequest, reply: FastifyReply): void {
    setup.reports((cost) => reportCost(request, cost));
    void reply.send("report");
  }
  const address = await app.listen({ port: 0, host: "127.0.0.1" });
  return { port: Number(new URL(address).port), close: () => app.close() };
}
