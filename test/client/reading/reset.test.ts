/** Checklist item 60 of the HTTP contract: the fields that say when a limit resets. The vectors hold the single cases. */
import { expect, test } from "vitest";
import { parseWait } from "sluice/client";
import { parseReset } from "../../../src/client/reading/counters.js";

const NOW = Date.UTC(2026, 7, 15, 12);

test("60 · a reset of up to 64 characters is read", () => {
  expect(parseReset("5".padStart(64, "0"), NOW)).toBe(5_000);
  expect(parseReset("5".padStart(65, "0"), NOW)).toBeNull();
  expect(parseReset(`2026-08-15T12:00:01.${"0".repeat(43)}Z`, NOW)).toBe(1_001);
  expect(parseReset(`2026-08-15T12:00:01.${"0".repeat(44)}Z`, NOW)).toBeNull();
});

test("60 · a reset that is long and malformed takes no time", () => {
  // Reading that took quadratic time would run for hours.
  const long = (piece: string): string => piece.repeat(5_000_000);
  const texts = [long("1"), long("1") + "x", "0." + long("1") + "x", "1111-" + long("T"), "2026-08-15T" + long(":"), long("1s") + "!", long(" ") + "1"];
  expect(texts.map((text) => parseReset(text, NOW))).toEqual(texts.map(() => null));
});

test("60 · ISO 8601 needs a date, a time and a zone", () => {
  expect(parseReset("2026-08-15T12:00Z", NOW)).toBe(0);
  for (const text of ["2026-08-15", "2026-08-15T12:00", "2026-08-15 12:00Z", "2026-8-15T12:00Z", "2026-08-15T12:00z", "2026-08-15T25:00Z", "1111-TTTTZ"]) {
    expect([text, parseReset(text, NOW)]).toEqual([text, null]);
  }
});

const date = "Sat, 15 Aug 2026 12:00:55";
test.each([
  ["2026-08-15T12:00:55+0000", 55_000],
  [`${date} UTC`, 55_000],
  [`${date} +0000`, 55_000],
  ["2026-08-15T12:00:55Z, 2026-08-15T12:00:56Z", 56_000],
  [`${date} GMT, ${date} GMT`, 55_000],
  [`50, ${date} GMT`, 55_000],
])("60 · other forms of an instant, and lists of resets, are read: %s", (text, waitMs) => {
  const remaining = text.replaceAll(/Sat, /g, "").replaceAll(/[^,]+/g, "0");
  const headers = { "X-RateLimit-Remaining": remaining, "X-RateLimit-Reset": text };
  expect(parseWait(headers, NOW)).toEqual({ waitMs, source: "vendor" });
});
