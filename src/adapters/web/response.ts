import { ownMembers } from "../../core/check.js";
import { withoutContent } from "../../http/headers/field.js";
import type { RequestReader } from "../../http/reader.js";
import { useOrElse } from "../../http/user-functions.js";
import type { PassVerdict, RefuseVerdict, Responder } from "../../http/response/verdict.js";
import { toJson } from "../../http/response/refusal.js";
import { EXPOSE, exposing, isRedirect } from "../../http/response/field-record.js";
import { processWide } from "../../platform.js";
import { takeResponse } from "./sendable.js";

/** Reads web-standard requests. */
export const webReader: Required<Omit<RequestReader<Request>, "adapter">> = {
  method: (request) => request.method,
  header: (request, name) => request.headers.get(name),
  onDisconnect: (request, listener) => onSignalAbort(request.signal, listener),
};

/**
 * Returns the response with the fields of an allowed request. Fields that the handler set stay.
 *
 * Returns the same response, or a copy when its headers are immutable (a redirect, or a response of `fetch`). A
 * response with status 101, or a redirect of `respond`, is returned unchanged.
 */
export function applyToResponse(response: Response, verdict: PassVerdict): Response {
  if (response.status === 101 || (isRedirect(response.status) && bareRedirects().has(response))) return response;
  try {
    applyToHeaders(response.headers, verdict);
    return response;
  } catch {
    // The Response of @hono/node-server 1 keeps the given Headers object, so the headers are copied first.
    const { status, statusText } = response;
    const copy = new Response(response.body, { status, statusText, headers: new Headers(response.headers) });
    applyToHeaders(copy.headers, verdict);
    return copy;
  }
}

function applyToHeaders(headers: Headers, { fields, expose }: PassVerdict): void {
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    if (!headers.has(name)) headers.set(name, fields[i + 1] as string);
  }
  if (expose.length > 0) headers.set(EXPOSE, exposing(headers.get(EXPOSE), expose));
}

/**
 * Returns the whole response to a refused request: what the options `respond` and `unidentified` answer, or the problem
 * document. It has no body when `request` is a HEAD request. `args` are the arguments of the framework's handlers,
 * which the options get; without them, they get `request`.
 * @example
 * const policy = { capacity: 30, refill: perSecond(5) };
 * const gate = createGate<Request>({ policy, key: () => "user:42" }, webReader);
 * async function handle(request: Request): Promise<Response> {
 *   const verdict = await gate(request);
 *   if (verdict.outcome === "refuse") return refusalResponse(verdict, request);
 *   const response = new Response("hello");
 *   return verdict.outcome === "pass" ? applyToResponse(response, verdict) : response;
 * }
 */
export function refusalResponse(
  verdict: RefuseVerdict, request: { readonly method: string }, args: readonly unknown[] = [request],
): Response | Promise<Response> {
  const { method } = request;
  const standard = (): Response => {
    const headers = refusalHeaders(verdict, new Headers());
    return new Response(method === "HEAD" ? null : verdict.body, { status: verdict.status, headers });
  };
  return verdict.respond === null ? standard() : respondOnWeb(verdict, verdict.respond, { method, args }, standard);
}

/** Returns `headers` with the fields of a refusal. They replace earlier values. */
export function refusalHeaders({ fields, expose }: RefuseVerdict, headers: Headers): Headers {
  for (let i = 0; i < fields.length; i += 2) headers.set(fields[i] as string, fields[i + 1] as string);
  if (expose.length > 0) headers.set(EXPOSE, exposing(headers.get(EXPOSE), expose));
  return headers;
}

/**
 * Returns the response of the `respond` option with the fields of the refusal, or the standard response when the option
 * fails, which `instead` makes. `args` are the arguments of the framework's handlers, and `earlier` the fields that
 * earlier middleware set.
 *
 * The fields of the limit replace those of the response. Its own `Cache-Control` and `WWW-Authenticate` stay. `Set-Cookie`
 * and `Vary` are joined with the earlier ones.
 */
export function respondOnWeb(
  verdict: RefuseVerdict,
  respond: Responder,
  input: { method: string; args: readonly unknown[]; earlier?: Headers },
  instead: () => Response,
): Response | Promise<Response> {
  const { method, args, earlier = new Headers() } = ownMembers(input);
  return useOrElse(respond.name, () => respond.call(...args), respond.timeoutMs, complete, instead);

  function complete(returned: unknown): Response {
    const json = toJson(returned);
    const asJson = { status: verdict.status, headers: { "content-type": "application/json" } };
    const made = json === null ? takeResponse(returned) : new Response(json, asJson);
    const headers = new Headers(made.headers);
    for (const [name, value] of earlier) {
      const own = made.headers.get(name);
      if (own === null && !/^(?:content-|cache-control$|set-cookie$)/.test(name)) headers.set(name, value);
      else if (own !== null && name === "vary") headers.set(name, exposing(value, own.split(/ *, */)));
    }
    headers.delete("set-cookie");
    // Clients keep the later of two cookies with one name. Hono's responses already have the earlier cookies.
    const cookies = new Set([...earlier.getSetCookie(), ...made.headers.getSetCookie()]);
    for (const cookie of cookies) headers.append("set-cookie", cookie);
    const { status } = made;
    if (!isRedirect(status)) refusalHeaders({ ...verdict, fields: withoutContent(verdict.fields) }, headers);
    headers.set("cache-control", made.headers.get("cache-control") ?? "no-store");
    const scheme = made.headers.get("www-authenticate");
    if (scheme !== null) headers.set("www-authenticate", scheme);
    const answer = new Response(method === "HEAD" ? null : made.body, { status, statusText: made.statusText, headers });
    if (isRedirect(status)) bareRedirects().add(answer);
    return answer;
  }
}

/** The redirects without fields, which other limits on the route leave as they are. */
function bareRedirects(): WeakSet<Response> {
  return processWide("redirects", () => new WeakSet<Response>());
}

/** Calls `listener` when `signal` is aborted, or now if it is aborted. Returns a function that removes `listener`. */
export function onSignalAbort(signal: AbortSignal | null | undefined, listener: () => void): () => void {
  if (signal?.aborted) listener();
  signal?.addEventListener("abort", listener);
  return () => signal?.removeEventListener("abort", listener);
}
