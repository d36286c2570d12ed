// Stores with what they keep of one key laid open: it can be put there before a history goes on, and read after it.
import assert from "node:assert/strict";
import type { Redis } from "ioredis";
import type pg from "pg";
import { DurableObjectStore, withBuckets } from "sluice/durable-object";
import { PostgresStore } from "sluice/postgres";
import { RedisStore } from "sluice/redis";
import { casStore, sqlStore } from "sluice/store";
import { FakeStorage } from "../../helpers/fake-storage.js";
import { call, policiesOf, textOf, type History, type Step, type StoredVector, type Subject } from "./history.js";
import { callsOf } from "../../../src/testing/store-calls.js";

/** The name of a bucket, its value, and the instant until which it must be kept. */
export type TextRow = readonly [name: string, value: string, until: number];
/** The key without the store's prefix, and the bytes of its value in hexadecimal. */
export type RedisRow = readonly [name: string, hex: string];
/** The columns of the table. */
export type PostgresRow = readonly [
  bucket: string, names: readonly string[], spent: readonly number[], at: readonly number[], p: readonly number[], q: readonly number[],
  sweepAfter: number,
];

/** A store, and what it keeps. `Row` is the stored form of the one key that a history is about. */
export interface Bench<Row> {
  readonly store: Subject;
  /** Sets the store's clock. */
  set(now: number): void;
  load(row: Row): unknown;
  read(): Row | null | Promise<Row | null>;
}

/** Takes the steps in turn. Returns the answers as text. */
export async function take<Row>(bench: Bench<Row>, history: Omit<History, "steps">, steps: readonly Step[]): Promise<string[]> {
  const policies = policiesOf(history);
  const answers: string[] = [];
  for (const step of steps) {
    bench.set(history.start + step[1]);
    answers.push(textOf(await call(bench.store, history, policies, step), history, policies, step));
  }
  return answers;
}

/**
 * Fails unless a new store comes to the first of `rows` by the first steps, and another that finds this row goes on with
 * the frozen answers and comes to the second.
 */
export async function goesOn<Row>(open: () => Bench<Row> | Promise<Bench<Row>>, vector: StoredVector, rows: readonly (Row | null)[]): Promise<void> {
  const begun = await open();
  await take(begun, vector, vector.first);
  assert.deepEqual(await begun.read(), rows[0], "other values after the first steps");
  const bench = await open();
  if (rows[0]) await bench.load(rows[0]);
  assert.deepEqual(await take(bench, vector, vector.rest), vector.answers);
  assert.deepEqual(await bench.read(), rows[1], "other values after all steps");
}

/** A store of `sqlStore` over one row, synchronous or not. */
export function sqlBench(sync: boolean): Bench<TextRow> {
  let now = 0;
  let row: TextRow | null = null;
  const read = () => ({ value: row?.[1] ?? null });
  const write = (_: null, ...written: TextRow): void => void (row = written);
  const clock = (): number => now;
  const store = sync
    ? sqlStore<null>({ sync, clock, read, write, transaction: (run) => run(null) })
    : sqlStore<null>({ clock, timeoutMs: Infinity, read: async () => read(), write: async (...row) => write(...row), transaction: async (run) => run(null) });
  return { store: callsOf(store), set: (to) => void (now = to), load: (loaded) => void (row = loaded), read: () => row };
}

/** A store of `casStore` over one value. */
export function casBench(): Bench<TextRow> {
  let now = 0;
  let row: TextRow | null = null;
  const store = casStore<TextRow>({
    read: async () => row && { value: row[1], version: row },
    async write(key, value, version, ttlMs) {
      if (version !== row) return false;
      row = [key, value, Math.min(now + ttlMs, Number.MAX_SAFE_INTEGER)]; // as the other stores
      return true;
    },
  }, { time: { now: () => now }, timeoutMs: Infinity });
  return { store: callsOf(store), set: (to) => void (now = to), load: (loaded) => void (row = loaded), read: () => row };
}

/** A Durable Object. `setTime` sets `Date.now`, the only clock that an object has. */
export function objectBench(setTime: (now: number) => void): Bench<TextRow> {
  const storage = new FakeStorage();
  const Buckets = withBuckets(class {} as abstract new (state: never, env: never) => object);
  const object = new Buckets({ storage } as never, {} as never);
  let store = new DurableObjectStore({ idFromName: () => ({}), get: () => object }, { timeoutMs: Infinity });
  return {
    get store() {
      return callsOf(store);
    },
    set: setTime,
    // An object that wakes up and finds its table.
    load([name, records, until]) {
      storage.rows = new Map([[name, records]]);
      storage.until.set(name, until);
      const woken = new Buckets({ storage } as never, {} as never);
      store = new DurableObjectStore({ idFromName: () => ({}), get: () => woken }, { timeoutMs: Infinity });
    },
    read: () => [...(storage.rows ?? [])].map(([name, records]) => [name, records, Math.min(storage.until.get(name) as number, Number.MAX_SAFE_INTEGER)] as TextRow)[0] ?? null,
  };
}

/** A store over Redis that has its keys under `prefix`. */
export function redisBench(client: Redis, prefix: string): Bench<RedisRow> {
  let now = 0;
  const store = new RedisStore(client, { prefix, clock: () => now, denyCacheMs: 0, timeoutMs: Infinity });
  return {
    store: callsOf(store),
    set: (to) => void (now = to),
    load: ([name, hex]) => client.set(`${prefix}:${name}`, Buffer.from(hex, "hex")),
    async read() {
      // A key that ends in a random id says that a change was made.
      const [name] = (await client.keys(`${prefix}:*`)).filter((each) => !/~[0-9a-f-]{36}$/.test(each));
      if (name === undefined) return null;
      return [name.slice(prefix.length + 1), (await client.getBuffer(name) as Buffer).toString("hex")];
    },
  };
}

/** A store over Postgres with a table of its own, which must be there. */
export function postgresBench(pool: pg.Pool, table: string): Bench<PostgresRow> {
  let now = 0;
  const store = new PostgresStore(pool, { table, clock: () => now, denyCacheMs: 0, timeoutMs: Infinity });
  return {
    store: callsOf(store),
    set: (to) => void (now = to),
    load: (row) => pool.query(`INSERT INTO ${table} (bucket, names, spent, at, p, q, sweep_after) VALUES ($1, $2, $3, $4, $5, $6, $7)`, [...row]),
    async read() {
      const { rows } = await pool.query({ text: `SELECT bucket, names, spent, at, p, q, sweep_after FROM ${table}`, rowMode: "array" });
      const [row] = rows as unknown[][];
      return row === undefined ? null : sorted(row.map(numbersIn) as unknown as PostgresRow);
    },
  };
}

// pg reads a bigint as text.
function numbersIn(column: unknown, position: number): unknown {
  if (position < 2) return column;
  return Array.isArray(column) ? column.map(Number) : Number(column);
}

/** The row with its records in the order of their names and dates. The database keeps them in any order. */
function sorted(row: PostgresRow): PostgresRow {
  const [bucket, names, ...columns] = row;
  const [at, sweepAfter] = [row[3], row[6]];
  const order = names.map((_, i) => i).sort((a, b) => {
    const [x, y] = [names[a] as string, names[b] as string];
    return x < y ? -1 : x > y ? 1 : (at[a] as number) - (at[b] as number);
  });
  const [spent, dates, p, q] = (columns.slice(0, 4) as number[][]).map((column) => order.map((i) => column[i] as number)) as [number[], number[], number[], number[]];
  return [bucket, order.map((i) => names[i] as string), spent, dates, p, q, sweepAfter];
}
