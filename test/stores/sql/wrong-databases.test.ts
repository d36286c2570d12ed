// Databases for sqlStore that are wrong in one way each: the suite must catch every one, and the right one must pass.
import { sqlStore, type SqlDatabase, type SqlRow } from "sluice/store";
import type { StoreSetup } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { runCase } from "../../testing/store-suite/run-case.js";
import { FakeTable, trip, type FakeTransaction } from "./fake-table.js";

type Database = SqlDatabase<FakeTransaction>;
type Wrong = (right: Database, table: FakeTable) => Partial<Database>;

const lacks = { close: "the database is the caller's", bound: "rows are swept when they are full" };

/** A factory over one table. Without a clock of the suite, rows carry the server's time. */
function factoryOver(wrong: Wrong) {
  const shared = new FakeTable();
  return ({ clock, empty, ...setup }: StoreSetup) => {
    const table = empty ? new FakeTable() : shared;
    const right = table.database({ clock: clock ?? "server", ...setup });
    return { store: sqlStore({ ...right, ...wrong(right, table) }), writes: () => table.writes, storedBytes: () => table.storedBytes };
  };
}

/** Both readers, with the name and the row as `change` makes them. */
const renamed = (change: (name: string) => string): Wrong => (right) => ({
  read: (tx, name) => right.read(tx, change(name)),
  write: (tx, name, value, expiresAt) => right.write(tx, change(name), value, expiresAt),
  peek: async (name) => right.peek?.(change(name)),
});

const wrongs: readonly [mistake: string, failing: string, wrong: Wrong][] = [
  ["reads without a lock", "L1, L5 · a burst", (_right, table) => ({ read: async (tx, name) => (await trip(), table.see(tx, name)) })],
  ["locks only rows that are there", "L10 · concurrent calls of two parts", (right, table) => ({ read: async (tx, name) => (table.rows.has(name) ? right.read(tx, name) : (await trip(), table.see(tx, name))) })],
  ["gives its lock back before the write", "adjust, block, reset · during", (right) => ({ read: async (tx, name) => {
    const row = await right.read(tx, name);
    for (const free of tx.held.values()) free();
    return row;
  } })],
  ["reads what was there when the transaction began", "L1, L5 · a burst", (right, table) => ({ read: async (tx, name) => {
    const before = table.see(tx, name);
    await right.read(tx, name);
    return before;
  } })],
  ["peeks at a copy that is behind", "L14 · spent tokens", (right, table) => {
    const copy = new Map<string, string>();
    return {
      peek: async (name) => ({ ...(await right.peek?.(name)), value: copy.get(name) }),
      write: async (tx, name, value, expiresAt) => (copy.set(name, table.rows.get(name) ?? "sluice1"), right.write(tx, name, value, expiresAt)),
    };
  }],
  ["commits before the end of `run`", "L3 · a refusal takes", (right) => ({ transaction: (run) => right.transaction(async (tx) => void run(tx).catch(() => undefined)) })],
  ["inserts and never updates", "clock · the store reads", (right, table) => ({ write: async (tx, name, value, expiresAt) => (table.rows.has(name) ? undefined : right.write(tx, name, value, expiresAt)) })],
  ["writes outside the transaction, and a little later", "L7 · a decision is", (_right, table) => ({ write: async (_tx, name, value) => void trip().then(trip).then(trip).then(() => table.rows.set(name, value)) })],
  ["compares names without case", "keys · similar texts", renamed((name) => name.toLowerCase())],
  ["cuts names at 64 characters", "keys · similar texts", renamed((name) => name.slice(0, 64))],
  ["ignores spaces at the end of names", "keys · similar texts", renamed((name) => name.trimEnd())],
  ["forgets rows at the full second before `expiresAt`", "L4 · no bucket", (right, table) => {
    const ends = new Map<string, number>();
    const { clock } = right;
    const isOver = (name: string): boolean => typeof clock === "function" && (ends.get(name) ?? Infinity) <= clock();
    return {
      read: async (tx, name) => (await right.read(tx, name), isOver(name) ? null : table.see(tx, name)),
      write: async (tx, name, value, expiresAt) => (ends.set(name, Math.floor(expiresAt / 1_000) * 1_000), right.write(tx, name, value, expiresAt)),
    };
  }],
  ["sweeps with every read, by a clock that is a minute ahead", "L4 · no bucket", (right, table) => {
    const ends = new Map<string, number>();
    const { clock } = right;
    return {
      read: async (tx, name) => {
        if (typeof clock === "function" && (ends.get(name) ?? Infinity) < clock() + 60_000) table.rows.delete(name);
        return right.read(tx, name);
      },
      write: async (tx, name, value, expiresAt) => (ends.set(name, expiresAt), right.write(tx, name, value, expiresAt)),
    };
  }],
  ["tells the process's time for the server's", "clock · a store with the server", (right) => {
    const here = <Row>(row: Row) => ({ ...row, now: Date.now() });
    return { read: async (tx, name) => here(await right.read(tx, name)), peek: async (name) => here(await right.peek?.(name)) };
  }],
  ["tells seconds for milliseconds", "L4 · own clock: nothing", (right) => {
    const inSeconds = (row: SqlRow | null | undefined) => ({ ...row, now: Math.floor(Number(row?.now) / 1_000) });
    return { read: async (tx, name) => inSeconds(await right.read(tx, name)) };
  }],
];

describe("a wrong database fails the suite", () => {
  test.each(wrongs)("one that %s", async (_mistake, failing, wrong) => {
    await expect(runCase(failing, { factory: factoryOver(() => ({})), lacks })).resolves.toBeUndefined();
    await expect(runCase(failing, { factory: factoryOver(wrong), lacks })).rejects.toThrow(/^Expected /);
  });
});
