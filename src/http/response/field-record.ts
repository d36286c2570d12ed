import type { FieldList } from "../headers/field.js";
import { EXPOSE, exposing } from "./sent-fields.js";
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
