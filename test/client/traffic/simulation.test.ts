import { readFileSync } from "node:fs";
import { draft11, draft7, triple, xRateLimit, type HeaderStyle } from "sluice/http";
import { describe, expect, test } from "vitest";
import { crowd } from "../../../bench/client/outage.js";
import { FIFTY, simulate, type Run } from "../../../bench/client/simulate.js";
import { SPREAD_END_MS, spreadRows } from "../../../bench/client/spread.js";
import { strategies } from "../../../bench/client/strategies.js";
import { drawSpread } from "../../../docs/images/draw-client.js";

const refusals = ({ wire }: Run): number => wire.filter(({ refused }) => refused).length;
const play = (name: string, seed: number, more: Partial<typeof FIFTY> = {}): Promise<Run> => {
  const strategy = strategies.find((each) => each.name === name);
  if (strategy === undefined) throw new Error(name);
  return simulate(strategy, { ...FIFTY, callsEach: 10, ...more }, seed);
};
/** What the budget allows at best: 20 at once, then 20 a second. */
const SOONEST_MS = ((50 * 10 - 20) / 20) * 1_000;

describe("fifty callers under one budget", { timeout: 60_000 }, () => {
  test.each([1, 2])("shared and paced: 2 refusals at most, and at most 10 % slower than the budget (seed %i)", async (seed) => {
    const run = await play("shared and paced", seed);
    expect(refusals(run)).toBeLessThanOrEqual(2);
    expect(run.doneMs).toBeGreaterThan(SOONEST_MS);
    expect(run.doneMs).toBeLessThan(SOONEST_MS * 1.1);
  });

  test.each([["triple", triple], ["draft-7", draft7], ["draft-11", draft11], ["x-ratelimit", xRateLimit]] as ReadonlyArray<[string, () => HeaderStyle]>)("2 refusals at most with the fields of style %s alone", async (name, style) => {
    expect(refusals(await play("shared and paced", 1, { headers: ({ clock }) => [name === "x-ratelimit" ? xRateLimit({ clock }) : style()], callsEach: 4 }))).toBeLessThanOrEqual(2);
  });

  test("shared waits alone: less than half the refusals of separate calls", async () => {
    const [alone, shared] = [await play("this client", 1), await play("with shared waits", 1)];
    expect(refusals(shared)).toBeLessThan(refusals(alone) / 2);
    expect(refusals(shared)).toBeGreaterThan(0);
  });
});

describe("50 · a thousand clients after one outage", { timeout: 60_000 }, async () => {
  const drawn = await spreadRows();

  test.each([
    ["each with its own traffic", drawn],
    ["without traffic, other seeds", await spreadRows({ seed: 2, traffic: false })],
  ])("are not in lockstep, %s: no 100 ms exceed the stated bound", (_, [lockstep, ...rows]) => {
    expect(crowd(lockstep.retries)).toBeGreaterThan(lockstep.bound);
    for (const { retries, bound } of rows) expect(crowd(retries)).toBeLessThanOrEqual(bound);
  });

  test("49 · none is early", () => {
    const [, told] = drawn;
    expect(told.retries).toHaveLength(1_000);
    expect(Math.min(...told.retries)).toBeGreaterThanOrEqual(10_000);
    expect(Math.max(...told.retries)).toBeLessThanOrEqual(11_000);
  });

  test("the picture shows these retries", () => {
    expect(readFileSync("docs/images/client-spread.svg", "utf8")).toBe(drawSpread(drawn, SPREAD_END_MS));
  });
});

test("crowd counts the most instants within any 100 ms, wherever they begin", () => {
  expect(crowd([0, 99, 100, 150, 198, 500])).toBe(4);
});
