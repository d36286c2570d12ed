/** Routes of the service. A limit of ./limits.ts is one line here. */
import express, { type Express, type Request } from "express";
import { rateLimit } from "sluice/express";
import { interactive, reports, tiers } from "./limits.js";

type User = { readonly id: string; readonly plan: keyof typeof tiers };

// Replace this with your own sign-in. It must verify what the caller sends.
const users = new Map<string, User>([
  ["Bearer token-of-ann", { id: "ann", plan: "free" }],
  ["Bearer token-of-bob", { id: "bob", plan: "paid" }],
]);
const userOf = (request: Request): User | undefined => users.get(request.get("authorization") ?? "");

/** Every route knows its callers in the same way. */
const limit = rateLimit.with({ key: (request) => ["user", userOf(request)?.id], unidentified: "refuse" });

export function makeApp(): Express {
  const app = express();
  app.get("/inbox", limit({ limiter: interactive, policy: (request) => tiers[userOf(request)?.plan ?? "free"] }), (_, response) => void response.json({ messages: [] }));
  app.post("/reports", limit({ limiter: reports }), (_, response) => void response.json({ pages: 42 }));
  return app;
}
