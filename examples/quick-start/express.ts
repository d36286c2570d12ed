import express from "express";
import { addressKey, perMinute } from "sluice";
import { rateLimit } from "sluice/express"; // or /fastify, /hono, /nest, /node, /web

const app = express();
app.use(
  rateLimit({
    policy: { name: "api", refill: perMinute(100) }, // 100 at once, then 100 a minute
    // Behind a proxy: app.set("trust proxy", 1)
    key: (request) => addressKey(request.ip),
  }),
);
app.get("/", (_, response) => void response.send("Hello"));
app.listen(3000);
