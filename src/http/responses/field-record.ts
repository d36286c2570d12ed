import type { FieldList } from "../headers/field.js";

// Without a prototype, `__proto__` is a field name like any other. As a prototype itself it keeps the record fast.
const BARE = Object.create(null) as object;

/** A list of fields as a record, by name. */
export function fieldRecord(fields: FieldList): Record<string, string> {
  const record = Object.create(BARE) as Record<string, string>;
  for (let i = 0; i < fields.length; i += 2) record[fields[i] as string] = fields[i + 1] as string;
  return record;
}

/** The fields of a refusal without those that describe its body. */
export function withoutContent(fields: FieldList): FieldList {
  return fields.filter((_, i) => !(fields[i - (i % 2)] as string).startsWith("content-"));
}
