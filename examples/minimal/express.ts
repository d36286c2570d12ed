import express from "express";
import { perSecond } from "sluice";
import { rateLimit } from "sluice/express";

const app = express();

app.use(
  rateLimit({
    policy: { name: "interactive", capacity: 10, refill: perSecond(2) },
    key: (request) => ["device", request.get("x-device-id")],
  }),
);

app.get("/inbox", (request, response) => {
  response.json({ messages: [] });
});

app.listen(3000);
