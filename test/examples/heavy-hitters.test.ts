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

test("summaries of minutes and processes merge, in any grouping, and keep the bound of one sketch", () => {
  fc.assert(
    fc.property(fc.array(ids, { minLength: 1, maxLength: 5 }), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 5 }), (parts, size, cut) => {
      const summaries = parts.map((part) => summaryOf(part, size));
      const [first, second] = [summaries.slice(0, cut), summaries.slice(cut)];
      // What a process sends comes as JSON.
      const sent = JSON.parse(JSON.stringify(mergeSummaries(first))) as Summary;
      for (const merged of [mergeSummaries(summaries), mergeSummaries([sent, ...second]), mergeSummaries([...second, sent])]) {
        const all = parts.flat();
        check(merged, all);
        expect(merged.entries.length).toBeLessThanOrEqual(size);
        expect(merged.floor).toBeLessThanOrEqual(all.length / size);
        for (const { error } of merged.entries) expect(error).toBeLessThanOrEqual(all.length / size);
        for (const [id, count] of counted(all)) if (count > all.length / size) expect(merged.entries.map((each) => each.id)).toContain(id);
        expect(merged.entries.map(({ count }) => count)).toEqual(merged.entries.map(({ count }) => count).toSorted((a, b) => b - a));
      }
    }),
  );
});

test("the bound of three processes that share their counts of 500 places", () => {
  const processes = [1, 2, 3].map((process) => {
    const recent = new RecentCallers({ now: () => 0 });
    const listen = recent.listener("interactive");
    for (let i = 0; i < 30_000; i++) listen({ type: "decision", outcome: "limited" } as DecisionEvent, ["sprayed", i % 7 === 0 ? i % 700 : process * 100_000 + i]);
    return JSON.parse(JSON.stringify(recent.counts())) as ReturnType<typeof recent.counts>;
  });
  const { requests } = mergeCounts(processes);
  expect(requests.total).toBe(90_000);
  expect(requests.floor).toBeLessThanOrEqual(90_000 / 500);
  for (const { error } of requests.entries) expect(error).toBeLessThanOrEqual(90_000 / 500);
});

test("a size that is no size is refused", () => {
  for (const size of [0, -1, 1.5, NaN]) expect(() => new HeavyHitters(size)).toThrow(RangeError);
});

const decisions = (recent: RecentCallers, limiter = "interactive") => {
  const listen = recent.listener(limiter);
  return (key: Key, outcome: DecisionEvent["outcome"], times = 1): void => {
    for (let i = 0; i < times; i++) listen({ type: "decision", outcome } as DecisionEvent, key);
  };
};
const row = (key: Key, requests: number, refused: number, onTrial = 0) => {
  const exact = (count: number) => ({ count, error: 0 });
  return { limiter: "interactive", key, requests: exact(requests), refused: exact(refused), onTrial: exact(onTrial) };
};

test("callers of the last five minutes, most refused first; older ones are gone", () => {
  let now = 0;
  const recent = new RecentCallers({ now: () => now });
  const ask = decisions(recent);
  ask(["user", "ann"], "allowed", 10);
  ask(["user", "7"], "limited", 3);
  recent.listener("interactive")({ type: "store" } as never, null);
  now = 299_999; // the end of the fifth minute
  ask("<b>bob</b>", "shadow_refused");
  expect(rowsOf(recent.counts(), "requests")).toEqual([row(["user", "ann"], 10, 0), row(["user", "7"], 3, 3), row("<b>bob</b>", 1, 0, 1)]);
  expect(rowsOf(recent.counts(), "refused", 1)).toEqual([row(["user", "7"], 3, 3)]);
  expect(rowsOf(recent.counts(), "onTrial")).toEqual([row("<b>bob</b>", 1, 0, 1)]); // what shadow mode let through was not refused
  expect(rowsOf(mergeCounts([recent.counts(), recent.counts()]), "refused", 1)).toEqual([row(["user", "7"], 6, 6)]);
  now = 300_000;
  expect(rowsOf(recent.counts(), "requests")).toEqual([row("<b>bob</b>", 1, 0, 1)]);
});

test("a service that is overloaded refuses no caller for what it did", () => {
  const recent = new RecentCallers({ now: () => 0 });
  const ask = decisions(recent);
  ask("service", "allowed", 3);
  ask("service", "overloaded", 2);
  expect(rowsOf(recent.counts(), "requests")).toEqual([row("service", 5, 0)]);
});

test("one row for each bucket, whatever types the parts of its key have", () => {
  const recent = new RecentCallers({ now: () => 0 });
  const ask = decisions(recent);
  for (const part of [42, "42", 42n]) ask(["user", part], "allowed");
  ask("42", "allowed");
  ask(["42"], "allowed"); // a tuple is never a string
  expect(rowsOf(recent.counts(), "requests")).toEqual([row(["user", "42"], 3, 0), row("42", 1, 0), row(["42"], 1, 0)]);
});

test("a key of 100 kB takes as much memory as one of 256 characters, and is not mixed up with its like", () => {
  const recent = new RecentCallers({ now: () => 0 });
  const ask = decisions(recent);
  const long = "x".repeat(100_000);
  ask(`${long}1`, "limited", 2);
  ask(`${long}2`, "limited");
  ask(["device", `${long}1`], "limited");
  expect(JSON.stringify(recent.counts()).length).toBeLessThan(3 * 1_000);
  const rows = rowsOf(recent.counts(), "requests");
  expect(rows.map(({ requests, digest }) => [requests.count, typeof digest])).toEqual([[2, "string"], [1, "string"], [1, "string"]]);
  expect(new Set(rows.map(({ digest }) => digest)).size).toBe(3);
  expect(rows[0]?.key).toBe("x".repeat(256));
});

test("after a step back of the clock the minutes still pass, and memory stays bounded", () => {
  let minute = 1_000;
  const recent = new RecentCallers({ now: () => minute * 60_000 });
  const ask = decisions(recent);
  ask("before", "allowed");
  for (minute = 100; minute < 105; minute++) {
    ask(`at ${minute}`, "allowed");
    if (minute < 104) expect(rowsOf(recent.counts(), "requests").map(({ key }) => key)).toContain("before");
  }
  minute = 104;
  expect(rowsOf(recent.counts(), "requests").map(({ key }) => key)).toEqual(["at 100", "at 101", "at 102", "at 103", "at 104"]);
});

test("200,000 keys take no more memory than 500, and the loud one is found", () => {
  const recent = new RecentCallers({ now: () => 0 });
  const ask = decisions(recent);
  for (let i = 0; i < 200_000; i++) {
    ask(["sprayed", i], "limited");
    if (i % 20 === 0) ask(["user", "loud"], "limited");
  }
  const counts = recent.counts();
  expect(counts.requests.entries.length).toBe(500);
  const [first] = rowsOf(counts, "refused");
  expect(first?.key).toEqual(["user", "loud"]);
  expect((first?.refused.count ?? 0) - 10_000).toBeLessThanOrEqual(210_000 / 500);
});
