/** The header field with the names of the fields that scripts of another origin may read. */
export const EXPOSE = "access-control-expose-headers";

/**
 * The value of `Access-Control-Expose-Headers`: `names` added to the `present` value, which CORS middleware may have
 * set.
 *
 * No name appears twice. `*` is never added, because it has no effect on requests with credentials (Fetch Standard,
 * section 3.3.3).
 */
export function exposing(present: unknown, names: readonly string[]): string {
  const text = Array.isArray(present) ? present.join() : typeof present === "string" ? present : "";
  const list = text.split(",").map((name) => name.trim()).filter((name) => name !== "");
  const known = new Set(list.map((name) => name.toLowerCase()));
  return [...list, ...names.filter((name) => !known.has(name.toLowerCase()))].join(", ");
}

/**
 * Whether a status is that of a redirect. A redirect that `respond` or `unidentified` sends has no fields of a limit,
 * because clients wait for `Retry-After` before they follow a redirect (RFC 9110, section 10.2.3). An `r` of 0 may make
 * them wait, too.
 */
export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}
