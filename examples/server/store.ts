/** The store of the buckets: in this process, or in a server that several processes share. */
import type { Store } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { RedisStore } from "sluice/redis";
import { ConfigError } from "./config.js";
import { RemovableMemoryStore, RemovablePool } from "./demo/outage.js";

/** A store, and functions for its connection. */
export interface OpenStore {
  readonly store: Store;
  readonly close: () => Promise<unknown>;
  /** Makes the store unavailable, or available again: an outage for the live page. */
  readonly setOutage: (isOut: boolean) => Promise<void>;
}

/** The arguments for opening a store. */
interface Opening {
  /** The server's URL. */
  readonly url: string;
  /** Called when the connection is lost later. The client reconnects by itself. */
  readonly onError: (error: Error) => void;
  /** Milliseconds to wait for an answer of the store. Default: the library's. */
  readonly timeoutMs?: number;
}

const STORES: Record<string, { variable?: string; url?: string; open: (opening: Opening) => Promise<OpenStore> }> = {
  memory: { open: async () => openMemory() },
  redis: { variable: "SLUICE_REDIS_URL", url: "redis://127.0.0.1:6379", open: openRedis },
  postgres: { variable: "SLUICE_POSTGRES_URL", url: "postgres://postgres@127.0.0.1:5432/postgres", open: openPostgres },
};

/**
 * Connects to the store of that name and resolves when it answers. Throws a {@link ConfigError} when the name is
 * unknown, the client's package is not installed, or the server cannot be reached.
 */
export async function openStore(name: string, env: NodeJS.ProcessEnv, options: Omit<Opening, "url">): Promise<OpenStore> {
  const known = Object.hasOwn(STORES, name) ? STORES[name] : undefined;
  if (known === undefined) throw new ConfigError(`Expected \`--store\` to be ${Object.keys(STORES).join(", ")}, got ${JSON.stringify(name)}`);
  const { variable, url = "", open } = known;
  try {
    return await open({ url: (variable === undefined ? undefined : env[variable]) || url, ...options });
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    // A URL may contain a password, so it must not appear in a log.
    throw new ConfigError(`Cannot use the store "${name}": ${reason(error)}. Start its server, or set ${variable} to the URL of another.`);
  }
}

// Your own server writes `new MemoryStore()`, or leaves the store out. This one has a switch for the live page.
function openMemory(): OpenStore {
  const store = new RemovableMemoryStore();
  return { store, close: async () => undefined, setOutage: async (isOut) => void (store.isOut = isOut) };
}

async function openRedis({ url, onError, timeoutMs }: Opening): Promise<OpenStore> {
  const { Redis } = await load("ioredis", () => import("ioredis"));
  // A request must not wait for a server that is down: a call fails with the first attempt to reconnect.
  const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 1, connectTimeout: 1_000, commandTimeout: 10_000, disconnectTimeout: 100 });
  let failed: Error | undefined;
  client.on("error", (error: Error) => (failed = error));
  try {
    await client.connect();
    await client.ping();
  } catch (error) {
    client.disconnect();
    throw failed ?? error; // the first event has the reason, the second says that there is no connection
  }
  client.on("error", onError);
  return {
    store: new RedisStore(client, { prefix: "sluice-example", timeoutMs }),
    close: () => client.quit().catch(() => client.disconnect()),
    async setOutage(isOut) {
      if (isOut) client.disconnect();
      else if (client.status === "end") await client.connect();
    },
  };
}

async function openPostgres({ url, onError, timeoutMs }: Opening): Promise<OpenStore> {
  const { default: pg } = await load("pg", () => import("pg"));
  const timeouts = { connectionTimeoutMillis: 1_000, statement_timeout: 1_000, query_timeout: 10_000 };
  const pool = new pg.Pool({ connectionString: url, max: 10, ...timeouts });
  pool.on("error", onError); // without a listener, an idle connection that is cut ends the process
  const removable = new RemovablePool((text: string, values: unknown[]) => pool.query(text, values));
  const store = new PostgresStore(removable, { table: "sluice_example", timeoutMs });
  try {
    await store.migrate();
  } catch (error) {
    await pool.end();
    throw error;
  }
  return { store, close: () => pool.end(), setOutage: async (isOut) => void (removable.isOut = isOut) };
}

async function load<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new ConfigError(`This store needs the package ${name}: npm install ${name}`);
  }
}

// If a name has several addresses and none answers, the message is empty and the reasons are in `errors`.
function reason(error: unknown): string {
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [error as Error];
  return (first?.message ?? "no answer").replace(/\.$/, "");
}
