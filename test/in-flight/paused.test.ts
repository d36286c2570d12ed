// L21: a pause costs a process its own places, never those of others. One of two is away for a little longer than `staleAfterMs`: its
// connection is held back, or the process is stopped. Then the other takes its places, and never more than all.
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { Redis } from "ioredis";
import { createLimiter, run, type Limiter } from "sluice";
import { RedisStore } from "sluice/redis";
import { expect, test } from "vitest";
import { startProcess } from "../helpers/processes.js";
import { describeWith, redisUrl } from "../helpers/services.js";
import { PAUSED, PLACES, STALE_MS } from "./paused-policy.js";

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A way to Redis that holds all bytes back while it is closed. */
async function heldBack() {
  const { hostname, port } = new URL(redisUrl());
  const held: [to: Socket, bytes: Buffer][] = [];
  let isHeld = false;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    const pass = (from: Socket, to: Socket): unknown => from.on("data", (bytes) => (isHeld ? held.push([to, bytes]) : to.write(bytes)));
    pass(near, far);
    pass(far, near);
    near.on("close", () => far.destroy()).on("error", () => undefined);
    far.on("close", () => near.destroy()).on("error", () => undefined);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    hold: () => void (isHeld = true),
    goOn() {
      isHeld = false;
      for (const [to, bytes] of held.splice(0)) to.write(bytes);
    },
    stop: () => server.close(),
  };
}

/** Begins works that last until `end`, and counts them. */
function worker(limiter: Limiter<string>) {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const all: Promise<unknown>[] = [];
  const me = {
    works: 0,
    async begin(): Promise<boolean> {
      let began: ((isAllowed: boolean) => void) | undefined;
      const answer = new Promise<boolean>((resolve) => (began = resolve));
      all.push(run(limiter, "one", async () => {
        me.works += 1;
        began?.(true);
        await ended;
      }).catch(() => began?.(false)));
      return answer;
    },
    async stop() {
      end();
      await Promise.all(all);
    },
  };
  return me;
}

const open = (client: Redis, prefix: string): Limiter<string> =>
  createLimiter({ policy: PAUSED, store: new RedisStore(client, { prefix, timeoutMs: 300 }), onStoreError: "unavailable" });

/** Takes each place that comes free, for so long. Returns how many works there are, none of which has ended. */
async function takeAll(mine: ReturnType<typeof worker>, forMs: number): Promise<number> {
  for (const until = Date.now() + forMs; Date.now() < until; ) if (!(await mine.begin())) await sleep(15);
  return mine.works;
}

describeWith("redis", "L21 · a pause costs a process its own places, never those of others", () => {
  test.each([1.1, 1.25])("a connection that was held back for %d staleAfterMs", async (away) => {
    const prefix = `paused-${process.pid}-${Date.now()}`;
    const way = await heldBack();
    const [far, near] = [new Redis(way.port, "127.0.0.1"), new Redis(redisUrl())];
    const [theirs, mine] = [worker(open(far, prefix)), worker(open(near, prefix))];
    try {
      for (let i = 0; i < PLACES / 2; i++) expect([await theirs.begin(), await mine.begin()]).toEqual([true, true]);
      await sleep(STALE_MS / 10);
      way.hold();
      setTimeout(() => way.goOn(), away * STALE_MS);
      setTimeout(() => void theirs.stop(), 3 * STALE_MS);
      const most = await takeAll(mine, 4.5 * STALE_MS);
      expect(most).toBeLessThanOrEqual(PLACES);
      expect(most).toBeGreaterThan(PLACES / 2);
    } finally {
      way.goOn();
      await Promise.all([theirs.stop(), mine.stop()]);
      for (const client of [far, near]) client.disconnect();
      way.stop();
    }
  });

  test("a process that was stopped for 1.2 staleAfterMs", async () => {
    const prefix = `stopped-${process.pid}-${Date.now()}`;
    const near = new Redis(redisUrl());
    const mine = worker(open(near, prefix));
    const child = await startProcess(join(import.meta.dirname, "paused-child.ts"), [redisUrl(), prefix]);
    try {
      await once(child, "message");
      for (let i = 0; i < PLACES / 2; i++) expect(await mine.begin()).toBe(true);
      child.kill("SIGSTOP");
      setTimeout(() => child.kill("SIGCONT"), 1.2 * STALE_MS);
      const most = await takeAll(mine, 5.5 * STALE_MS);
      expect(most).toBeLessThanOrEqual(PLACES);
      expect(most).toBeGreaterThan(PLACES / 2);
    } finally {
      child.kill("SIGKILL");
      await mine.stop();
      near.disconnect();
    }
  });
});
