// What goes to the function in the database and what comes back.
import type { Policy } from "../../core/policy.js";
import { namesOf, PARAMETERS } from "./schema.js";
import { portableKey } from "../shared/portable-key.js";
import { Snapshot, type StorePart } from "../shared/snapshot.js";
import { StoreError } from "../shared/store-error.js";

/** Consume, consume a sum, peek, refund, debit or delete. */
export type What = "c" | "s" | "p" | "r" | "b" | "d";

// One row of an answer. A bigint comes as text from pg and as a number from others; all of them fit in 2^53.
interface FoundLimit {
  readonly fits: boolean;
  readonly spent_before: string | number | bigint;
  readonly lag: string | number | bigint;
  readonly now_ms: string | number | bigint;
}

/** The one statement. Every type is written down, so that each client sends what the function takes. */
export function statementOf(table: string): string {
  return `SELECT * FROM ${namesOf(table).decide}(${PARAMETERS.map(([, type], i) => `$${i + 1}::${type}`).join(", ")})`;
}

/** Its values. `now` is null for the server's own clock. */
export function writeValues(what: What, parts: readonly StorePart[], now: number | null): unknown[] {
  const limits = parts.flatMap(({ policy }) => policy.limits);
  return [
    what,
    parts.map(({ name }) => name),
    parts.map(({ tokens }) => tokens),
    parts.flatMap(({ policy }, i) => policy.limits.map(() => i + 1)),
    limits.map(({ name }) => name),
    limits.map(({ capacity }) => capacity),
    limits.map(({ unitsPerMs }) => unitsPerMs),
    limits.map(({ unitsPerToken }) => unitsPerToken),
    limits.map(({ fullMs }) => fullMs),
    now,
  ];
}

/** What a bucket is called, in the table and in line. */
export function nameOf(policy: Policy, key: string): string {
  return `${policy.name} ${portableKey(key)}`;
}

/** One bucket of a statement. */
export function part(policy: Policy, key: string, tokens: number): StorePart {
  return { policy, name: nameOf(policy, key), tokens };
}

/** What the function found, for each part. Throws a StoreError for an answer that is not the function's. */
export function readRows(rows: readonly unknown[], parts: readonly StorePart[]): Snapshot[] {
  const expectedRows = parts.reduce((sum, { policy }) => sum + policy.limits.length, 0);
  if (rows.length !== expectedRows) throw new StoreError("ERR_STORE_REPLY", `Expected ${expectedRows} rows, got ${rows.length}`);
  let place = 0;
  return parts.map(({ policy }) => {
    const own = rows.slice(place, (place += policy.limits.length)) as FoundLimit[];
    const now = Number(own[0]?.now_ms);
    const buckets = policy.limits.map(({ unitsPerMs, unitsPerToken }, i) => {
      const { spent_before, lag } = own[i] as FoundLimit;
      return { spent: Number(spent_before), at: now + Number(lag), unitsPerMs, unitsPerToken };
    });
    return new Snapshot(now, buckets, own.every(({ fits }) => fits));
  });
}
