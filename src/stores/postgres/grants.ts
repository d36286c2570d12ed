// Sums that a full bucket would grant, for many buckets by one statement.
import { monotonicClock } from "../../core/clock.js";
import type { Policy } from "../../core/policy.js";
import { createDeadlines, type Deadline } from "../../guard/deadlines.js";
import { warnOnce } from "../../warnings/warnings.js";
import { Snapshot } from "../shared/snapshot.js";
import { LOST_AFTER_MS, type QueueTurn } from "./key-queue.js";
import { GRANT_PARAMETERS } from "./schema-grant.js";
import { isRefusedByServer, namedStatement, sqlStateOf, type NamedStatement, type Statements } from "./statements.js";
import { tableNames } from "./table-names.js";

/** Statements in flight before further sums wait for a reply. */
const MOST_IN_FLIGHT = 4;
/** Buckets in one statement. As many of one policy are sent without waiting. */
const MOST_BUCKETS = 128;
/** Milliseconds before a function that is missing is asked for again. */
const MISSING_FOR_MS = 60_000;

/** A sum of tokens of one bucket, of a policy of one limit. */
export interface GrantRequest {
  /** The turn of the bucket, which ends when the statement is lost. */
  readonly turn: Pick<QueueTurn<unknown>, "send">;
  readonly policy: Policy;
  /** The bucket, as `rowName` names it. */
  readonly name: string;
  /** From 1 to the capacity. */
  readonly tokens: number;
}

interface WaitingGrant extends GrantRequest {
  /** Null leaves the decision to the other function. Nothing was charged then. */
  readonly resolve: (found: Snapshot | null | Promise<Snapshot | null>) => void;
}

interface Granted {
  readonly granted: string;
  readonly spent_after: string | number | bigint;
  readonly now_ms: string | number | bigint;
}

/**
 * Collects sums into one statement for each policy: the sums of one tick, and the sums that arrive while four
 * statements are in flight. The statement charges the sums that fit, and says nothing about the rest.
 *
 * A statement that the server refuses, because of one row or one lock, leaves each of its buckets to the other
 * function. A statement without an answer after 1,000 ms keeps its place. While all places are taken and one of them is
 * lost, all sums go to the other function.
 */
