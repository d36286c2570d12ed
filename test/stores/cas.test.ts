import { connect, StorageType, type KV, type NatsConnection } from "nats";
import { casStore, type CasBackend } from "sluice/store";
import { storeSuite, type StoreSetup } from "sluice/testing";
import { afterAll, beforeAll, describe, test } from "vitest";
import { natsBackend } from "../../examples/custom-store/nats-store.js";
import { mapBackend, unreachableBackend } from "../helpers/map-backend.js";
import { describeWith, natsUrl } from "../helpers/services.js";

const lacks = {
  together: "one write changes one key",
  serverClock: "it goes by the clocks of the processes",
  close: "the backend is the caller's",
  bound: "the backend's own expiry bounds it",
};

/** A store over `backend`, whose unreachable twin always fails. */
const over = <Version>(backend: () => CasBackend<Version>) => ({
  factory: ({ clock, unreachable, timeoutMs, breaker, sharedBy }: StoreSetup) => casStore(unreachable ? unreachableBackend : backend(), { time: { now: clock }, timeoutMs, breaker, sharedBy }),
  lacks,
});

describe("compare-and-set, a plain Map", () => {
  const backend = mapBackend();
  const { kept, calls } = backend;
  const { factory } = over(() => backend);
  storeSuite({
    test,
    factory: (setup) => {
      if (setup.empty) kept.clear();
      const storedBytes = () => [...kept].reduce((sum, entry) => sum + Buffer.byteLength(entry.join("")), 0);
      return { store: factory(setup), writes: () => calls.writes, storedBytes };
    },
    lacks,
  });
});

describeWith("nats", "compare-and-set, NATS JetStream", () => {
  let connection: NatsConnection;
  let bucket: KV;
  beforeAll(async () => {
    connection = await connect({ servers: natsUrl() });
    // Version and value are the server's revisions, in memory here so that it is quick.
    bucket = await connection.jetstream().views.kv(`kit-${process.pid}`, { history: 1, storage: StorageType.Memory });
  });
  afterAll(async () => {
    await bucket.destroy();
    await connection.close();
  });
  storeSuite({ test, ...over(() => natsBackend(bucket)) });
});
