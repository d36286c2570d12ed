import type { FieldList } from "../headers/writer.js";

const known = Object.create(null) as Record<string, string>;

/**
 * The name of a field in lower case, which is how HTTP/2 sends it and how platforms keep it. Given another spelling, Node and
 * undici make and hash a new string for each field of each response: a third of what a field costs.
 */
export function lowerCase(name: string): string {
  return (known[name] ??= name.toLowerCase());
}

// Knows no `__proto__`, which is a name like any other. Not null itself: what is made of that is a slow table.
const BARE = Object.create(null) as object;

/** Fields as a record, by names in lower case. */
export function recordOf(fields: FieldList): Record<string, string> {
  const record = Object.create(BARE) as Record<string, string>;
  for (let i = 0; i < fields.length; i += 2) record[lowerCase(fields[i] as string)] = fields[i + 1] as string;
  return record;
}
