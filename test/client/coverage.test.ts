import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LAWS, numbersIn } from "../mutants/numbers.js";

const own = readdirSync(new URL("./", import.meta.url), { recursive: true, encoding: "utf8" });
const files = ["../http/retry-after/retry-after.test.ts", ...own.filter((file) => file.endsWith(".test.ts"))];
const items = Array.from({ length: 20 }, (_, i) => String(44 + i));

test("every item of the contract's checklist for clients has a test that starts with its number", () => {
  const tested = new Set(files.flatMap((file) => numbersIn(readFileSync(new URL(file, import.meta.url), "utf8"))));
  expect(items.filter((item) => !tested.has(item))).toEqual([]);
  expect([...tested].filter((number) => !items.includes(number) && !LAWS.includes(number))).toEqual([]);
});
