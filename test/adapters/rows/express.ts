import { createServer, ServerResponse, type IncomingMessage } from "node:http";
import type express from "express";
import type { Request, Response } from "express";
import { rateLimit, reportCost } from "sluice/express";
import type { AdapterSetup, RunningServer, SuiteAnswer } from "sluice/testing";
import type { Ask } from "./answers.js";
import { listen } from "./listen.js";
import { answerInstead, compressEnd, openSocket } from "./outer.js";

/** The suite's routes on Express, whichever version is handed in. */
export function serveExpress(framework: typeof express, setup: AdapterSetup): Promise<RunningServer> {
  const read = ({ method, path, headers }: Request) => ({ method, path, header: (name: string) => headers[name]?.toString() });
  const app = framework().set("env", "test"); // no stack traces on the console

  app.use((request, response, next) => {
    response.set("Cache-Control", "public, max-age=60");
    if (request.path === "/cors") response.set({ "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "X-Request-Id" });
    if (request.path === "/early") response.write("early, ");
    if (request.path === "/dropped") answerInstead(response);
    if (request.path === "/compressed") compressEnd(response);
    next();
    if (request.path === "/fails-after") throw new Error("after");
  });
  const bulk = rateLimit(setup.bulk(read));
  app.get("/bulk", bulk, (request, response) => {
    setup.entered(request.path);
    response.send("bulk");
  });
  const { answer, answerUnidentified } = setup;
  const send = (response: Response, known: SuiteAnswer | undefined): unknown =>
    known && ("returns" in known ? known.returns : response.status(known.status).set(known.fields).send(known.body));
  const answerBy = <Refused>(ask: Ask<Refused>) => (refusal: Refused, request: Request, response: Response): unknown => {
    const given = ask(refusal, read(request));
    return given instanceof Promise ? given.then((known) => send(response, known)) : send(response, given);
  };
  app.use(rateLimit({ ...setup.options(read), ...(answer && { respond: answerBy(answer) }), ...(answerUnidentified && { unidentified: answerBy(answerUnidentified) }) }));
  app.use((request, _response, next) => {
    setup.entered(request.path);
    next();
  });
  app.use(framework.json());

  app.get("/ok", (_request, response) => void response.send("ok"));
  for (const path of ["/both", "/report"]) {
    app.get(path, ...(path === "/both" ? [bulk] : []), (request, response) => {
      setup.reports((cost) => reportCost(request, cost));
      response.send("report");
    });
  }
  app.get("/cors", (_request, response) => void response.send("cors"));
  app.get("/early", (_request, response) => void response.end("late"));
  app.get("/empty", (_request, response) => void response.status(204).end());
  app.get("/same", (_request, response) => void response.status(304).end());
  app.get("/chunks", (_request, response) => {
    response.write("one, ");
    response.end("two");
  });
  app.get("/events", async (_request, response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" }).write("data: 1\n\n");
    await setup.held();
    response.end("data: 2\n\n");
  });
  app.get("/slow", (_request, response) => void setup.held().then(() => response.send("slow")));
  for (const path of ["/dropped", "/fails-after"]) {
    app.get(path, (_request, response) => void setup.held().then(() => response.headersSent || response.send("late")));
  }
  app.get("/compressed", (_request, response) => void response.send("compressed"));
  app.get("/socket", (request) => openSocket(request.socket));
  app.get("/missing", (_request, response) => void response.status(404).json({}));
  app.get("/broken", (_request, response) => void response.status(500).json({}));
  app.get("/throws", () => {
    throw new Error("thrown");
  });
  app.get("/rejects", (_request, _response, next) => void Promise.reject(new Error("rejected")).catch(next));
  app.get("/own", (_request, response) => void response.set("RateLimit-Remaining", "777").send("own"));
  app.get("/raw", (_request, response) => void response.writeHead(200, { "RateLimit-Remaining": "777" }).end("raw"));
  app.get("/raw-list", (_request, response) => void response.writeHead(200, ["RateLimit-Remaining", "777"]).end("raw"));
  app.post("/json", (request, response) => void response.json(request.body));

  const server = createServer(app);
  // As express-ws does: a response without a connection.
  server.on("upgrade", (request: IncomingMessage) => app(request, new ServerResponse(request)));
  return listen(server);
}
