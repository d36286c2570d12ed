import { expected } from "../../core/check.js";
import { withoutContent } from "../headers/field.js";
import type { RequestReader } from "../reader.js";
import { useOrElse } from "../user-functions.js";
import type { Pass, Refuse, Responder } from "../verdict.js";
import { EXPOSE, exposing } from "./cors.js";
import { onSignalAbort } from "./disconnect.js";

/** Reads web-standard requests. */
export const webReader: RequestReader<Request> = {
  method: (request) => request.method,
  header: (request, name) => request.headers.get(name),
  onDisconnect: (request, listener) => onSignalAbort(request.signal, listener),
};

/**
 * The response with the fields of an allowed request. Fields that the handler set itself stay.
 *
 * Returns the same response, or a copy when its headers are immutable (a redirect, or a response of `fetch`). A
 * response with status 101 is returned unchanged.
 */
export function applyToResponse(response: Response, verdict: Pass): Response {
  if (response.status === 101) return response;
  try {
    applyToHeaders(response.headers, verdict);
    return response;
  } catch {
    // The Response of @hono/node-server 1 keeps the headers that it is given, so these are copied first.
    const { status, statusText } = response;
    const copy = new Response(response.body, { status, statusText, headers: new Headers(response.headers) });
    applyToHeaders(copy.headers, verdict);
    return copy;
  }
}

function applyToHeaders(headers: Headers, { fields, expose }: Pass): void {
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    if (!headers.has(name)) headers.set(name, fields[i + 1] as string);
  }
  if (expose.length > 0) headers.set(EXPOSE, exposing(headers.get(EXPOSE), expose));
}

/**
 * The whole response to a refused request. Without a body when `request` is a HEAD request.
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
export function refusalResponse(verdict: Refuse, request?: { readonly method: string }): Response {
  const body = request?.method === "HEAD" ? null : verdict.body;
  return new Response(body, { status: verdict.status, headers: refusalHeaders(verdict, new Headers()) });
}

/** `headers` with the fields of a refusal, in place of earlier values. */
export function refusalHeaders({ fields, expose }: Refuse, headers: Headers): Headers {
  for (let i = 0; i < fields.length; i += 2) headers.set(fields[i] as string, fields[i + 1] as string);
  if (expose.length > 0) headers.set(EXPOSE, exposing(headers.get(EXPOSE), expose));
  return headers;
}

/**
 * The response of the `respond` option to a refused request, with the fields of the refusal; the standard response when
 * the option fails. `args` is what the framework gives a handler. `earlier` are the fields of earlier middleware.
 *
 * The fields of the limit replace those of the response. Its own `Cache-Control` stays. `Set-Cookie` and `Vary` add up.
 */
export function respondOnWeb(
  verdict: Refuse,
  respond: Responder,
  method: string,
  args: readonly unknown[],
  instead: () => Response,
  earlier = new Headers(),
): Response | Promise<Response> {
  return useOrElse("respond", () => respond.call(...args), respond.timeoutMs, complete, instead);

  function complete(made: unknown): Response {
    if (!isResponse(made)) throw new TypeError(expected("respond()", "a Response", made));
    const headers = new Headers(made.headers);
    for (const [name, value] of earlier) {
      const own = made.headers.get(name);
      if (own === null && !/^(?:content-|cache-control$|set-cookie$)/.test(name)) headers.set(name, value);
      else if (own !== null && name === "vary") headers.set(name, exposing(value, own.split(/ *, */)));
    }
    headers.delete("set-cookie");
    // Of two cookies with one name, the later counts. Hono's own responses have the earlier ones already.
    for (const cookie of new Set([...earlier.getSetCookie(), ...made.headers.getSetCookie()])) headers.append("set-cookie", cookie);
    const cacheControl = made.headers.get("cache-control") ?? "no-store";
    refusalHeaders({ ...verdict, fields: withoutContent(verdict.fields) }, headers);
    headers.set("cache-control", cacheControl);
    // Throws for a body that was read before, such as that of one response for all requests.
    return new Response(method === "HEAD" ? null : made.body, { status: made.status, statusText: made.statusText, headers });
  }
}

// By its shape: @hono/node-server brings a class of its own.
function isResponse(value: unknown): value is Response {
  const { status, headers } = Object(value) as Partial<Response>;
  return typeof status === "number" && typeof headers?.get === "function";
}
