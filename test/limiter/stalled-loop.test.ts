// A real socket and a loop that really stands still: the one thing that fake timers cannot show.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { createLimiter, MemoryStore, perSecond, type AsyncStore } from "sluice";
import { afterAll, beforeAll, expect, test } from "vitest";

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
  const store: AsyncStore = {
    sync: false,
    clock: "server",
    consume: (...asked) =>
      new Promise((resolve) => {
        socket.once("data", () => resolve(inner.consume(...asked)));
        socket.write("?");
      }),
  };
  const limiter = createLimiter({ policy, store, storeTimeoutMs: 20 });
  for (let i = 0; i < 5; i++) {
    Atomics.store(answered, 0, 0);
    const asked = limiter.consume("ann");
    // Until the answer is there and the deadline has passed, whichever is later, the loop does nothing else.
    const start = performance.now();
    Atomics.wait(answered, 0, 0);
    while (performance.now() - start < 30);
    expect((await asked).error).toBeUndefined();
  }
});
