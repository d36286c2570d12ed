/**
 * Buckets in Postgres, shared by every process that uses them.
 * @module
 */
import { readClock, type Clock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import { checkNames, expected } from "../core/errors.js";
import type { Policy } from "../core/policy.js";
import type { AsyncStore, Charge } from "../core/store.js";
import { portableKey } from "./shared/portable-key.js";
import { StoreError } from "./shared/store-error.js";
import { namesOf, PARAMETERS, postgresSchema } from "./postgres-schema.js";
import { Snapshot, type StorePart } from "./shared/snapshot.js";

export { postgresSchema } from "./postgres-schema.js";

/** The part of a `pg` pool or client, of PGlite, and of whatever else runs one statement, that the store calls. */
export interface PostgresClient {
  /** Runs one statement and resolves to its rows. */
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
}

/** How a {@link PostgresStore} is made. */
export interface PostgresStoreOptions {
  /**
   * The table's name, with or without `schema.` before it; the function and the index are named after it. Default
   * `"sluice"`, in the first schema of the search path. Letters, digits and `_`, at most 48. Case counts.
   */
  readonly table?: string;
  /** A clock for tests. Default: the server's own, which is the only one that several processes share. */
  readonly clock?: Clock;
}

// One row of an answer. A bigint comes as text from pg and as a number from others; all of them fit in 2^53.
interface FoundLimit {
  readonly fits: boolean;
  readonly spent_before: string | number | bigint;
  readonly lag: string | number | bigint;
  readonly now_ms: string | number | bigint;
}

/**
 * Keeps buckets in Postgres 13 or later: one statement decides, atomically, by the server's clock.
 *
 * Works with a `pg` pool, PGlite, or anything with `query(text, values)`. {@link migrate} creates the table, or your own
 * migration tool does with {@link postgresSchema}. Rows that are full go away a few at a time, when others come; no job is
 * needed. Give it a pool, not a client within a transaction, which would keep others waiting until its end.
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

  /** Sends nothing yet. Throws a TypeError or RangeError that names what is wrong. */
  constructor(client: PostgresClient, options: PostgresStoreOptions = {}) {
    if (typeof options !== "object" || options === null) throw new TypeError(expected("options", "an object", options));
    checkNames(options, ["table", "clock"]);
    const { table = "sluice", clock } = options;
    if (typeof client !== "object" || client === null || typeof client.query !== "function") {
      throw new TypeError(expected("client", "an object with `query(text, values)`", client));
    }
    if (clock !== undefined && typeof clock !== "function") {
      throw new TypeError(expected("clock", "a function that returns milliseconds", clock));
    }
    this.clock = clock ?? "server";
    this.#client = client;
    this.#table = table;
    // Every type is written down, so that each client sends what the function takes.
    this.#statement = `SELECT * FROM ${namesOf(table).decide}(${PARAMETERS.map(([, type], i) => `$${i + 1}::${type}`).join(", ")})`;
  }

  /**
   * Creates the table and the function, or brings the function up to date. Safe to run at every start, from several
   * processes at once too. Where everything is in place it changes nothing, and the role needs no right to create.
   */
  async migrate(): Promise<void> {
    const { table, decide, source } = namesOf(this.#table);
    const { rows } = await this.#client.query(
      "SELECT prosrc FROM pg_proc WHERE oid = to_regprocedure($1::text) AND to_regclass($2::text) IS NOT NULL",
      [`${decide}(${PARAMETERS.map(([, type]) => type).join(", ")})`, table],
    );
    if ((rows as { prosrc: string }[])[0]?.prosrc === source) return;
    // One statement, so that any client can send it; the lock keeps two processes from creating the same things at once.
    await this.#client.query(
      `DO $sluice$ BEGIN
        IF getdatabaseencoding() <> 'UTF8' THEN
          RAISE EXCEPTION 'Expected a database in UTF8, which holds every key, got %', getdatabaseencoding();
        END IF;
        PERFORM pg_advisory_xact_lock(hashtextextended('migrate ${table}', 0));
        ${postgresSchema(this.#table)}
      END $sluice$`,
      [],
    );
  }

  async consume(policy: Policy, key: string, cost: number): Promise<Decision> {
    const [snapshot] = await this.#ask("c", [part(policy, key, cost)]);
    return (snapshot as Snapshot).consume(policy, cost);
  }

  async peek(policy: Policy, key: string, cost: number): Promise<Decision> {
    const [snapshot] = await this.#ask("p", [part(policy, key, cost)]);
    return (snapshot as Snapshot).peek(policy, cost);
  }

  /** All or none. One transaction; buckets are always locked in the same order. */
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

  async refund(policy: Policy, key: string, tokens: number): Promise<void> {
    await this.#ask("r", [part(policy, key, tokens)]);
  }

  async reset(policy: Policy, key: string): Promise<void> {
    await this.#ask("d", [part(policy, key, 0)]);
  }

  async #ask(what: "c" | "p" | "r" | "d", parts: readonly StorePart[]): Promise<Snapshot[]> {
    const limits = parts.flatMap(({ policy }) => policy.limits);
    const { rows } = await this.#client.query(this.#statement, [
      what,
      parts.map(({ name }) => name),
      parts.map(({ tokens }) => tokens),
      parts.flatMap(({ policy }, i) => policy.limits.map(() => i + 1)),
      limits.map(({ name }) => name),
      limits.map(({ capacity }) => capacity),
      limits.map(({ unitsPerMs }) => unitsPerMs),
      limits.map(({ unitsPerToken }) => unitsPerToken),
      limits.map(({ fullMs }) => fullMs),
      typeof this.clock === "function" ? readClock(this.clock) : null,
    ]);
    return readRows(rows as FoundLimit[], parts);
  }
}

function part(policy: Policy, key: string, tokens: number): StorePart {
  return { policy, name: `${policy.name} ${portableKey(key)}`, tokens };
}

function readRows(rows: readonly FoundLimit[], parts: readonly StorePart[]): Snapshot[] {
  const expectedRows = parts.reduce((sum, { policy }) => sum + policy.limits.length, 0);
  if (rows.length !== expectedRows) throw new StoreError("ERR_STORE_REPLY", `Expected ${expectedRows} rows, got ${rows.length}`);
  let place = 0;
  return parts.map(({ policy }) => {
    const own = rows.slice(place, (place += policy.limits.length));
    const now = Number(own[0]?.now_ms);
    const buckets = policy.limits.map(({ unitsPerMs, unitsPerToken }, i) => {
      const { spent_before, lag } = own[i] as FoundLimit;
      return { spent: Number(spent_before), at: now + Number(lag), unitsPerMs, unitsPerToken };
    });
    return new Snapshot(now, buckets, own.every(({ fits }) => fits));
  });
}
