import { setImmediate } from "node:timers/promises";
import { defineEventHandler, type H3Event } from "h3-v1";
import { rateLimit } from "../utils/rate-limit.js";

export default defineEventHandler(
  rateLimit<H3Event>({
    policy: { name: "own", capacity: 1, refill: { tokens: 1, everyMs: 60_000 } },
    key: () => ["user", "ann"],
    skip: (event) => event.path !== "/own",
    respond: async ({ retryAfter }, event, response) => {
      await setImmediate();
      response.writeHead(420).end(`${event.path}: ${retryAfter}`);
    },
  }),
);
