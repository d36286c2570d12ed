// The record of a window, amount by amount: the right lists, reckoned by hand.
import { describe, expect, test } from "vitest";
import { afterMs, definePolicy } from "../../src/index.js";
import { changeUnits, fullBucket, isStale, msUntil, spentAt } from "../../src/core/bucket.js";
import type { Bucket } from "../../src/core/model.js";
import { MOST_AMOUNTS, setAmounts } from "../../src/limits/window-amounts.js";

const [limit] = definePolicy({ capacity: 9_999, returns: afterMs(10_000) }).limits;

/** Last date, tokens, first date of each amount. */
function recordOf(...amounts: readonly (readonly [number, number, number])[]): Bucket {
  const bucket = fullBucket(limit);
  setAmounts(bucket, limit, amounts.flat());
  return bucket;
}

/** 18 amounts of one token, a second apart but for the third, which is 900 ms after the second. */
const many = Array.from({ length: MOST_AMOUNTS }, (_, i) => [9_999 + 500 * i - (i > 1 ? 100 : 0), 1, 9_999 + 500 * i - (i > 1 ? 100 : 0)] as const);

describe("L22 · the record of a window", () => {
  type Row = readonly [what: string, before: readonly (readonly [number, number, number])[], now: number, units: number, from: number | undefined, after: readonly number[]];
  const rows: readonly Row[] = [
    ["takes tokens at the end", [[9_999, 2, 9_999]], 1, 3, undefined, [9_999, 2, 9_999, 10_000, 3, 10_000]],
    ["adds tokens of one instant", [[9_999, 2, 9_999]], 0, 3, undefined, [9_999, 5, 9_999]],
    ["keeps an amount in its last millisecond", [[9_999, 2, 9_999]], 9_999, 0, undefined, [9_999, 2, 9_999]],
    ["drops an amount after it", [[9_999, 2, 9_999]], 10_000, 0, undefined, []],
    ["keeps the first date when time is over it", [[12_000, 2, 9_999]], 11_000, 1, undefined, [12_000, 2, 9_999, 20_999, 1, 20_999]],
    ["gives back to the amount of an exact date", [[9_999, 2, 9_999], [10_500, 2, 10_500]], 600, -1, 501, [9_999, 2, 9_999, 10_500, 1, 10_500]],
    ["gives back within an amount", [[9_999, 2, 9_999], [10_500, 3, 10_100]], 600, -1, 300, [9_999, 2, 9_999, 10_500, 2, 10_100]],
    ["gives back at the first date of an amount", [[10_500, 3, 10_100]], 600, -1, 101, [10_500, 2, 10_100]],
    ["gives nothing back between two amounts", [[9_999, 2, 9_999], [10_500, 3, 10_100]], 600, -1, 50, [9_999, 2, 9_999, 10_500, 3, 10_100]],
    ["gives nothing back behind the last amount", [[9_999, 2, 9_999]], 600, -1, 1, [9_999, 2, 9_999]],
    ["gives no more back than an amount holds", [[9_999, 2, 9_999], [10_500, 3, 10_100]], 600, -9, 0, [10_500, 3, 10_100]],
    ["gives nothing back whose date is over, though its amount is there", [[12_000, 2, 9_000]], 9_500, -1, -600, [12_000, 2, 9_000]],
    ["gives a credit to what was taken last", [[9_999, 2, 9_999], [10_500, 3, 10_100]], 600, -4, undefined, [9_999, 1, 9_999]],
    ["gives no more credit than there is", [[9_999, 2, 9_999]], 600, -4, undefined, []],
    ["makes an impossible date that of tokens that are taken now", [[9_000, 1, 9_000], [12_500, 2, 9_900], [14_000, 3, 14_000]], 0, 0, undefined, [9_000, 1, 9_000, 9_999, 5, 9_900]],
    ["makes both dates of an impossible amount that of now", [[14_000, 3, 13_000]], 0, 1, undefined, [9_999, 4, 9_999]],
  ];
  test.each(rows)("L22 · %s", (_, before, now, units, from, after) => {
    const bucket = recordOf(...before);
    changeUnits(bucket, limit, now, units, from);
    expect(bucket.dates).toEqual(after);
    expect([bucket.spent, bucket.at]).toEqual([after.reduce((sum, each, i) => (i % 3 === 1 ? sum + each : sum), 0), after.at(-3) ?? 0]);
  });

  test("L22 · of 19 amounts, the two that are shortest together become one that comes back last", () => {
    const bucket = recordOf(...many);
    changeUnits(bucket, limit, 8_800, 5);
    const [, first, second] = many;
    expect(bucket.dates).toEqual([...many.slice(0, 1), [second?.[0], 2, first?.[2]], ...many.slice(3), [18_799, 5, 18_799]].flat());
  });

  test("L22 · of equally short neighbors, the earliest become one", () => {
    const even = many.map((_, i) => [9_999 + 500 * i, 1, 9_999 + 500 * i] as const);
    const bucket = recordOf(...even);
    changeUnits(bucket, limit, 9_000, 5);
    expect(bucket.dates?.slice(0, 6)).toEqual([10_499, 2, 9_999, 10_999, 1, 10_999]);
    expect(bucket.dates).toHaveLength(3 * MOST_AMOUNTS);
  });

  test("L22 · neighbors are as long as from the first date of the one to the last date of the other", () => {
    const others = Array.from({ length: 16 }, (_, i) => [11_200 + 500 * i, 1, 11_200 + 500 * i] as const);
    const bucket = recordOf([10_400, 4, 9_999], [10_700, 1, 10_700], ...others);
    // The first two end 300 ms apart, and are 701 ms long.
    changeUnits(bucket, limit, 9_300, 1);
    expect(bucket.dates?.slice(0, 9)).toEqual([10_400, 4, 9_999, 11_200, 2, 10_700, 11_700, 1, 11_700]);
  });

  test("L22 · what was joined is as long as from its first date to the next amount's last", () => {
    const bucket = recordOf([10_400, 4, 9_999], ...many.slice(3));
    changeUnits(bucket, limit, 8_800, 1);
    changeUnits(bucket, limit, 8_900, 1);
    changeUnits(bucket, limit, 9_300, 1);
    // The last two are 100 ms apart, and 500 together with the next one: as short as all others, and later.
    expect(bucket.dates?.slice(-6)).toEqual([18_899, 2, 18_799, 19_299, 1, 19_299]);
    expect(bucket.dates?.slice(0, 3)).toEqual([10_400, 4, 9_999]);
  });

  test("L22 · drops what is over before it joins", () => {
    const bucket = recordOf(...many);
    changeUnits(bucket, limit, 10_000, 5);
    expect(bucket.dates).toEqual([...many.slice(1), [19_999, 5, 19_999]].flat());
  });

  test("L22 · waits until the date of the amount that has the last of the tokens", () => {
    const bucket = recordOf([9_999, 2, 9_999], [10_500, 3, 10_100]);
    expect([1, 2, 3, 5].map((units) => msUntil(units, limit, bucket, 600))).toEqual([9_400, 9_400, 9_901, 9_901]);
    // At a clock that stepped back, no longer than a window.
    expect([1, 5].map((units) => msUntil(units, limit, bucket, -5_000))).toEqual([10_000, 10_000]);
    expect([600, 10_000, 10_501].map((now) => spentAt(bucket, limit, now))).toEqual([5, 3, 0]);
  });

  test("L22 · a record is in need of a change when its last date is too far ahead, and not before", () => {
    const bucket = recordOf([10_500, 3, 10_100]);
    expect([501, 500].map((now) => isStale(bucket, limit, now))).toEqual([false, true]);
  });

  test("L22 · a record without a list is one amount", () => {
    const bucket = { ...fullBucket(limit), spent: 4, at: 9_999 };
    changeUnits(bucket, limit, 500, 1);
    expect(bucket.dates).toEqual([9_999, 4, 9_999, 10_499, 1, 10_499]);
  });
});
