/**
 * Buckets in Postgres, shared by every process that uses them.
 * @module
 */
import { readClock, type Clock } from "../../core/clock.js";
import { peek, readings, type Decision } from "../../core/decision.js";
import { checkClock, checkOptions, expected, wholeNumber } from "../../core/check.js";
import { samePolicy, type Policy } from "../../core/policy.js";
import type { AsyncStore, Charge } from "../../core/store.js";
import { guard } from "../../guard/guard.js";
import { checkCharges } from "../shared/charges.js";
import { DenyCache, type Sent } from "../shared/deny-cache.js";
import { nameOf, part, readRows, statementOf, writeValues, type What } from "./protocol.js";
import { namesOf, PARAMETERS, postgresSchema } from "./schema.js";
import { Turns } from "./key-queue.js";
import type { Snapshot, StorePart } from "../shared/snapshot.js";

export { postgresSchema } from "./schema.js";

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
  /** Milliseconds for which a denial is answered without asking again; 0 to always ask. Default 1000. */
  readonly denyCacheMs?: number;
  /** A clock for tests. Default: the server's own, which is the only one that several processes share. */
  readonly clock?: Clock;
}

interface Answer {
  /** One for each bucket of the statement. */
  readonly snapshots: readonly Snapshot[];
  readonly sent: Sent;
}

/** A decision that waits for its bucket's turn. */
interface Waiting {
  readonly policy: Policy;
  readonly key: string;
  readonly cost: number;
  readonly resolve: (decision: Decision) => void;
  readonly reject: (error: unknown) => void;
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
  readonly guard = guard;

  readonly #client: PostgresClient;
  readonly #table: string;
  readonly #statement: string;
  readonly #denials: DenyCache;
  readonly #turns = new Turns<Waiting>();

  /** Sends nothing yet. Throws a TypeError or RangeError that names what is wrong. */
  constructor(client: PostgresClient, options: PostgresStoreOptions = {}) {
    checkOptions(options, ["table", "denyCacheMs", "clock"]);
    const { table = "sluice", denyCacheMs = 1_000, clock } = options;
    if (typeof client !== "object" || client === null || typeof client.query !== "function") {
      throw new TypeError(expected("client", "an object with `query(text, values)`", client));
    }
    if (clock !== undefined) checkClock(clock);
    this.clock = clock ?? "server";
    this.#client = client;
    this.#table = table;
    this.#denials = new DenyCache(wholeNumber("denyCacheMs", denyCacheMs), clock);
    this.#statement = statementOf(table);
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

  consume(policy: Policy, key: string, cost: number): Promise<Decision> {
    return new Promise((resolve, reject) => {
      // What cannot be compared with what is left would be asked about for ever, or never answered.
      wholeNumber("cost", cost);
      const known = this.recall(policy, key, cost);
      if (known !== null) return resolve(known);
      const waiting: Waiting = { policy, key, cost, resolve, reject };
      this.#turns.join(nameOf(policy, key), waiting, (first) => samePolicy(first.policy, policy), (all) => this.#decide(all));
    });
  }

  recall(policy: Policy, key: string, cost: number): Decision | null {
    return this.#denials.isEmpty ? null : this.#denials.recall(policy, key, cost);
  }

  async peek(policy: Policy, key: string, cost: number): Promise<Decision> {
    const { snapshots } = await this.#askInTurn("p", [part(policy, key, cost)]);
    return (snapshots[0] as Snapshot).peek(policy, cost);
  }

  /** All or none, at most 128 charges. One transaction; buckets are always locked in the same order. Always asks. */
  async consumeTogether(charges: readonly Charge[]): Promise<readonly Decision[]> {
    checkCharges(charges);
    if (charges.length === 0) return [];
    const parts = charges.map(({ policy, key, cost }) => part(policy, key, cost));
    if (new Set(parts.map(({ name }) => name)).size < parts.length) {
      throw new TypeError("Expected `charges` to name each bucket once, got one twice");
    }
    const { snapshots, sent } = await this.#askInTurn("c", parts);
    const all = snapshots.every(({ fits }) => fits);
    return charges.map(({ policy, key, cost }, i) => {
      const snapshot = snapshots[i] as Snapshot;
      if (all) this.#denials.outdate(policy, key);
      else if (!snapshot.fits) this.#denials.remember(policy, key, snapshot, sent);
      return all ? snapshot.consume(policy, cost) : snapshot.peek(policy, cost);
    });
  }

  async refund(policy: Policy, key: string, tokens: number): Promise<void> {
    await this.#change("r", policy, key, tokens);
  }

  async debit(policy: Policy, key: string, tokens: number): Promise<void> {
    await this.#change("b", policy, key, tokens);
  }

  async reset(policy: Policy, key: string): Promise<void> {
    await this.#change("d", policy, key, 0);
  }

  // Whoever waits before it in line may yet be refused and remembered, so a denial is dropped twice.
  async #change(what: "r" | "b" | "d", policy: Policy, key: string, tokens: number): Promise<void> {
    this.#denials.drop(policy, key);
    try {
      await this.#askInTurn(what, [part(policy, key, tokens)]);
    } finally {
      this.#denials.drop(policy, key);
    }
  }

