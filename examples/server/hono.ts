/** The service on Hono, on Node. */
import type { Server } from "node:http";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import { Hono, type Context } from "hono";
import type { Key, Policy } from "sluice";
import { rateLimit } from "sluice/hono";
import { askForCaller, identify, PROBLEM_TYPE } from "./identity.js";
import { codeReceiver, phoneOf, QUIET } from "./phone.js";
import { failed, health, inbox, makeReport, notFound, sendLoginCode, startExport, type Answer, type BuildServer } from "./service.js";

type Env = { Bindings: HttpBindings };

export const buildServer: BuildServer = ({ policies, store, telling, failing, onDecision }) => {
  const limit = (policy: Policy, key: (c: Context<Env>) => Key | null | Promise<Key | null> = (c) => identify(c.req.header())) =>
    rateLimit<Env>({
      policy,
      store,
      ...failing,
      key,
      unidentified: (refusal, c) => c.body(askForCaller(refusal), refusal.status, { "Content-Type": PROBLEM_TYPE }),
      ...telling,
      ...(policy === policies["login-code"] && QUIET),
      onDecision: (decision, c) => onDecision(decision, c.env.incoming),
    });

  const app = new Hono<Env>();

  app.get("/health", (c) => send(c, health()));
  app.get("/inbox", limit(policies.interactive), (c) => send(c, inbox()));
  app.post("/exports", limit(policies.bulk), (c) => send(c, startExport()));
  app.post("/reports", limit(policies.reports), async (c) => send(c, await makeReport()));
  const codes = limit(policies["login-code"], (c) => codeReceiver(c.env.incoming));
  app.post("/login/code", codes, async (c) => send(c, sendLoginCode(await phoneOf(c.env.incoming))));

  app.notFound((c) => send(c, notFound()));
  app.onError((error, c) => send(c, failed(error)));
  // By default it makes a server of node:http. Its type also allows HTTP/2 servers.
  return createAdaptorServer({ fetch: app.fetch }) as Server;
};

function send(c: Context, { status, body }: Answer): Response {
  return c.json(body, status);
}
