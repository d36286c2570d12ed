import { readClock, sharedClock, type Clock } from "../../core/clock.js";
import { answerCall, STORE_VERBS, type Records, type StoreAnswer, type StoreCall } from "../../core/records.js";
import { guard, guardOptionsOf } from "../../guard/guard.js";
import { LIMIT_KINDS, type AsyncStore, type Guard, type SyncStore } from "../../port/store.js";
import { bucketName } from "../shared/bucket-name.js";
import { checkCharges } from "../shared/charges.js";
import { decodeRecords, encodeRecords } from "../shared/records.js";
import { Rounds, type Job } from "../shared/rounds.js";
import { StoreError } from "../shared/store-error.js";
import {
  checkDatabase, checkRow, runLater, runNow, serverTime, type AnySqlDatabase, type SqlDatabase, type SqlRow, type Steps,
  type SyncSqlDatabase,
} from "./database.js";

export type { SqlDatabase, SqlRow, SyncSqlDatabase } from "./database.js";

const ATTEMPTS = 24;
const WRITES_PER_SWEEP = 1_000;
// The clocks of processes differ, and each may step back. No process needs a row that was full an hour ago.
const SWEEP_AFTER_MS = 3_600_000;

/**
 * Makes a store of any database whose transactions lock rows. You write how to begin a transaction, and how to read and
 * write one row in it; the core's own arithmetic decides.
 *
 * Only records that changed are written. Several charges are one transaction, which locks their rows in a fixed order.
 * With an asynchronous client, calls of this process for one key share transactions, in order: each transaction reads
 * the row once and writes it at most once. With a synchronous client (`sync: true`), each call is one transaction.
 *
 * When a transaction fails, its calls fail with the same error. A value that this store did not write is never
 * overwritten: calls fail with `"ERR_STORE_FOREIGN_VALUE"`. Throws a TypeError that names the wrong member.
 * @example
 * const kept = new Map<string, string>();
 * const store = sqlStore({
 *   sync: true,
 *   transaction: (run: (tx: Map<string, string>) => void) => run(kept),
 *   read: (tx, name) => ({ value: tx.get(name) }),
 *   write: (tx, name, value) => tx.set(name, value),
 * });
 */
export function sqlStore<Tx>(database: SyncSqlDatabase<Tx>): SyncStore;
export function sqlStore<Tx>(database: SqlDatabase<Tx>): AsyncStore;
export function sqlStore<Tx>(database: AnySqlDatabase<Tx>): SyncStore | AsyncStore {
  return new SqlStore(database) as unknown as SyncStore | AsyncStore;
}

class SqlStore<Tx> {
  readonly sync: boolean;
  readonly clock: Clock | "server";
  readonly kinds = LIMIT_KINDS;
  readonly verbs = STORE_VERBS;
  readonly together = true;
  readonly guard: Guard;

  readonly #database: AnySqlDatabase<Tx>;
  readonly #rounds = new Rounds((name, open) => this.#decideRound(name, open));
  #writes = 0;
  /** Rows that expired before this time are to be swept. Null when it is not time to. */
  #sweepBefore: number | null = null;

  constructor(database: AnySqlDatabase<Tx>) {
    this.#database = checkDatabase(database);
    const { sync = false, clock = Date.now } = this.#database;
    this.sync = sync;
    this.clock = sharedClock(clock);
    this.guard = guard(guardOptionsOf(this.#database));
  }

  ask(call: StoreCall): readonly StoreAnswer[] | Promise<readonly StoreAnswer[]> {
    if (call.verb === "peek") return this.#run(() => this.#peek(call));
    if (this.sync || call.parts.length > 1) return this.#run(() => this.#decideOne(call));
    return this.#rounds.join(call);
  }

  async #decideRound(name: string, open: Set<Job>): Promise<void> {
    const jobs = [...open];
    const answers = await runLater(this.#decide([name], jobs.map(({ call }) => call)));
    open.clear();
    jobs.forEach(({ resolve }, i) => resolve(answers[i] as readonly StoreAnswer[]));
  }

  /** Runs steps, synchronous or not as the database is. An asynchronous store rejects, even if `make` throws. */
  #run<T>(make: () => Steps<T>): T | Promise<T> {
    return this.sync ? runNow(make()) : Promise.resolve().then(() => runLater(make()));
  }

  *#peek(call: StoreCall): Steps<readonly StoreAnswer[]> {
    const database = this.#database;
    const [name] = namesOf(call) as [string];
    const row =
      database.peek === undefined
        ? yield* this.#inTransaction((tx) => this.#read(tx, name))
        : checkRow(yield ["peek", database.peek(name)], "peek");
    return answerCall(call, [recordsOf(row, name)], this.#timeOf(row)).answers;
  }

  *#decideOne(call: StoreCall): Steps<readonly StoreAnswer[]> {
    if (call.parts.length > 1) checkCharges(call.parts);
    const [answers] = yield* this.#decide(namesOf(call), [call]);
    return answers as readonly StoreAnswer[];
  }

