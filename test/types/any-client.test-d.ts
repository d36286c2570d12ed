// Which functions are clients of a store, with the types that the libraries' own methods have.
import type { Cluster, Redis } from "ioredis";
import { createClient, type RedisClusterType } from "redis";
import { PostgresStore } from "sluice/postgres";
import { RedisStore, type RedisSend } from "sluice/redis";

declare const redis: Redis;
declare const cluster: Cluster;
declare const node: ReturnType<typeof createClient>;
declare const nodes: RedisClusterType;
declare const glide: { customCommand(args: string[], options?: { route: { type: "primarySlotKey"; key: string } }): Promise<unknown> };
declare const bun: { send(name: string, args: string[]): Promise<unknown> };
declare const deno: { sendCommand(name: string, args?: Array<string | number | Uint8Array>): Promise<unknown> };
declare const sql: { unsafe(text: string, values: unknown[]): PromiseLike<unknown[]>; query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]> };

new RedisStore(([name, ...args]) => redis.call(name, ...args));
new RedisStore(([name, ...args]) => cluster.call(name, ...args), { cluster: true });
new RedisStore((command) => node.sendCommand(command));
new RedisStore((command, key) => nodes.sendCommand(key, false, [...command]), { cluster: true });
new RedisStore((command) => glide.customCommand([...command]));
new RedisStore((command, key) => glide.customCommand([...command], { route: { type: "primarySlotKey", key } }), { cluster: true });
new RedisStore(([name, ...args]) => bun.send(name, args));
new RedisStore(([name, ...args]) => deno.sendCommand(name, args));
new RedisStore((command: readonly string[], key: string) => Promise.resolve([command, key]));
const send: RedisSend = async () => [1, "2", null];
new RedisStore(send);

// @ts-expect-error: the client's own list must not be changed, so the client gets a copy.
new RedisStore((command) => glide.customCommand(command));
// @ts-expect-error: the name is not apart.
new RedisStore((name: string, ...args: string[]) => redis.call(name, ...args));
// @ts-expect-error: a client that answers by a callback.
new RedisStore((command: readonly string[], key: string, done: (reply: unknown) => void) => Promise.resolve(done(command)));
// @ts-expect-error: the reply must be a promise.
new RedisStore((command) => command.length);
// @ts-expect-error: a function that makes a client.
new RedisStore(createClient);

new PostgresStore((text, values) => sql.unsafe(text, values));
new PostgresStore((text, values) => sql.query(text, values));
// @ts-expect-error: the rows must come in a list.
new PostgresStore((text) => Promise.resolve(text));
// @ts-expect-error: the rows must be a promise.
new PostgresStore(() => []);
// @ts-expect-error: values are texts and nulls.
new PostgresStore((text: string, values: number[]) => sql.query(text, values));
