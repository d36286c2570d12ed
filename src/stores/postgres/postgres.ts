/**
 * A store that keeps buckets in Postgres, shared by all processes that use it.
 * @module sluice/postgres
 */
import { storeChecks } from "#diagnostics";
import { readClock, sharedClock, type Clock } from "../../core/clock.js";
import { costAt, type Costs } from "../../core/limit.js";
import type { Decision } from "../../core/decision.js";
import { isHeldAt } from "../../core/decide.js";
import { ownMembers, wholeNumber } from "../../core/check.js";
import { samePolicy, type Policy } from "../../core/policy.js";
import type { Move } from "../../core/model.js";
import type { GuardOptions } from "../../port/guard-options.js";
import { checkVerb, STORE_VERBS, type Charge, type StoreAnswer, type StoreCall } from "../../core/records.js";
import { LIMIT_KINDS, type AsyncStore, type Guard } from "../../port/store.js";
import { guard, guardOptionsOf } from "../../guard/guard.js";
import { checkCharges, checkCosts } from "../shared/charges.js";
import { DenyCache } from "../shared/deny-cache.js";
import { checkedClient, notConnected, type PostgresClient, type PostgresQuery } from "./client.js";
import { decideBatch, notSent, type QueuedDecision, type StatementResult } from "./batch.js";
import { Grants } from "./grants.js";
import { makePart, readRows, rowName, statementOf, writeValues, type Operation } from "./protocol.js";
import { migrateTable } from "./migrate.js";
import { KeyQueue, type QueueTurn } from "./key-queue.js";
import { namedStatement, Statements, type NamedStatement } from "./statements.js";
import { sharesWork } from "../../platform.js";
import type { PartDates, Snapshot, StorePart } from "../shared/snapshot.js";
import { StoreError } from "../shared/store-error.js";

export { postgresSchema, type PostgresSchemaOptions } from "./schema.js";
export type { PostgresClient, PostgresQuery } from "./client.js";

/** The options of a {@link PostgresStore}. */
export interface PostgresStoreOptions extends GuardOptions {
  /**
   * The table's name, with or without `schema.` before it: 1 to 48 letters, digits and `_`, case-sensitive. Default
   * `"sluice"`, in the first schema of the search path. The function and the index are named after the table.
   */
  readonly table?: string | undefined;
  /** Milliseconds for which a denial is repeated without asking the server. 0 asks every time. Default 1000. */
  readonly denyCacheMs?: number | undefined;
  /**
   * Whether each connection prepares the store's statements once, under names. Default: true for pools and clients of
   * `pg`, false for others, since only `pg` is known to take names. With `true`, the client's `query` gets one
   * argument, `{ name, text, values }`. With `false`, connections keep nothing between statements. If a pooler loses
   * the names, the store goes on without them and gives the warning `SLUICE_POSTGRES_PREPARE`.
   */
  readonly prepare?: boolean | undefined;
  /** Returns milliseconds, for tests. Default: the server's clock, the only clock that several processes share. */
  readonly clock?: Clock | undefined;
}

/**
 * Keeps buckets in Postgres 13 or later. One statement decides, atomically and by the server's clock.
 *
 * Works with a `pg` pool, PGlite, or any object with `query(text, values)`. Any other client works by one function: see
 * {@link PostgresQuery}. Create the table with {@link migrate}, or with {@link postgresSchema} and your own migration
 * tool. No clean-up job is needed: inserts delete full rows, a few at a time. Pass a pool. A client inside a
 * transaction would block other calls for its buckets until the transaction ends.
 * @example
 * const store = new PostgresStore(pool);
 * await store.migrate();
 * const limiter = createLimiter({ policy: { capacity: 30, refill: perSecond(5) }, store });
 */
export class PostgresStore implements AsyncStore {
  readonly sync = false;
  readonly clock: Clock | "server";
  readonly kinds = LIMIT_KINDS;
  readonly verbs = STORE_VERBS;
  readonly together = true;
  readonly guard: Guard;

  readonly #client: PostgresClient;
  readonly #table: string;
  readonly #statement: NamedStatement;
  readonly #statements: Statements;
  // Null where requests share no work (law L15): a batch would be one request's, and others would wait for it.
  readonly #grants: Grants | null;
  readonly #denials: DenyCache;
  readonly #queue = new KeyQueue<QueuedDecision>(({ reject }) => reject(notSent()));

  /** Sends nothing yet. Throws a TypeError or RangeError that names the wrong argument. */
  constructor(client: PostgresClient | PostgresQuery, options: PostgresStoreOptions = {}) {
    const own = ownMembers(options);
    const { table = "sluice", denyCacheMs = 1_000, prepare, clock } = own;
    if (storeChecks) storeChecks.checkPostgresSetup(this, client, options);
    this.guard = guard(guardOptionsOf(own), { causeOf: () => notConnected(client) });
    this.clock = sharedClock(clock);
    this.#client = checkedClient(client);
    this.#table = table;
    this.#denials = new DenyCache(wholeNumber("denyCacheMs", denyCacheMs), clock);
    this.#statement = namedStatement(statementOf(table));
    this.#statements = new Statements(this.#client, prepare);
    this.#grants = sharesWork() ? new Grants(this.#statements, table, () => this.#readNow()) : null;
  }

