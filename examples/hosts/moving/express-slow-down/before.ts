import express, { type Express } from "express";
import { slowDown } from "express-slow-down";

export function createApp(): Express {
  const app = express();

  app.use(slowDown({ windowMs: 15 * 60 * 1000, delayAfter: 100, delayMs: () => 500 }));

  app.get("/", (_, response) => void response.send("hello"));
  return app;
}
