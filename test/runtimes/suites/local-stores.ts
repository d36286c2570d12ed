// The laws of the store port for the stores that need no server: also in a page and in a Worker.
import { MemoryStore } from "sluice";
import { casStore, sqlStore } from "sluice/store";
import { storeSuite } from "sluice/testing";
import { describe, test } from "vitest";
import { mapBackend, unreachableBackend } from "../../helpers/map-backend.js";

describe("the memory store", () => {
  storeSuite({
    test,
    factory: ({ clock, maxKeys = 10_000 }) => new MemoryStore({ maxKeys, ...(clock && { clock }) }),
    lacks: {
      close: "it opens nothing",
      sharing: "it is this process's own",
      serverClock: "it goes by this process's",
      unreachable: "it is in this process",
    },
  });
});

describe("sluice/store over a Map", () => {
  const backend = mapBackend();
  storeSuite({
    test,
    factory: ({ clock, unreachable, timeoutMs, breaker, sharedBy }) => casStore(unreachable ? unreachableBackend : backend, { time: { now: clock }, timeoutMs, breaker, sharedBy }),
    lacks: {
      together: "one write changes one key",
      serverClock: "it goes by the clocks of the processes",
      close: "the backend is the caller's",
      bound: "the backend's own expiry bounds it",
    },
  });
});

describe("sluice/store over a Map", () => {
  const kept = new Map<string, string>();
  storeSuite({
    test,
    factory: ({ clock, unreachable, breaker, sharedBy }) =>
      sqlStore<Map<string, string>>({
        sync: true,
        clock, breaker, sharedBy,
        transaction: (run) => {
          if (unreachable) throw new Error("no connection");
          run(kept);
        },
        read: (tx, name) => ({ value: tx.get(name) }),
        write: (tx, name, value) => tx.set(name, value),
      }),
    lacks: {
      serverClock: "it goes by this process's",
      close: "the database is the caller's",
      bound: "the database's own sweep bounds it",
    },
  });
});
