// Options, warnings and codes of errors on the pages are those of the docstrings.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { referencePages, withReference } from "../../scripts/write-reference.mjs";
import { ROOT } from "../helpers/docs-read.js";

test.each(["docs/options.md", "docs/guides/errors.md", "docs/guides/warnings.md"])("%s follows the docstrings", (path) => {
  const text = readFileSync(join(ROOT, path), "utf8");
  expect(referencePages()).toContain(path);
  expect(withReference(text, path)).toBe(text);
});

test("a page that asks for an option that is gone says which", () => {
  const page = "<!-- members of src/limiter/options.ts LimiterOptions.stores -->\n<!-- end -->";
  expect(() => withReference(page, "docs/a.md")).toThrow("docs/a.md asks for LimiterOptions.stores");
  expect(() => withReference("<!-- codes of src/guard/errors.ts withCause -->\n<!-- end -->", "docs/a.md")).toThrow("lists no codes");
});

test("a changed docstring changes the page", () => {
  const page = "<!-- members of src/limiter/options.ts LimiterOptions.store -->\nold\n<!-- end -->\n";
  expect(withReference(page, "docs/a.md")).toContain("| `store` | The store that keeps the buckets.");
});
