// Values that the build before the arithmetic was written anew has stored: each store reads them, goes on with the same
// answers, and writes the same values.
import { readFileSync } from "node:fs";
import { MemoryStore } from "sluice";
import { afterEach, describe, expect, test, vi } from "vitest";
import { casBench, goesOn, objectBench, sqlBench, take, type PostgresRow, type RedisRow, type TextRow } from "../vectors/frozen/benches.js";
import { stored, type Subject } from "../vectors/frozen/history.js";
import { callsOf } from "../../src/testing/store-calls.js";

// A value without records: a row of a Durable Object is deleted in its place, and `casStore` gives it a millisecond.
const isEmpty = (row: TextRow | null | undefined): boolean => row?.[1] === "sluice1";
const orDeleted = (row: TextRow | null): TextRow | null => (isEmpty(row) ? null : row);
const orLater = (row: TextRow | null): TextRow | null => (row && isEmpty(row) ? [row[0], row[1], row[2] + 1] : row);

test("the page on the stored formats shows what each store kept", () => {
  const page = readFileSync("docs/stored-formats.md", "utf8");
  const { sql, redis, postgres } = stored.find(({ why }) => why === "a rate that is half spent") as (typeof stored)[number];
  const [name, value] = sql[0] as TextRow;
  const row = (postgres[0] as PostgresRow).map((column) => (typeof column === "object" ? `{${column}}` : column)).join(" | ");
  for (const shown of [`${name}\n${value}`, (redis[0] as RedisRow)[1], row]) expect(page).toContain(`\`\`\`text\n${shown}\n\`\`\``);
});

afterEach(() => void vi.restoreAllMocks());

describe.each(stored)("$why", (vector) => {
  test("sqlStore, synchronous", () => goesOn(() => sqlBench(true), vector, vector.sql));
  test("sqlStore", () => goesOn(() => sqlBench(false), vector, vector.sql));
  test("casStore", () => goesOn(casBench, vector, vector.sql.map(orLater)));
  test("DurableObjectStore", () => {
    const clock = vi.spyOn(Date, "now");
    return goesOn(() => objectBench((now) => void clock.mockReturnValue(now)), vector, vector.sql.map(orDeleted));
  });
  test("MemoryStore, which stores nothing", async () => {
    let now = 0;
    const store: Subject = callsOf(new MemoryStore({ clock: () => now }));
    const bench = { store, set: (to: number) => void (now = to), load: () => undefined, read: () => null };
    const answers = await take(bench, vector, [...vector.first, ...vector.rest]);
    expect(answers.slice(vector.first.length)).toEqual(vector.answers);
  });
});
