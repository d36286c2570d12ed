/** SvelteKit, as `src/hooks.server.ts`. */
import { building } from "$app/env"; // in SvelteKit 2: "$app/environment"
import type { RequestEvent } from "@sveltejs/kit";
import { sequence, type Handle } from "@sveltejs/kit/hooks"; // in SvelteKit 2, `Handle` is of "@sveltejs/kit"
import { perMinute } from "sluice";
import type { Refusal, UnidentifiedRefusal } from "sluice/http";
import { rateLimit } from "sluice/web";

declare global {
  namespace App { // in your src/app.d.ts
    interface Error { retry_after?: number }
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
  skip: (_, event) => building || event.isSubRequest,
  respond: answer,
  unidentified: answer, // 401 for callers who are not signed in
});

const limit: Handle = ({ event, resolve }) =>
  limited(async () => orNotModified(event.request, await resolve(event)))(event.request, event);

export const handle = sequence(authenticate, limit);

/** HTML for a browser that loads a whole page. For others `application/json`: a client navigation reads no other type. */
function answer({ status, title, message, problem }: Refusal | UnidentifiedRefusal, request: Request) {
  if (!request.headers.get("accept")?.includes("text/html")) return problem;
  const page = `<!doctype html><title>${title}</title><p>${message}</p>`;
  return new Response(page, { status, headers: { "Content-Type": "text/html" } });
}

/** The 304 of a page. SvelteKit makes it after the hooks: without fields, and a place in flight stays taken. */
function orNotModified(request: Request, response: Response): Response {
  const etag = response.headers.get("etag");
  const known = request.headers.get("if-none-match")?.replace(/^W\//, "");
  if (response.status !== 200 || etag === null || etag !== known) return response;
  void response.body?.cancel();
  return new Response(null, { status: 304, headers: response.headers });
}
