/** A route handler of Next.js. */
import { perHour } from "sluice";
import { rateLimit } from "sluice/web";

// Replace this with your own sign-in. It must verify what the caller sends.
const users = new Map([["Bearer token-of-ann", "ann"], ["Bearer token-of-bob", "bob"]]);

const limited = rateLimit({
  policy: { name: "inbox", capacity: 10, refill: perHour(60) },
  key: (request) => ["user", users.get(request.headers.get("authorization") ?? "")],
  unidentified: "refuse", // 401 for callers who are not signed in
});

export const GET = limited(() => Response.json({ messages: [] }));
