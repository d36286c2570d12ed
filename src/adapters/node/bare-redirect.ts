import type { FieldList } from "../../http/headers/field.js";
import { isRedirect } from "../../http/response/field-record.js";

/** The part of a Node response from which fields are removed. */
interface RemovableFields {
  getHeader(name: string): unknown;
  removeHeader(name: string): unknown;
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
