// Proves the store: npx tsx --test better-sqlite3-store.test.ts
import { test } from "node:test";
import { storeSuite } from "sluice/testing";
import { sqliteStore } from "./better-sqlite3-store.js";

storeSuite({
  test,
  factory: ({ clock }) => sqliteStore("test.db", clock && { clock }),
  lacks: {
    serverClock: "it goes by the clock of the machine",
    unreachable: "the file is opened when the store is made",
    bound: "rows are swept an hour after they are full",
    close: "the file stays open until the process ends",
  },
});
