// The checker of fault runs finds what no law allows.
import { describe, expect, test } from "vitest";
import { check } from "./checker.js";
import type { Line } from "./lines.js";

const NOON = 1_800_000_000_000 - (1_800_000_000_000 % 86_400_000) + 43_200_000;

const grants = (limit: string, count: number, at = NOON, cost = 1): Line[] =>
  Array.from({ length: count }, (_, i) => ({ event: "grant", work: `${limit} ${at} ${i}`, limit, at, cost }));
const end = (line: Line | undefined, at: number, used = 0): Line => ({ event: "end", work: (line as { work: string }).work, at, used });
const lawsOf = (...lines: readonly Line[]) => {
  const { allowed, forbidden } = check(lines);
  return [Object.fromEntries(allowed), forbidden.length];
};

describe("the checker", () => {
  test("allows a rate its capacity and what refills, and one token more is forbidden", () => {
    expect(lawsOf(...grants("rate", 20), ...grants("rate", 1, NOON + 10))).toEqual([{ L1: 21 }, 0]);
    expect(lawsOf(...grants("rate", 20), ...grants("rate", 1, NOON + 9))).toEqual([{ L1: 20 }, 1]);
  });

  test("allows one capacity more after a loss of data, and none without", () => {
    const lines = [...grants("rate", 20), ...grants("rate", 20, NOON + 1)];
    expect(lawsOf(...lines)).toEqual([{ L1: 20 }, 20]);
    expect(lawsOf(...lines, { event: "loss", from: NOON + 1, to: NOON + 1 })).toEqual([{ L1: 20, "L1, after a loss of data": 20 }, 0]);
    expect(lawsOf(...lines, ...grants("rate", 1, NOON + 2), { event: "loss", from: NOON + 1, to: NOON + 1 })[1]).toBe(1);
  });

  test("counts a charge minus what was given back by then", () => {
    const lines = grants("settled", 15, NOON, 2);
    const ended = lines.map((line) => end(line, NOON + 1, 1));
    expect(lawsOf(...lines, ...ended, ...grants("settled", 15, NOON + 2))).toEqual([{ "L1, net of what is given back": 30 }, 0]);
    expect(lawsOf(...lines, ...ended, ...grants("settled", 16, NOON + 2))[1]).toBe(1);
    expect(lawsOf(...lines, ...lines.map((line) => end(line, NOON + 4, 1)), ...grants("settled", 1, NOON + 2))[1]).toBe(1);
    expect(lawsOf(...lines, ...grants("settled", 1, NOON + 2))[1]).toBe(1);
  });

  test("allows what works from before a window give back within it, and no more", () => {
    const [old, next, last] = [NOON, NOON + 600, NOON + 602].map((at) => grants("settled", 15, at, 2)) as [Line[], Line[], Line[]];
    const ended = old.map((line) => end(line, NOON + 601));
    expect(lawsOf(...old, ...next, ...ended, ...last)).toEqual([{ "L1, net of what is given back": 30, "L1, with what older works give back": 15 }, 0]);
    expect(lawsOf(...old, ...next, ...ended, ...last, ...grants("settled", 1, NOON + 602))[1]).toBe(1);
    expect(lawsOf(...old, ...next, ...last)[1]).toBe(15);
    // A settlement that is known to have come before the window gives back nothing within it.
    const settled = old.map(({ work }: Line & { work?: string }): Line => ({ event: "settled", work: work as string, at: NOON + 598 }));
    expect(lawsOf(...old, ...next, ...ended, ...settled, ...last)[1]).toBe(15);
    expect(lawsOf(...old, ...next, ...last, { event: "loss", from: NOON + 601, to: NOON + 601 })[1]).toBe(0);
  });

  test("allows a quota its capacity in each day", () => {
    expect(lawsOf(...grants("day", 400), ...grants("day", 400, NOON + 86_400_000))).toEqual([{ L20: 800 }, 0]);
    expect(lawsOf(...grants("day", 401))).toEqual([{ L20: 400 }, 1]);
    expect(lawsOf(...grants("day", 400), ...grants("day", 401, NOON + 5), { event: "loss", from: NOON + 1, to: NOON + 3 })).toEqual([{ L20: 400, "L20, after a loss of data": 400 }, 1]);
  });

  test("allows so many works in flight, until they end or go stale", () => {
    const [first, ...lines] = grants("parallel", 3);
    const all = [first as Line, ...lines];
    expect(lawsOf(...all, ...grants("parallel", 1, NOON + 500))).toEqual([{ L21: 3 }, 1]);
    expect(lawsOf(...all, end(first, NOON + 400), ...grants("parallel", 1, NOON + 500))).toEqual([{ L21: 4 }, 0]);
    expect(lawsOf(...all, ...grants("parallel", 3, NOON + 1_000))).toEqual([{ L21: 6 }, 0]);
    expect(lawsOf(...all, ...grants("parallel", 4, NOON + 500), { event: "loss", from: NOON + 1, to: NOON + 2 })).toEqual([{ L21: 3, "L21, after a loss of data": 3 }, 1]);
  });

  test("allows one work more for each work from before a loss that gave back a neighbor's token of the same sixteenth", () => {
    const [old] = grants("parallel", 1, NOON - 2);
    const loss: Line = { event: "loss", from: NOON - 1, to: NOON - 1 };
    const lines = [old as Line, loss, ...grants("parallel", 4)];
    expect(lawsOf(...lines, end(old, NOON))[1]).toBe(0);
    expect(lawsOf(...lines, end(old, NOON + 5))[1]).toBe(1);
  });
});
