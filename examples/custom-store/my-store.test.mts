// Proves the store of my-store.mts: `npx tsx --test my-store.test.mts`
import { test } from "node:test";
import { storeSuite } from "sluice/testing";
import { myStore } from "./my-store.mjs";

storeSuite({
  test,
  factory: ({ clock }) => myStore({ now: clock }),
  lacks: {
    together: "one write changes one key",
    close: "the store opens nothing",
    serverClock: "the store reads the clock of its process",
    bound: "nothing is forgotten yet",
    unreachable: "the Map is in this process",
  },
});
