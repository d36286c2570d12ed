import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { bundled } from "../../helpers/bundled.js";
import { nodeWithSqlite } from "../../helpers/node-24.js";
import { countGrants } from "./count.js";

const name = "sqlStore over node:sqlite, as in the example";
const node = nodeWithSqlite();
if (node === null) {
  // Not a matter of SLUICE_REQUIRE_SERVICES: Node 20 has no such module, and check:runtimes runs the suite on those that do.
  const missing = "needs Node 24: `npm run check:runtimes` downloads it, or set SLUICE_NODE_24 to the program";
  console.warn(`SKIPPED: ${name} ${missing}`);
  describe.skip(`${name} (skipped: ${missing})`, () => test("is not run", () => undefined));
} else {
  describe(name, () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-sqlite-"));
    afterAll(() => rmSync(folder, { recursive: true }));

    test("passes the suite", async () => {
      const child = spawn(node, ["--test-reporter=tap", await bundled("test/stores/sql/sqlite-child.ts")], { stdio: ["ignore", "pipe", "pipe"] });
      let told = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (told += String(chunk)));
      await once(child, "close");
      const [passed = 0, failed = -1] = ["pass", "fail"].map((word) => Number(new RegExp(`^# ${word} (\\d+)$`, "m").exec(told)?.[1]));
      console.log(`node:sqlite of ${node}: ${passed} passed, ${failed} failed`);
      expect(failed, told).toBe(0);
      expect(passed).toBeGreaterThanOrEqual(60);
    });

    test("L1 · four processes share one file: not one token too many, not one lost", async () => {
      await countGrants("sqlite", join(folder, "counted.db"), node);
    });
  });
}
