// How the benchmarks order their sides, and how sure they are of a ratio.
import { describe, expect, test } from "vitest";
import { besideControl, isSeen, likelyRatio, orderOf } from "../../bench/ratios.js";

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

  test("fewer than 10 turns have none", () => {
    expect(likely(Array.from({ length: 10 }, (_, i) => i + 1))).toEqual({ low: 1, median: 5.5, high: 10 });
    expect(() => likely([1, 2, 3, 4, 5, 6, 7, 8, 9])).toThrow(new RangeError("Expected at least 10 turns, got 9: fewer have no such interval"));
  });

  test("a goal shows both intervals, and says when they meet", () => {
    const own = { low: 0.94, median: 0.96, high: 0.98 };
    expect(besideControl(own, { low: 0.99, median: 1.001, high: 1.02 })).toEqual({ median: 0.96, spread: "0.940 to 0.980; control 1.001, 0.990 to 1.020" });
    expect(besideControl(own, { low: 0.97, median: 1.001, high: 1.02 }).spread).toBe("0.940 to 0.980; control 1.001, 0.970 to 1.020, no difference seen");
  });

  test("two ratios differ when their intervals do not meet", () => {
    const near = (middle: number) => likely(Array.from({ length: 100 }, (_, i) => middle + (i - 50) / 1_000));
    expect(isSeen(near(0.96), near(1))).toBe(true);
    expect(isSeen(near(1.01), near(1))).toBe(false);
  });
});
