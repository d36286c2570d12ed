// `retryAfterMs` is Infinity when no wait helps. A field made of it by hand would say so, which is no valid field.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Where a text makes seconds or a field of `retryAfterMs`, or writes a field without asking whether a wait helps. */
const BY_HAND = [
  /retryAfterMs\b[^;\n]*\/\s*(?:1_?000|1e3)\b/,
  /toRetryAfter\([^)]*retryAfterMs/,
  /Retry-After"?(?::|,)? ?[^;\n]*\bretryAfterMs\b/,
  /\bretryAfterMs\b[^;\n]*Retry-After"/,
  /Retry-After[^;\n]*\$\{retryAfterSeconds\(/,
];

/** Lines that are not a field of ours. */
const OTHERS = [
  // The option of a header style of one's own, in milliseconds: the gate leaves it out where no wait helps.
  'retryAfterMs: "Retry-After-Ms"',
  // The meaning of both under leases.
  "| `retryAfterMs`, `Retry-After` |",
];

test.each([
  ['response.setHeader("Retry-After", Math.ceil(decision.retryAfterMs / 1_000));', true],
  ["const seconds = Math.ceil(retryAfterMs/1000);", true],
  ['headers: { "Retry-After": String(toRetryAfter(retryAfterMs)) }', true],
  ['headers: { "Retry-After": String(decision.retryAfterMs) }', true],
  ["`Retry-After: ${retryAfterSeconds(decision)}`", true],
  ["const seconds = retryAfterSeconds(decision);", false],
  ["console.log(decision.retryAfterMs);", false],
])("finds a field that is made by hand in %s: %s", (line, found) => {
  expect(BY_HAND.some((pattern) => pattern.test(line))).toBe(found);
});

test("no page and no example makes `Retry-After` of `retryAfterMs` by hand: `retryAfterSeconds` says when no wait helps", () => {
  const files = execFileSync("git", ["ls-files", "README.md", "docs", "examples", "skills", "site"], { encoding: "utf8" }).split("\n");
  const found: string[] = [];
  for (const file of files) {
    if (!/\.(?:md|m?[jt]sx?|html|vue)$/.test(file) || /docs\/(?:decisions|images)\//.test(file)) continue;
    for (const line of readFileSync(file, "utf8").split("\n")) {
      if (BY_HAND.some((pattern) => pattern.test(line)) && !OTHERS.some((other) => line.includes(other))) found.push(`${file}: ${line.trim()}`);
    }
  }
  expect(found).toEqual([]);
});
