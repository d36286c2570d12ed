// Lines of a log in the order of their times, however they come.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { LogEntry } from "../src/log/entry.js";
import { InOrder } from "../src/log/in-order.js";

function sorted(times: readonly number[], windowMs: number): { given: LogEntry[]; late: number } {
  const given: LogEntry[] = [];
  const order = new InOrder(windowMs, (entry) => given.push(entry));
  times.forEach((at, i) => order.add({ at, key: String(i), costs: [] }));
  order.end();
  return { given, late: order.late };
}

test("with a window as long as the log, entries are sorted, and those of one time keep their order", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(40), { maxLength: 200 }), (times) => {
      const { given, late } = sorted(times, 41);
      const expected = times.map((at, i) => ({ at, key: String(i) })).toSorted((a, b) => a.at - b.at);
      expect(given.map(({ at, key }) => ({ at, key }))).toEqual(expected);
      expect(late).toBe(0);
    }),
  );
});

test("with any window, none is lost and time never goes back", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1_000), { maxLength: 300 }), fc.nat(300), (times, windowMs) => {
      const { given } = sorted(times, windowMs);
      expect(given.map(({ key }) => Number(key)).toSorted((a, b) => a - b)).toEqual(times.map((_, i) => i));
      for (const [i, { at }] of given.entries()) expect(at).toBeGreaterThanOrEqual(given[i - 1]?.at ?? 0);
    }),
  );
});

test("200,000 entries backwards are sorted: a list to insert into would take 2 * 10^10 steps", () => {
  const times = Array.from({ length: 200_000 }, (_, i) => 200_000 - i);
  const { given } = sorted(times, 1_000_000);
  expect(given[0]?.at).toBe(1);
  expect(given.every(({ at }, i) => at === i + 1)).toBe(true);
});
