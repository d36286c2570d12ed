// The suite over the example for SQLite, by the test runner of the Node that has node:sqlite.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { storeSuite } from "sluice/testing";
import { sqliteStore } from "../../../examples/custom-store/sqlite-store.js";

void describe("sqlStore over node:sqlite, as in the example", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-sqlite-"));
  after(() => rmSync(folder, { recursive: true }));
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
});
