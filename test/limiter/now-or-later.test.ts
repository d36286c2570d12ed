// Several calls at once, of which some answer now and some later.
import { describe, expect, test, vi } from "vitest";
import { orElse, startAll, thenAll, thenOne } from "../../src/limiter/now-or-later.js";
import { expectNoUnhandled } from "../helpers/unhandled.js";

expectNoUnhandled();

const gone = new Error("gone");
const fail = (): never => {
  throw gone;
};
const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

describe("a value now or later", () => {
  test("is handed on now, or later", async () => {
    expect(thenOne(2, (n) => n + 1)).toBe(3);
    await expect(thenOne(Promise.resolve(2), (n) => n + 1)).resolves.toBe(3);
    expect(thenAll([1, 2], sum)).toBe(3);
    await expect(thenAll([1, Promise.resolve(2)], sum)).resolves.toBe(3);
  });

  test("is replaced when its call throws or rejects", async () => {
    expect(orElse<unknown>(() => 1, () => 2)).toBe(1);
    expect(orElse<unknown>(fail, (error) => error)).toBe(gone);
    await expect(orElse<unknown>(() => Promise.reject(gone), (error) => error)).resolves.toBe(gone);
  });
});

describe("several calls", () => {
  test("answer at once when all of them do, and otherwise later", async () => {
    expect(startAll([() => 1, () => 2], sum)).toBe(3);
    await expect(startAll([() => 1, async () => 2], sum)).resolves.toBe(3);
    expect(startAll([], sum)).toBe(0);
  });

  test("L17 · throw at once when all of them answer at once, after all were started", () => {
    const last = vi.fn(() => 1);
    const next = vi.fn();
    expect(() => startAll([fail, last], next)).toThrow(gone);
    expect(last).toHaveBeenCalledTimes(1);
    expect(next).not.toHaveBeenCalled();
  });

  const later = new Error("later");
  test.each<[name: string, calls: ReadonlyArray<() => number | Promise<number>>, first: Error]>([
    ["one rejects and a later one throws", [() => Promise.reject(later), fail], gone],
    ["one throws and a later one rejects", [fail, () => Promise.reject(later)], gone],
    ["all reject", [() => Promise.reject(later), () => Promise.reject(gone)], later],
    ["all of many fail", [() => Promise.reject(later), fail, () => Promise.reject(later), fail, async () => 1], gone],
  ])("L17 · reject once, with the first error, and leave no rejection without a handler: %s", async (_, calls, first) => {
    const started = calls.map((call) => vi.fn(call));
    const next = vi.fn();
    await expect(startAll(started, next)).rejects.toBe(first);
    expect(started.map((call) => call.mock.calls.length)).toEqual(calls.map(() => 1));
    expect(next).not.toHaveBeenCalled();
  });

  test("L17 · fail when the last of them has ended, not before", async () => {
    let end = (): void => {};
    const open = new Promise<number>((resolve) => (end = () => resolve(1)));
    let failed = false;
    const all = Promise.resolve(startAll([fail, () => Promise.reject(later), () => open], sum)).finally(() => (failed = true));
    const settled = expect(all).rejects.toBe(gone);
    await new Promise(setImmediate);
    expect(failed).toBe(false);
    end();
    await settled;
  });

  test("a value that is no error is thrown as it is, undefined too", async () => {
    const thrown = async (call: () => number | Promise<number>): Promise<unknown> => {
      try {
        await startAll([call], sum);
      } catch (error) {
        return [error];
      }
      return "nothing";
    };
    expect(await thrown(() => Promise.reject(undefined as never))).toEqual([undefined]); // oxlint-disable-line prefer-promise-reject-errors
  });
});
