import { expected } from "../../core/check.js";

/** The SQL names of the objects of one table, quoted. */
export interface TableNames {
  readonly table: string;
  readonly index: string;
  /** The function that decides about everything. */
  readonly decide: string;
  /** The function that grants to many buckets at once. */
  readonly grant: string;
}

/** The names for a store's `table`. Throws a RangeError for a name that is not allowed. */
export function tableNames(table: string): TableNames {
  if (typeof table !== "string" || !/^([A-Za-z_]\w{0,47}\.)?[A-Za-z_]\w{0,47}$/.test(table)) {
    throw new RangeError(
      expected("table", "1 to 48 letters, digits or `_`, not a digit first, with or without `schema.` before it", table),
    );
  }
  const [name, schema] = table.split(".").reverse() as [string, string?];
  const within = schema === undefined ? "" : `"${schema}".`;
  return {
    table: `${within}"${name}"`, index: `"${name}_sweep"`, decide: `${within}"${name}_decide"`,
    grant: `${within}"${name}_grant"`,
  };
}
