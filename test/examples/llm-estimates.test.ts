// The table of docs/guides/llm-budgets.md is what the script prints, and the bounds that the page states hold in it.
import { readFileSync } from "node:fs";
import { createLimiter, MemoryStore, perMinute } from "sluice";
import { expect, test } from "vitest";
import { compare } from "../../examples/llm/estimates.js";

const page = readFileSync(new URL("../../docs/guides/llm-budgets.md", import.meta.url), "utf8");
const rows = compare();

test("the page has the rows that the script prints", () => {
  const [, table] = /^\| the estimate \|.*\n\| ---.*\n((?:\|.*\n)+)/m.exec(page) as RegExpExecArray;
  expect(table?.trimEnd().split("\n")).toEqual(rows);
});

test("the most is never in debt, and a minute holds no more than the capacity, the rate and what was reserved", () => {
  const cells = rows.map((row) => row.slice(2, -2).split(" | "));
  const numberOf = (cell: string | undefined): number => Number(cell?.replaceAll(",", ""));
  for (const [name, used, reserved, inMinute, , debt] of cells.filter(([name]) => name?.startsWith("the most"))) {
    expect(debt).toBe("none");
    expect(numberOf(inMinute)).toBeLessThanOrEqual(60_000 + 60_000 + numberOf(reserved));
    if (name?.includes("window")) expect(numberOf(inMinute)).toBeLessThanOrEqual(60_000);
    // Each answer holds 4,000 tokens for half a minute, and uses a tenth of them.
    if (!name?.endsWith("settled")) expect(numberOf(used)).toBeLessThanOrEqual((numberOf(reserved) * 0.1) / (60_000 / 2) + 0.01);
  }
  expect(cells.filter(([name]) => name?.startsWith("the usual use")).map(([, used]) => used)).toEqual(["1.00", "1.00"]);
});

test("30,000 at once and 30,000 a minute let 60,000 through in the first minute", () => {
  let now = 0;
  const limiter = createLimiter({ policy: { name: "tokens", refill: perMinute(30_000) }, store: new MemoryStore({ clock: () => now }) });
  let granted = 0;
  for (; now <= 60_000; now += 2) while (limiter.consume("all").allowed) granted += 1;
  expect(granted).toBe(60_000);
});
