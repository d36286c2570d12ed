import { monotonicClock } from "../../core/clock.js";
import { lineOf, withCauses } from "../../warnings/line-of.js";
import { warn, warnOnce, type WarningCode } from "../../warnings/warnings.js";

// One late answer, or the answers of one pause of the server, say nothing about the timeout.
const MANY_LATE = 5;

/** What looks like an outage of a store and is a mistake in a program, or in the numbers of its guard. */
export interface StoreHints {
  /**
   * A call failed with `error`. Warns of an error that only a bug or a wrong setting can cause, and returns whether it
   * is one.
   */
  failed(error: unknown): boolean;
  /**
   * The answer to a call that was sent at `since` came after the timeout. `stalledAt` is when the event loop was last
   * blocked. `successes` counts on when an answer comes in time. Warns of a timeout that is too short.
   */
  late(since: number, stalledAt: number, successes: number): void;
}

/** Makes the hints about one store. `nameOf` returns its name in a warning. */
export function createStoreHints(timeoutMs: number, nameOf: () => string): StoreHints {
  /** The times that the last answers took which came late, in a row. */
  let lateMs: number[] = [];
  let lastLate = -Infinity;
  let lastSuccesses = 0;
  const isSetupFailure = createSetupCheck(nameOf);

  return {
    failed(error) {
      if (isSetupFailure(error)) return true;
      if (!isBug(error)) return false;
      const { name, stack } = error as Error;
      warnOnce(
        "SLUICE_STORE_BUG",
        `${nameOf()} failed with a ${name}: ${lineOf(error)}. This is a bug of the store or its client, not an ` +
        `outage. Meanwhile \`onStoreError\` decides.`,
        stack,
      );
      return true;
    },
    late(since, stalledAt, successes) {
      const now = monotonicClock();
      if (successes !== lastSuccesses) lateMs = [];
      lastSuccesses = successes;
      // Of calls that were under way together one counts. After a blocked event loop the time is not the store's.
      if (since < lastLate || since <= stalledAt || now - since < timeoutMs) return;
      lastLate = now;
      if (lateMs.push(Math.round(now - since)) < MANY_LATE) return;
      const [least, most] = [Math.min(...lateMs), Math.max(...lateMs)];
      lateMs = [];
      warnOnce(
        "SLUICE_STORE_SLOW",
        `${nameOf()} answers after the timeout: ${MANY_LATE} answers in a row took ${least} to ${most} ms, ` +
          `and \`timeoutMs\` is ${timeoutMs}. Raise \`timeoutMs\` of the store, or move the store closer.`,
      );
    },
  };
}

/** Warns of a cluster whose calls carry the keys of one slot each, and says why. */
export function hintOneSlot(reason: string): void {
  warnOnce(
    "SLUICE_REDIS_SLOTS",
    `This Redis Cluster cannot take several slots in one call: ${reason}. Each slot now gets a separate call, ` +
    `which costs up to six times the CPU time with many callers. Use Redis 7 or Valkey`,
  );
}

/**
 * Whether `error` comes from a mistake in a program and not from the network. A SyntaxError does not count:
 * `JSON.parse` throws it for the error page of a proxy. Some TypeErrors do not count either: `fetch` throws one when it
 * gets no response.
 */
function isBug(error: unknown): boolean {
  const { name, message, cause } = Object(error) as Partial<Error>;
  if (name === "TypeError") return cause === undefined && !/fetch|network|sending request|load failed/i.test(String(message));
  return name === "RangeError" || name === "ReferenceError";
}

interface FailedSetup {
  /** Whether an error, or the error behind it, comes from this setting. */
  readonly is: (message: string, error: FailureMembers) => boolean;
  readonly code?: WarningCode;
  /** What is wrong, and the cure. */
  readonly text: string;
}

interface FailureMembers {
  readonly message?: unknown;
  readonly code?: unknown;
  readonly stack?: unknown;
}

const says = (pattern: RegExp): FailedSetup["is"] => (message) => pattern.test(message);
const withState = (...states: readonly string[]): FailedSetup["is"] => (_, { code }) => states.includes(String(code));

/**
 * Failures that no answer ends: a setting is wrong. Tests bring them about on real servers, and carry out the cures.
 */
