// A table in this process with row locks and transactions, for stores of `sqlStore` that are right or wrong in one way.
import type { Clock, GuardOptions } from "sluice";
import type { SqlDatabase, SqlRow, SyncSqlDatabase } from "sluice/store";

/** A transaction: what it has written so far, and the rows that it holds. */
export interface FakeTransaction {
  readonly written: Map<string, string>;
  readonly held: Map<string, () => void>;
}

/** What a test's store needs. */
export interface FakeSetup extends GuardOptions {
  readonly clock?: Clock | "server" | undefined;
  readonly unreachable?: boolean | undefined;
}

// Saved before a test can skew the process's clock: this is the clock of another machine.
const { now: serverNow } = Date;

/** Waits one turn of the event loop, as a call over a network does. */
export const trip = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** One table of one server. */
export class FakeTable {
  readonly rows = new Map<string, string>();
  readonly #locks = new Map<string, Promise<void>>();
  writes = 0;

  /** Bytes of all names and values. */
  get storedBytes(): number {
    return [...this.rows].reduce((sum, entry) => sum + Buffer.byteLength(entry.join("")), 0);
  }

  /** Waits until the row is free, and holds it. Absent rows can be held, too. */
  async lock({ held }: FakeTransaction, name: string): Promise<void> {
    if (held.has(name)) return;
    const before = this.#locks.get(name);
    let free: () => void = () => undefined;
    this.#locks.set(name, new Promise((resolve) => (free = resolve)));
    held.set(name, free);
    await before;
  }

  /** The row as `transaction` sees it. */
  see({ written }: FakeTransaction, name: string): SqlRow {
    return { value: written.get(name) ?? this.rows.get(name), now: serverNow() };
  }

  /** Makes what a transaction wrote visible, and frees its rows. */
  end({ written, held }: FakeTransaction, isCommit: boolean): void {
    if (isCommit) for (const [name, value] of written) this.rows.set(name, value);
    for (const free of held.values()) free();
  }

  /** An asynchronous client that does all as it should. */
  database({ clock, unreachable, timeoutMs, breaker, sharedBy }: FakeSetup): SqlDatabase<FakeTransaction> {
    const reach = async (): Promise<void> => {
      await trip();
      if (unreachable) throw new Error("no connection");
    };
    return {
      clock, timeoutMs, breaker, sharedBy,
      transaction: async (run) => {
        await reach();
        const tx: FakeTransaction = { written: new Map(), held: new Map() };
        try {
          await run(tx);
          await trip();
          this.end(tx, true);
        } catch (error) {
          this.end(tx, false);
          throw error;
        }
      },
      read: async (tx, name) => {
        await reach();
        await this.lock(tx, name);
        return this.see(tx, name);
      },
      write: async (tx, name, value) => {
        await reach();
        this.writes += 1;
        tx.written.set(name, value);
      },
      peek: async (name) => {
        await reach();
        return { value: this.rows.get(name), now: serverNow() };
      },
    };
  }

  /** A synchronous client, as of a database in a file. */
  syncDatabase({ clock, unreachable, breaker, sharedBy }: FakeSetup): SyncSqlDatabase<Map<string, string>> {
    return {
      sync: true,
      clock, breaker, sharedBy,
      transaction: (run) => {
        if (unreachable) throw new Error("no such file");
        const written = new Map<string, string>();
        run(written);
        for (const [name, value] of written) this.rows.set(name, value);
      },
      read: (written, name) => {
        const value = written.get(name) ?? this.rows.get(name);
        return value === undefined ? null : { value };
      },
      write: (written, name, value) => {
        this.writes += 1;
        written.set(name, value);
      },
    };
  }
}
