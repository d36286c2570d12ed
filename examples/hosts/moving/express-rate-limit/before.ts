import express, { type Express } from "express";
import { rateLimit } from "express-rate-limit";

export function createApp(): Express {
  const app = express();

  app.use(rateLimit({ windowMs: 15 * 60 * 1000, limit: 100 }));

  app.get("/", (_, response) => void response.send("hello"));
  return app;
}
