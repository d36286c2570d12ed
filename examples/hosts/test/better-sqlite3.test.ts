// The sample of docs/stores/sql.md. Its package compiles or downloads a program when it is installed, so it is optional.
import { fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { storeSuite } from "sluice/testing";
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
  const { sqliteStore } = await import("../sqlite/better-sqlite3-store.js");
  describe(name, () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-better-sqlite3-"));
    afterAll(() => rmSync(folder, { recursive: true }));

    storeSuite({
      test,
      factory: ({ clock }) => sqliteStore(join(folder, "buckets.db"), clock && { clock }),
      lacks: {
        serverClock: "it goes by the clock of the machine",
        unreachable: "the file is opened when the store is made",
        bound: "rows are swept an hour after they are full",
        close: "the file stays open until the process ends",
      },
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
