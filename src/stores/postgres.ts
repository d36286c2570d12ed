/**
 * Buckets in Postgres, shared by every process that uses them.
 * @module
 */
import { readClock, type Clock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import { expected } from "../core/errors.js";
import { portableKey } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { AsyncStore, Charge } from "../core/store.js";
import { StoreError } from "./shared/store-error.js";
import { postgresSchema } from "./postgres-schema.js";
import { Snapshot, type StorePart } from "./shared/snapshot.js";

export { postgresSchema } from "./postgres-schema.js";

/** The part of a `pg` pool or client, of PGlite, and of whatever else runs one statement, that the store calls. */
export interface PostgresClient {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
}

/** How a {@link PostgresStore} is made. */
export interface PostgresStoreOptions {
  /** The table's name; the function and the index are named after it. Default `"sluice"`. Letters, digits and `_`, at most 48. */
  readonly table?: string;
  /** A clock for tests. Default: the server's own, which is the only one that several processes share. */
  readonly clock?: Clock;
}

// A sweep drops up to 200 rows, so one in this many decisions keeps up with any load that made the rows.
const DECISIONS_PER_SWEEP = 50;

interface FoundLimit {
  readonly part: number;
  readonly fits: boolean;
  readonly spent_before: string | number | bigint;
  readonly lag: string | number | bigint;
  readonly now_ms: string | number | bigint;
}

/**
 * Keeps buckets in Postgres 13 or later: one statement decides, atomically, by the server's clock.
 *
 * Works with a `pg` pool, PGlite, or anything with `query(text, values)`. Create the table once with {@link migrate}. Rows
 * go away a few at a time, when they are full, with the decisions that follow; no job is needed.
 * @example
 * const store = new PostgresStore(pool);
 * await store.migrate();
 * const limiter = createLimiter({ policy: { capacity: 30, refill: perSecond(5) }, store });
 */
export class PostgresStore implements AsyncStore {
  readonly sync = false;
  readonly clock: Clock | "server";

  readonly #client: PostgresClient;
  readonly #table: string;
  readonly #statement: string;
  #decisions = 0;

  /** Sends nothing yet. Throws a TypeError or RangeError that names what is wrong. */
  constructor(client: PostgresClient, options: PostgresStoreOptions = {}) {
    const { table = "sluice", clock } = options;
    if (typeof client !== "object" || client === null || typeof client.query !== "function") {
      throw new TypeError(expected("client", "an object with `query(text, values)`", client));
    }
    if (typeof table !== "string" || !/^[A-Za-z_][A-Za-z0-9_]{0,47}$/.test(table)) {
      throw new RangeError(expected("table", "1 to 48 letters, digits or `_`, starting with a letter", table));
    }
    if (clock !== undefined && typeof clock !== "function") {
      throw new TypeError(expected("clock", "a function that returns milliseconds", clock));
    }
    this.clock = clock ?? "server";
    this.#client = client;
    this.#table = table;
    this.#statement = `SELECT * FROM "${table}_decide"($1, $2, $3, $4, $5, $6)`;
  }

  /** Creates the table and the function where they are missing. Safe to run again, from several processes at once too. */
  async migrate(): Promise<void> {
    // One statement, so that it works over any client; the lock keeps two processes from creating the same things at once.
    const body = `BEGIN PERFORM pg_advisory_xact_lock(hashtextextended('${this.#table} migrate', 0)); ${postgresSchema(this.#table)} END`;
    await this.#client.query(`DO $sluice$ ${body} $sluice$`, []);
  }

  /** See {@link StorePowers.consume}. */
  async consume(policy: Policy, key: string, cost: number): Promise<Decision> {
    const [snapshot] = await this.#ask("c", [part(policy, key, cost)]);
    return (snapshot as Snapshot).consume(policy, cost);
  }

  /** See {@link StorePowers.peek}. */
  async peek(policy: Policy, key: string, cost: number): Promise<Decision> {
    const [snapshot] = await this.#ask("p", [part(policy, key, cost)]);
    return (snapshot as Snapshot).peek(policy, cost);
  }

  /** See {@link StorePowers.consumeTogether}. One transaction; buckets are always locked in the same order. */
  async consumeTogether(charges: readonly Charge[]): Promise<readonly Decision[]> {
    const parts = charges.map(({ policy, key, cost }) => part(policy, key, cost));
    if (parts.length === 0) return [];
    if (new Set(parts.map(({ name }) => name)).size < parts.length) {
      throw new TypeError("Expected `charges` to name each bucket once, got one twice");
    }
    const snapshots = await this.#ask("c", parts);
    const all = snapshots.every(({ fits }) => fits);
    return parts.map(({ policy, tokens }, i) => {
      const snapshot = snapshots[i] as Snapshot;
      return all ? snapshot.consume(policy, tokens) : snapshot.peek(policy, tokens);
    });
  }

  /** See {@link StorePowers.refund}. */
  async refund(policy: Policy, key: string, tokens: number): Promise<void> {
    await this.#ask("r", [part(policy, key, tokens)]);
  }

  /** See {@link StorePowers.reset}. */
  async reset(policy: Policy, key: string): Promise<void> {
    await this.#ask("d", [part(policy, key, 0)]);
  }

  async #ask(what: "c" | "p" | "r" | "d", parts: readonly StorePart[]): Promise<Snapshot[]> {
    this.#decisions += 1;
    const { rows } = await this.#client.query(this.#statement, [
      what,
      parts.map(({ name }) => name),
      parts.map(({ tokens }) => tokens),
      JSON.stringify(parts.map(({ policy }) => policy.limits.map(asJson))),
      typeof this.clock === "function" ? readClock(this.clock) : null,
      this.#decisions % DECISIONS_PER_SWEEP === 0,
    ]);
    return readRows(rows as FoundLimit[], parts);
  }
}

function part(policy: Policy, key: string, tokens: number): StorePart {
  return { policy, name: `${policy.name} ${portableKey(key)}`, tokens };
}

function asJson({ name, capacity, unitsPerMs, unitsPerToken, fullMs }: Policy["limits"][number]): object {
  return { n: name, c: capacity, p: unitsPerMs, q: unitsPerToken, f: fullMs };
}

// bigint comes as text from pg and as a number from others; all of them fit in 2^53.
function readRows(rows: readonly FoundLimit[], parts: readonly StorePart[]): Snapshot[] {
  const expectedRows = parts.reduce((sum, { policy }) => sum + policy.limits.length, 0);
  if (rows.length !== expectedRows) throw new StoreError("ERR_STORE_REPLY", `Expected ${expectedRows} rows, got ${rows.length}`);
  let place = 0;
  return parts.map(({ policy }) => {
    const first = rows[place] as FoundLimit;
    const now = Number(first.now_ms);
    const buckets = policy.limits.map(({ unitsPerMs, unitsPerToken }) => {
      const row = rows[place++] as FoundLimit;
      return { spent: Number(row.spent_before), at: now + Number(row.lag), unitsPerMs, unitsPerToken };
    });
    return new Snapshot(now, buckets, first.fits);
  });
}

