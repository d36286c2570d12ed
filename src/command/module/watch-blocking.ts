import { Worker } from "node:worker_threads";

const TICK_MS = 100;

// Runs beside the main thread. It sees that the main thread counts no longer, and it alone can say so then.
const WATCHER = `
  const { workerData: { count, longestMs, message } } = require("node:worker_threads");
  let [last, since] = [0, performance.now()];
  setInterval(() => {
    const now = Atomics.load(count, 0);
    if (now !== last) [last, since] = [now, performance.now()];
    else if (performance.now() - since > longestMs) {
      try { require("node:fs").writeSync(2, message); } catch {}
      process.kill(process.pid, "SIGKILL");
    }
  }, ${TICK_MS});
`;

/**
 * Ends the process with a message if its main thread is blocked for `longestMs`, as by an endless loop. Nothing in that
 * thread could say so. The process ends by the signal SIGKILL, because a worker cannot choose its exit code.
 */
export function watchBlocking(message: string, longestMs: number): { end(): void } {
  const count = new Int32Array(new SharedArrayBuffer(4));
  const ticks = setInterval(() => Atomics.add(count, 0, 1), TICK_MS);
  let worker: Worker | null = null;
  try {
    worker = new Worker(WATCHER, { eval: true, workerData: { count, longestMs, message }, stdin: false, execArgv: [] });
    worker.on("error", () => undefined).unref();
  } catch {
    // Node's permission model may allow no worker. The module is then read without a watch.
  }
  return {
    end() {
      clearInterval(ticks);
      void worker?.terminate();
    },
  };
}
