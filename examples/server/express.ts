/** The service on Express. */
import { createServer } from "node:http";
import express, { type NextFunction, type Request, type Response } from "express";
import type { Key, Policy } from "sluice";
import { rateLimit } from "sluice/express";
import { askForCaller, identify, PROBLEM_TYPE } from "./identity.js";
import { codeReceiver, phoneOf, QUIET } from "./phone.js";
import { failed, health, inbox, makeReport, notFound, sendLoginCode, startExport, type Answer, type BuildServer } from "./service.js";

export const buildServer: BuildServer = ({ policies, store, telling, failing, onDecision }) => {
  const limit = (policy: Policy, key: (request: Request) => Key | null | Promise<Key | null> = (request) => identify(request.headers)) =>
    rateLimit({
      policy,
      store,
      ...failing,
      key,
      unidentified: (refusal, _, response) => void response.setHeader("Content-Type", PROBLEM_TYPE).end(askForCaller(refusal)),
      ...telling,
      ...(policy === policies["login-code"] && QUIET),
      onDecision,
    });

  const app = express();
  app.disable("x-powered-by");
  // /Inbox and /inbox/ are other paths, as they are on the other frameworks.
  app.enable("case sensitive routing");
  app.enable("strict routing");

  app.get("/health", (_, response) => send(response, health()));
  app.get("/inbox", limit(policies.interactive), (_, response) => send(response, inbox()));
  app.post("/exports", limit(policies.bulk), (_, response) => send(response, startExport()));
  app.post("/reports", limit(policies.reports), async (_, response) => send(response, await makeReport()));
  app.post("/login/code", limit(policies["login-code"], codeReceiver), async (request, response) => {
    send(response, sendLoginCode(await phoneOf(request)));
  });

  app.use((_, response) => send(response, notFound()));
  // Express recognizes an error handler by its four parameters.
  app.use((error: unknown, _request: Request, response: Response, next: NextFunction) => {
    if (response.headersSent) next(error);
    else send(response, failed(error));
  });
  return createServer(app);
};

function send(response: Response, { status, body }: Answer): void {
  response.status(status).json(body);
}
