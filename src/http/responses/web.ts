import { EXPOSE, exposing } from "./cors.js";
import type { Pass, Refuse, RequestReader } from "../gate.js";
import { lowerCase } from "./lower-case.js";

/** Reads web-standard requests. */
export const webReader: RequestReader<Request> = {
  method: (request) => request.method,
  header: (request, name) => request.headers.get(name),
};

/** Adds an allowed request's fields to a response's, leaving alone those that the handler set itself. */
export function applyToHeaders(headers: Headers, { fields, expose }: Pass): void {
  for (let i = 0; i < fields.length; i += 2) {
    const name = lowerCase(fields[i] as string);
    if (!headers.has(name)) headers.set(name, fields[i + 1] as string);
  }
  if (expose.length > 0) headers.set(EXPOSE, exposing(headers.get(EXPOSE), expose));
}

/**
 * The response with an allowed request's fields on it: the same one, or a copy where its headers cannot be changed (a
 * redirect, or what `fetch` returned). A switch of protocols is left as it is.
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

/** A refusal's header fields, over those that are already there. */
export function refusalHeaders({ fields, expose }: Refuse, headers = new Headers()): Headers {
  for (let i = 0; i < fields.length; i += 2) headers.set(lowerCase(fields[i] as string), fields[i + 1] as string);
  if (expose.length > 0) headers.set(EXPOSE, exposing(headers.get(EXPOSE), expose));
  return headers;
}