const FAILED_SETUPS: readonly FailedSetup[] = [
  {
    // The client of node-redis throws the first, its cluster of version 5 and its sentinel the second.
    is: (message, { stack }) => message === "The client is closed" ||
      (/(?:['.](?:master|replicas)'|'isReady')\)$/.test(message) && /@redis[\\/]client/.test(String(stack))),
    code: "SLUICE_REDIS_CONNECT",
    text: "has a client that is not connected: write `await client.connect()` before the first request, and close the " +
      "client after the last",
  },
  {
    is: withState("42883", "42P01"), // undefined_function, undefined_table
    code: "SLUICE_POSTGRES_MIGRATE",
    text: "has no table or function in Postgres, so each call fails: run `migrate()` or the SQL of `postgresSchema` once",
  },
  {
    is: says(/^(?:MOVED|ASK) \d|^CROSSSLOT /),
    text: "reaches one node of a cluster. Pass a cluster client, such as `new Cluster(nodes)` of ioredis or " +
      "`createCluster` of node-redis; where a proxy stands before the cluster, set `cluster: true` of the store",
  },
  {
    is: says(/^READONLY /),
    text: "reaches a replica, which takes no writes. Connect to the primary; for a failover set `reconnectOnError` of " +
      "ioredis, or use `createSentinel` or `createCluster` of node-redis",
  },
  {
    is: says(/^NOAUTH |^ERR operation not permitted|unauthenticated (?:multi)?bulk length/),
    text: "has no password. Set `password` of the client",
  },
  {
    is: says(/^WRONGPASS |^ERR invalid password|^Unauthorized/),
    text: "has a wrong user or password. Correct `username` and `password` of the client, or its token",
  },
  {
    is: says(/^NOPERM /),
    text: "has a user without the rights that it needs. Add the rights of the table in the guide to Redis: " +
      "`ACL SETUSER ... ~sluice:* +evalsha +eval +get +set +setrange +del +time`, where `sluice` is the `prefix` of the " +
      "store, after the `keyPrefix` of the client",
  },
  {
    is: says(/unknown command ['`"]?eval|command is not allowed|EVALSHA.*not (?:supported|allowed)/i),
    text: "has a server that runs no scripts. Allow EVAL and EVALSHA: no `rename-command`, and no proxy that refuses them",
  },
  {
    is: says(/Unknown Redis command called from|Write commands not allowed after non deterministic/i),
    text: "has a server that is too old for the script. Use Redis 6.2 or newer, or Valkey",
  },
  { is: says(/^DENIED /), text: "has a server in protected mode. Set a password and `bind` of the server" },
  { is: says(/^OOM /), text: "has a server whose memory is full. Raise `maxmemory`: room for twice the keys that you expect" },
  {
    is: (message, { code }) => code === "ERR_STORE_QUEUED" || /subscriber mode|only \(P\|S\)SUBSCRIBE/.test(message),
    text: "shares its connection with other code that uses MULTI or SUBSCRIBE. Give the store a client of its own, such as " +
      "`client.duplicate()`",
  },
  {
    is: withState("28P01", "28000"), // invalid_password, invalid_authorization_specification
    text: "has a user or password that Postgres refuses. Correct both in the pool, and the user's line in pg_hba.conf",
  },
  { is: says(/^SASL: .*password must be/), text: "has no password. Set `password` of the pool" },
  { is: withState("3D000"), text: "has a database that does not exist. Correct `database` of the pool, or create it" },
  { is: withState("3F000"), text: "has a schema that does not exist. Create it, or correct `table` of the store" },
  { is: withState("25006"), text: "reaches a Postgres that takes no writes, such as a replica. Connect to the primary" },
  {
    is: withState("42501"), // insufficient_privilege
    text: "has a user without the rights that it needs. GRANT SELECT, INSERT, UPDATE, DELETE on its table to that user, " +
      "and where they were revoked, USAGE on its schema and EXECUTE on its functions",
  },
  {
    is: says(/unsupported startup parameter/),
    text: "goes through a pooler that refuses a setting of the connection. Set `statement_timeout` in the database " +
      "instead: ALTER ROLE app SET statement_timeout = '500ms'",
  },
  {
    is: says(/^The client of `pg` is not connected/),
    text: "has a client that is not connected. Write `await client.connect()` before the first request, or pass a pool",
  },
];

/**
 * Makes a check of one store's failures. It warns when a setting is wrong, once for each, and returns whether it is
 * one. Such a failure is no outage: the store never answers by itself. `nameOf` returns the store's name in a warning.
 */
function createSetupCheck(nameOf: () => string): (error: unknown) => boolean {
  const told = new Set<FailedSetup>();
  return (error) => {
    const setup = setupOf(error);
    if (setup === undefined || told.has(setup)) return setup !== undefined;
    told.add(setup);
    const { code, text } = setup;
    if (code === undefined) warn("SLUICE_STORE_SETUP", `${nameOf()} ${text}. The store said: ${lineOf(error)}.`);
    else warnOnce(code, `${nameOf()} ${text}`);
    return true;
  };
}

function setupOf(error: unknown): FailedSetup | undefined {
  for (const each of withCauses(error)) {
    const members = Object(each) as FailureMembers;
    // Upstash's client puts its own words before the server's.
    const message = String(members.message).replace(/^Command (?:\d+ \[ \w+ \] )?failed: /, "");
    const setup = FAILED_SETUPS.find(({ is }) => is(message, members));
    if (setup !== undefined) return setup;
  }
  return undefined;
}
