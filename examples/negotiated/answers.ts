// A refusal in the form that its caller reads: a page for browsers, GraphQL's errors for GraphQL, the problem document
// for other callers.
import express, { type Express, type Request, type Response } from "express";
import { MemoryStore, type Clock } from "sluice";
import { decisionOf, rateLimit } from "sluice/express";
import type { Refusal } from "sluice/http";

interface AppOptions {
  /** The signed-in user, as your authentication verified it. */
  readonly userOf: (request: Request) => string;
  readonly clock?: Clock;
}

/** A site with pages, an API and GraphQL behind one limit of 2 requests, 1 more every 10 seconds. */
export function site({ userOf, clock }: AppOptions): Express {
  const app = express();
  app.use(
    rateLimit({
      policy: { name: "site", capacity: 2, refill: { tokens: 1, everyMs: 10_000 } },
      key: (request) => ["user", userOf(request)],
      store: new MemoryStore({ clock }),
      respond: (refusal, request, response) => (request.path === "/graphql" ? sendGraphql(refusal, response) : negotiate(refusal, response)),
    }),
  );
  app.post("/graphql", (_request, response) => void response.json({ data: { messages: [] } }));
  app.get("/", (request, response) => void response.json({ messages: [], left: decisionOf(request)?.remaining }));
  return app;
}

// `response.format` compares `Accept` with these types. The first one serves callers that accept anything.
function negotiate(refusal: Refusal, response: Response): void {
  response.format({
    "application/problem+json": () => response.send(JSON.stringify(refusal.problem)),
    "text/html": () => response.send(`<!doctype html><title>${refusal.title}</title><p>${refusal.message}</p>`),
    default: () => response.type("application/problem+json").send(JSON.stringify(refusal.problem)),
  });
}

// GraphQL over HTTP: clients that accept only plain JSON read the errors of a 200; the newer type allows a 429.
function sendGraphql(refusal: Refusal, response: Response): void {
  const errors = [{ message: refusal.message, extensions: { code: refusal.code.toUpperCase(), retryAfter: refusal.retryAfter } }];
  const type = response.req.accepts(["application/json", "application/graphql-response+json"]) || "application/json";
  response.status(type === "application/json" ? 200 : refusal.status).type(type).send(JSON.stringify({ errors }));
}
