/** SvelteKit, as `src/hooks.server.ts`. */
import type { RequestEvent } from "@sveltejs/kit";
import { sequence, type Handle } from "@sveltejs/kit/hooks"; // in SvelteKit 2, `Handle` is of "@sveltejs/kit"
import { perMinute } from "sluice";
import { rateLimit } from "sluice/web";

declare global {
  namespace App { // in your src/app.d.ts
    interface Locals { user?: { id: string } | undefined }
  }
}

const users = new Map([["token-of-ann", "ann"], ["token-of-bob", "bob"]]); // your sign-in

const authenticate: Handle = ({ event, resolve }) => {
  const id = users.get(event.cookies.get("session") ?? "");
  event.locals.user = id === undefined ? undefined : { id };
  return resolve(event);
};

const limited = rateLimit<Request, [event: RequestEvent]>({
  policy: { name: "app", capacity: 20, refill: perMinute(60) },
  key: (_, event) => ["user", event.locals.user?.id],
  unidentified: "refuse", // 401 for callers who are not signed in
  skip: (_, event) => event.isSubRequest, // `fetch` of a load function to your own route: charged with the page
});

const limit: Handle = ({ event, resolve }) => limited(() => resolve(event))(event.request, event);

export const handle = sequence(authenticate, limit);
