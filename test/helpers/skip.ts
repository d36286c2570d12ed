// Tests that need a program or a server that may be missing.
import { describe, test } from "vitest";

/**
 * A `describe`. If something is `missing`, the suite is skipped by name, with a line that says how to get it. With
 * `SLUICE_REQUIRE_SERVICES=1` it fails instead.
 */
export function describeUnless(missing: string | null, name: string, fn: () => void): void {
  if (missing === null) return void describe(name, fn);
  if (process.env["SLUICE_REQUIRE_SERVICES"] === "1") {
    describe(name, () => {
      test(missing, () => Promise.reject(new Error(missing)));
    });
  } else {
    console.warn(`SKIPPED: ${name} ${missing}`);
    describe.skip(`${name} (skipped: ${missing})`, fn);
  }
}
