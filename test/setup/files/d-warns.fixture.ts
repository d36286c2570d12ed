import { expect, test } from "vitest";
import { warnOnce } from "../../../src/warnings/warnings.js";
import { expectWarnings } from "../warnings.js";

const warn = (): void => warnOnce("SLUICE_STORE_BUG", "one");

test("green: names its warning", () => {
  expectWarnings("SLUICE_STORE_BUG");
  warn();
  expect(1).toBe(1);
});

test("green: names a warning that an earlier test has caused, and one of the console", () => {
  expectWarnings("SLUICE_STORE_BUG: one", "two");
  warn();
  console.error("two");
  expect(1).toBe(1);
});

test("red: a warning", () => {
  warn();
  expect(1).toBe(1);
});

test("red: a line on the console", () => {
  console.warn("two");
  expect(1).toBe(1);
});

test("red: another warning than the one it names", () => {
  expectWarnings("SLUICE_POLICY_NAMES");
  warn();
  expect(1).toBe(1);
});

test("red: no warning", () => {
  expectWarnings("SLUICE_STORE_BUG");
  expect(1).toBe(1);
});
