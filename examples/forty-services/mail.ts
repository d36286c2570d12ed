/** One of forty services. All that it says about limits is its name, its file of policies, and where each applies. */
import { readFileSync } from "node:fs";
import express, { type Express } from "express";
import { createObserver, MemoryStore, type Store } from "sluice";
import { companyLimits, type PolicyFile } from "./company-limits.js";

// Replace this with your own sign-in. It must verify what the caller sends.
const users = new Map([["Bearer token-of-ann", "ann"]]);

const policies = JSON.parse(readFileSync(new URL("mail-limits.json", import.meta.url), "utf8")) as PolicyFile;

export function makeMail(store: Store = new MemoryStore(), observe = createObserver(() => undefined)): Express {
  const userOf = (request: express.Request) => users.get(request.get("authorization") ?? "");
  const limits = companyLimits({ service: "mail", policies, store, userOf, observe });

  const app = express();
  app.get("/inbox", limits("interactive"), (_, response) => void response.json({ messages: [] }));
  app.post("/export", limits("export"), (_, response) => void response.json({ pages: 42 }));
  return app;
}