  /**
   * Creates the table and the functions, or updates the functions. Run it at every start; several processes may run it
   * at once. When everything is up to date it changes nothing, and the role needs no right to create.
   *
   * Rejects with a StoreUnavailableError if Postgres does not answer within 10 seconds, and with a TypeError for a
   * client that is not connected or that resolves to something without rows.
   */
  async migrate(): Promise<void> {
    await migrateTable(this.#client, this.#table);
  }

  /**
   * Carries out a call. A `consume` of several parts is one transaction and always asks the server, which locks buckets
   * in one fixed order, so calls never deadlock. A block lasts as long as the row: a crash of the database ends it.
   */
  async ask({ verb, parts, from, move }: StoreCall): Promise<readonly StoreAnswer[]> {
    checkVerb(verb);
    if (verb === "consume" && parts.length > 1) return this.#consumeTogether(parts);
    const [{ policy, key, cost }] = parts;
    if (verb === "consume") return [await this.#consume(policy, key, cost)];
    if (verb === "peek") return [(await this.#runOne("p", policy, key, cost)).peek(policy, cost)];
    if (verb === "adjust") return [(await this.#change("a", policy, key, cost, { from, moved: undefined, to: undefined })).fits];
    if (verb === "renew") return [await this.#renew(policy, key, cost, move as Move)];
    if (verb === "block") return [await this.#block(policy, key, cost as number)];
    await this.#change("d", policy, key, 0);
    return [undefined];
  }

  recall(policy: Policy, key: string, costs: Costs): Decision | null {
    return this.#denials.isEmpty ? null : this.#denials.recall(policy, key, costs);
  }

  #consume(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    return new Promise((resolve, reject) => {
      // `decideBatch` adds up costs and compares them with the tokens left.
      checkCosts(policy, costs);
      const known = this.recall(policy, key, costs);
      if (known !== null) return resolve(known);
      const queued: QueuedDecision = { policy, key, costs, resolve, reject };
      this.#queue.join(rowName(policy, key), queued, (first) => samePolicy(first.policy, policy), (turn) => this.#decide(turn));
    });
  }

  async #consumeTogether(charges: readonly Charge[]): Promise<readonly Decision[]> {
    checkCharges(charges);
    const parts = charges.map(({ policy, key, cost }) => makePart(policy, key, cost));
    const { snapshots, start } = await this.#runQueued("c", parts);
    const all = snapshots.every(({ fits }) => fits);
    return charges.map(({ policy, key, cost }, i) => {
      const snapshot = snapshots[i] as Snapshot;
      if (all) this.#denials.outdate(policy, key);
      else if (!snapshot.fits && start !== null) this.#denials.remember(policy, key, snapshot, start);
      return all ? snapshot.consume(policy, cost) : snapshot.peek(policy, cost);
    });
  }

  async #renew(policy: Policy, key: string, tokens: Costs, { from, to }: Move): Promise<boolean> {
    const { now } = await this.#change("a", policy, key, 0, { from, moved: tokens, to });
    return isHeldAt(policy, from, now);
  }

  async #block(policy: Policy, key: string, forMs: number): Promise<void> {
    const { blockMs } = await this.#change("b", policy, key, forMs);
    if (forMs > 0 || blockMs === 0) return;
    throw new StoreError(
      "ERR_STORE_REPLY",
      `Expected the block to end, got one with ${blockMs} ms left. Run \`migrate()\` to update the function.`,
    );
  }

  // Dropped twice: a decision that is queued before the change may be refused and remembered in between.
  async #change(what: "a" | "b" | "d", policy: Policy, key: string, tokens: Costs, dates?: PartDates): Promise<Snapshot> {
    this.#denials.drop(policy, key);
    try {
      return await this.#runOne(what, policy, key, tokens, dates);
    } finally {
      this.#denials.drop(policy, key);
    }
  }

  #decide(turn: QueueTurn<QueuedDecision>): Promise<void> {
    return decideBatch(
      turn,
      this.#denials,
      ({ policy, key }, what, costs) => this.#query(turn, what, [makePart(policy, key, costs)]),
      ({ policy, key }, costs) => this.#askForGrant(turn, policy, key, costs),
    );
  }

  // A decision that certainly needs the other function is not asked for here: a statement would be wasted.
  #askForGrant(turn: QueueTurn<QueuedDecision>, policy: Policy, key: string, costs: Costs): Promise<Snapshot | null> | null {
    const tokens = costAt(costs, 0);
    const { limits: { length }, kindCode } = policy;
    const isOther = length > 1 || (kindCode !== undefined && kindCode.of !== "window");
    if (this.#grants === null || isOther || this.#denials.has(policy, key)) return null;
    if (tokens < 1 || tokens > policy.maxCost) return null;
    const name = rowName(policy, key);
    return name.length > LONGEST_PLAIN_NAME ? null : this.#grants.ask({ turn, policy, name, tokens });
  }

  async #runOne(what: Operation, policy: Policy, key: string, tokens: Costs, dates?: PartDates): Promise<Snapshot> {
    const { snapshots } = await this.#runQueued(what, [makePart(policy, key, tokens, dates)]);
    return snapshots[0] as Snapshot;
  }

  #runQueued(what: Operation, parts: readonly StorePart[]): Promise<StatementResult> {
    return this.#queue.run(parts.map(({ name }) => name), (turn) => this.#query(turn, what, parts));
  }

  async #query(turn: QueueTurn<QueuedDecision>, what: Operation, parts: readonly StorePart[]): Promise<StatementResult> {
    if (storeChecks) storeChecks.hintUnlogged(this.#client, this.#table, parts);
    const now = this.#readNow();
    const start = this.#denials.startCall();
    const rows = await turn.send(() => this.#statements.rows(this.#statement, writeValues(what, parts, now)));
    return { snapshots: readRows(rows, what, parts), start: turn.isOver ? null : start };
  }

  #readNow(): number | null {
    return typeof this.clock === "function" ? readClock(this.clock) : null;
  }
}

// In UTF-16 code units, each of which takes at most three bytes: the database replaces names beyond 1000 bytes.
const LONGEST_PLAIN_NAME = 333;