  /**
   * Decides all that waited for one bucket, in as few statements as will do. The first is asked for alone, and what was
   * found tells how many fit besides: their sum is next, since charging a sum is charging each in turn. Should others have
   * been faster, the sum is refused, which is nobody's decision, and fewer are asked for. Whoever is refused alone is refused
   * together with all others for whom, at that same instant, too little is there.
   */
  async #decide(all: readonly Waiting[]): Promise<void> {
    const { policy, key } = all[0] as Waiting;
    let rest = all;
    let room = 0;
    try {
      // Those before them in line may have found out.
      rest = rest.filter(({ cost, resolve }) => {
        const known = this.recall(policy, key, cost);
        if (known !== null) resolve(known);
        return known === null;
      });
      while (rest.length > 0) {
        const { count, sum } = firstWithin(room, rest);
        const { snapshots, sent } = await this.#ask(count === 1 ? "c" : "s", [part(policy, key, sum)]);
        const snapshot = snapshots[0] as Snapshot;
        if (snapshot.fits) {
          this.#denials.outdate(policy, key);
          for (const { cost, resolve } of rest.slice(0, count)) resolve(snapshot.consume(policy, cost));
          rest = rest.slice(count);
        }
        const left = snapshot.fits ? peek(snapshot.buckets, policy, 0, snapshot.now) : snapshot.peek(policy, sum);
        room = Math.min(...readings(left).map(({ remaining }) => remaining));
        if (snapshot.fits || count > 1) continue;
        this.#denials.remember(policy, key, snapshot, sent);
        for (const { cost, resolve } of rest) if (cost > room) resolve(peek(snapshot.buckets, policy, cost, snapshot.now));
        rest = rest.filter(({ cost }) => cost <= room);
      }
    } catch (error) {
      for (const { reject } of rest) reject(error);
    }
  }

  #askInTurn(what: What, parts: readonly StorePart[]): Promise<Answer> {
    return this.#turns.take(parts.map(({ name }) => name), () => this.#ask(what, parts));
  }

  async #ask(what: What, parts: readonly StorePart[]): Promise<Answer> {
    const now = typeof this.clock === "function" ? readClock(this.clock) : null;
    const sent = this.#denials.sending();
    const { rows } = await this.#client.query(this.#statement, writeValues(what, parts, now));
    return { snapshots: readRows(rows, parts), sent };
  }
}

// The beginning of the line, as long as its sum stays within `room`, and the first of it in any case.
function firstWithin(room: number, waiting: readonly Waiting[]): { count: number; sum: number } {
  let count = 1;
  let sum = (waiting[0] as Waiting).cost;
  while (count < waiting.length && sum + (waiting[count] as Waiting).cost <= room) sum += (waiting[count++] as Waiting).cost;
  return { count, sum };
}
