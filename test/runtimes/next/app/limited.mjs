import { perDay } from "sluice";
import { rateLimit } from "sluice/web";

/** A limit of two requests a day. A test picks the key. */
export const limitedBy = (name, options) =>
  rateLimit({
    policy: { name, capacity: 2, refill: perDay(2) },
    key: (request) => new URL(request.url).searchParams.get("key"),
    ...options,
  });
