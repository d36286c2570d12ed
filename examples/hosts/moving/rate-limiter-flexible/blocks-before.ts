import express, { type Express } from "express";
import { RateLimiterMemory } from "rate-limiter-flexible";

export function createApp(): Express {
  const app = express();
  const limiter = new RateLimiterMemory({ points: 100, duration: 900, blockDuration: 60 });
  app.use((request, response, next) => {
    limiter.consume(String(request.ip)).then(() => next(), () => response.sendStatus(429));
  });

  app.get("/", (_, response) => void response.send("hello"));
  return app;
}
