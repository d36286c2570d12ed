// The laws of the store port for the stores that need no server: also in a page and in a Worker.
import { MemoryStore } from "sluice";
import { casStore, type CasBackend, sqlStore } from "sluice/store";
import { storeSuite } from "sluice/testing";
import { describe, test } from "vitest";

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
  const kept = new Map<string, string>();
  const backend: CasBackend<string> = {
    async read(key) {
      const value = kept.get(key);
      return value === undefined ? null : { value, version: value };
    },
    async write(key, value, version) {
      if ((kept.get(key) ?? null) !== version) return false;
      kept.set(key, value);
      return true;
    },
  };
  const fail = () => Promise.reject(new Error("no connection"));
  storeSuite({
    test,
    factory: ({ clock, unreachable, timeoutMs, breaker, sharedBy }) => casStore(unreachable ? { read: fail, write: fail } : backend, { time: { now: clock }, timeoutMs, breaker, sharedBy }),
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
