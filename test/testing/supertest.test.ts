// The sample of docs/guides/testing-your-app.md for Express.
import express, { type Express } from "express";
import { MemoryStore, perSecond, type Store } from "sluice";
import { rateLimit } from "sluice/express";
import { ManualClock } from "sluice/testing";
import request from "supertest";
import { expect, test } from "vitest";

function buildApp(store: Store = new MemoryStore()): Express {
  const app = express();
  app.use(rateLimit({ policy: { name: "interactive", refill: perSecond(1) }, key: () => ["user", "ann"], store }));
  return app.get("/inbox", (_req, res) => void res.json({ messages: [] }));
}

test("the inbox opens again after the wait", async () => {
  const clock = new ManualClock();
  const app = buildApp(new MemoryStore({ clock: clock.now }));
  await request(app).get("/inbox").expect(200);
  const refused = await request(app).get("/inbox").expect(429);
  expect(refused.body).toMatchObject({ code: "rate_limited", retry_after: 1 });

  clock.advance(refused.body.retry_after * 1_000);
  await request(app).get("/inbox").expect(200);
});
