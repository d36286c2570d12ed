// Bun, Deno (`deno serve`) and Workers serve the default export of a module.
import { perSecond } from "sluice";
import { rateLimit } from "sluice/web";

// Replace this with your own sign-in. It must verify what the caller sends.
const users = new Map([["Bearer token-of-ann", "ann"], ["Bearer token-of-bob", "bob"]]);

const limited = rateLimit({
  policy: { name: "interactive", capacity: 10, refill: perSecond(2) },
  key: (request) => ["user", users.get(request.headers.get("authorization") ?? "")],
  unidentified: "refuse", // 401 for callers who are not signed in
});

const inbox = limited(() => Response.json({ messages: [] }));

export default {
  fetch(request: Request) {
    if (request.method !== "GET") return new Response(null, { status: 405, headers: { Allow: "GET" } });
    return inbox(request);
  },
};
