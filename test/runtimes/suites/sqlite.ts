// The laws of the store port for the example over node:sqlite, where the runtime has it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeSuite } from "sluice/testing";
import { afterAll, describe, test } from "vitest";

const isThere = await import("node:sqlite").then(() => true, () => false);
const example = isThere ? await import("../../../examples/custom-store/sqlite-store.js") : null;

describe("sluice/store over node:sqlite", () => {
  if (example === null) return test.skip("the laws (skipped: this runtime has no node:sqlite)");
  const folder = mkdtempSync(join(tmpdir(), "sluice-sqlite-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  storeSuite({
    test,
    factory: ({ clock }) => example.sqliteStore(join(folder, "buckets.db"), clock && { clock }),
    lacks: {
      serverClock: "it goes by the clock of the machine",
      unreachable: "the file is opened when the store is made",
      bound: "rows are swept an hour after they are full",
      close: "the file stays open until the process ends",
    },
  });
});
