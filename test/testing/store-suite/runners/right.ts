// "runner" is an alias for the test runner.
import { test } from "runner";
import { MemoryStore } from "../../../../src/index.js";
import { storeSuite } from "../../../../src/testing/index.js";

storeSuite({
  test,
  factory: ({ clock, maxKeys = 1_000 }) => new MemoryStore({ maxKeys, ...(clock && { clock }) }),
  lacks: {
    close: "the store opens nothing",
    sharing: "each store has its own buckets",
    serverClock: "it reads the process's clock",
    unreachable: "the buckets are in this process",
  },
});
