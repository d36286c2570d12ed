// Bun, Deno (`deno serve`) and Workers serve the default export of a module.
import { perSecond } from "sluice";
import { rateLimit } from "sluice/web";

const limited = rateLimit({
  policy: { name: "interactive", capacity: 10, refill: perSecond(2) },
  key: (request) => ["device", request.headers.get("x-device-id")],
});

export default {
  fetch: limited(() => Response.json({ messages: [] })),
};
