// Values that the build before the arithmetic was written anew has stored: each store reads them, goes on with the same
// answers, and writes the same values.
import { MemoryStore } from "sluice";
import { afterEach, describe, expect, test, vi } from "vitest";
import { casBench, goesOn, objectBench, sqlBench, take, type TextRow } from "../vectors/frozen/benches.js";
import { stored, type Subject } from "../vectors/frozen/history.js";

// A value without records: a row of a Durable Object is deleted in its place, and `casStore` gives it a millisecond.
const isEmpty = (row: TextRow | null | undefined): boolean => row?.[1] === "sluice1";
const orDeleted = (row: TextRow | null): TextRow | null => (isEmpty(row) ? null : row);
const orLater = (row: TextRow | null): TextRow | null => (row && isEmpty(row) ? [row[0], row[1], row[2] + 1] : row);

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
    const store = new MemoryStore({ clock: () => now }) as Subject;
    const bench = { store, set: (to: number) => void (now = to), load: () => undefined, read: () => null };
    const answers = await take(bench, vector, [...vector.first, ...vector.rest]);
    expect(answers.slice(vector.first.length)).toEqual(vector.answers);
  });
});
