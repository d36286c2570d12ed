/** The service on Hono, on Node. */
import type { Server } from "node:http";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import { Hono, type Context } from "hono";
import type { Policy } from "sluice";
import { rateLimit } from "sluice/hono";
import { explainRefusal, identify } from "./identity.js";
import { failed, health, inbox, notFound, sendLoginCode, startExport, type Answer, type BuildServer } from "./service.js";

export const buildServer: BuildServer = ({ policies, store, telling, failing, onDecision }) => {
  const limit = (policy: Policy) =>
    rateLimit<{ Bindings: HttpBindings }>({
      policy,
      store,
      ...failing,
      key: (c) => identify(c.req.header()),
      unidentified: "refuse",
      body: explainRefusal,
      ...telling,
      onDecision: (decision, c) => onDecision(decision, c.env.incoming),
    });

  const app = new Hono<{ Bindings: HttpBindings }>();

  app.get("/health", (c) => send(c, health()));
  app.get("/inbox", limit(policies.interactive), (c) => send(c, inbox()));
  app.post("/exports", limit(policies.bulk), (c) => send(c, startExport()));
  app.post("/login/code", limit(policies["login-code"]), (c) => send(c, sendLoginCode()));

  app.notFound((c) => send(c, notFound()));
  app.onError((error, c) => send(c, failed(error)));
  // By itself it makes a server of node:http; its type speaks of HTTP/2 servers too.
  return createAdaptorServer({ fetch: app.fetch }) as Server;
};

function send(c: Context, { status, body }: Answer): Response {
  return c.json(body, status);
}
