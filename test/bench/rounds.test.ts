// How the benchmarks order their sides, and how sure they are of a ratio.
import { describe, expect, test } from "vitest";
import { isSeen, likelyRatio, orderOf } from "../../bench/ratios.js";

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

  test("two ratios differ when their intervals do not meet", () => {
    const near = (middle: number) => likely(Array.from({ length: 100 }, (_, i) => middle + (i - 50) / 1_000));
    expect(isSeen(near(0.96), near(1))).toBe(true);
    expect(isSeen(near(1.01), near(1))).toBe(false);
  });
});
