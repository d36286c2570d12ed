import { guardChecks } from "#diagnostics";
import { checkClock, checkOptions, expected } from "../../core/check.js";
import type { Clock } from "../../core/clock.js";
import { GUARD_OPTIONS } from "../../guard/guard.js";
import type { GuardOptions } from "../../port/guard-options.js";

/**
 * A procedure that calls the functions of a database. It yields each function's name and answer, and continues with the
 * settled answer, or with the function's error. So one procedure serves clients that answer at once and clients that
 * answer with promises.
 */
export type Steps<T> = Generator<readonly [method: string, answer: unknown], T, unknown>;

/** Runs steps whose answers come at once. Throws a TypeError for a promise. */
export function runNow<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (!step.done) step = steps.next(checkNow(...step.value));
  return step.value;
}

/** Runs steps whose answers are promises. */
export async function runLater<T>(steps: Steps<T>): Promise<T> {
  let step = steps.next();
  while (!step.done) {
    const [, answer] = step.value;
    step = await Promise.resolve(answer).then(
      (value) => steps.next(value),
      (error: unknown) => steps.throw(error),
    );
  }
  return step.value;
}

function checkNow(method: string, answer: unknown): unknown {
  if (typeof (answer as PromiseLike<unknown> | null | undefined)?.then !== "function") return answer;
  Promise.resolve(answer).catch(() => undefined); // its rejection would end the process
  throw new TypeError(
    `Expected \`${method}\` to answer at once, got a promise. Leave out \`sync: true\` for a client that answers later.`,
  );
}

/** A row of the table, as most clients return it. */
export interface SqlRow {
  /** The text that `write` got. Null or absent when nothing was written yet. */
  readonly value?: string | null | undefined;
  /**
   * The server's time in milliseconds. Required with `clock: "server"`, also when nothing is stored under the name;
   * ignored otherwise. Let `read` select it after it locked the row.
   */
  readonly now?: number | undefined;
}

/** The members that both kinds of database have. */
interface SqlDatabaseOptions extends Omit<GuardOptions, "timeoutMs"> {
  /**
   * `"server"` if `read` and `peek` return the server's time, or a function that returns milliseconds. Default
   * `Date.now`, for processes on one machine.
   */
  readonly clock?: Clock | "server" | undefined;
  /**
   * Whether `error` says that the database has rolled back because of another transaction, such as a deadlock. The
   * transaction then begins again, up to 24 times in all. Default: never.
   */
  isConflict?(error: unknown): boolean;
}

/**
 * The functions that connect an asynchronous client, such as `mysql2`. `Tx` is a connection with an open transaction.
 */
export interface SqlDatabase<Tx> extends SqlDatabaseOptions, Pick<GuardOptions, "timeoutMs"> {
  /** False, or left out: the functions return promises. */
  readonly sync?: false | undefined;
  /**
   * Runs `run` in a transaction: begins, awaits `run(tx)`, and commits. When `run` rejects, rolls back and rejects with
   * the same error.
   *
   * Must settle: give the client a timeout of its own.
   */
  transaction(run: (tx: Tx) => Promise<void>): Promise<unknown>;
  /**
   * Returns the newest row under `name`, or null, and locks the name until the transaction ends.
   *
   * An absent row must be locked, too, for example by inserting an empty one. Otherwise two first calls of a key both
   * find a full bucket.
   */
  read(tx: Tx, name: string): Promise<SqlRow | null | undefined>;
  /**
   * Inserts or updates the row under `name`, which this transaction has read.
   *
   * The row may be deleted `expiresAt` milliseconds of the clock, but not before. Keep that number if you `sweep`.
   */
  write(tx: Tx, name: string, value: string, expiresAt: number): Promise<unknown>;
  /** Returns the row as it was last committed, without a lock. Default: `read` in a transaction of its own. */
  peek?(name: string): Promise<SqlRow | null | undefined>;
  /**
   * Deletes rows whose `expiresAt` is less than `before`, up to some thousands. Default: rows stay.
   *
   * Runs outside a transaction, after the first write of this process and after each 1,000 more. `before` is an hour
   * ago.
   */
  sweep?(before: number): Promise<unknown>;
}

/** The functions that connect a synchronous client, such as `node:sqlite`. They return values, not promises. */
export interface SyncSqlDatabase<Tx> extends SqlDatabaseOptions {
  /** The functions answer at once, and so do limiters over the store. */
  readonly sync: true;
  /** Nothing can interrupt its functions: set a timeout of the database, such as `busy_timeout` of SQLite. */
  readonly timeoutMs?: undefined;
  /** Runs `run` in a transaction: begins, calls `run(tx)`, and commits. When `run` throws, rolls back and throws. */
  transaction(run: (tx: Tx) => void): unknown;
  /** Returns the newest row under `name`, or null. No other process may write the row until the transaction ends. */
  read(tx: Tx, name: string): SqlRow | null | undefined;
  /** See `write` of {@link SqlDatabase}. */
  write(tx: Tx, name: string, value: string, expiresAt: number): unknown;
  /** See `peek` of {@link SqlDatabase}. */
  peek?(name: string): SqlRow | null | undefined;
  /** See `sweep` of {@link SqlDatabase}. */
  sweep?(before: number): unknown;
}

/** Either kind of database. */
export type AnySqlDatabase<Tx> = SyncSqlDatabase<Tx> | SqlDatabase<Tx>;

const REQUIRED = ["transaction", "read", "write"] as const;
const OPTIONAL = ["peek", "sweep", "isConflict"] as const;

/** Returns the own members of `database`. Throws a TypeError that names the wrong one. */
export function checkDatabase<Tx>(database: AnySqlDatabase<Tx>): AnySqlDatabase<Tx> {
  const names = ["sync", "clock", ...GUARD_OPTIONS, ...REQUIRED, ...OPTIONAL];
  const given = checkOptions(database, names, "an object with `transaction`, `read` and `write`", undefined, "database");
  const { sync, clock } = given;
  if (sync !== undefined && typeof sync !== "boolean") throw new TypeError(expected("sync", "true or false", sync));
  if (clock !== undefined && clock !== "server") checkClock(clock);
  if (guardChecks && sync === true) guardChecks.checkNoTimeout(given.timeoutMs);
  for (const name of REQUIRED) {
    if (typeof given[name] !== "function") throw new TypeError(expected(name, "a function", given[name]));
  }
  for (const name of OPTIONAL) {
    if (given[name] !== undefined && typeof given[name] !== "function") {
      throw new TypeError(expected(name, "a function", given[name]));
    }
  }
  return given;
}

/** Returns a row that an author's function returned. Throws a TypeError for any other value. */
export function checkRow(answer: unknown, method: string): SqlRow {
  if (answer === null || answer === undefined) return {};
  const isRow = typeof answer === "object" && !Array.isArray(answer);
  if (!isRow) throw new TypeError(`${expected(`${method}()`, "a row or null", answer)}. Return the first row of the result.`);
  const { value } = answer as SqlRow;
  if (value === null || value === undefined || typeof value === "string") return answer;
  throw new TypeError(`${expected("value", "the text that `write` got, or null", value)}. Keep it in a column of text.`);
}

/** The server's time that came with a row, in whole milliseconds. Throws a TypeError when it is no number. */
export function serverTime({ now }: SqlRow): number {
  const time = typeof now === "number" ? Math.floor(now) : NaN;
  if (Number.isSafeInteger(time)) return time;
  throw new TypeError(
    `${expected("now", "a number of milliseconds beside `value`", now)}. ` +
      'Select the server\'s time with each row, or leave out `clock: "server"`.',
  );
}
