/** The header field that lets scripts of another origin read the others. */
export const EXPOSE = "access-control-expose-headers";

/** No names: the request comes from no other origin. */
export const NOTHING: readonly string[] = [];

// Scripts may read these anyway, or have no use for them.
const OTHERS = new Set(["Cache-Control", "Content-Type", "Content-Length", "WWW-Authenticate"]);

/** The names in a flat list of fields that scripts of another origin would not see unless they are exposed. */
export function namesIn(fields: readonly string[]): readonly string[] {
  return fields.filter((name, i) => i % 2 === 0 && !OTHERS.has(name));
}

/**
 * The value of `Access-Control-Expose-Headers` with `names` added to what is `present`: a CORS middleware's list is kept,
 * nothing is named twice, and `*` is never added, since it means nothing to requests with credentials.
 *
 * Source: Fetch Standard, section 3.3.3.
 */
export function exposing(present: unknown, names: readonly string[]): string {
  const text = Array.isArray(present) ? present.join() : typeof present === "string" ? present : "";
  const list = text.split(",").map((name) => name.trim()).filter((name) => name !== "");
  const known = new Set(list.map((name) => name.toLowerCase()));
  return [...list, ...names.filter((name) => !known.has(name.toLowerCase()))].join(", ");
}
