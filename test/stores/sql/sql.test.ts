import { sqlStore } from "sluice/sql";
import { storeSuite } from "sluice/testing";
import { describe, test } from "vitest";
import { FakeTable } from "./fake-table.js";

const lacks = {
  serverClock: "it goes by the clocks of the processes",
  close: "the database is the caller's",
  bound: "rows are swept when they are full",
};

describe("sqlStore over a synchronous table", () => {
  const shared = new FakeTable();
  storeSuite({
    test,
    factory: ({ clock, unreachable, empty }) => {
      const table = empty ? new FakeTable() : shared;
      const store = sqlStore(table.syncDatabase({ clock, unreachable }));
      return { store, writes: () => table.writes, storedBytes: () => table.storedBytes };
    },
    lacks,
  });
});

describe("sqlStore over an asynchronous table with row locks", () => {
  const shared = new FakeTable();
  storeSuite({
    test,
    factory: ({ clock, unreachable, empty }) => {
      const table = empty ? new FakeTable() : shared;
      const store = sqlStore(table.database({ clock, unreachable }));
      return { store, writes: () => table.writes, storedBytes: () => table.storedBytes };
    },
    lacks,
  });
});
