// The arguments of the function that decides, and its reply.
import { notDefined } from "../../core/check.js";
import type { Bucket } from "../../core/bucket.js";
import { costAt, type Costs } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";
import { PARAMETERS } from "./schema-decide.js";
import { tableNames } from "./table-names.js";
import { portableKey } from "../shared/bucket-name.js";
import type { LimitDates } from "../../port/kind-rules.js";
import { clockFault, limitDatesOf, Snapshot, type PartDates, type StorePart } from "../shared/snapshot.js";
import { StoreError } from "../shared/store-error.js";

/** The operation of a statement: consume, consume the sum of several decisions, peek, adjust, block or delete. */
export type Operation = "c" | "s" | "p" | "a" | "b" | "d";

// One row of a reply. pg returns a bigint as text, other clients as a number or a bigint. All values fit in 2^53.
interface FoundLimit {
  readonly fits: boolean;
  /** Null for a limit of a row that holds no bucket. */
  readonly spent_before: string | number | bigint | null;
  readonly lag: string | number | bigint;
  readonly now_ms: string | number | bigint;
  /** The milliseconds that a block of the bucket had left. */
  readonly block_ms: string | number | bigint;
}

/** The statement of a store. It casts every parameter, so that each client sends the types that the function takes. */
export function statementOf(table: string): string {
  return `SELECT * FROM ${tableNames(table).decide}(${PARAMETERS.map(([, type], i) => `$${i + 1}::${type}`).join(", ")})`;
}

/** The values of the statement. `now` is null for the server's own clock. */
export function writeValues(what: Operation, parts: readonly StorePart[], now: number | null): unknown[] {
  const limits = parts.flatMap(({ policy }) => policy.limits);
  const dates = DATED_OPERATIONS.includes(what) ? limitDatesOf(parts, now) : undefined;
  const each = (name: keyof LimitDates): unknown[] | null =>
    dates?.some((of) => of[name] !== undefined) ? dates.map((of) => of[name] ?? null) : null;
  return [
    what,
    parts.map(({ name }) => name),
    parts.flatMap(({ policy }, i) => policy.limits.map(() => i + 1)),
    limits.map(({ name }) => name),
    parts.flatMap(({ policy, tokens }) => policy.limits.map((_, i) => costAt(tokens, i))),
    limits.map(({ capacity }) => capacity),
    limits.map(({ unitsPerMs }) => unitsPerMs),
    limits.map(({ unitsPerToken }) => unitsPerToken),
    limits.map(({ fullMs }) => fullMs),
    each("kind"), each("since"), each("backTo"),
    each("dueFrom"), each("dueBefore"), each("due"), each("dueAfter"),
    each("step"), each("moved"), each("movedTo"),
    now,
  ];
}

const DATED_OPERATIONS = "cspa";

/** The name of a bucket, in the table and in the queue. */
export function rowName(policy: Policy, key: string): string {
  return `${policy.name} ${portableKey(key)}`;
}

/** Makes one bucket of a statement. */
export function makePart(policy: Policy, key: string, tokens: Costs, dates?: PartDates): StorePart {
  if (policy.maxCost === undefined) throw notDefined(policy);
  return { policy, name: rowName(policy, key), tokens, from: dates?.from, moved: dates?.moved, to: dates?.to };
}

/**
 * The snapshot of each part, from the rows of a reply. Throws a StoreError for rows that the function did not return,
 * and for a bucket whose row in the table holds no bucket.
 */
export function readRows(rows: readonly unknown[], what: Operation, parts: readonly StorePart[]): Snapshot[] {
  let next = 0;
  const snapshots = parts.map(({ policy, name }) => {
    const own: FoundLimit[] = [];
    let hasNull = false;
    const buckets = policy.limits.map(({ unitsPerMs, unitsPerToken, kind }): Bucket => {
      const found = rows[next++] as FoundLimit | undefined;
      if (found === undefined) throw notUpdated(parts, rows);
      own.push(found);
      hasNull ||= found.spent_before === null;
      const [now, lag] = [Number(found.now_ms), Number(found.lag)];
      const record = { spent: Number(found.spent_before), unitsPerMs, unitsPerToken };
      if (!kind.amounts || !DATED_OPERATIONS.includes(what)) return { ...record, at: now + lag };
      // -1, and -1 more for each date.
      const dated = rows.slice(next, (next += -1 - lag)) as FoundLimit[];
      const dates = dated.flatMap((each) => {
        const [date, units] = [now + Number(each.lag), Number(each.spent_before)];
        return kind.isInFlight ? [date, units] : [date, units, date];
      });
      return { ...record, at: now + Number(dated.at(-1)?.lag ?? 0), dates };
    });
    const now = Number(own[0]?.now_ms);
    if (hasNull) throw clockFault(parts, now) ?? foreignRow(name);
    return new Snapshot(now, buckets, own.every(({ fits }) => fits), Number(own[0]?.block_ms));
  });
  if (next !== rows.length) throw notUpdated(parts, rows);
  return snapshots;
}

function notUpdated(parts: readonly StorePart[], { length }: readonly unknown[]): StoreError {
  const limits = parts.reduce((sum, { policy }) => sum + policy.limits.length, 0);
  return new StoreError("ERR_STORE_REPLY", `Expected ${limits} rows, got ${length}. Run \`migrate()\` to update the function.`);
}

function foreignRow(name: string): StoreError {
  const row = JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
  return new StoreError(
    "ERR_STORE_FOREIGN_VALUE",
    `Expected the row of ${row} to hold a bucket, got values that sluice never writes. Reset that key.`,
  );
}
