import { checkClock, checkNames, checkOptions, expected, memberOf, show } from "../../core/check.js";
import type { Store } from "../../port/store.js";
import { noteClientTimeout } from "./client-timeout.js";
import { checkPostgresClient } from "./postgres-client.js";
import { checkRedisClient } from "./redis-client.js";
import type { GuardOptions } from "../../port/guard-options.js";
import { openGuard } from "../../port/guarded-store.js";

/** Throws a TypeError for a store that a limiter cannot use. */
export function checkStore(store: Store): void {
  if (typeof store !== "object" || store === null || typeof store.ask !== "function" || typeof store.sync !== "boolean") {
    // A text is not quoted, because a URL contains the password.
    const got = typeof store === "string" ? "a string" : show(store);
    throw new TypeError(`Expected \`store\` to be an object with \`sync\` and \`ask\`, got ${got}${cureForStore(store)}`);
  }
  if (store.clock !== "server") checkClock(store.clock, "store.clock");
  const [verbs, together] = [memberOf(store, "verbs"), memberOf(store, "together")];
  if (verbs !== undefined && !Array.isArray(verbs)) {
    throw new TypeError(expected("store.verbs", "a list, such as STORE_VERBS", verbs));
  }
  if (!["undefined", "boolean", "function"].includes(typeof together)) {
    throw new TypeError(expected("store.together", "true, false, or a function of the parts", together));
  }
  const guard = memberOf(store, "guard");
  if (openGuard(guard) === undefined && (guard !== undefined || !store.sync)) {
    throw new TypeError(
      `${expected("store.guard", "made by `guard` of sluice/store", guard)}. ` +
        "Write `readonly guard = guard()` in the store",
    );
  }
}

/** Throws a TypeError for a client that cannot work, and for an option that is unknown or of a wrong type. */
export function checkRedisSetup(store: object, client: unknown, options: object): void {
  const { prefix, cluster } = checkOptions(options, ["prefix", "denyCacheMs", "cluster", "clock", ...GUARDED]) as UncheckedFlags;
  checkRedisClient(client);
  noteClientTimeout(store, client);
  checkFlags({ cluster });
  if (prefix !== undefined && typeof prefix !== "string") throw new TypeError(expected("prefix", "a string", prefix));
}

/** Throws a TypeError for a client that cannot work, and for an option that is unknown or of a wrong type. */
export function checkPostgresSetup(store: object, client: unknown, options: object): void {
  const { prepare } = checkOptions(options, ["table", "denyCacheMs", "prepare", "clock", ...GUARDED]) as UncheckedFlags;
  checkPostgresClient(client);
  noteClientTimeout(store, client);
  checkFlags({ prepare });
}

// The guard checks their values.
const GUARDED = ["timeoutMs", "breaker", "sharedBy"];

type UncheckedFlags = Readonly<Record<string, unknown>>;

function checkFlags(flags: UncheckedFlags): void {
  for (const [name, value] of Object.entries(flags)) {
    if (value !== undefined && typeof value !== "boolean") throw new TypeError(expected(name, "true or false", value));
  }
}

/** Members by which values are known that are often passed in place of a store. */
interface NearStore {
  readonly then?: unknown;
  readonly eval?: unknown;
  readonly sendCommand?: unknown;
  readonly query?: unknown;
  readonly unsafe?: unknown;
  readonly transaction?: unknown;
  readonly client?: unknown;
  readonly href?: unknown;
  readonly prototype?: { readonly ask?: unknown };
  readonly consume?: unknown;
}

const REDIS = "write `new RedisStore(client)`, from sluice/redis";
const POSTGRES = "write `new PostgresStore(pool)`, from sluice/postgres";
const MEMORY = "leave `store` out for this process's memory, or write `new MemoryStore()`";

/** Says which store to make of what was passed in place of one. It is the rest of a sentence. */
function cureForStore(store: unknown): string {
  const text = typeof store === "string" ? store : (Object(store) as NearStore).href;
  if (typeof text === "string") return `. ${cureForText(text)}`;
  const of = Object(store) as NearStore;
  if (typeof of.then === "function") return ". Write `await` before it";
  if (typeof of.prototype?.ask === "function") return ". Make one with `new`, such as `new MemoryStore()`";
  if (typeof of.unsafe === "function") {
    return ". Of postgres.js, write `new PostgresStore((text, values) => sql.unsafe(text, values))`, from sluice/postgres";
  }
  if (typeof of.query === "function") return `. Of a pool of pg, ${POSTGRES}`;
  if (typeof of.transaction === "function") return ". Of a database, use `sqlStore`, from sluice/store";
  if (typeof of.eval === "function" || typeof of.sendCommand === "function") return `. Of a client of Redis, ${REDIS}`;
  if (Object(of.client) === of.client) return `. Of options with a client, ${REDIS}`;
  if (typeof of.consume === "function") return ". A store answers calls in one method, `ask`: see the guide to stores";
  return `. For memory, ${MEMORY}; for a client of Redis, ${REDIS}`;
}

function cureForText(text: string): string {
  if (text.startsWith("postgres")) return "Write `new PostgresStore(new Pool({ connectionString: url }))`, from sluice/postgres";
  const scheme = /^(?:rediss?|valkeys?|unix)(?=:\/\/)/i.exec(text)?.[0].toLowerCase();
  if (scheme !== undefined) {
    // ioredis takes other schemes for the name of a host.
    const client = scheme.startsWith("redis") ? "ioredis" : "iovalkey";
    return `Write \`new RedisStore(new Redis(url))\`, from sluice/redis, with a client of ${client}`;
  }
  return text === "memory" ? `For memory, ${MEMORY}` : `For a client of Redis, ${REDIS}`;
}

/** Throws a TypeError for an unknown option of a guard. */
export function checkGuardSetup(options: GuardOptions, names: readonly string[]): void {
  const { breaker } = checkOptions(options, names);
  if (breaker !== undefined && breaker !== false) {
    const what = "false, or an object with `failures` or `probeEveryMs`";
    if (typeof breaker !== "object" || breaker === null) throw new TypeError(expected("breaker", what, breaker));
    checkNames(breaker, ["failures", "probeEveryMs"]);
  }
}

/** Throws a TypeError when a synchronous store got `timeoutMs`: a call that answers at once cannot be interrupted. */
export function checkNoTimeout(timeoutMs: unknown): void {
  if (timeoutMs === undefined) return;
  throw new TypeError(
    `${expected("timeoutMs", "left out for a synchronous store", timeoutMs)}. ` +
      "Nothing can interrupt its calls: set a timeout of the database, such as `busy_timeout` of SQLite",
  );
}
