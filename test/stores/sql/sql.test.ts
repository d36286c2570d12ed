import { sqlStore } from "sluice/store";
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
    factory: ({ empty, ...setup }) => {
      const table = empty ? new FakeTable() : shared;
      const store = sqlStore(table.syncDatabase(setup));
      return { store, writes: () => table.writes, storedBytes: () => table.storedBytes };
    },
    lacks,
  });
});

describe("sqlStore over an asynchronous table with row locks", () => {
  const shared = new FakeTable();
  storeSuite({
    test,
    factory: ({ empty, ...setup }) => {
      const table = empty ? new FakeTable() : shared;
      const store = sqlStore(table.database(setup));
      return { store, writes: () => table.writes, storedBytes: () => table.storedBytes };
    },
    lacks,
  });
});
