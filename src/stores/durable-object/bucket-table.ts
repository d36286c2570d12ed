import { withCalendars } from "../../limits/quota.js";
import { definePolicy, type Policy } from "../../core/policy.js";
import { answerCall, type Charge, type Records } from "../../core/records.js";
import { withReturns } from "../../limits/in-flight.js";
import { withWindows } from "../../limits/window.js";
import { decodeRecords, encodeRecords } from "../shared/records.js";
import type { BucketCall, BucketPart } from "./call.js";

/** The part of a Durable Object's storage that its buckets need. */
export interface BucketStorage {
  readonly sql: { exec(statement: string, ...values: readonly (string | number)[]): { toArray(): readonly unknown[] } };
  transactionSync<T>(run: () => T): T;
}

/** One answer for each part of a call. */
export interface TableAnswers {
  readonly answers: readonly unknown[];
  /** When the last of the rows that the call wrote may be deleted. Null when it wrote none. */
  readonly expiresAt: number | null;
}

// With a told time, a row outlives it by an hour: the time of a test may stand still.
const TOLD_MS = 3_600_000;
// An application may make policies without end.
const MOST_DEFINED = 1_000;

/** The buckets of one Durable Object, as rows of its SQLite storage. It waits for nothing, so each call is atomic. */
export class BucketTable {
  readonly #storage: BucketStorage;
  readonly #policies = new Map<string, Policy>();
  /** Made by the first write. An object that only refuses, or only looks, stores nothing. */
  #exists: boolean;

  constructor(storage: BucketStorage) {
    this.#storage = storage;
    this.#exists = this.#rows("SELECT name FROM sqlite_master WHERE name = 'sluice_buckets'").length > 0;
  }

  /** Does a call at `clockNow`, the time of the object, unless the call tells another. */
  run(call: BucketCall, clockNow: number): TableAnswers {
    const { verb, parts, from, move, now: told } = call;
    const now = told ?? clockNow;
    const existed = this.#exists;
    try {
      return this.#storage.transactionSync(() => {
        const found = parts.map(({ name }) => this.#find(name));
        const charges = parts.map((part) => this.#chargeOf(part)) as [Charge, ...Charge[]];
        const { answers, changed } = answerCall({ verb, parts: charges, from, move }, found, now);
        let expiresAt: number | null = null;
        parts.forEach(({ name }, i) => {
          if (!changed[i]) return;
          const ttlMs = this.#save(name, found[i] as Records, now, clockNow + (told === undefined ? 0 : TOLD_MS));
          if (ttlMs > 0) expiresAt = Math.max(expiresAt ?? 0, clockNow + ttlMs);
        });
        return { answers, expiresAt };
      });
    } catch (error) {
      // The transaction took the table away that it made.
      this.#exists = existed;
      throw error;
    }
  }

  /** Deletes the rows whose buckets are full at `now`. Returns when the next one is; null when no row is left. */
  sweep(now: number): number | null {
    if (!this.#exists) return null;
    this.#rows("DELETE FROM sluice_buckets WHERE until <= ?", now);
    const [row] = this.#rows("SELECT MIN(until) AS next FROM sluice_buckets") as readonly [{ readonly next: number | null }];
    return row.next;
  }

  /** Whether the object stores tables of its own beside the buckets. */
  get isAlone(): boolean {
    return (
      this.#rows(
        "SELECT name FROM sqlite_master WHERE name <> 'sluice_buckets' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\' AND " +
          "name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
      ).length === 0
    );
  }

  /** The storage was emptied. */
  forget(): void {
    this.#exists = false;
  }

  #find(name: string): Records {
    const [row] = this.#exists ? this.#rows("SELECT records FROM sluice_buckets WHERE name = ?", name) : [];
    return row === undefined ? new Map() : decodeRecords((row as { readonly records: string }).records, name);
  }

  // The name of the bucket stands for its key.
  #chargeOf({ name, policy, amount }: BucketPart): Charge {
    return { policy: this.#policyOf(policy), key: name, cost: amount };
  }

  // Returns the milliseconds until the buckets are full. `from` is now by the clock of the alarm.
  #save(name: string, records: Records, now: number, from: number): number {
    const { value, ttlMs } = encodeRecords(records, now);
    if (ttlMs === 0) {
      if (this.#exists) this.#rows("DELETE FROM sluice_buckets WHERE name = ?", name);
      return 0;
    }
    // Without a row id a write is one row, and not two, which is what it costs.
    if (!this.#exists) {
      this.#rows(
        "CREATE TABLE sluice_buckets (name TEXT PRIMARY KEY, records TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID",
      );
    }
    this.#exists = true;
    this.#rows("INSERT OR REPLACE INTO sluice_buckets (name, records, until) VALUES (?, ?, ?)", name, value, from + ttlMs);
    return ttlMs;
  }

  #policyOf(text: string): Policy {
    let policy = this.#policies.get(text);
    if (policy === undefined) {
      if (this.#policies.size >= MOST_DEFINED) this.#policies.clear();
      policy = definePolicy(withWindows(withReturns(withCalendars(JSON.parse(text) as Policy))));
      this.#policies.set(text, policy);
    }
    return policy;
  }

  #rows(statement: string, ...values: readonly (string | number)[]): readonly unknown[] {
    return this.#storage.sql.exec(statement, ...values).toArray();
  }
}
