import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { connect, type KV, type NatsConnection } from "nats";
import { createLimiter, perSecond, type SyncStore } from "sluice";
import { ManualClock, storeSuite } from "sluice/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FileStore } from "../../examples/custom-store/file-store.js";
import { natsStore } from "../../examples/custom-store/nats-store.js";
import { fencesOf, type Fence } from "../helpers/docs-read.js";
import { ran } from "../helpers/docs-run.js";
import { describeWith, natsUrl } from "../helpers/services.js";

const lacks = { close: "it opens nothing that lasts", serverClock: "it goes by this process's" };

test("the guide's first store passes the suite under node:test, with the guide's command", async () => {
  const tsx = ["node_modules/tsx/dist/cli.mjs", "--test", "examples/custom-store/my-store.test.mts"];
  const { stdout } = await promisify(execFile)(process.execPath, tsx); // rejects when a test fails
  expect(stdout).toMatch(/L1, L5 · a burst gets exactly what is there/);
});

describe("the guide's store over a Map", async () => {
  const fence = fencesOf("docs/guides/writing-a-store.md").find(({ text }) => text.includes("function mapStore"));
  const { mapStore } = (await ran((fence as Fence).text)).exports as { mapStore(clock?: () => number): { store: SyncStore } };
  storeSuite({
    test,
    factory: ({ clock }) => mapStore(clock).store,
    lacks: { ...lacks, sharing: "each has its own Map", bound: "who owes nothing is swept away", unreachable: "a Map cannot fail" },
  });
});

describe("a store in files", () => {
  const root = mkdtempSync(join(tmpdir(), "sluice-files-"));
  writeFileSync(join(root, "a-file"), "");
  afterAll(() => rmSync(root, { recursive: true }));

  storeSuite({
    test,
    factory: ({ clock, unreachable, empty, breaker, sharedBy }) => {
      const directory = unreachable ? join(root, "a-file/none") : empty ? mkdtempSync(join(root, "empty-")) : join(root, "buckets");
      const storedBytes = () => readdirSync(directory).reduce((sum, name) => sum + name.length + statSync(join(directory, name)).size, 0);
      return { store: new FileStore(directory, { clock, breaker, sharedBy }), storedBytes };
    },
    lacks: { ...lacks, together: "two files are not written together", bound: "who owes nothing has no file" },
  });

  test("remembers over a restart, and sweeps away what is full", () => {
    const clock = new ManualClock();
    const directory = join(root, "restart");
    const start = () => new FileStore(directory, { clock: clock.now });
    const policy = { capacity: 2, refill: perSecond(1) };
    expect(createLimiter({ policy, store: start() }).consume("ann", 2).allowed).toBe(true);
    expect(createLimiter({ policy, store: start() }).consume("ann").allowed).toBe(false);
    clock.advance(1_999);
    start().sweep();
    expect(readdirSync(directory)).toHaveLength(1);
    clock.advance(1);
    start().sweep();
    expect(readdirSync(directory)).toHaveLength(0);
  });
});

describeWith("nats", "a store in NATS", () => {
  let connection: NatsConnection;
  let bucket: KV;
  let gone: KV;
  beforeAll(async () => {
    connection = await connect({ servers: natsUrl() });
    bucket = await connection.jetstream().views.kv(`example-${process.pid}`);
    const other = await connect({ servers: natsUrl() });
    gone = await other.jetstream().views.kv(`example-${process.pid}`);
    await other.close();
  });
  afterAll(async () => {
    await bucket.destroy();
    await connection.close();
  });
  storeSuite({
    test,
    factory: ({ clock, unreachable, timeoutMs, breaker, sharedBy }) => natsStore(unreachable ? gone : bucket, { time: { now: clock }, timeoutMs, breaker, sharedBy }),
    lacks: { ...lacks, together: "one write changes one key", bound: "the stream's own `ttl` bounds it" },
  });
});
