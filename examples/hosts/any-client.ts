// Stores over clients that sluice does not know, each as one function. The clients are yours: you close them.
import { GlideClient, GlideClusterClient } from "@valkey/valkey-glide";
import { neon } from "@neondatabase/serverless";
import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import type { PostgresJsDatabase } from "drizzle-orm/postgres-js";
import { CompiledQuery, type Kysely } from "kysely";
import type { Pool } from "pg";
import type { Sql } from "postgres";
import { PostgresStore, type PostgresStoreOptions } from "sluice/postgres";
import { RedisStore, type RedisStoreOptions } from "sluice/redis";

interface Address {
  readonly host: string;
  readonly port: number;
}

/** valkey-glide on one node. Its own timeout is 250 ms by default: an answer that comes later would be lost. */
export async function overGlide(address: Address, options?: RedisStoreOptions): Promise<{ store: RedisStore; client: GlideClient }> {
  const client = await GlideClient.createClient({ addresses: [address], requestTimeout: 10_000 });
  return { client, store: new RedisStore((command) => client.customCommand([...command]), options) };
}

/** valkey-glide on a cluster. The key says which node gets the command. */
export async function overGlideCluster(
  addresses: Address[], options?: RedisStoreOptions,
): Promise<{ store: RedisStore; client: GlideClusterClient }> {
  const client = await GlideClusterClient.createClient({ addresses, requestTimeout: 10_000 });
  const store = new RedisStore(
    (command, key) => client.customCommand([...command], { route: { type: "primarySlotKey", key } }),
    { ...options, cluster: true },
  );
  return { client, store };
}

/** postgres.js. Bun.sql has the same method. */
export function overPostgresJs(sql: Sql, options?: PostgresStoreOptions): PostgresStore {
  return new PostgresStore((text, values) => sql.unsafe(text, values), options);
}

/** Neon over HTTP: one request for each statement. */
export function overNeon(connectionString: string, options?: PostgresStoreOptions): PostgresStore {
  const sql = neon(connectionString);
  return new PostgresStore((text, values) => sql.query(text, values), options);
}

/** Drizzle over pg. `$client` is the pool that it was made with, or that it made. */
export function overDrizzle(db: NodePgDatabase & { readonly $client: Pool }, options?: PostgresStoreOptions): PostgresStore {
  return new PostgresStore(db.$client, options);
}

/** Drizzle over postgres.js. */
export function overDrizzlePostgresJs(db: PostgresJsDatabase & { readonly $client: Sql }, options?: PostgresStoreOptions): PostgresStore {
  return new PostgresStore((text, values) => db.$client.unsafe(text, values), options);
}

/** Kysely, over each of its dialects for Postgres. */
export function overKysely(db: Kysely<unknown>, options?: PostgresStoreOptions): PostgresStore {
  return new PostgresStore((text, values) => db.executeQuery(CompiledQuery.raw(text, values)), options);
}

/** Prisma, by any driver adapter for Postgres. */
export function overPrisma(prisma: RawPrisma, options?: PostgresStoreOptions): PostgresStore {
  return new PostgresStore((text, values) => prisma.$queryRawUnsafe(text, ...values), options);
}

/** What each generated `PrismaClient` has. */
export interface RawPrisma {
  $queryRawUnsafe<Row>(text: string, ...values: unknown[]): PromiseLike<Row>;
}