export class Grants {
  readonly #statements: Statements;
  readonly #statement: NamedStatement;
  readonly #table: string;
  readonly #readNow: () => number | null;
  readonly #deadlines = createDeadlines(LOST_AFTER_MS);
  // By policy, so that all buckets of a statement have the same numbers. Empty lists are removed.
  readonly #waiting = new Map<Policy, WaitingGrant[]>();
  readonly #onTick = (): void => {
    this.#isScheduled = false;
    this.#flush();
  };
  #isScheduled = false;
  #inFlight = 0;
  #lost = 0;
  #missingUntil = -Infinity;

  /** `readNow` returns the time of a store that has a clock, and null for the server's own. */
  constructor(statements: Statements, table: string, readNow: () => number | null) {
    this.#statements = statements;
    this.#table = table;
    this.#statement = namedStatement(
      `SELECT * FROM ${tableNames(table).grant}(${GRANT_PARAMETERS.map(([, type], i) => `$${i + 1}::${type}`).join(", ")})`,
    );
    this.#readNow = readNow;
  }

  /**
   * Charges the sum if it is certain to fit, and resolves to the bucket as it was before. Resolves to null when that is
   * not certain: nothing was charged then. Rejects when the outcome is unknown.
   */
  ask(request: GrantRequest): Promise<Snapshot | null> {
    if (this.#isStuck || monotonicClock() < this.#missingUntil) return Promise.resolve(null);
    return new Promise((resolve) => {
      const same = this.#waiting.get(request.policy);
      if (same === undefined) this.#waiting.set(request.policy, [{ ...request, resolve }]);
      else same.push({ ...request, resolve });
      // With nothing in flight a part is sent early, so that the server works while the rest is collected.
      const enough = this.#inFlight === 0 ? MOST_BUCKETS / 4 : MOST_BUCKETS;
      if (same !== undefined && same.length >= enough) this.#sendOne(request.policy);
      else if (!this.#isScheduled && this.#inFlight < MOST_IN_FLIGHT) {
        this.#isScheduled = true;
        void endOfTurn.then(this.#onTick);
      }
    });
  }

  get #isStuck(): boolean {
    return this.#lost > 0 && this.#inFlight >= MOST_IN_FLIGHT;
  }

  #flush(): void {
    for (const [policy, waiting] of this.#waiting) {
      if (this.#isStuck) {
        this.#waiting.delete(policy);
        for (const { resolve } of waiting) resolve(null);
      } else if (this.#inFlight < MOST_IN_FLIGHT) this.#sendOne(policy);
    }
  }

  #sendOne(policy: Policy): void {
    const batch = this.#waiting.get(policy) as WaitingGrant[];
    this.#waiting.delete(policy);
    const found = this.#send(policy, batch);
    for (const { turn, name, resolve } of batch) resolve(turn.send(async () => (await found).get(name) ?? null));
  }

  async #send(policy: Policy, batch: readonly GrantRequest[]): Promise<ReadonlyMap<string, Snapshot>> {
    const [limit] = policy.limits;
    let isLost = false;
    const expire = (): void => {
      isLost = true;
      this.#lost += 1;
      this.#flush();
    };
    const deadline: Deadline = { since: 0, before: null, after: null, over: false, expire };
    this.#inFlight += 1;
    this.#deadlines.begin(deadline);
    try {
      const { name, capacity, unitsPerMs, unitsPerToken, fullMs, kind } = limit;
      const [names, tokens] = [batch.map((each) => each.name), batch.map((each) => each.tokens)];
      const [entry, perToken] = kind.amounts ? [`^${name}`, fullMs] : [name, unitsPerToken];
      const values = [names, entry, tokens, capacity, unitsPerMs, perToken, this.#readNow()];
      const rows = await this.#statements.rows(this.#statement, values);
      return snapshotsOf(rows as readonly Granted[], policy, batch);
    } catch (error) {
      if (MISSING.has(sqlStateOf(error))) this.#warnMissing(error);
      else if (!isRefusedByServer(error)) throw error;
      return new Map();
    } finally {
      this.#deadlines.end(deadline);
      this.#inFlight -= 1;
      if (isLost) this.#lost -= 1;
      this.#flush();
    }
  }

  #warnMissing(error: unknown): void {
    this.#missingUntil = monotonicClock() + MISSING_FOR_MS;
    const { grant, decide } = tableNames(this.#table);
    const state = sqlStateOf(error);
    const cure =
      state === FORBIDDEN
        ? "Let this role execute it, and read and write the table"
        : "Run `migrate()` or the SQL of `postgresSchema`";
    warnOnce(
      "SLUICE_POSTGRES_MIGRATE",
      `Expected the function ${grant} in Postgres, got SQLSTATE ${state}. ${cure}. ` +
        `Until then decisions are slower, and fail if ${decide} is missing, too.`,
    );
  }
}

// insufficient_privilege
const FORBIDDEN = "42501";
// And undefined_function.
const MISSING: ReadonlySet<string> = new Set(["42883", FORBIDDEN]);

// A reaction to a resolved promise, as cheap as a callback at the end of the tick can be.
const endOfTurn = Promise.resolve();

/** The buckets that were charged, as they were before, by name. */
function snapshotsOf(rows: readonly Granted[], policy: Policy, batch: readonly GrantRequest[]): ReadonlyMap<string, Snapshot> {
  const [{ unitsPerMs, unitsPerToken, kind }] = policy.limits;
  const tokens = new Map(batch.map((each) => [each.name, each.tokens]));
  return new Map(
    rows.map(({ granted, spent_after, now_ms }) => {
      const now = Number(now_ms);
      const [, leadMs = "0", name = granted] = (kind.amounts && /^(\d+) (.*)$/s.exec(granted)) || [];
      const charged = kind.amounts ? 0 : (tokens.get(name) as number) * unitsPerToken;
      const bucket = { spent: Number(spent_after) - charged, at: now + Number(leadMs), unitsPerMs, unitsPerToken };
      return [name, new Snapshot(now, [bucket], true)];
    }),
  );
}
