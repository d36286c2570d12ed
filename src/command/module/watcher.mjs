// Runs beside the main thread: see `watchBlocking` in import-module.ts. It sees that the main thread counts no longer,
// and it alone can say so then. A file of JavaScript, because a worker of Node 20 reads no TypeScript.
import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";

const { count, longestMs, message, tickMs } = workerData;
let [last, since] = [0, performance.now()];
setInterval(() => {
  const now = Atomics.load(count, 0);
  if (now !== last) [last, since] = [now, performance.now()];
  else if (performance.now() - since > longestMs) {
    try {
      writeSync(2, message);
    } catch {
      // Nobody reads standard error.
    }
    process.kill(process.pid, "SIGKILL");
  }
}, tickMs);