  /** Answers calls about the same buckets in one transaction. */
  *#decide(names: readonly string[], calls: readonly StoreCall[]): Steps<readonly (readonly StoreAnswer[])[]> {
    yield* this.#sweep();
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        const { answers, writes, now } = yield* this.#inTransaction((tx) => this.#updateRows(tx, names, calls));
        this.#count(writes, now);
        return answers;
      } catch (error) {
        if (!this.#isConflict(error)) throw error;
      }
    }
    throw new StoreError(
      "ERR_STORE_CONTENTION",
      `Expected to change the bucket within ${ATTEMPTS} transactions, got a conflict with another process in each. ` +
        `Lock the row in \`read\`.`,
    );
  }

  *#updateRows(
    tx: Tx, names: readonly string[], calls: readonly StoreCall[],
  ): Steps<{ answers: readonly (readonly StoreAnswer[])[]; writes: number; now: number }> {
    const rows = new Map<string, SqlRow>();
    let last: SqlRow = {};
    // In one order everywhere, so that no two transactions wait for each other.
    for (const name of [...names].sort()) {
      last = yield* this.#read(tx, name);
      rows.set(name, last);
    }
    // The row that was locked last has the latest time.
    const now = this.#timeOf(last);
    const found = names.map((name) => recordsOf(rows.get(name) as SqlRow, name));
    const outcomes = calls.map((call) => answerCall(call, found, now));
    let writes = 0;
    for (const [i, name] of names.entries()) {
      if (!outcomes.some(({ changed }) => changed[i])) continue;
      const { value, ttlMs } = encodeRecords(found[i] as Records, now);
      // An absent row is a full bucket, so a full bucket needs no row.
      if (ttlMs === 0 && isEmpty(rows.get(name) as SqlRow)) continue;
      yield ["write", this.#database.write(tx, name, value, Math.min(now + ttlMs, Number.MAX_SAFE_INTEGER))];
      writes += 1;
    }
    return { answers: outcomes.map(({ answers }) => answers), writes, now };
  }

  *#read(tx: Tx, name: string): Steps<SqlRow> {
    return checkRow(yield ["read", this.#database.read(tx, name)], "read");
  }

  /** Runs `body` in a transaction. Its answer counts only when the transaction has ended well. */
  *#inTransaction<T>(body: (tx: Tx) => Steps<T>): Steps<T> {
    let done: { readonly answer: T } | null = null;
    const { sync } = this;
    const run = (tx: Tx): void | Promise<void> => {
      done = null; // a transaction that begins again forgets its first answer
      if (sync) done = { answer: runNow(body(tx)) };
      else return runLater(body(tx)).then((answer) => void (done = { answer }));
    };
    yield ["transaction", this.#database.transaction(run as (tx: Tx) => Promise<void>)];
    if (done !== null) return (done as { readonly answer: T }).answer;
    throw new TypeError(
      "Expected `transaction` to call `run` and to wait for its end, got an end before it. " +
        "Write `await run(tx)`, and pass on what it rejects with.",
    );
  }

  #timeOf(row: SqlRow): number {
    return this.clock === "server" ? serverTime(row) : readClock(this.clock);
  }

  #count(writes: number, now: number): void {
    if (writes === 0) return;
    if (this.#writes % WRITES_PER_SWEEP < writes) this.#sweepBefore = now - SWEEP_AFTER_MS;
    this.#writes += writes;
  }

  /** Before a transaction, so that a sweep that fails is seen and costs no tokens. */
  *#sweep(): Steps<void> {
    const before = this.#sweepBefore;
    this.#sweepBefore = null;
    if (before === null || this.#database.sweep === undefined) return;
    // The clock may have stepped back since: then rows that are kept now would be among them.
    const latest = typeof this.clock === "function" ? readClock(this.clock) - SWEEP_AFTER_MS : before;
    try {
      yield ["sweep", this.#database.sweep(Math.min(before, latest))];
    } catch (error) {
      if (!this.#isConflict(error)) throw error; // otherwise the next sweep does it
    }
  }

  #isConflict(error: unknown): boolean {
    return this.#database.isConflict?.(error) === true;
  }
}

function namesOf({ parts }: StoreCall): readonly string[] {
  return parts.map(({ policy, key }) => bucketName(policy, key));
}

function isEmpty({ value }: SqlRow): boolean {
  return value === null || value === undefined;
}

function recordsOf({ value }: SqlRow, name: string): Records {
  return value === null || value === undefined ? new Map() : decodeRecords(value, name);
}
