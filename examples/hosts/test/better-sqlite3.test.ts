// The sample of docs/stores/sql.md. Its package compiles or downloads a program when it is installed, so it is optional.
import { execFile, fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { messageFrom } from "../../../test/helpers/processes.js";

const name = "sqlStore over better-sqlite3, as in the sample";
const missing = (() => {
  try {
    const Database = createRequire(import.meta.url)("better-sqlite3") as new (path: string) => { close(): unknown };
    new Database(":memory:").close();
    return null;
  } catch (error) {
    return String(error).split("\n")[0] as string;
  }
})();

if (missing !== null) {
  if (process.env["SLUICE_REQUIRE_SERVICES"] === "1") throw new Error(missing);
  console.warn(`SKIPPED: ${name}: ${missing}`);
  describe.skip(`${name} (skipped: ${missing})`, () => test("is not run", () => undefined));
} else {
  describe(name, () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-better-sqlite3-"));
    afterAll(() => rmSync(folder, { recursive: true }));

    test("the suite of the page passes", async () => {
      const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url));
      const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
      const args = ["--import", tsx, "--test", "--test-reporter=tap", pathOf("../sqlite/better-sqlite3-store.test.ts")];
      const env = { ...process.env, TSX_TSCONFIG_PATH: pathOf("../tsconfig.json") };
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env }); // rejects when a test fails
      expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThan(40);
    });

    test("L1 · two processes share one file: not one token too many, not one lost, none decided without the store", async () => {
      const child = fileURLToPath(new URL("better-sqlite3-child.ts", import.meta.url));
      const children = [1, 2].map(() => fork(child, [join(folder, "counted.db")], { execArgv: ["--import", "tsx"] }));
      try {
        await Promise.all(children.map(messageFrom)); // "ready"
        for (const each of children) each.send("go");
        const counts = await Promise.all(children.map((each) => messageFrom<{ granted: number; degraded: number }>(each)));
        console.log(`better-sqlite3, two processes: ${JSON.stringify(counts)}`);
        expect(counts.reduce((sum, { granted }) => sum + granted, 0)).toBe(1_500 * 3);
        expect(counts.map(({ degraded }) => degraded)).toEqual([0, 0]);
      } finally {
        for (const each of children) each.kill("SIGKILL");
      }
    });
  });
}
