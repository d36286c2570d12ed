// The store for MongoDB under the store suite: MongoDB's driver on real sockets, in front of a stand-in for the server.
import { MongoClient, type Collection } from "mongodb";
import { createLimiter, perHour } from "sluice";
import { storeSuite } from "sluice/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../../test/helpers/free-port.js";
import { mongoStore, type Bucket } from "../mongodb/mongo-store.js";
import { startMongoStandIn } from "./servers/mongo-stand-in.js";

describe("casStore over MongoDB's driver", () => {
  let server: Awaited<ReturnType<typeof startMongoStandIn>>;
  const clients: MongoClient[] = [];
  let [buckets, others, nowhere]: Collection<Bucket>[] = [];
  const open = (url: string, options = {}): Collection<Bucket> => {
    const client = new MongoClient(url, { retryWrites: false, serverApi: "1", ...options });
    clients.push(client);
    return client.db("app").collection<Bucket>("buckets");
  };
  beforeAll(async () => {
    server = await startMongoStandIn();
    [buckets, others] = [open(server.url), open(server.url)];
    nowhere = open(`mongodb://127.0.0.1:${await freePort()}/`, { serverSelectionTimeoutMS: 50 });
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await server.close();
  });

  storeSuite({
    test,
    factory({ clock, unreachable, empty, timeoutMs, breaker, sharedBy }) {
      if (empty) server.kept.clear();
      const store = mongoStore((unreachable ? nowhere : buckets) as Collection<Bucket>, { ...(clock && { time: { now: clock } }), timeoutMs, breaker, sharedBy });
      return { store, writes: () => server.counted.writes };
    },
    lacks: { together: "it changes one document at a time", serverClock: "it goes by the clock of the machine", close: "the client is the caller's", bound: "MongoDB deletes by the index on expiresAt" },
  });

  test("two clients that compete for one bucket grant its capacity, and not one token more", async () => {
    const policy = { name: "shared", capacity: 40, refill: perHour(1) };
    const limiters = [buckets, others].map((each) => createLimiter({ policy, store: mongoStore(each as Collection<Bucket>, { timeoutMs: 30_000, attempts: 200 }) }));
    const decisions = await Promise.all(Array.from({ length: 100 }, (_, i) => Promise.resolve(limiters[i % 2]?.consume(["user", "ann"]))));
    expect(decisions.filter((decision) => decision?.allowed && !decision.degraded)).toHaveLength(40);
  });

  test("a document says when MongoDB may delete it, and no two writes have one version", async () => {
    const limiter = createLimiter({ policy: { name: "kept", capacity: 2, refill: perHour(1) }, store: mongoStore(buckets as Collection<Bucket>) });
    const before = Date.now();
    await limiter.consume("ann");
    const [first] = [...server.kept.values()].filter(({ _id }) => String(_id).startsWith("kept"));
    await limiter.consume("ann");
    const [second] = [...server.kept.values()].filter(({ _id }) => String(_id).startsWith("kept"));
    expect(Number(first?.["expiresAt"])).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(String(second?.["version"])).not.toBe(String(first?.["version"]));
  });
});
