// Registered under whichever runner "runner" stands for.
import { test } from "runner";
import { MemoryStore } from "../../../../src/index.js";
import { storeSuite } from "../../../../src/testing/index.js";

storeSuite({
  test,
  factory: ({ clock, maxKeys = 1_000 }) => new MemoryStore({ maxKeys, ...(clock && { clock }) }),
  lacks: {
    close: "it opens nothing",
    sharing: "it is this process's own",
    serverClock: "it goes by this process's",
    unreachable: "it is in this process",
  },
});
