import { addressFieldOf } from "../address-field.js";
import type { FormatField } from "./line-format.js";

/** What the command calls a field, and what servers call it. */
const SERVER_NAMES: Readonly<Record<string, readonly string[]>> = {
  address: ["remote_addr", "client_ip", "c_ip", "client_address"],
  user: ["remote_user", "cs_username"],
  status: ["sc_status", "elb_status_code"],
  bytes: ["body_bytes_sent", "bytes_sent", "sent_bytes", "sc_bytes"],
  referer: ["http_referer", "cs_referer"],
  agent: ["http_user_agent", "user_agent", "cs_user_agent"],
  method: ["request_method", "cs_method"],
  path: ["request_uri", "uri", "cs_uri_stem"],
  time: ["time_local", "time_iso8601", "msec"],
};

/** Reads the text of a field from the texts of a line. */
export type FieldText = (texts: readonly string[]) => string;

/**
 * Finds a field by a name: as the format writes it, as nginx would (`http_x_forwarded_for`), as the header
 * (`X-Forwarded-For`), or as the command calls it (`address`). Upper case and signs do not matter. Undefined for a name
 * that no field has.
 */
export function fieldText(fields: readonly FormatField[], name: string): FieldText | undefined {
  const at = fieldPlace(fields, name);
  if (at >= 0) return (texts) => texts[at] as string;
  const word = plain(name);
  const request = word === "method" || word === "path" ? fieldPlace(fields, "request") : -1;
  if (request < 0) return undefined;
  const part = word === "method" ? 0 : 1;
  return (texts) => (texts[request] as string).split(" ", 2)[part] ?? "-";
}

/** The position of a field with this name, or -1. */
export function fieldPlace(fields: readonly FormatField[], name: string): number {
  const exact = fields.findIndex(({ names }) => names.includes(name));
  if (exact >= 0) return exact;
  const word = plain(name);
  const serverNames = Object.hasOwn(SERVER_NAMES, word) ? (SERVER_NAMES[word] as readonly string[]) : [];
  const wanted = [word, ...serverNames, `http_${word}`, `cs_${word}`];
  for (const each of wanted) {
    const found = fields.findIndex(({ names }) => plain(names[0] as string) === each);
    if (found >= 0) return found;
  }
  return -1;
}

/** Whether a name is that of a field with the address of a caller, or with a list of addresses. */
export function isAddressField(fields: readonly FormatField[], name: string): boolean {
  const field = fields[fieldPlace(fields, name)];
  return field !== undefined && addressFieldOf(field.names[0] as string) !== null;
}

/** A name in lower case, with one kind of sign: `cs(X-Forwarded-For)` is `cs_x_forwarded_for`. */
const plain = (name: string): string =>
  name.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_|_$/g, "");
