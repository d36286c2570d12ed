/** The service on Node's own `http`. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Key, Policy } from "sluice";
import { rateLimit } from "sluice/node";
import { askForCaller, identify, PROBLEM_TYPE } from "./identity.js";
import { codeReceiver, phoneOf, QUIET } from "./phone.js";
import { failed, health, inbox, makeReport, notFound, sendLoginCode, startExport, type Answer, type BuildServer } from "./service.js";

export const buildServer: BuildServer = ({ policies, store, telling, failing, onDecision }) => {
  const limit = (policy: Policy, key: (request: IncomingMessage) => Key | null | Promise<Key | null> = ({ headers }) => identify(headers)) =>
    rateLimit({
      policy,
      store,
      ...failing,
      key,
      unidentified: (refusal, _, response) => void response.setHeader("Content-Type", PROBLEM_TYPE).end(askForCaller(refusal)),
      ...telling,
      ...(policy === policies["login-code"] && QUIET),
      onDecision,
      onError: (error, _, response) => send(response, failed(error)),
    });

  const routes = new Map<string, (request: IncomingMessage, response: ServerResponse) => unknown>([
    ["GET /health", (_, response) => send(response, health())],
    ["GET /inbox", limit(policies.interactive)((_, response) => send(response, inbox()))],
    ["POST /exports", limit(policies.bulk)((_, response) => send(response, startExport()))],
    ["POST /reports", limit(policies.reports)(async (_, response) => send(response, await makeReport()))],
    ["POST /login/code", limit(policies["login-code"], codeReceiver)(async (request, response) => send(response, sendLoginCode(await phoneOf(request))))],
  ]);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const method = request.method === "HEAD" ? "GET" : request.method;
      const [path] = (request.url ?? "").split("?");
      const route = routes.get(`${method} ${path}`);
      if (route === undefined) send(response, notFound());
      else await route(request, response);
    } catch (error) {
      send(response, failed(error));
    }
  }
  return createServer((request, response) => void answer(request, response));
};

// Node omits the body of a response to HEAD by itself.
function send(response: ServerResponse, { status, body }: Answer): void {
  if (response.headersSent) return void response.destroy();
  const text = JSON.stringify(body);
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) });
  response.end(text);
}
