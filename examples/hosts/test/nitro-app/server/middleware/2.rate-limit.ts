import { defineEventHandler, type H3Event } from "h3-v1";
import { perHour } from "sluice";
import { isInnerCall, rateLimit } from "../utils/rate-limit.js";

export default defineEventHandler(
  rateLimit<H3Event>({
    policy: { name: "app", capacity: 3, refill: perHour(60) },
    key: (event) => ["user", (event.context["user"] as { id: string } | undefined)?.id],
    unidentified: "refuse",
    skip: (event) => /^\/o(?:pen|wn)$/.test(event.path) || (isInnerCall(event) && event.path !== "/inbox?charged"),
  }),
);
