// A real socket and a loop that really stands still: the one thing that fake timers cannot show.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { createLimiter, createObserver, MemoryStore, perSecond, type AsyncStore, type LimiterEvent } from "sluice";
import { guard } from "sluice/store";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callsOf } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";

const policy = { name: "api", capacity: 10, refill: perSecond(1) };

// Echoes what it gets, and says when it has: a store's server, as far as sockets are concerned.
const echo = `
  const { parentPort, workerData } = require("node:worker_threads");
  const server = require("node:net").createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (bytes) => socket.write(bytes, () => {
      Atomics.store(workerData, 0, 1);
      Atomics.notify(workerData, 0);
    }));
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

const answered = new Int32Array(new SharedArrayBuffer(4));
let worker: Worker;
let socket: Socket;

beforeAll(async () => {
  worker = new Worker(echo, { eval: true, workerData: answered });
  const [port] = (await once(worker, "message")) as [number];
  socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
});

afterAll(async () => {
  socket.destroy();
  await worker.terminate();
});

test("L12 · a loop that stalled is not a dead store: an answer that is in the socket already still counts", async () => {
  const inner = new MemoryStore();
  const store: AsyncStore = storeOf({
    sync: false,
    guard: guard({ timeoutMs: 20 }),
    clock: "server",
    consume: (...asked) =>
      new Promise((resolve) => {
        socket.once("data", () => resolve(callsOf(inner).consume(...asked)));
        socket.write("?");
      }),
  });
  const limiter = createLimiter({ policy, store });
  // Just past the deadline, which may be a loop that turns, and far past it, which cannot.
  for (const blockMs of [21, 21, 21, 21, 21, 40]) {
    Atomics.store(answered, 0, 0);
    const asked = limiter.consume("ann");
    // Until the answer is there and the deadline has passed, whichever is later, the loop does nothing else.
    const start = performance.now();
    Atomics.wait(answered, 0, 0);
    while (performance.now() - start < blockMs);
    expect((await asked).error).toBeUndefined();
  }
});

/** A store that asks over the socket once the loop turns, as clients do that gather what they send. */
function gathering(): AsyncStore {
  const inner = new MemoryStore();
  const unsent: Array<() => void> = [];
  const sent: Array<() => void> = [];
  socket.on("data", (bytes) => sent.splice(0, bytes.length).forEach((answer) => answer()));
  const send = (): void => {
    socket.write("?".repeat(unsent.length));
    sent.push(...unsent.splice(0));
  };
  return storeOf({
    sync: false,
    guard: guard({ timeoutMs: TIMEOUT_MS }),
    clock: "server",
    consume: (...asked) =>
      new Promise((resolve) => {
        if (unsent.push(() => resolve(callsOf(inner).consume(...asked))) === 1) setImmediate(send);
      }),
  });
}

// Long enough for an answer over loopback on a busy machine.
const TIMEOUT_MS = 400;

test("L12 · nor is it when the question itself was not yet sent", async () => {
  const limiter = createLimiter({ policy, store: gathering() });
  await fromAnImmediate();
  const asked = limiter.consume("ann");
  standFor(2 * TIMEOUT_MS);
  expect((await asked).error).toBeUndefined();
});

test("L12 · nor when many handlers, each with a little work, follow each other without a turn", async () => {
  const states: string[] = [];
  const observe = (event: LimiterEvent): void => void (event.type === "store" && states.push(event.state));
  const limiter = createLimiter({ policy, store: gathering(), observe: createObserver(observe) });
  await fromAnImmediate();
  const asked = Array.from({ length: 20 }, (_, i) => {
    const decision = limiter.consume(["user", i]);
    standFor(TIMEOUT_MS / 10);
    return decision;
  });
  expect((await Promise.all(asked)).filter(({ degraded }) => degraded)).toEqual([]);
  expect(states).toEqual([]);
});

/** Goes on from where the loop comes to timers before it comes to what is asked for here. */
const fromAnImmediate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function standFor(ms: number): void {
  const start = performance.now();
  while (performance.now() - start < ms);
}
