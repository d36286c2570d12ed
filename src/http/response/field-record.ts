import type { FieldList } from "../headers/field.js";
import type { PassVerdict, RefuseVerdict } from "./verdict.js";

// Without a prototype, `__proto__` is a field name like any other. An object that has this one as its prototype is
// faster than one with no prototype.
const BARE = Object.create(null) as object;

/**
 * Returns the header fields of a verdict as a record, by lower-case name, for frameworks that take a record.
 *
 * For a request from another origin it includes `access-control-expose-headers`. `exposed` is the present value of that
 * field, if CORS middleware has set one. Its names come first. A refusal has the `content-type` and `content-length` of
 * its body.
 * @example
 * const gate = createGate<Request>({ policy: { capacity: 30, refill: perSecond(5) }, key: () => "user:42" }, webReader);
 * const verdict = await gate(new Request("http://localhost/inbox"));
 * if (verdict.outcome !== "skip") console.log(fieldRecord(verdict)["ratelimit-remaining"]); // "29"
 */
export function fieldRecord({ fields, expose }: PassVerdict | RefuseVerdict, exposed?: unknown): Record<string, string> {
  const record = recordOf(fields);
  if (expose.length > 0) record[EXPOSE] = exposing(exposed, expose);
  return record;
}

/** A list of fields as a record, by name. */
export function recordOf(fields: FieldList): Record<string, string> {
  const record = Object.create(BARE) as Record<string, string>;
  for (let i = 0; i < fields.length; i += 2) record[fields[i] as string] = fields[i + 1] as string;
  return record;
}

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
