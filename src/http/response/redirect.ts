import { processWide } from "../../platform.js";
import type { FieldList } from "../headers/field.js";

/** The part of a Node response from which fields are removed. */
interface RemovableFields {
  getHeader(name: string): unknown;
  removeHeader(name: string): unknown;
}

/**
 * Whether a status is that of a redirect. A redirect that `respond` or `unidentified` sends has no fields of a limit,
 * because clients wait for `Retry-After` before they follow a redirect (RFC 9110, section 10.2.3). An `r` of 0 may make
 * them wait, too.
 */
export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

/**
 * Removes the fields of limits, `told`, from a redirect: from `response`, and from `given`, the fields of its head.
 * Values that other code has set stay, and so does `Cache-Control`.
 */
export function bareRedirect(status: number, told: FieldList, response: RemovableFields, given: unknown): void {
  if (!isRedirect(status)) return;
  const head = Object(given) as Record<string, unknown>;
  told.forEach((name, i) => {
    if (i % 2 || name === "cache-control") return;
    if (response.getHeader(name) === told[i + 1]) response.removeHeader(name);
    if (head[name] === told[i + 1]) delete head[name];
  });
}

/** The web-standard redirects without fields, which other limits on the route leave as they are. */
export function bareRedirects(): WeakSet<Response> {
  return processWide("redirects", () => new WeakSet<Response>());
}
