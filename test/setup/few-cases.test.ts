import fc from "fast-check";
import { expect, test } from "vitest";

test("a property draws at most 20 cases in `npm test`, and all of them in `npm run check`", () => {
  let drawn = 0;
  fc.assert(fc.property(fc.nat(), () => void (drawn += 1)), { numRuns: 60 });
  expect(drawn).toBe(process.env["SLUICE_ALL_CASES"] === "1" ? 60 : 20);
});
