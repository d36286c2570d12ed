// The sketch of examples/admin: bounded memory, and an error that is never larger than it says.
import fc from "fast-check";
import type { DecisionEvent, Key } from "sluice";
import { expect, test } from "vitest";
import { HeavyHitters, mergeSummaries, type Summary } from "../../examples/admin/heavy-hitters.js";
import { mergeCounts, RecentCallers, rowsOf } from "../../examples/admin/recent-callers.js";

const counted = (ids: readonly string[]): Map<string, number> => ids.reduce((counts, id) => counts.set(id, (counts.get(id) ?? 0) + 1), new Map<string, number>());
const summaryOf = (ids: readonly string[], size: number): Summary => {
  const sketch = new HeavyHitters(size);
  for (const id of ids) sketch.add(id);
  return sketch.summary();
};
/** A few ids come often, many come rarely. */
const ids = fc.array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom("a", "b", "c") }, { weight: 2, arbitrary: fc.integer({ min: 0, max: 40 }).map(String) }), { maxLength: 300 });

/** No count is too low, none is too high by more than its error, and no id that is missing came more often than the floor. */
function check({ entries, floor, total }: Summary, all: readonly string[]): void {
  const real = counted(all);
  expect(total).toBe(all.length);
  expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
  for (const { id, count, error } of entries) {
    expect(count).toBeGreaterThanOrEqual(real.get(id) ?? 0);
    expect(count - error).toBeLessThanOrEqual(real.get(id) ?? 0);
  }
  for (const [id, count] of real) if (!entries.some((each) => each.id === id)) expect(count).toBeLessThanOrEqual(floor);
}

test("each count is between its bounds, each frequent id is there, and there are never more than `size`", () => {
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 12 }), (all, size) => {
      const summary = summaryOf(all, size);
      check(summary, all);
      expect(summary.entries.length).toBeLessThanOrEqual(size);
      for (const { error } of summary.entries) expect(error).toBeLessThanOrEqual(all.length / size);
      for (const [id, count] of counted(all)) if (count > all.length / size) expect(summary.entries.map((each) => each.id)).toContain(id);
    }),
  );
});

test("summaries of minutes and processes merge, in any grouping, and stay between their bounds", () => {
  fc.assert(
    fc.property(fc.array(ids, { maxLength: 5 }), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 30 }), (parts, size, most) => {
      const summaries = parts.map((part) => summaryOf(part, size));
      const whole = mergeSummaries(summaries, 1_000);
      check(whole, parts.flat());
      for (const { error } of whole.entries) expect(error).toBeLessThanOrEqual(parts.flat().length / size);
      const cut = mergeSummaries([mergeSummaries(summaries.slice(0, 2), most), ...summaries.slice(2)], most);
      check(cut, parts.flat());
      expect(cut.entries.length).toBeLessThanOrEqual(most);
      expect(cut.entries.map(({ count }) => count)).toEqual(cut.entries.map(({ count }) => count).toSorted((a, b) => b - a));
    }),
  );
});

test("a size that is no size is refused", () => {
  for (const size of [0, -1, 1.5, NaN]) expect(() => new HeavyHitters(size)).toThrow(RangeError);
});

test("callers of the last five minutes, most refused first; older ones are gone", () => {
  let now = 0;
  const recent = new RecentCallers({ now: () => now });
  const listen = recent.listener("interactive");
  const ask = (key: Key, outcome: DecisionEvent["outcome"], times: number): void => {
    for (let i = 0; i < times; i++) listen({ type: "decision", outcome } as DecisionEvent, key);
  };
  ask(["user", "ann"], "allowed", 10);
  ask(["user", 7], "limited", 3);
  listen({ type: "store" } as never, null);
  now = 299_999; // the end of the fifth minute
  ask("<b>bob</b>", "shadow_refused", 1);
  const row = (key: Key, requests: number, refused: number) => ({ limiter: "interactive", key, requests, requestsError: 0, refused, refusedError: 0 });
  expect(rowsOf(recent.counts(), "requests")).toEqual([row(["user", "ann"], 10, 0), row(["user", 7], 3, 3), row("<b>bob</b>", 1, 1)]);
  expect(rowsOf(recent.counts(), "refused", 1)).toEqual([row(["user", 7], 3, 3)]);
  expect(rowsOf(mergeCounts([recent.counts(), recent.counts()]), "refused", 1)).toEqual([row(["user", 7], 6, 6)]);
  now = 300_000;
  expect(rowsOf(recent.counts(), "requests")).toEqual([row("<b>bob</b>", 1, 1)]);
});

test("200,000 keys take no more memory than 500, and the loud one is found", () => {
  const recent = new RecentCallers({ now: () => 0 });
  const listen = recent.listener("interactive");
  for (let i = 0; i < 200_000; i++) {
    listen({ type: "decision", outcome: "limited" } as DecisionEvent, ["sprayed", i]);
    if (i % 20 === 0) listen({ type: "decision", outcome: "limited" } as DecisionEvent, ["user", "loud"]);
  }
  const counts = recent.counts();
  expect(counts.requests.entries.length).toBe(200);
  const [first] = rowsOf(counts, "refused");
  expect(first?.key).toEqual(["user", "loud"]);
  expect((first?.refused ?? 0) - 10_000).toBeLessThanOrEqual(210_000 / 500);
});
