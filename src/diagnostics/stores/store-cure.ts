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
  readonly prototype?: { readonly consume?: unknown };
}

const REDIS = "write `new RedisStore(client)`, from sluice/redis";
const POSTGRES = "write `new PostgresStore(pool)`, from sluice/postgres";
const MEMORY = "leave `store` out for this process's memory, or write `new MemoryStore()`";

/** Says which store to make of what was passed in place of one. It is the rest of a sentence. */
export function cureForStore(store: unknown): string {
  const text = typeof store === "string" ? store : (Object(store) as NearStore).href;
  if (typeof text === "string") return `. ${cureForText(text)}`;
  const of = Object(store) as NearStore;
  if (typeof of.then === "function") return ". Write `await` before it";
  if (typeof of.prototype?.consume === "function") return ". Make one with `new`, such as `new MemoryStore()`";
  if (typeof of.unsafe === "function") {
    return ". Of postgres.js, write `new PostgresStore((text, values) => sql.unsafe(text, values))`, from sluice/postgres";
  }
  if (typeof of.query === "function") return `. Of a pool of pg, ${POSTGRES}`;
  if (typeof of.transaction === "function") return ". Of a database, use `sqlStore`, from sluice/store";
  if (typeof of.eval === "function" || typeof of.sendCommand === "function") return `. Of a client of Redis, ${REDIS}`;
  if (Object(of.client) === of.client) return `. Of options with a client, ${REDIS}`;
  return `. For memory, ${MEMORY}; for a client of Redis, ${REDIS}`;
}

function cureForText(text: string): string {
  if (text.startsWith("postgres")) return "Write `new PostgresStore(new Pool({ connectionString: url }))`, from sluice/postgres";
  if (/^(?:redis|valkey|unix)/.test(text)) {
    return "Write `new RedisStore(new Redis(url))`, from sluice/redis, with a client of ioredis";
  }
  return text === "memory" ? `For memory, ${MEMORY}` : `For a client of Redis, ${REDIS}`;
}
