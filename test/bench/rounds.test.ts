// How the benchmarks order their sides, and how sure they are of a ratio.
import { describe, expect, test } from "vitest";
import { added, besideControl, besideLowest, compare, likelyRatio, orderOf, percentile } from "../../bench/ratios.js";

describe("the order of sides", () => {
  test.each([2, 3, 4, 5, 6])("%i sides: each has each place, and follows each other side, equally often", (count) => {
    const places = new Map<string, number>();
    const pairs = new Map<string, number>();
    const add = (counts: Map<string, number>, name: string): Map<string, number> => counts.set(name, (counts.get(name) ?? 0) + 1);
    for (let round = 0; round < 2 * count; round++) {
      const order = orderOf(round, count);
      expect(order.toSorted()).toEqual(Array.from({ length: count }, (_, i) => i));
      order.forEach((side, place) => {
        add(places, `${side} at ${place}`);
        if (place > 0) add(pairs, `${side} after ${order[place - 1]}`);
      });
    }
    expect(places.size).toBe(count * count);
    expect(new Set(places.values())).toEqual(new Set([2]));
    expect(pairs.size).toBe(count * (count - 1));
    expect(new Set(pairs.values())).toEqual(new Set([2]));
  });
});

describe("the figure of a start", () => {
  test("is the tenth percentile of its blocks, whatever their order", () => {
    expect(percentile(Array.from({ length: 30 }, (_, i) => 30 - i), 0.1)).toBe(4);
    expect(percentile([7], 0.1)).toBe(7);
    expect(percentile([1, 2], 1)).toBe(2);
    expect(() => percentile([], 0.1)).toThrow(new RangeError("Expected at least one value, got none"));
  });

  test("stays the same when other work makes eight blocks of ten slower", () => {
    const quiet = Array.from({ length: 40 }, (_, i) => 100 + (i % 2));
    const busy = quiet.map((value, i) => (i % 5 === 0 ? value : value * 3));
    expect([percentile(quiet, 0.1), percentile(busy, 0.1)]).toEqual([100, 101]);
  });

  test("a goal shows the lowest start of each side, less the bare one, and whether the control allows a statement", () => {
    const [own, other, bare] = [[900, 640, 700], [620, 560], [500, 480, 510]];
    expect(besideLowest(own, other, [562, 900], bare)).toEqual({ median: 2, spread: "control 1.025" });
    expect(besideLowest(own, other, [566], bare)).toEqual({ median: 2, spread: "control 1.075: nothing can be told" });
    expect(besideLowest([3], [2], [2])).toEqual({ median: 1.5, spread: "control 1.000" });
  });

  test("what a side adds is taken start by start", () => {
    expect(added([15, 26], [10, 20])).toEqual([5, 6]);
  });
});

describe("the interval of a ratio", () => {
  const turns = (values: readonly number[]): { readonly own: readonly number[]; readonly other: readonly number[] } => ({
    own: values, other: values.map(() => 1),
  });
  const likely = (values: readonly number[]) => likelyRatio(turns(values).own, turns(values).other, (value) => value);

  test("of 100 turns it has the 40th and the 61st ratio, and the median between", () => {
    expect(likely(Array.from({ length: 100 }, (_, i) => i + 1))).toEqual({ low: 40, median: 50.5, high: 61 });
  });

  test("of an odd number of turns the median is the one in the middle", () => {
    expect(likely(Array.from({ length: 15 }, (_, i) => i + 1))).toEqual({ low: 3, median: 8, high: 13 });
  });

  test("of 6 turns it is all of them, because the true median lies outside in 3 of 100 runs", () => {
    expect(likely([1.1, 0.9, 1, 1.2, 1.3, 0.8])).toEqual({ low: 0.8, median: 1.05, high: 1.3 });
  });

  test("fewer than 6 turns have none", () => {
    expect(likely(Array.from({ length: 10 }, (_, i) => i + 1))).toEqual({ low: 1, median: 5.5, high: 10 });
    expect(() => likely([1, 2, 3, 4, 5])).toThrow(new RangeError("Expected at least 6 turns, got 5: fewer have no such interval"));
  });

  test("a goal shows the interval and the control's, and says when no difference is seen", () => {
    const [ratio, control] = [{ low: 0.94, median: 0.96, high: 0.98 }, { low: 0.99, median: 1.001, high: 1.02 }];
    expect(besideControl({ ratio, control, isSeen: true })).toEqual({ median: 0.96, spread: "0.940 to 0.980; control 1.001, 0.990 to 1.020" });
    expect(besideControl({ ratio, control, isSeen: false }).spread).toBe("0.940 to 0.980; control 1.001, 0.990 to 1.020, no difference seen");
  });

  describe("a difference is seen when a side differs from both equal sides", () => {
    /** 100 turns that spread by 0.1 around a speed. */
    const speed = (middle: number): readonly number[] => Array.from({ length: 100 }, (_, turn) => middle + (((turn * 37) % 100) - 49.5) / 1_000);
    const isSeen = (own: number, peer: number, again: number): boolean => compare(speed(own), speed(peer), speed(again), (value) => value).isSeen;

    test.each([
      ["slower than both", 0.98, 1, 1, true],
      ["faster than both", 1.02, 1, 1, true],
      ["between the two", 1, 1.02, 0.98, false],
      ["slower than one, and equal to the other", 0.98, 1, 0.98, false],
      ["equal to both", 1, 1, 1, false],
    ] as const)("%s", (_, own, peer, again, seen) => {
      expect(isSeen(own, peer, again)).toBe(seen);
    });

    test("chance in the turns that all sides share is no difference, and hides none", () => {
      const slow = (turn: number): number => (turn % 3 === 0 ? 0.5 : 1);
      const shared = (middle: number): readonly number[] => speed(middle).map((value, turn) => value * slow(turn));
      expect(compare(shared(0.98), shared(1), shared(1), (value) => value)).toMatchObject({ isSeen: true, control: { low: 1, median: 1, high: 1 } });
    });

    test("what the turns of one side have alone hides a small difference", () => {
      const noisy = [...speed(1)].reverse();
      expect(compare(speed(0.995), noisy, noisy, (value) => value).isSeen).toBe(false);
    });
  });
});
