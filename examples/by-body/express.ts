import express, { type Express, type NextFunction, type Request, type Response } from "express";
import { addressKey, MemoryStore } from "sluice";
import { rateLimit } from "sluice/express";
import { perAddress, perPhone, phoneOf, type Service } from "./body.js";

export function createApp({ sendCode, clock }: Service): Express {
  const app = express();

  // 1. Each address, before a body is read.
  app.use(rateLimit({ policy: perAddress, headers: [], key: (request) => addressKey(request.ip, { ipv6Prefix: 56 }), store: new MemoryStore({ clock }) }));
  // 2. Bodies of a bounded size.
  app.use(express.json({ limit: "1kb" }));

  // 3. Each number. A message that was sent costs, so its token stays taken. Fields would tell a stranger how many were sent.
  const phones = rateLimit({ policy: perPhone, headers: [], key: (request) => ["phone", phoneOf(request.body)], unidentified: "skip", store: new MemoryStore({ clock }) });
  app.post("/code", phones, async (request, response) => {
    const phone = phoneOf(request.body);
    if (phone === undefined) return void response.status(400).send("Which number?");
    await sendCode(phone);
    response.send("Sent");
  });

  // A body that is not JSON, or is too long.
  app.use((error: { status?: number }, _request: Request, response: Response, _next: NextFunction) => void response.sendStatus(error.status ?? 500));
  return app;
}
